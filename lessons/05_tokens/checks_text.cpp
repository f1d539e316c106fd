// The checks of lesson 5 on text: how it is cut into pieces, and a piece into tokens.
#include <algorithm>

#include "lessons/05_tokens/checks.h"
#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/byte_level.h"
#include "tasks/stories.h"

namespace pg::lesson05 {
namespace {

using kit::Grader;

// Bytes for a person to read: a space as _, what is not printable ASCII as \n or \xff.
std::string readable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == ' ') {
      text += '_';
    } else if (c > ' ' && c <= '~') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return text;
}

// "The|_cat"
std::string joined(const std::vector<std::string_view>& pieces) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    text += i == 0 ? "" : "|";
    text += readable(pieces[i]);
  }
  return text;
}

// A text, and wrong ways of cutting it.
struct TextCase {
  std::string text;
  std::vector<std::pair<std::string, std::string>> mistakes;  // {what it gives, what to say}
};

// `otherwise`: what to say of a wrong way that the case does not know.
bool judge(Grader& g, const std::string& input, const std::string& got, const std::string& want, const TextCase& one,
           const std::string& otherwise = "") {
  std::string says = otherwise;
  for (const auto& [gives, diagnosis] : one.mistakes) {
    if (got == gives) says = diagnosis;
  }
  return g.expect(got == want, input, got, want, says);
}

const std::string kBefore = "the space is on the wrong side: it belongs to the word after it";
const std::string kOtherSpace = "other characters take the space before them along, too";
const std::string kSpecialCut = "the special token is split: look for it before the rules";

const std::vector<TextCase>& split_cases() {
  static const std::vector<TextCase> cases = {
      {"The cat sat",
       {{"The_|cat_|sat", kBefore},
        {"The|_|cat|_|sat", "the space is a piece of its own: one space goes with the word after it"},
        {"The|cat|sat", "the spaces are lost: joined, the pieces are the text"},
        {"The_cat_sat", "nothing is split"}}},
      {"a  b   c",
       {{"a|__|b|___|c", "the last space of a run goes with the word after it"},
        {"a|__b|___c", "only one space goes with a word; the others before it are a piece"},
        {"a|_|b|_|c", "spaces are lost: joined, the pieces are the text"}}},
      {"it's we'll 'tis",
       {{"it's|_we'll|_'|tis", "contractions are cut off: 's 't 're 've 'm 'll 'd"},
        {"it|'|s|_we|'|ll|_'|tis", "contractions stay together: 's 't 're 've 'm 'll 'd"},
        {"it|'s|_we|'l|l|_'|tis", "'ll has two letters"},
        {"it|'s|_we|'ll|_|'t|is", kOtherSpace}}},
      {"DON'T'll", {{"DON|'T|'ll", "the contractions are small letters only in GPT-2's pattern"}}},
      {"x2 = 365, ok?!",
       {{"x2|_=|_365|,|_ok|?!", "letters and digits are two kinds: x2 is two pieces"},
        {"x|2|_=|_3|6|5|,|_ok|?!", "digits stand in one piece; one by one is the rule of later models"},
        {"x|2|_=|_365|,|_ok|?|!", "a run of other characters is one piece"},
        {"x|2|_|=|_365|,|_ok|?!", kOtherSpace}}},
      {"end.\n\nNew \n line",
       {{"end|.|\\n\\n|New|_\\n|_line",
         "white space with a word after it gives its last character back, a newline too"},
        {"end|.|\\n|\\nNew|_\\n|_line", "only ' ' goes with the word after it: a newline stays alone"}}},
      {"tail  \n",
       {{"tail|_|_\\n", "nothing follows this white space: it stays whole"},
        {"tail|__|\\n", "nothing follows this white space: it stays whole"},
        {"tail", "the white space at the end is lost"}}},
      {"naïve café", {{"na|\\xc3\\xaf|ve|_caf|\\xc3\\xa9", "bytes from 128 on are letters here"}}},
      {"\t'd've", {}},
  };
  return cases;
}

const std::vector<TextCase>& special_cases() {
  static const std::vector<TextCase> cases = {
      {"one <|endoftext|>two",
       {{"one|_<|endoftext|>|two",
         "the space before the special token is another text: split what is before and behind"},
        {"one|_<||endoftext||>|two", kSpecialCut}}},
      {"<|endoftext|><|endoftext|>a b<|endoftext|>",
       {{"<|endoftext|>|<||endoftext||>|a|_b|<||endoftext||>", "only the first special token is found"}}},
      {"no <|endoftext| here", {}},
  };
  return cases;
}

// Ids as text, "th|er|e"; an id without a token as #id.
std::string joined(const std::vector<int32_t>& ids, const std::vector<std::string>& tokens) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto id = static_cast<size_t>(ids[i]);
    text += i == 0 ? "" : "|";
    text += id < tokens.size() ? readable(tokens[id]) : fmt::format("#{}", ids[i]);
  }
  return text;
}

// A small vocabulary: the bytes, and a token for each of these merges, in the order in which they were learned.
struct Vocabulary {
  std::vector<std::string> tokens;
  MergeTable merges;

