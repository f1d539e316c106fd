// Lesson 5: bytes to tokens. This is your file: replace each TODO(...), then:
// make lesson5 && ./lesson5 check
//
// Only load_weights needs tensors (tensor/tensor.h; transpose(x) is in
// autograd/ops.h). Useful: std::map, std::string_view (text.substr(from,
// length), text.find(word), text.starts_with(word)), static_cast<uint8_t>(c)
// for the value of a byte, because a char may be negative.
#include <cmath>
#include <map>

#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

// The pair of neighbouring ids that occurs most often. A Word has ids, a
// std::vector<int32_t>, and count, an int64_t: the word occurs count times in
// the text, and so do its pairs. Every position counts: 1 1 1 has
// the pair (1, 1) twice. The last id of a word and the first of the next are no
// pair. From equally frequent pairs take the one with the smaller left id,
// then the one with the smaller right id. A PairCount has left, right and
// count, for example {.left = 1, .right = 2, .count = 5}. Without any pair:
// PairCount{}, whose count is 0. Ids and counts may be large: after 70,000
// merges there is an id 70,255.
PairCount best_pair(const std::vector<Word>& words) {
  // [answer 05.1 best_pair]
  std::map<std::pair<int32_t, int32_t>, int64_t> counts;  // in the order of the ids
  for (const Word& word : words) {
    for (size_t i = 0; i + 1 < word.ids.size(); ++i) counts[{word.ids[i], word.ids[i + 1]}] += word.count;
  }
  PairCount best;
  for (const auto& [pair, count] : counts) {
    if (count > best.count) best = {pair.first, pair.second, count};
  }
  return best;
  // [end]
}

// The ids with `id` in place of each `left` that has `right` after it, from
// left to right: 1 1 1 with (1, 1) → 9 becomes 9 1. `id` is new: `ids` has
// none.
std::vector<int32_t> merge_pair(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
  // [answer 05.2 merge_pair]
  std::vector<int32_t> merged;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool here = ids[i] == left && i + 1 < ids.size() && ids[i + 1] == right;
    merged.push_back(here ? id : ids[i]);
    if (here) ++i;  // the right one is used up
  }
  return merged;
  // [end]
}

// GPT-2's pieces of a text, in order, as views of it (text.substr); joined they
// are the text, and none is empty. First, wherever `special` occurs (such as
// "<|endoftext|>"; "": nowhere), it is one piece, and what is before and after
// it is split as a text of its own. The rest by these rules; where a piece
// begins, the first rule that fits takes as much as it can:
//   1. 's 't 're 've 'm 'll 'd                             (small letters only)
//   2. letters, and 3. digits, and 4. other characters that are no white space:
//      a run of one kind, with the one space (' ') before it if there is one
//   5. a run of white space; if something follows it, without its last
//     character, if that leaves any
// White space is ' ' and '\t' '\n' '\v' '\f' '\r' only. Bytes from 128 on (é,
// 猫) are taken for letters here; a byte 0 is a character like any other.
std::vector<std::string_view> split(std::string_view text, std::string_view special) {
  // [answer 05.3 split]
  std::vector<std::string_view> pieces;
  if (const size_t at = text.find(special); !special.empty() && at != std::string_view::npos) {
    pieces = split(text.substr(0, at), special);
    pieces.push_back(text.substr(at, special.size()));
    for (const std::string_view piece : split(text.substr(at + special.size()), special)) pieces.push_back(piece);
    return pieces;
  }
  const auto kind = [&](size_t i) -> char {  // letter, digit, white space, other; 0: the end
    if (i >= text.size()) return 0;
    const auto c = static_cast<uint8_t>(text[i]);
    if (c >= 128 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return 'l';
    if (c >= '0' && c <= '9') return 'd';
    return c == ' ' || (c >= '\t' && c <= '\r') ? 'w' : 'o';
  };
  const auto contraction = [&](size_t i) -> size_t {  // its length; 0: none begins here
    for (const std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
      if (text.substr(i).starts_with(end)) return end.size();
    }
    return 0;
  };
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = begin + contraction(begin);
    if (end == begin) {
      const size_t first = text[begin] == ' ' && kind(begin + 1) != 'w' && kind(begin + 1) != 0 ? begin + 1 : begin;
      const char run = kind(first);
      for (end = first + 1; kind(end) == run;) ++end;
      if (run == 'w' && end < text.size() && end - begin > 1) --end;
    }
    pieces.push_back(text.substr(begin, end - begin));
  }
  return pieces;
  // [end]
}

// The tokens of one piece. It begins as byte_ids[byte] for each of its bytes.
// merges.find(left, right) says what a pair becomes, .id, and how early that
// merge was learned, .rank (MergeTable::kNone, the largest rank: never). Ids
// need not be in the order of the ranks. The pair of the lowest rank is
// replaced, the leftmost of several, again and again until no pair has
// a rank.
std::vector<int32_t> encode_piece(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  // [answer 05.4 encode_piece]
  std::vector<int32_t> ids;
  for (const char c : piece) ids.push_back(byte_ids[static_cast<uint8_t>(c)]);
  for (;;) {
    MergeTable::Merge best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const MergeTable::Merge merge = merges.find(ids[i], ids[i + 1]);
      if (merge.rank < best.rank) {
        best = merge;
        at = i;
      }
    }
    if (best.rank == MergeTable::kNone) return ids;
    ids[at] = best.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  // [end]
}

// Fills a GPT-2 from the file that transformers writes. named_parameters(model)
// lists pairs (name, tensor); the file has each tensor under the same name, or
// all of them with "transformer." before it. source.find(name) is null where
// the file has no such tensor, source.read(name, f32) reads one,
// parameter.copy_from(values) puts values in. In the file the matrices of
// c_attn, c_proj (two of them in each block) and c_fc are [in, out], in our
// model [out, in]; everything else is stored alike. c_attn holds the columns of
// q, then those of k, then those of v, and so do our rows. A tensor that the
// file lacks is an error (read gives one); what else the file has is ignored.
void load_weights(Transformer& model, const TensorSource& source) {
  // [answer 05.5 load_weights]
  const std::string prefix = source.find("transformer.wte.weight") ? "transformer." : "";
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Tensor stored = source.read(prefix + name, f32);
    const bool linear = name.starts_with("h.") && stored.rank() == 2;
    parameter.copy_from(linear ? transpose(stored) : stored);
  }
  // [end]
}

// The loss of a text in a unit that does not depend on the tokens: nats[i] =
// -ln p(token ids[i]), tokens[id] is the token's bytes; the result is the mean
// of -log2 p over the bytes of the text.
double bits_per_byte(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                     const std::vector<std::string>& tokens) {
  // [answer 05.6 bits_per_byte]
  double sum = 0, bytes = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    sum += nats[i];
    bytes += static_cast<double>(tokens[static_cast<size_t>(ids[i])].size());
  }
  return sum / std::log(2.0) / bytes;
  // [end]
}

}  // namespace pg::lesson05
