#include "tasks/grade/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::grading {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~'; }

template <size_t N>
bool among(const std::array<std::string_view, N>& all, std::string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}
constexpr std::array<std::string_view, 27> kSkipped = {
    "big",   "Big",   "bigg",  "Bigg",    "bigl",         "bigr",      "Bigl",     "Bigr",       "biggl",
    "biggr", "Biggl", "Biggr", "quad",    "qquad",        "textstyle", "limits",   "nolimits",   "middle",
    "rm",    "bf",    "it",    "enspace", "displaystyle", "thinspace", "medspace", "thickspace", "nobreak"};
constexpr std::array<std::string_view, 13> kTexts = {"text",   "mbox",         "textrm", "mathrm", "textbf",
                                                     "textit", "mathbf",       "hbox",   "textsf", "textnormal",
                                                     "mathit", "operatorname", "mathsf"};
// Fonts of a letter or number that change nothing.
constexpr std::array<std::string_view, 8> kFonts = {"mathbf",  "mathit",     "mathsf", "mathcal",
                                                    "mathscr", "boldsymbol", "bm",     "mathnormal"};

struct Character {
  char32_t value;
  Token::Kind kind;
  std::string_view name;
};
constexpr Token::Kind kCommand = Token::Kind::command, kSymbol = Token::Kind::symbol;
constexpr Character kCharacters[] = {
    {0x2212, kSymbol, "-"},         {0x2013, kSymbol, "-"},         {0xD7, kCommand, "times"},
    {0xB7, kCommand, "cdot"},       {0x22C5, kCommand, "cdot"},     {0xF7, kSymbol, "/"},
    {0x2044, kSymbol, "/"},         {0x2215, kSymbol, "/"},         {0xB0, kCommand, "degree"},
    {0x3C0, kCommand, "pi"},        {0x221E, kCommand, "infty"},    {0x221A, kCommand, "sqrt"},
    {0x2264, kCommand, "le"},       {0x2265, kCommand, "ge"},       {0x2260, kCommand, "ne"},
    {0x222A, kCommand, "cup"},      {0x2208, kCommand, "in"},       {0xB1, kCommand, "pm"},
    {0x2213, kCommand, "mp"},       {0x3B8, kCommand, "theta"},     {0x3B1, kCommand, "alpha"},
    {0x3B2, kCommand, "beta"},      {0x3BB, kCommand, "lambda"},    {0x211D, kCommand, "reals"},
    {0x2205, kCommand, "emptyset"}, {0xB2, kCommand, "squared"},    {0xB3, kCommand, "cubed"},
    {0x2248, kCommand, "approx"},   {0x20AC, kCommand, "euro"},     {0xA3, kCommand, "sterling"},
    {0xA5, kCommand, "yen"},        {0x2220, kCommand, "angle"},    {0x25B3, kCommand, "triangle"},
    {0x230A, kCommand, "lfloor"},   {0x230B, kCommand, "rfloor"},   {0x2308, kCommand, "lceil"},
    {0x2309, kCommand, "rceil"},    {0x27E8, kCommand, "langle"},   {0x27E9, kCommand, "rangle"},
    {0x2026, kCommand, "ldots"},    {0x2216, kCommand, "setminus"}, {0x2032, kSymbol, "'"}};

}  // namespace

Lexer::Lexer(std::string_view text, size_t begin, Budget& budget)
    : text_(text), budget_(budget), at_(begin), spaced_commas_(text.find(", ", begin) != std::string_view::npos) {}

// The bytes of a space of Unicode; 0 for another character.
size_t Lexer::wide_space() const {
  if (starts("\xc2\xa0")) return 2;
  return starts("\xe2\x80\x89") || starts("\xe2\x80\xaf") ? 3 : 0;
}

void Lexer::skip_space(Token& token) {
  for (;; token.space_before = true) {
    budget_.spend();
    if (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '$')) {
      ++at_;
    } else if (starts("\\") && at_ + 1 < text_.size() &&
               std::string_view(",;:! \t\n").find(text_[at_ + 1]) != std::string_view::npos) {
      at_ += 2;
    } else if (const size_t wide = wide_space(); wide > 0) {
      at_ += wide;
    } else if (starts(".") && at_ > 0 && is_letter(text_[at_ - 1]) && !starts("..") && !digit(at_ + 1)) {
      ++at_;  // of an abbreviation: "sq. ft."
    } else if (starts("\\") && at_ + 1 == text_.size()) {
      ++at_;  // "\ " without its space
    } else {
      return;
    }
  }
}

