// The check of lesson 5 on the tokens of a piece.
#include <algorithm>
#include <numeric>

#include "lessons/05_tokens/checks.h"
#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/data/stories.h"

namespace pg::lesson05 {

using kit::Grader;

std::string text_of(const std::vector<int32_t>& ids) { return fmt::format("{}", fmt::join(ids, " ")); }

namespace {

// Tokens, each by its id ("": none has it), and merges of them.
struct Vocabulary {
  std::vector<std::string> tokens;
  ByteIds byte_ids;
  MergeTable merges;

  // The bytes have the ids that byte_ids gives them.
  explicit Vocabulary(const ByteIds& ids) : tokens(256), byte_ids(ids) {
    for (size_t byte = 0; byte < 256; ++byte) {
      tokens[static_cast<size_t>(ids[byte])] = std::string(1, static_cast<char>(byte));
    }
  }
  void merge(int32_t left, int32_t right, uint32_t rank, int32_t id) {
    tokens.resize(std::max(tokens.size(), static_cast<size_t>(id) + 1));
    tokens[static_cast<size_t>(id)] = tokens[static_cast<size_t>(left)] + tokens[static_cast<size_t>(right)];
    merges.set(left, right, {rank, id});
  }
  int32_t id_of(std::string_view token) const {
    return static_cast<int32_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  }
  // Ids as text, "th|er|e"; an id without a token as #id.
  std::string text_of(const std::vector<int32_t>& ids) const {
    std::string text;
    for (const int32_t id : ids) {
      const std::string& token = token_of(id);
      text += text.empty() ? "" : "|";
      text += token.empty() ? fmt::format("#{}", id) : readable(token);
    }
    return text;
  }
  const std::string& token_of(int32_t id) const {
    static const std::string none;
    return id >= 0 && static_cast<size_t>(id) < tokens.size() ? tokens[static_cast<size_t>(id)] : none;
  }
  // What is wrong with these tokens of a piece, whatever made them.
  std::string fault(std::string_view piece, const std::vector<int32_t>& ids) const {
    std::string whole;
    for (const int32_t id : ids) whole += token_of(id);
    if (whole != piece) {
      return "joined, the tokens are not the piece: a pair is replaced that is not there, or not any more";
    }
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      if (merges.find(ids[i], ids[i + 1]).rank != MergeTable::kNone) {
        return fmt::format("a pair that has a rank is left, {} {}: a merge makes new pairs on both of its sides",
                           readable(token_of(ids[i])), readable(token_of(ids[i + 1])));
      }
    }
    return "merged in another order: the lowest rank first, the leftmost of several";
  }
};

// The bytes, and a token for each of these merges, in the order in which they were learned.
Vocabulary small_vocabulary() {
  Vocabulary small(gpt2_byte_ids());
  const std::pair<const char*, const char*> learned[] = {{"e", "r"},  {"t", "h"}, {"th", "e"},  {"i", "n"},
                                                         {"in", "g"}, {"n", "e"}, {"o", "ne"},  {"o", "n"},
                                                         {"r", "i"},  {"a", "a"}, {"aa", "aa"}, {"\xc3", "\xa9"}};
  int32_t id = 256;
  for (const auto& [left, right] : learned) {
    small.merge(small.id_of(left), small.id_of(right), static_cast<uint32_t>(id - 256), id);
    ++id;
  }
  return small;
}

struct EncodeCase {
  std::string piece;
  std::vector<Known> known = {};
  std::string otherwise = "";  // "": Vocabulary::fault()
};

const std::vector<EncodeCase>& encode_cases() {
  const std::string nothing =
      "nothing is merged: merges.find says which pairs are; a pair without a merge has the largest rank as uint32_t "
      "(in an int it is -1)";
  const std::string one_pass = "one pass only: go on until no pair has a rank, pairs with new tokens too";
  static const std::vector<EncodeCase> cases = {
      {" x", {{"A|\\xbc", "the value of a byte is not its id: byte_ids has it"}}},
      {"\xff",
       {{"\\xef|\\xbf|\\xbd", "a byte that is no UTF-8 is replaced: it has a token like any other"},
        {"", "a byte that is no UTF-8 is left out: it has a token like any other"}},
       "a char may be negative: static_cast<uint8_t>(c) is the value of the byte"},
      {std::string("a\0x", 3), {{"a", "a byte 0 does not end a piece: a string_view has a size"}}},
      {"re", {{"er", "left and right are exchanged: merges.find(ids[i], ids[i + 1])"}}},
      {"xthx", {{"x|t|h|x", nothing}}},
      {"th", {{"t|h", "a pair at the border is left out: the first begins at 0, the last at size - 2"}}},
      {"er", {{"e|r", "rank 0 is a rank, the lowest: kNone is no merge"}}},
      {"ing", {{"in|g", one_pass}, {"i|n|g", nothing}}},
      {"erin", {{"e|ri|n", "the highest rank goes first: rank 0 was learned first"}}},
      {"eriri", {{"e|ri|ri", "the most frequent pair of the piece goes first: the ranks say which does"}}},
      {"one", {{"on|e", "the leftmost merge goes first: it is the lowest rank that goes first, wherever it is"}}},
      {"there", {{"the|r|e", "the longest token goes first: it is the lowest rank that goes first"}}},
      {"aaa", {{"a|aa", "of equal ranks the rightmost goes first: the leftmost does"}}},
      {"aaaaaaa"},
      {"\xc3\xa9", {{"\\xe9", "code points in place of bytes: é is the two bytes c3 a9"}}},
      {""},
  };
  return cases;
}

// Merges of random tokens with ids that are not in the order of the ranks, which have gaps.
Vocabulary random_vocabulary(Generator& random) {
  Vocabulary made(gpt2_byte_ids());
  std::vector<int32_t> known = {made.id_of("a"), made.id_of("b"), made.id_of("c")};
  for (uint32_t rank = 0; rank < 12; ++rank) {
    const int32_t left = known[random.integer(known.size())], right = known[random.integer(known.size())];
    if (made.merges.find(left, right).rank != MergeTable::kNone) continue;
    known.push_back(400 - static_cast<int32_t>(rank));
    made.merge(left, right, rank * 70001, known.back());
  }
  return made;
}

}  // namespace

