// The demonstration of lesson 5, first part: a vocabulary learned from nothing.
#include "lessons/05_tokens/demo.h"

#include <map>
#include <unordered_map>

#include "lessons/05_tokens/checks.h"
#include "lessons/kit/plot.h"
#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/data/stories.h"

namespace pg::lesson05 {
namespace {

constexpr int64_t kMerges = 512;

Stories load_stories() {
  Stories stories{generate_stories(), 0};
  stories.cut = stories.text.find("\n\n", stories.text.size() / 10 * 9) + 2;
  return stories;
}

// Merges of the learner's loop that are not those of train_bpe.
int64_t different_merges(const Vocabulary& own, std::string_view text) {
  BpeTrainOptions options;
  options.vocab_size = std::ssize(own.tokens);
  const BpeTokenizer engine = train_bpe(std::vector{text}, options);
  const auto& theirs = engine.data().merges;
  int64_t different = std::abs(std::ssize(theirs) - std::ssize(own.merges));
  for (size_t i = 0; i < std::min(theirs.size(), own.merges.size()); ++i) {
    different += theirs[i].left != own.merges[i].left || theirs[i].right != own.merges[i].right;
  }
  return different;
}

}  // namespace

MergeTable Vocabulary::table(size_t count) const {
  MergeTable table(count);
  for (size_t rank = 0; rank < std::min(count, merges.size()); ++rank) {
    table.set(merges[rank].left, merges[rank].right, {static_cast<uint32_t>(rank), merges[rank].id});
  }
  return table;
}

std::vector<int32_t> encode(const Impl& impl, std::string_view text, const ByteIds& byte_ids, const MergeTable& merges,
                            std::string_view special) {
  std::unordered_map<std::string_view, std::vector<int32_t>> known;
  std::vector<int32_t> ids;
  for (const std::string_view piece : impl.split(text, special)) {
    const auto [found, is_new] = known.try_emplace(piece);
    if (is_new) found->second = impl.encode_piece(piece, byte_ids, merges);
    ids.insert(ids.end(), found->second.begin(), found->second.end());
  }
  return ids;
}

std::string decode(const std::vector<int32_t>& ids, const std::vector<std::string>& tokens) {
  std::string text;
  for (const int32_t id : ids) text += tokens.at(static_cast<size_t>(id));
  return text;
}

std::string shown(const std::vector<int32_t>& ids, const std::vector<std::string>& tokens) {
  std::string text;
  for (const int32_t id : ids) {
    text += text.empty() ? "" : "|";
    text += readable(tokens.at(static_cast<size_t>(id)));
  }
  return text;
}

Vocabulary show_merges(kit::Demo& demo, const Impl& impl, std::string_view text) {
  demo.heading("A vocabulary from nothing");
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view piece : impl.split(text, "")) ++counts[piece];
  Vocabulary vocabulary{gpt2_byte_ids(), {}, {}};
  for (const char c : bytes_in_symbol_order()) vocabulary.tokens.emplace_back(1, c);
  std::vector<Word> words;
  for (const auto& [piece, count] : counts) {
    words.push_back({impl.encode_piece(piece, vocabulary.byte_ids, MergeTable()), count});
  }
  const auto bytes_per_token = [&] {
    double tokens = 0;
    for (const Word& word : words) tokens += static_cast<double>(word.ids.size()) * static_cast<double>(word.count);
    return static_cast<double>(text.size()) / tokens;
  };
  demo.say(
      "{} bytes of stories, {} different pieces (words with the space before them, marks, line ends). At first every "
      "byte is a token, {} of them. Then, again and again: the most frequent pair of neighbours becomes a token.",
      text.size(), words.size(), vocabulary.tokens.size());
  demo.line("merge   pair                 new token      occurs   bytes per token");
  kit::Series curve{.name = "bytes per token", .y = {bytes_per_token()}, .x = {256}};
  for (int64_t rank = 0; rank < kMerges; ++rank) {
    const PairCount best = impl.best_pair(words);
    if (best.count < 1) break;
    const std::string token =
        vocabulary.tokens.at(static_cast<size_t>(best.left)) + vocabulary.tokens.at(static_cast<size_t>(best.right));
    const auto id = static_cast<int32_t>(vocabulary.tokens.size());
    vocabulary.merges.push_back({best.left, best.right, id});
    for (Word& word : words) word.ids = impl.merge_pair(word.ids, best.left, best.right, id);
    curve.x.push_back(static_cast<double>(id + 1));
    curve.y.push_back(bytes_per_token());
    const bool power = ((rank + 1) & rank) == 0;
    if (power || rank < 6) {
      demo.line("{:5}   {:20} {:12} {:8}   {:15.3f}", rank + 1,
                readable(vocabulary.tokens[static_cast<size_t>(best.left)]) + " + " +
                    readable(vocabulary.tokens[static_cast<size_t>(best.right)]),
                readable(token), best.count, curve.y.back());
    }
    vocabulary.tokens.push_back(token);
  }
  demo.gap();
  demo.show(
      kit::line_plot({curve}, {.x_label = "tokens in the vocabulary", .y_label = "bytes per token", .height = 9}));
  demo.gap();
  std::vector<int32_t> sample =
      encode(impl, text.substr(0, text.find('.')), vocabulary.byte_ids, vocabulary.table(kMerges));
  sample.resize(std::min<size_t>(sample.size(), 14));
  demo.say("The text in these tokens, a space written as _:");
  demo.line("{}", shown(sample, vocabulary.tokens));
  demo.gap();
  demo.claim("merges that differ from train_bpe's", static_cast<double>(different_merges(vocabulary, text)), "of 512",
             kit::equals(0));
  return vocabulary;
}

void demo(kit::Demo& demo, const Impl& impl) {
  const Stories stories = load_stories();
  const Vocabulary vocabulary = show_merges(demo, impl, stories.train());
  TokenModel trained = show_models(demo, impl, stories, vocabulary);
  show_race(demo, impl, stories.text, vocabulary);
  show_round_trip(demo, impl, vocabulary);
  show_import(demo, impl, trained);
  show_gpt2_tokens(demo, impl);
  show_pretrained(demo);
}

}  // namespace pg::lesson05

int main(int argc, char** argv) {
  using namespace pg::lesson05;
  return pg::kit::run_lesson<Impl>({"5", "lessons/05_tokens", "bytes to tokens", reference(), {}, checks(), demo}, argc,
                                   argv);
}
