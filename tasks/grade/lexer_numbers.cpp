// Numbers as tokens: separators of thousands, decimals, repeating digits, exponents.
#include "tasks/grade/lexer.h"
#include "tensor/base/error.h"

namespace pg::grading {

bool Lexer::digit(size_t position) const {
  return position < text_.size() && text_[position] >= '0' && text_[position] <= '9';
}

std::string_view Lexer::digits() {
  const size_t begin = at_;
  while (digit(at_)) ++at_;
  return text_.substr(begin, at_ - begin);
}

// Moves over a separator of thousands that three digits follow.
bool Lexer::thousands(bool with_spaces) {
  for (const std::string_view separator : {"{,}", ",\\!", ",\\,", ",", "\\,", "\\;", "\\:", "\\!", "\\ ", "~", " ",
                                           "\xc2\xa0", "\xe2\x80\x89", "\xe2\x80\xaf"}) {
    if (!starts(separator)) continue;
    if (separator == "," && brackets > 0 && !spaced_commas_) continue;
    size_t d = at_ + separator.size();
    if (separator == ",\\!" && d < text_.size() && text_[d] == ' ') ++d;
    if (!digit(d) || !digit(d + 1) || !digit(d + 2) || digit(d + 3)) continue;
    if (separator.find(',') == std::string_view::npos) {  // "7 125/1000" is a mixed number
      if (!with_spaces) continue;
      size_t next = d + 3;
      while (next < text_.size() && text_[next] == ' ') ++next;
      if (text_.substr(next).starts_with("/")) continue;
    }
    at_ = d;
    return true;
  }
  return false;
}

// The digits of a number that repeat for ever, behind its point: 0.1\overline{6}, 0.\dot{1}4285\dot{7}, 0.333…
void Lexer::repeating(Token& token) {
  if (starts("\\overline") || starts("\\bar")) {
    at_ += starts("\\bar") ? 4 : 9;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    const bool brace = starts("{");
    if (brace) ++at_;
    token.repeating = brace ? digits() : std::string_view();
    if (!brace && digit(at_)) token.repeating = text_[at_++];
    check(!token.repeating.empty() && (!brace || starts("}")), "digits are missing under the bar at byte {}", at_);
    if (brace) ++at_;
    return;
  }
  if (starts("\\dot") && !starts("\\dots")) {
    token.repeating = dotted_digit();
    std::string between(digits());
    if (starts("\\dot") && !starts("\\dots")) {
      token.repeating += between;
      token.repeating += dotted_digit();
      between.clear();
    }
    check(between.empty(), "digits behind the repeating ones at byte {}", at_);
    return;
  }
  for (const std::string_view dots : {"...", "\\ldots", "\\dots", "\\cdots", "\xe2\x80\xa6"}) {
    if (!starts(dots)) continue;
    token.repeating = period_of(token.value);
    check(!token.repeating.empty(), "dots behind digits that do not repeat at byte {}", at_);
    at_ += dots.size();
    return;
  }
}

// The digit of \dot3 or \dot{3}.
char Lexer::dotted_digit() {
  at_ += 4;
  while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  const bool brace = starts("{");
  if (brace) ++at_;
  check(digit(at_), "a digit is missing under the dot at byte {}", at_);
  const char c = text_[at_++];
  check(!brace || starts("}"), "a brace is not closed at byte {}", at_);
  if (brace) ++at_;
  return c;
}

// The shortest digits that end a decimal number two times, a single digit three times. Empty if there are none.
std::string Lexer::period_of(std::string_view number) {
  const std::string_view places = number.substr(number.find('.') + 1);
  for (size_t length = 1; length <= places.size() / 2 && length <= 100; ++length) {
    const size_t times = length == 1 ? 3 : 2;
    if (length * times > places.size()) continue;
    const std::string_view period = places.substr(places.size() - length);
    bool repeats = true;
    for (size_t k = 2; k <= times; ++k) {
      repeats = repeats && places.substr(places.size() - k * length, length) == period;
    }
    if (repeats) return std::string(period);
  }
  return "";
}

Token Lexer::number(Token token) {
  token.kind = Token::Kind::number;
  token.value = digits();
  if (!token.value.empty() && token.value.size() <= 3 && token.value[0] != '0') {
    const char before = token.begin > 0 ? text_[token.begin - 1] : ' ';  // of "x^2 100" the exponent is 2
    while (thousands(before != '^' && before != '_')) token.value += digits();
  }
  const auto mark_follows = [&](size_t at) {
    const std::string_view rest = text_.substr(at);
    return rest.starts_with("\\overline") || rest.starts_with("\\bar") ||
           (rest.starts_with("\\dot") && !rest.starts_with("\\dots"));
  };
  if (starts(".") && (digit(at_ + 1) || mark_follows(at_ + 1))) {
    ++at_;
    if (token.value.empty()) token.value.push_back('0');
    token.value.push_back('.');
    token.value += digits();
    repeating(token);
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

}  // namespace pg::grading
