#include "tasks/grade/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::grading {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '~'; }

template <size_t N>
bool among(const std::array<std::string_view, N>& all, std::string_view name) {
  return std::find(all.begin(), all.end(), name) != all.end();
}
constexpr std::array<std::string_view, 20> kSkipped = {
    "big",  "Big",   "bigg",         "Bigg",      "bigl",   "bigr",     "Bigl",   "Bigr", "biggl", "biggr",
    "quad", "qquad", "displaystyle", "textstyle", "limits", "nolimits", "middle", "rm",   "bf",    "thinspace"};
constexpr std::array<std::string_view, 12> kTexts = {"text",   "mbox",         "textrm", "mathrm",
                                                     "textbf", "textit",       "mathbf", "textnormal",
                                                     "hbox",   "operatorname", "mathit", "textsf"};

struct Character {
  char32_t value;
  Token::Kind kind;
  std::string_view name;
};
constexpr Token::Kind kCommand = Token::Kind::command, kSymbol = Token::Kind::symbol;
constexpr Character kCharacters[] = {
    {0x2212, kSymbol, "-"},         {0x2013, kSymbol, "-"},      {0xD7, kCommand, "times"},
    {0xB7, kCommand, "cdot"},       {0x22C5, kCommand, "cdot"},  {0xF7, kSymbol, "/"},
    {0x2044, kSymbol, "/"},         {0x2215, kSymbol, "/"},      {0xB0, kCommand, "degree"},
    {0x3C0, kCommand, "pi"},        {0x221E, kCommand, "infty"}, {0x221A, kCommand, "sqrt"},
    {0x2264, kCommand, "le"},       {0x2265, kCommand, "ge"},    {0x2260, kCommand, "ne"},
    {0x222A, kCommand, "cup"},      {0x2208, kCommand, "in"},    {0xB1, kCommand, "pm"},
    {0x2213, kCommand, "mp"},       {0x3B8, kCommand, "theta"},  {0x3B1, kCommand, "alpha"},
    {0x3B2, kCommand, "beta"},      {0x3BB, kCommand, "lambda"}, {0x211D, kCommand, "reals"},
    {0x2205, kCommand, "emptyset"}, {0xB2, kCommand, "squared"}, {0xB3, kCommand, "cubed"}};

}  // namespace

Lexer::Lexer(std::string_view text, Budget& budget)
    : text_(text), budget_(budget), spaced_commas_(text.find(", ") != std::string_view::npos) {}

bool Lexer::digit(size_t position) const {
  return position < text_.size() && text_[position] >= '0' && text_[position] <= '9';
}

std::string_view Lexer::digits() {
  const size_t begin = at_;
  while (digit(at_)) ++at_;
  return text_.substr(begin, at_ - begin);
}

void Lexer::skip_space(Token& token) {
  for (;; token.space_before = true) {
    budget_.spend();
    if (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == '$')) {
      ++at_;
    } else if (starts("\\") && at_ + 1 < text_.size() &&
               std::string_view(",;:! \t\n").find(text_[at_ + 1]) != std::string_view::npos) {
      at_ += 2;
    } else if (starts("\xc2\xa0") || starts("\xe2\x80\x89")) {
      at_ += starts("\xc2") ? 2 : 3;
    } else {
      return;
    }
  }
}

// Moves over a separator of thousands that three digits follow.
bool Lexer::thousands() {
  for (const std::string_view separator : {"{,}", ",\\!", "\\,", ","}) {
    if (!starts(separator)) continue;
    if (separator == "," && brackets > 0 && !spaced_commas_) continue;
    size_t d = at_ + separator.size();
    if (separator == ",\\!" && d < text_.size() && text_[d] == ' ') ++d;
    if (!digit(d) || !digit(d + 1) || !digit(d + 2) || digit(d + 3)) continue;
    at_ = d;
    return true;
  }
  return false;
}

Token Lexer::number(Token token) {
  token.kind = Token::Kind::number;
  token.value = digits();
  if (!token.value.empty() && token.value.size() <= 3 && token.value[0] != '0') {
    while (thousands()) token.value += digits();
  }
  const auto bar_follows = [&](size_t at) {
    return text_.substr(at).starts_with("\\overline") || text_.substr(at).starts_with("\\bar");
  };
  if (starts(".") && (digit(at_ + 1) || bar_follows(at_ + 1))) {
    ++at_;
    if (token.value.empty()) token.value.push_back('0');
    token.value.push_back('.');
    token.value += digits();
    if (bar_follows(at_)) {
      at_ += starts("\\bar") ? 4 : 9;
      while (at_ < text_.size() && is_space(text_[at_])) ++at_;
      const bool brace = starts("{");
      if (brace) ++at_;
      token.repeating = brace ? digits() : std::string_view();
      if (!brace && digit(at_)) token.repeating = text_[at_++];
      check(!token.repeating.empty() && (!brace || starts("}")), "digits are missing under the bar at byte {}", at_);
      if (brace) ++at_;
    }
  }
  if (token.repeating.empty() && (starts("e") || starts("E"))) {
    const bool sign = at_ + 1 < text_.size() && (text_[at_ + 1] == '-' || text_[at_ + 1] == '+');
    if (digit(at_ + 1 + (sign ? 1 : 0))) {
      token.value.push_back('e');
      token.value += text_.substr(at_ + 1, sign ? 1 : 0);
      at_ += sign ? 2 : 1;
      token.value += digits();
    }
  }
  budget_.spend(static_cast<int64_t>(token.value.size()));
  token.end = at_;
  return token;
}

// Nothing for a command that is left out.
std::optional<Token> Lexer::command(Token token) {
  ++at_;
  check(at_ < text_.size(), "a backslash ends the text");
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
  if (among(kTexts, name)) {
    skip_space(token);
    if (starts("{")) {
      const size_t content = at_ + 1;
      int64_t depth = 0;
      for (; at_ < text_.size(); ++at_) {
        if (text_[at_] == '{') ++depth;
        if (text_[at_] == '}' && --depth == 0) break;
      }
      check(at_ < text_.size(), "the brace at byte {} is not closed", content - 1);
      token.kind = Token::Kind::text;
      token.value = text_.substr(content, at_ - content);
      ++at_;
    }
  }
  budget_.spend(static_cast<int64_t>(token.value.size()));
  token.end = at_;
  return token;
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