// Nothing for a command that is left out.
std::optional<Token> Lexer::command(Token token) {
  token.begin = at_++;
  if (!is_letter(text_[at_])) {
    const char c = text_[at_++];
    check(std::string_view("{}%$|\\&#").find(c) != std::string_view::npos, "an unknown command at byte {}",
          token.begin);
    token.kind = c == '%' ? Token::Kind::symbol : Token::Kind::command;
    token.value = c;
    token.end = at_;
    return token;
  }
  const size_t begin = at_;
  while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
  const std::string_view name = text_.substr(begin, at_ - begin);
  if (among(kSkipped, name)) return {};
  if (name == "left" || name == "right") {
    skip_space(token);
    side_ = name[0];
    if (!starts(".")) return {};
    ++at_;
    side_ = 0;
    return {};
  }
  token.kind = Token::Kind::command;
  token.value = name;
  token.end = at_;
  if ((among(kTexts, name) || among(kFonts, name)) && !text_in_font(token, name)) return {};
  budget_.spend(static_cast<int64_t>(token.value.size()));
  return token;
}

// Reads the braces behind a font. False if the font changes nothing: then its braces are read as others.
bool Lexer::text_in_font(Token& token, std::string_view font) {
  skip_space(token);
  const bool upright = font == "mathrm" || font == "operatorname";
  if (!starts("{")) return !among(kFonts, font) && !upright;
  const size_t content = at_ + 1;
  size_t end = at_, letters = 0, digits = 0;
  for (int64_t depth = 0; end < text_.size(); ++end) {
    if (text_[end] == '{') ++depth;
    if (text_[end] == '}' && --depth == 0) break;
    letters += is_letter(text_[end]) ? 1 : 0;
    digits += digit(end) ? 1 : 0;
  }
  check(end < text_.size(), "the brace at byte {} is not closed", content - 1);
  if ((letters == 0 && digits > 0) || (among(kFonts, font) && letters <= 1)) return false;
  token.kind = Token::Kind::text;
  token.value = text_.substr(content, end - content);
  token.end = at_ = end + 1;
  if (upright && is_function(token.value)) token.kind = Token::Kind::command;
  if (upright && (token.value == "e" || token.value == "i")) {
    token.kind = Token::Kind::word;
    token.begin = end;  // a word of one letter ends one byte behind its beginning
  }
  return true;
}

Token Lexer::unicode(Token token) {
  const Utf8Character character = first_character(text_.substr(at_));
  check(character.length > 0, "byte {} is not UTF-8", at_);
  for (const Character& row : kCharacters) {
    if (row.value != character.value) continue;
    token.kind = row.kind;
    token.value = row.name;
    at_ += character.length;
    token.end = at_;
    return token;
  }
  fail("a character without a meaning at byte {}", at_);
}

Token Lexer::next() {
  side_ = 0;
  for (bool space = false;;) {
    Token token;
    skip_space(token);
    token.space_before |= space;
    token.side = side_;
    if (!starts("\\")) return plain(token);
    if (std::optional<Token> found = command(token)) return *found;
    space = token.space_before;
  }
}

Token Lexer::plain(Token token) {
  token.begin = token.end = at_;
  if (at_ >= text_.size()) return token;
  const char c = text_[at_];
  if (starts("...")) {
    token.kind = Token::Kind::command;
    token.value = "ldots";
    at_ += 3;
    token.end = at_;
    return token;
  }
  if (digit(at_) || (c == '.' && (digit(at_ + 1) || text_.substr(at_ + 1).starts_with("\\overline")))) {
    return number(token);
  }
  if (static_cast<unsigned char>(c) >= 0x80) return unicode(token);
  if (is_letter(c)) {
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    token.kind = Token::Kind::word;
    token.value = text_.substr(token.begin, at_ - token.begin);
  } else {
    check(std::string_view("+-*/^_=<>()[]{}|!%,;:&'").find(c) != std::string_view::npos && c != 0,
          "a character without a meaning at byte {}", at_);
    ++at_;
    token.kind = Token::Kind::symbol;
    token.value = c;
    if ((c == '<' || c == '>' || c == '!') && starts("=")) {
      ++at_;
      token.kind = Token::Kind::command;
      token.value = c == '<' ? "le" : c == '>' ? "ge" : "ne";
    }
  }
  budget_.spend(static_cast<int64_t>(token.value.size()));
  token.end = at_;
  return token;
}

}  // namespace pg::grading