  Vocabulary() : merges(16) {
    for (const char c : bytes_in_symbol_order()) tokens.emplace_back(1, c);
    const std::pair<const char*, const char*> learned[] = {{"e", "r"},  {"t", "h"}, {"th", "e"},     {"i", "n"},
                                                           {"in", "g"}, {"n", "e"}, {"o", "ne"},     {"o", "n"},
                                                           {"r", "i"},  {"a", "a"}, {"\xc3", "\xa9"}};
    for (const auto& [left, right] : learned) {
      const auto rank = static_cast<uint32_t>(tokens.size() - 256);
      merges.set(id_of(left), id_of(right), {rank, static_cast<int32_t>(tokens.size())});
      tokens.push_back(std::string(left) + right);
    }
  }
  int32_t id_of(const std::string& token) const {
    return static_cast<int32_t>(std::find(tokens.begin(), tokens.end(), token) - tokens.begin());
  }
};

const std::vector<TextCase>& encode_cases() {
  static const std::vector<TextCase> cases = {
      {" x", {{"A|\\xbc", "the value of a byte is not its id: byte_ids has it"}}},
      {"ing",
       {{"in|g", "one pass only: go on until no pair has a rank"},
        {"i|n|g", "nothing is merged: merges.find says which pairs are"}}},
      {"erin", {{"e|ri|n", "the highest rank goes first: rank 0 was learned first"}}},
      {"one", {{"on|e", "the leftmost merge goes first: it is the lowest rank that goes first, wherever it stands"}}},
      {"there", {{"the|r|e", "the longest token goes first: it is the lowest rank that goes first"}}},
      {"aaa", {{"a|aa", "of equal ranks the rightmost goes first: the leftmost does"}}},
      {"\xc3\xa9",
       {{"\\xe9", "code points in place of bytes: é is the two bytes c3 a9"},
        {"\\xc3|\\xa9", "nothing is merged: merges.find says which pairs are"}}},
      {"\xff",
       {{"\\xef|\\xbf|\\xbd", "a byte that is no UTF-8 is replaced: it has a token like any other"},
        {"", "a byte that is no UTF-8 is left out: it has a token like any other"}}},
      {"", {}},
  };
  return cases;
}

}  // namespace

void check_split(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const TextCase& one, std::string_view special) {
    const std::vector<std::string_view> got = impl.split(one.text, special);
    std::string text;
    for (const std::string_view piece : got) text += piece;
    return judge(g, fmt::format("\"{}\"", readable(one.text)), joined(got), joined(engine.split(one.text, special)),
                 one,
                 text == one.text ? "" : "joined, the pieces are not the text: a part of it is lost, or stands twice");
  };
  for (const TextCase& one : split_cases()) {
    if (!compare(one, "")) return;
  }
  for (const TextCase& one : special_cases()) {
    if (!compare(one, "<|endoftext|>")) return;
  }
  Generator random(53);
  const std::string_view letters = "aB3 \n'st.,\t\r\v\x01  ";
  for (int i = 0; i < 300; ++i) {
    TextCase one;
    for (uint64_t n = random.integer(20); n > 0; --n) one.text += letters[random.integer(letters.size())];
    if (!compare(one, "")) return;
  }
  g.note("spaces, contractions, digits, special tokens; 300 random texts");
}

void check_encode_piece(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const Vocabulary small;
  for (const TextCase& one : encode_cases()) {
    const std::string got = joined(impl.encode_piece(one.text, gpt2_byte_ids(), small.merges), small.tokens);
    const std::string want = joined(engine.encode_piece(one.text, gpt2_byte_ids(), small.merges), small.tokens);
    if (!judge(g, fmt::format("the piece \"{}\"", readable(one.text)), got, want, one)) return;
  }
  // A vocabulary of the engine's trainer, on pieces of its text and on one without borders.
  const std::string text = generate_stories(20'000, 54);
  BpeTrainOptions options;
  options.vocab_size = 400;
  const BpeTokenizer trained = train_bpe(std::vector<std::string_view>{text}, options);
  MergeTable merges(trained.data().merges.size());
  for (const BpeData::Merge& merge : trained.data().merges) {
    merges.set(merge.left, merge.right, {static_cast<uint32_t>(merge.id - 256), merge.id});
  }
  std::vector<std::string_view> pieces = engine.split(text, "");
  pieces.resize(std::min<size_t>(pieces.size(), 500));
  pieces.push_back(std::string_view(text).substr(0, 600));
  for (const std::string_view piece : pieces) {
    if (!g.equal(fmt::format("\"{}\", 144 merges of the stories", readable(piece.substr(0, 30))),
                 value_of(impl.encode_piece(piece, gpt2_byte_ids(), merges)),
                 value_of(engine.encode_piece(piece, gpt2_byte_ids(), merges)))) {
      return;
    }
  }
  ByteIds backwards{};
  for (int32_t byte = 0; byte < 256; ++byte) backwards[static_cast<size_t>(byte)] = 255 - byte;
  MergeTable one_merge(1);
  one_merge.set(255 - 'a', 255 - 'b', {0, 300});
  g.equal("\"abba\" where byte b has the id 255 - b, and a b becomes 300",
          value_of(impl.encode_piece("abba", backwards, one_merge)), kit::Value({3}, {300, 255 - 'b', 255 - 'a'}));
  g.note("nine small pieces, and 501 of the stories as the engine encodes them");
}

}  // namespace pg::lesson05
