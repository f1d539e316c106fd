// The part of make my_gpt beside track A: the same GPT on tokens of the learner's pieces of lesson 5.
#include <cmath>
#include <map>

#include "lessons/milestones/my_gpt.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"

namespace pg::milestones {
namespace {

constexpr int32_t kMerges = 128;

// The bytes and the merges, and a text in them.
struct Tokens {
  std::vector<std::string> tokens;  // the bytes of each
  std::vector<int32_t> text;
};

// Learns the merges from the pieces of the text, and encodes it.
Tokens tokens_of(const lesson05::Impl& impl, std::string_view text) {
  lesson05::ByteIds byte_ids;
  Tokens result;
  for (int32_t id = 0; id < 256; ++id) {
    byte_ids[static_cast<size_t>(id)] = id;
    result.tokens.emplace_back(1, static_cast<char>(id));
  }
  const std::vector<std::string_view> pieces = impl.split(text, "");
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view piece : pieces) ++counts[piece];
  MergeTable merges(kMerges);
  std::vector<lesson05::Word> words;
  for (const auto& [piece, count] : counts) words.push_back({impl.encode_piece(piece, byte_ids, merges), count});
  for (int32_t rank = 0; rank < kMerges; ++rank) {
    const lesson05::PairCount best = impl.best_pair(words);
    const int32_t id = 256 + rank;
    for (lesson05::Word& word : words) word.ids = impl.merge_pair(word.ids, best.left, best.right, id);
    merges.set(best.left, best.right, {static_cast<uint32_t>(rank), id});
    result.tokens.push_back(result.tokens[static_cast<size_t>(best.left)] +
                            result.tokens[static_cast<size_t>(best.right)]);
  }
  std::map<std::string_view, std::vector<int32_t>> known;
  for (const auto& [piece, count] : counts) known[piece] = impl.encode_piece(piece, byte_ids, merges);
  for (const std::string_view piece : pieces) {
    result.text.insert(result.text.end(), known[piece].begin(), known[piece].end());
  }
  return result;
}

std::string text_of(const Tokens& tokens, const std::vector<int32_t>& ids) {
  std::string text;
  for (const int32_t id : ids) text += tokens.tokens[static_cast<size_t>(id)];
  return text;
}

}  // namespace

void show_tokens(kit::Demo& demo, const GptPieces& pieces, const lesson05::Impl& impl, double character_loss) {
  demo.heading("The same on your tokens");
  const std::string stories = generate_stories(300'000);
  const Tokens tokens = tokens_of(impl, stories);
  const TextData text = split_text(tokens.text);
  const auto bytes_per_token = static_cast<double>(stories.size()) / static_cast<double>(tokens.text.size());
  demo.say(
      "Your best_pair and merge_pair made {} merges, and a token has {:.2f} bytes on average. The model reads them:",
      kMerges, bytes_per_token);
  Generator g(1);
  MyGpt model(pieces, std::ssize(tokens.tokens), g);
  train(demo, model, text.train, g);
  const std::vector<int32_t> start(text.val.begin(), text.val.begin() + 6);
  std::string words = text_of(tokens, model.write(start, MyGpt::kContext - 6, {.temperature = 0.7, .top_p = 0.9}, g));
  std::replace(words.begin(), words.end(), '\n', '/');
  demo.line("{}", words.substr(0, 70));
  demo.gap();
  const Surprises seen = surprises(model, text.val);
  const double bits = impl.bits_per_byte(seen.nats, seen.ids, tokens.tokens);
  demo.line("bits per byte: characters {:.3f}, your tokens {:.3f}", character_loss / std::log(2.0), bits);
  demo.gap();
  demo.claim("text that does not come back from its tokens", text_of(tokens, tokens.text) != stories, "",
             kit::equals(0));
  demo.claim("bytes per token", bytes_per_token, "", kit::at_least(1.7));
  demo.claim("bits per byte saved by your tokens", character_loss / std::log(2.0) - bits, "", kit::at_least(0.2));
}

}  // namespace pg::milestones
