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
  // Yours, in place of the next line.
  TODO("05.1 best_pair");
}

// The ids with `id` in place of each `left` that has `right` after it, from
// left to right: 1 1 1 with (1, 1) → 9 becomes 9 1. `id` is new: `ids` has
// none.
std::vector<int32_t> merge_pair(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id) {
  // Yours, in place of the next line.
  TODO("05.2 merge_pair");
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
  // Yours, in place of the next line.
  TODO("05.3 split");
}

// The tokens of one piece. It begins as byte_ids[byte] for each of its bytes.
// merges.find(left, right) says what a pair becomes, .id, and how early that
// merge was learned, .rank (MergeTable::kNone, the largest rank: never). Ids
// need not be in the order of the ranks. The pair of the lowest rank is
// replaced, the leftmost of several, again and again until no pair has
// a rank.
std::vector<int32_t> encode_piece(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges) {
  // Yours, in place of the next line.
  TODO("05.4 encode_piece");
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
  // Yours, in place of the next line.
  TODO("05.5 load_weights");
}

// The loss of a text in a unit that does not depend on the tokens: nats[i] =
// -ln p(token ids[i]), tokens[id] is the token's bytes; the result is the mean
// of -log2 p over the bytes of the text.
double bits_per_byte(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                     const std::vector<std::string>& tokens) {
  // Yours, in place of the next line.
  TODO("05.6 bits_per_byte");
}

}  // namespace pg::lesson05
