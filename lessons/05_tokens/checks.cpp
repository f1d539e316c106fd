// The checks of lesson 5, and that of the measure. checks_*.cpp have the others.
#include "lessons/05_tokens/checks.h"

#include <cmath>
#include <numeric>

#include "nn/files/pretrained.h"
#include "tasks/bpe/added_tokens.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/post_processor.h"
#include "tasks/bpe/pretokenizer.h"
#include "tensor/base/table.h"

namespace pg::lesson05 {

using kit::Grader;

const ByteIds& gpt2_byte_ids() {
  static const ByteIds ids = [] {
    ByteIds of_byte{};
    int32_t next = 0;
    for (const char c : bytes_in_symbol_order()) of_byte[static_cast<uint8_t>(c)] = next++;
    return of_byte;
  }();
  return ids;
}

namespace {

void check_bits_per_byte(Grader& g, const Impl& impl) {
  const std::vector<std::string> tokens = {"a", " the", "é", " ", "\n\n", "xyz", "in", "qu"};
  const std::vector<int32_t> ids = {1, 2, 3, 1, 0, 4, 2};
  const std::vector<double> nats = {1.5, 0.25, 3.125, 0.75, 2.5, 0.5, 1.25};
  double bytes = 0;
  for (const int32_t id : ids) bytes += static_cast<double>(tokens[static_cast<size_t>(id)].size());
  const double sum = std::accumulate(nats.begin(), nats.end(), 0.0), ln2 = std::log(2.0), want = sum / ln2 / bytes;
  if (!g.equal("7 tokens of 1 to 4 bytes", impl.bits_per_byte(nats, ids, tokens),
               reference().bits_per_byte(nats, ids, tokens),
               {.mistakes = kit::results_of(bits_mistakes(), nats, ids, tokens)})) {
    return;
  }
  // Every byte alike: 8 bits, whatever the tokens.
  const double byte = std::log(256.0);
  const std::vector<std::string> marked = {"x", "", "yz", std::string("\0\0\0", 3)};
  g.equal("a model that gives every byte 1/256", impl.bits_per_byte({byte, 2 * byte}, {0, 2}, marked), 8.0,
          {.mistakes = {{"something is kept between calls: these are the sums of two texts",
                         (sum + 3 * byte) / ln2 / (bytes + 3)}}});
  const double again = impl.bits_per_byte(nats, ids, tokens);
  g.expect(std::abs(again - want) < 1e-9, "the 7 tokens once more", fmt::format("{}", again), fmt::format("{}", want),
           kKept);
  g.equal("the same, and a token without bytes that costs 300 nats",
          impl.bits_per_byte({byte, 300, 2 * byte}, {0, 1, 2}, marked), 8 + 100 / ln2,
          {.mistakes = {{"a token without bytes adds its nats and no byte", (3 * byte + 300) / ln2 / 4},
                        {"a token without bytes adds its nats and no byte", 8.0}}});
  g.equal("a token of three bytes 0", impl.bits_per_byte({byte, 3 * byte}, {0, 3}, marked), 8.0,
          {.mistakes = {{"a byte 0 does not end a token: a string has a size()", 32.0}}});
  g.equal(
      "a token of probability 0", impl.bits_per_byte({INFINITY, 1}, {0, 2}, marked), INFINITY,
      {.mistakes = {{"an infinite loss must stay infinite: nobody would see that the model is broken", 1 / ln2 / 3}}});
  g.note("tokens of any length in one unit");
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "05.1",
       .title = "the most frequent pair",
       .piece = kit::piece<&Impl::best_pair>("best_pair"),
       .section = "Learning a vocabulary",
       .why = "The whole training of a tokenizer is this question, asked again and again. Two programs that answer a "
              "tie differently have different vocabularies from there on.",
       .hints =
           {"Where do you keep a count for each pair, and in which order do you go through them at the end, so that "
            "a tie is no question any more?",
            "counts[(ids[i], ids[i + 1])] += count for i = 0 ... size - 2 of every word; the largest count wins, "
            "then the smallest left, then the smallest right.",
            "A std::map from std::pair<int32_t, int32_t> to int64_t is sorted by left, then right. Fill it word by "
            "word (i + 1 < size, not i < size - 1), then walk through it and keep a pair only if its count is "
            "larger than the best so far."},
       .solution = {"tasks/bpe/bpe_train.cpp", "void count_pairs("},
       .run = check_best_pair},
      {.id = "05.2",
       .title = "one merge",
       .piece = kit::piece<&Impl::merge_pair>("merge_pair"),
       .section = "Learning a vocabulary",
       .why = "Training and encoder must merge a a a alike, or a text is encoded in a way that the "
              "model has never seen.",
       .hints = {"The pair begins at index i. With which index do you go on, and what about the last id?",
                 "out gets id and i moves by 2 where ids[i] = left and ids[i + 1] = right; else out gets ids[i] and i "
                 "moves by 1.",
                 "Make a new vector. Loop over i while i < size; look at i + 1 only if i + 1 < size. Push id and skip "
                 "one more, or push ids[i]."},
       .solution = {"tasks/bpe/bpe_train.cpp", "void merge_in("},
       .run = check_merge_pair},
      {.id = "05.3",
       .title = "GPT-2's pieces",
       .piece = kit::piece<&Impl::split>("split"),
       .section = "Where no merge may cross",
       .why = "A model reads the pieces it was trained on. A tokenizer that leaves the space with the word before it "
              "gives other ids for every word but the first, and <|endoftext|> cut in three is no end of a text.",
       .hints =
           {"Which of the five rules may begin with a space, and what does that leave for a run of spaces? What "
            "would the rules make of <|endoftext|>, and so what has to come first?",
            "With `special` at index a: the pieces of text[0, a), special, the pieces of the rest. Else at index i: "
            "a contraction; else j = i + 1 if text[i] is ' ' and text[j] is no white space, else "
            "j = i; take the run of text[j]'s kind from j. White space with something after it gives its last "
            "character back if it has more than one.",
            "If special is not empty and text.find(special) finds it, call split for what is before and what is "
            "after it. Otherwise: a function kind(i): letter, digit, white space, other, or end. In a loop: try the "
            "seven contractions "
            "with starts_with; else find `first` as above and let `end` run while kind(end) is kind(first); if "
            "that is white space, end < size and the run is longer than 1, --end. Push text.substr(begin, end - "
            "begin)."},
       .solution = {"tasks/bpe/pretokenizer.cpp", "struct Splitter {"},
       .run = check_split},
      {.id = "05.4",
       .title = "encode a piece",
       .piece = kit::piece<&Impl::encode_piece>("encode_piece"),
       .section = "The order in which it was learned",
       .why = "Most pieces can be cut into tokens in many ways, and only one of them is what the model saw in its "
              "training. Any other decodes to the same text, so nobody notices.",
       .hints =
           {"The vocabulary was made by merges in an order. Which merge of those possible here was made first?",
            "ids[i] = byte_ids[byte i]; while some merges.find(ids[i], ids[i + 1]).rank < kNone: take the i of the "
            "lowest rank, ids[i] = .id, remove ids[i + 1].",
            "Fill ids from the bytes as uint8_t. In an endless loop: go through all pairs, keep the merge of the "
            "lowest rank and its index (strictly lower: the leftmost of several); if there is none, return; else "
            "replace and erase."},
       .solution = {"tasks/bpe/bpe_merge.cpp", "void MergeTable::scan("},
       .run = check_encode_piece},
      {.id = "05.5",
       .title = "GPT-2's weights",
       .piece = kit::piece<&Impl::load_weights>("load_weights"),
       .section = "Somebody else's weights",
       .why = "A square matrix that should have been transposed gives no error. The model runs, the loss is that of a "
              "bad model, and the search takes a day.",
       .hints =
           {"Which tensors of a block are matrices that multiply? Is an embedding one of them?",
            "parameter [out, in] = stored [in, out], transposed, for c_attn, c_fc and both c_proj; all else as it "
            "is. Name in the file: \"transformer.\" + ours if source has transformer.wte.weight, else ours.",
            "For (name, parameter) of named_parameters(model): stored = source.read(prefix + name, f32); if the "
            "name begins with \"h.\" and stored.rank() is 2, copy_from(transpose(stored)), else copy_from(stored). "
            "c_attn needs nothing more: its columns become our rows in the same order."},
       .solution = {"nn/files/pretrained.cpp", "std::vector<Part> parts_of("},
       .run = check_load_weights},
      {.id = "05.6",
       .title = "bits per byte",
       .piece = kit::piece<&Impl::bits_per_byte>("bits_per_byte"),
       .section = "What a loss is worth",
       .why = "With twice as long tokens a loss per token of twice the size is the same model. Papers have compared "
              "the one with the other.",
       .hints = {"What do two models of one text have in common, whatever their tokens are?",
                 "(Σ nats[i] / ln 2) / (Σ bytes of tokens[ids[i]]).",
                 "Two sums in one loop, over nats[i] and over tokens[ids[i]].size(); divide the first by std::log(2.0) "
                 "and by the second."},
       .solution = {"tools/pg/eval/eval.cpp", "int evaluate_text("},
       .run = check_bits_per_byte,
       .harmless = {{"only positive", "a loss is never negative"}}},
  };
}

