// The check of lesson 5 on how a text is cut into pieces.
#include <algorithm>

#include "lessons/05_tokens/checks.h"

namespace pg::lesson05 {

using kit::Grader;

std::string readable(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == ' ') {
      text += '_';
    } else if (c > ' ' && c <= '~' && c != '_') {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return text;
}

namespace {

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

// "The|_cat"
std::string joined(const std::vector<std::string_view>& pieces) {
  std::string text;
  for (size_t i = 0; i < pieces.size(); ++i) {
    text += i == 0 ? "" : "|";
    text += readable(pieces[i]);
  }
  return text;
}

// A text and wrong ways to split it.
struct SplitCase {
  std::string text;
  std::vector<Known> known;
  std::string otherwise = "";
  std::string special = "";
};

const std::string kBefore = "the space is on the wrong side: it belongs to the word after it";
const std::string kOtherSpace = "digits and other characters take the space before them along, too";
const std::string kSpecialCut = "the special token is split: look for it before the rules";
const std::string kWhole = "nothing follows this white space: it stays whole";
const std::string kOnlySpace = "only ' ' goes with the word after it: other white space stays alone";
const std::string kGivesBack = "white space with a word after it gives its last character back, a newline too";
const std::string kNoLetter = "an apostrophe is no letter: it goes with a word in the seven contractions only";
const std::string kQuoteRun =
    "a run of other characters takes an apostrophe along: rule 1 is for one at which a piece begins";
const std::string kAnywhere =
    "rule 1 asks for nothing before the apostrophe: a contraction may follow white space, a digit or nothing";

// A word with each of the contractions.
SplitCase all_contractions() {
  SplitCase all;
  const auto pieces = [](const std::function<std::string(std::string_view)>& cut) {
    std::string text;
    for (const std::string_view one : kContractions) text += (text.empty() ? "he" : "|_he") + cut(one);
    return text;
  };
  for (const std::string_view one : kContractions) all.text += (all.text.empty() ? "he" : " he") + std::string(one);
  all.known = {
      {pieces([](std::string_view c) { return std::string(c); }), "contractions are cut off: 's 't 're 've 'm 'll 'd"},
      {pieces([](std::string_view c) { return fmt::format("|'|{}", c.substr(1)); }),
       "contractions stay together: 's 't 're 've 'm 'll 'd"},
      {pieces([](std::string_view c) {
         return fmt::format("|{}{}{}", c.substr(0, 2), c.size() > 2 ? "|" : "", c.substr(2));
       }),
       "'re, 've and 'll have two letters"},
  };
  for (const std::string_view missing : kContractions) {
    all.known.push_back({pieces([missing](std::string_view c) {
                           return c == missing ? fmt::format("|'|{}", c.substr(1)) : fmt::format("|{}", c);
                         }),
                         fmt::format("{} is a contraction, too", missing)});
  }
  return all;
}

std::vector<SplitCase> split_cases() {
  std::vector<SplitCase> cases = {
      {"The cat sat",
       {{"The_|cat_|sat", kBefore},
        {"The|_|cat|_|sat", "the space is a piece of its own: one space goes with the word after it"},
        {"The|cat|sat", "the spaces are lost: joined, the pieces are the text"},
        {"The_cat_sat", "nothing is split"}}},
      {"a  b   c",
       {{"a|__|b|___|c", "the last space of a run goes with the word after it"},
        {"a|__b|___c", "only one space goes with a word; the others before it are a piece"},
        {"a|_|_b|_|_|_c", "the spaces before the last one are one piece"},
        {"a|_|b|_|c", "spaces are lost: joined, the pieces are the text"}}},
      all_contractions(),
      {"it's we'll 'tis",
       {{"it|'s|_we|'ll|_'tis", kNoLetter},
        {"it|'s|_we|'ll|_'t|is", "a contraction takes no space along: rule 1 has none"},
        {"it|'s|_we|'ll|_|'t|is", kOtherSpace}}},
      {"'s", {}, kAnywhere},
      {"7's", {}, kAnywhere},
      {"'tis", {{"'|tis", "a contraction may have letters after it: only its own are looked at"}}},
      {"'hello'", {{"'hello|'", kNoLetter}}},
      {"he'l", {{"he|'l", "'l alone is no contraction: the text ends before its second letter"}}},
      {"a!'s", {}, kQuoteRun},
      {"''s", {}, kQuoteRun},
      {"DON'T'll", {{"DON|'T|'ll", "the contractions are small letters only in GPT-2's pattern"}}},
      {"x2 = 365, ok?!",
       {{"x2|_=|_365|,|_ok|?!", "letters and digits are two kinds: x2 is two pieces"},
        {"x|2|_=|_3|6|5|,|_ok|?!", "digits are in one piece; one by one is the rule of later models"},
        {"x|2|_=|_365|,|_ok|?|!", "a run of other characters is one piece"}},
       kOtherSpace},
      {"12345", {{"123|45", "a run of digits is one piece, however long; three at most is a later rule"}}},
      {"a_b", {{"a\\x5fb", "an underscore is no letter"}}},
      {"end.\n\nNew \n line",
       {{"end|.|\\n\\n|New|_\\n|_line", kGivesBack}, {"end|.|\\n|\\nNew|_\\n|_line", kOnlySpace}}},
      {"tail  \n", {{"tail|_|_\\n", kWhole}, {"tail|__|\\n", kWhole}, {"tail", "the white space at the end is lost"}}},
      {"naïve café", {{"na|\\xc3\\xaf|ve|_caf|\\xc3\\xa9", "bytes from 128 on are letters here"}}},
      {"àÀÅ猫", {}, "bytes from 128 on are letters: 0x80 in À too, and 0xa0 in à and 0x85 in Å are no white space"},
      {"!\xff", {}, "the byte 255 is a letter, too"},
      {"a\x7f", {}, "the byte 127 is no letter: they go on from 128"},
      {std::string("a\0b", 3), {{"a", "a byte 0 does not end a text: a string_view has a size"}}},
      {"\x01\x02"
       "a \x1c\x1f"
       "b",
       {},
       "white space is the six characters of the comment only: other control characters are of kind 4"},
  };
  for (const char c : {'\t', '\v', '\f', '\r'}) {
    cases.push_back({fmt::format("a{}b{}{}c", c, c, c),
                     {{fmt::format("a|{0}b|{0}|{0}c", readable({&c, 1})), kOnlySpace}},
                     fmt::format("\\x{:02x} is white space: two of them before a letter are two pieces", c)});
  }
  cases.push_back({"", {}});
  cases.push_back({"\t'd've", {}, kAnywhere});
  return cases;
}

std::vector<SplitCase> special_cases() {
  const std::string mark = "<|endoftext|>", cut = "<||endoftext||>";
  return {
      {"one <|endoftext|>two",
       {{"one|_<|endoftext|>|two",
         "the space before the special token is another text: split what is before and behind"},
        {"one|_|two", "the special token is a piece of the text, too"},
        {"one|_|<|endoftext|>", "what is after the special token is lost"},
        {"one|_<||endoftext||>|two", kSpecialCut}},
       "",
       mark},
      {"one  <|endoftext|>two",
       {{"one|_|_|<|endoftext|>|two",
         "what is before the special token is a text of its own: nothing follows its white space"}},
       "",
       mark},
      {"<|endoftext|><|endoftext|>a b<|endoftext|>",
       {{"<|endoftext|>|" + cut + "|a|_b|" + cut, "only the first special token is found"},
        {"<|endoftext|>", "what is after the special token is split as well"},
        {"<|endoftext|>|<|endoftext|>a_b<|endoftext|>", "what is after the special token is split as well"}},
       "",
       mark},
      {"a<|endoftext|>b c",
       {{"a|<|endoftext|>", "what is after the special token is lost"}},
       "what is after the special token is split as well",
       mark},
      {"no <|endoftext| here", {}, "this is not the whole special token", mark},
      {"a<|endoftext|>b", {}, "`special` is \"\" here: then <|endoftext|> is text like any other"},
      {"theEOTend",
       {{"theEOTend", "the special token may be within a word: look for it before the rules"}},
       "the special token is `special`, whatever it is: here EOT",
       "EOT"},
      {"aaab", {{"a|aa|b", "the special token is found from the left: aaa begins with aa"}}, "", "aa"},
  };
}

}  // namespace

void check_split(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const SplitCase& one) {
    // After the text there is more in memory, with which its last piece would go on.
    const std::string memory = one.text + (one.text.ends_with('\'') ? 's' : one.text.empty() ? 'a' : one.text.back());
    const std::string_view text = std::string_view(memory).substr(0, one.text.size()), special = one.special;
    std::string input = fmt::format("\"{}\"", readable(text));
    if (!special.empty()) input += fmt::format(", special \"{}\"", readable(special));
    const std::string want = joined(engine.split(text, special));
    const std::vector<std::string_view> got = impl.split(text, special);
    const auto within = [](std::string_view piece, std::string_view whole) {
      return piece.data() >= whole.data() && piece.data() + piece.size() <= whole.data() + whole.size();
    };
    for (const std::string_view piece : got) {
      if (!g.expect(!within(piece.substr(0, 1), text) || within(piece, text), input, "a piece that ends after the text",
                    want, "the loop reads past the end of `text`: look at text[i] only if i < text.size()")) {
        return false;
      }
      // A view of `special`, or of a contraction that the program spells out, lives long enough.
      const bool lives = within(piece, text) || within(piece, special) || piece.empty() ||
                         (piece.size() <= 3 && std::ranges::count(kContractions, piece));
      if (!g.expect(lives, input, "a piece elsewhere in memory", want,
                    "a piece is no view of `text`: take text.substr(...); a copy is gone, or is overwritten by the "
                    "next call")) {
        return false;
      }
    }
    std::string whole;
    for (const std::string_view piece : got) whole += piece;
    std::string otherwise = one.otherwise;
    if (whole != text) otherwise = "joined, the pieces are not the text: a part of it is lost, or occurs twice";
    if (std::ranges::count(got, std::string_view()))
      otherwise = "a piece is empty: where there is no text, no piece is";
    const std::string shown =
        std::ranges::count(got, std::string_view()) ? joined(got) + " and an empty piece" : joined(got);
    return same_text(g, input, shown, want, one.known, otherwise) &&
           same_text(g, input + ", once more", joined(impl.split(text, special)), want, {}, kKept);
  };
  for (const auto& cases : {split_cases(), special_cases()}) {
    for (const SplitCase& one : cases) {
      if (!compare(one)) return;
    }
  }
  Generator random = kit::draws(53);
  const std::string_view letters = "aB3 \n'strevmld.,\t\r\v\x01   '";
  for (int i = 0; i < 400; ++i) {
    SplitCase one;
    if (i % 4 == 3) one.special = "t.";
    for (uint64_t n = random.integer(20); n > 0; --n) {
      one.text += letters[random.integer(letters.size())];
      if (random.integer(8) == 0) one.text += one.special;
    }
    if (!compare(one)) return;
  }
  g.note("spaces, contractions, digits, special tokens; 400 random texts");
}

}  // namespace pg::lesson05