void check_encode_piece(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const std::string& input, std::string_view piece, const Vocabulary& words,
                           const std::vector<Known>& known = {}, const std::string& otherwise = "") {
    const std::vector<int32_t> want = engine.encode_piece(piece, words.byte_ids, words.merges),
                               ids = impl.encode_piece(piece, words.byte_ids, words.merges);
    const std::string says = otherwise.empty() ? words.fault(piece, ids) : otherwise;
    // Two tokens may have one text.
    return same_text(g, input, words.text_of(ids), words.text_of(want), known, says) &&
           same_text(g, input + ", as ids", text_of(ids), text_of(want), known, says);
  };
  const Vocabulary small = small_vocabulary();
  for (const EncodeCase& one : encode_cases()) {
    const std::string input = fmt::format("the piece \"{}\"", readable(one.piece));
    if (!compare(input, one.piece, small, one.known, one.otherwise)) return;
  }

  const std::string kept = "something is kept between calls: the tokens of a piece depend on byte_ids and merges";
  ByteIds backwards{};
  for (size_t byte = 0; byte < 256; ++byte) backwards[byte] = 255 - static_cast<int32_t>(byte);
  if (!compare("the piece \"zag\" where byte b has the id 255 - b", "zag", Vocabulary(backwards), {}, kept)) return;
  const Vocabulary bytes(gpt2_byte_ids());
  if (!compare("the piece \"one\" without any merge", "one", bytes, {}, kept)) return;
  std::string buffer = "one";
  impl.encode_piece(buffer, small.byte_ids, small.merges);
  buffer = "the";
  if (!compare("the piece \"the\" where \"one\" was before", buffer, small, {},
               "something is kept between calls: a "
               "piece is its text, not its address")) {
    return;
  }

  Vocabulary ranked(gpt2_byte_ids());
  const int32_t o = ranked.id_of("o"), n = ranked.id_of("n"), e = ranked.id_of("e");
  ranked.merge(o, n, 1, 300);
  ranked.merge(n, e, 0, 301);
  if (!compare("\"one\" where o n has rank 1 and id 300, n e rank 0 and id 301", "one", ranked,
               {{"on|e", "the lowest id goes first: the rank decides, and ids need not be in its order"},
                {"o|#256", "the id of the new token is .id, not 256 + rank"}})) {
    return;
  }
  Vocabulary high(gpt2_byte_ids());
  high.merge(o, n, 5, 300);
  high.merge(n, e, 65540, 301);
  if (!compare("\"one\" where o n has rank 5, n e rank 65540", "one", high,
               {{"o|ne", "a rank does not fit in 16 bits: it is a uint32_t"}})) {
    return;
  }

  Generator random = kit::draws(56);
  for (int i = 0; i < 200; ++i) {
    const Vocabulary made = random_vocabulary(random);
    std::string piece(random.integer(20), ' ');
    for (char& c : piece) c = "abc"[random.integer(3)];
    if (!compare(fmt::format("\"{}\", {} random merges", piece, made.tokens.size() - 256), piece, made)) return;
  }

  // A vocabulary of the engine's trainer, on pieces of its text and on one without borders.
  const std::string text = generate_stories(20'000, 54);
  BpeTrainOptions options;
  options.vocab_size = 400;
  const BpeTokenizer trained = train_bpe(std::vector<std::string_view>{text}, options);
  Vocabulary stories(gpt2_byte_ids());
  for (const BpeData::Merge& merge : trained.data().merges) {
    stories.merge(merge.left, merge.right, static_cast<uint32_t>(merge.id - 256), merge.id);
  }
  std::vector<std::string_view> pieces = engine.split(text, "");
  pieces.resize(std::min<size_t>(pieces.size(), 500));
  pieces.push_back(std::string_view(text).substr(0, 600));
  for (const std::string_view piece : pieces) {
    const std::string input = fmt::format("\"{}\", 144 merges of the stories", readable(piece.substr(0, 30)));
    if (!compare(input, piece, stories)) return;
  }
  g.note(fmt::format("{} small pieces, and 501 of the stories as the engine encodes them", encode_cases().size()));
}

}  // namespace pg::lesson05