Impl reference() {
  return {
      .best_pair = count_pairs,
      .merge_pair =
          [](const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
            MergeTable one(1);
            one.set(left, right, {0, id});
            MergeTable::Scratch scratch;
            std::vector<int32_t> merged = ids;
            one.apply(merged, scratch);
            return merged;
          },
      .split =
          [](std::string_view text, std::string_view special) {
            static const Pretokenizer gpt2(find_row(split_patterns(), "pattern", "gpt2").pre_tokenizer);
            static const Normalizer as_it_is;
            std::vector<AddedToken> added;
            if (!special.empty()) added.push_back({.id = 0, .content = std::string(special), .special = true});
            RegexScratch scratch;
            std::vector<std::string_view> pieces;
            for (const auto& part : AddedTokens(added, false, as_it_is).split(text, false, scratch)) {
              if (part.id >= 0) {
                pieces.push_back(part.text);
              } else {
                gpt2.split(part.text, scratch, [&](std::string_view piece) { pieces.push_back(piece); });
              }
            }
            return pieces;
          },
      .encode_piece =
          [](std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
            std::vector<int32_t> ids;
            for (const char c : piece) ids.push_back(byte_ids[static_cast<uint8_t>(c)]);
            MergeTable::Scratch scratch;
            merges.apply(ids, scratch);
            return ids;
          },
      .load_weights = [](Transformer& model, const TensorSource& source) { pg::load_weights(model, source); },
      .bits_per_byte =
          [](const std::vector<double>& nats, const std::vector<int32_t>& ids, const std::vector<std::string>& tokens) {
            double sum = 0;
            size_t bytes = 0;
            for (const double x : nats) sum += x;
            for (const int32_t id : ids) bytes += tokens.at(static_cast<size_t>(id)).size();
            return sum / std::log(2.0) / static_cast<double>(bytes);
          }};
}

}  // namespace pg::lesson05
