// Cuts a template into tokens.
#include "tasks/jinja/lexer.h"

#include <algorithm>
#include <cctype>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::jinja {
namespace {

using Kind = Token::Kind;
constexpr std::string_view kSpace = " \t\n\r\v\f";

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {
    if (source_.ends_with('\n')) source_.remove_suffix(1);
  }

  std::vector<Token> all() {
    while (at_ < source_.size()) {
      const size_t open = next_bracket();
      text_up_to(open);
      if (open == std::string_view::npos) break;
      const char kind = source_[open + 1];
      advance(open + 2);
      if (rest().starts_with('-') || rest().starts_with('+')) advance(at_ + 1);
      if (kind == '#')
        comment();
      else
        code(kind == '{');
    }
    tokens_.push_back({Kind::end, "", line_});
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return source_.substr(at_); }
  void advance(size_t to) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<int64_t>(at_), source_.begin() + static_cast<int64_t>(to), '\n'));
    at_ = to;
  }
  [[noreturn]] void refuse(const std::string& why) const { fail("chat template: line {}: {}", line_, why); }

  size_t next_bracket() const {
    for (size_t i = at_; (i = source_.find('{', i)) != std::string_view::npos; ++i) {
      if (i + 1 < source_.size() && std::string_view("{%#").find(source_[i + 1]) != std::string_view::npos) return i;
    }
    return std::string_view::npos;
  }

  // The text before a bracket, or the rest.
  void text_up_to(size_t open) {
    std::string_view text = open == std::string_view::npos ? rest() : source_.substr(at_, open - at_);
    const int line = line_;
    const char mark = open == std::string_view::npos || open + 2 >= source_.size() ? ' ' : source_[open + 2];
    std::string_view kept = text;
    if (open != std::string_view::npos && mark == '-') {
      kept = kept.substr(0, kept.find_last_not_of(kSpace) + 1);
    } else if (open != std::string_view::npos && mark != '+' && source_[open + 1] != '{') {  // lstrip_blocks
      const size_t begin = kept.rfind('\n') + 1;                                             // 0 if there is none
      const bool whole_line = begin > 0 || line_begins_;
      if (whole_line && kept.find_first_not_of(" \t", begin) == std::string_view::npos) kept = kept.substr(0, begin);
    }
    if (strips_)
      kept.remove_prefix(std::min(kept.size(), kept.find_first_not_of(kSpace)));
    else if (drops_line_ && kept.starts_with('\n'))
      kept.remove_prefix(1);
    strips_ = drops_line_ = false;
    if (!kept.empty()) tokens_.push_back({Kind::text, std::string(kept), line});
    line_begins_ = false;
    advance(at_ + text.size());
  }

  // What follows a closing bracket.
  void close(size_t length, char mark, bool is_output) {
    advance(at_ + length);
    strips_ = mark == '-';
    drops_line_ = mark != '+' && !is_output;
    line_begins_ = drops_line_ && rest().starts_with('\n');
  }
  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == std::string_view::npos) refuse("a comment has no #}");
    const char mark = end > at_ ? source_[end - 1] : ' ';
    advance(end);
    close(2, mark, false);
  }

  void code(bool is_output) {
    tokens_.push_back({is_output ? Kind::begin_output : Kind::begin_block, "", line_});
    const std::string_view closing = is_output ? "}}" : "%}";
    int depth = 0;  // of braces, so that }} may end two dicts
    for (;;) {
      advance(at_ + std::min(rest().size(), rest().find_first_not_of(kSpace)));
      if (rest().empty()) refuse(fmt::format("{} is missing", closing));
      const char mark = rest()[0];
      const bool marked = (mark == '-' || mark == '+') && rest().substr(1).starts_with(closing);
      if (depth == 0 && (marked || rest().starts_with(closing))) {
        tokens_.push_back({is_output ? Kind::end_output : Kind::end_block, "", line_});
        return close(marked ? 3 : 2, marked ? mark : ' ', is_output);
      }
      token();
      const Token& last = tokens_.back();
      if (last.kind == Kind::sign && last.text == "{") ++depth;
      if (last.kind == Kind::sign && last.text == "}") --depth;
    }
  }

  void token() {
    const char c = rest()[0];
    const auto is_word = [](char x) { return std::isalnum(static_cast<unsigned char>(x)) != 0 || x == '_'; };
    if (c == '\'' || c == '"') return string(c);
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return number();
    if (is_word(c)) {
      const auto end = std::find_if_not(rest().begin(), rest().end(), is_word);
      return push(Kind::name, static_cast<size_t>(end - rest().begin()));
    }
    for (const std::string_view sign : {"//", "**", "==", "!=", "<=", ">="}) {
      if (rest().starts_with(sign)) return push(Kind::sign, 2);
    }
    if (std::string_view("+-*/%~<>()[]{}.,:|=").find(c) == std::string_view::npos) {
      refuse(fmt::format("'{}' begins no expression", excerpt(rest(), 10)));
    }
    push(Kind::sign, 1);
  }
  void push(Kind kind, size_t length) {
    tokens_.push_back({kind, std::string(rest().substr(0, length)), line_});
    advance(at_ + length);
  }
  void number() {
    const auto digits = [&](size_t from) {
      return std::min(rest().size(), rest().find_first_not_of("0123456789_", from));
    };
    size_t end = digits(0);
    bool whole = true;
    if (end + 1 < rest().size() && rest()[end] == '.' &&
        std::isdigit(static_cast<unsigned char>(rest()[end + 1])) != 0) {
      end = digits(end + 1);
      whole = false;
    }
    push(whole ? Kind::integer : Kind::number, end);
    std::erase(tokens_.back().text, '_');
  }
  void string(char quote) {
    std::string text;
    size_t i = 1;
    for (; i < rest().size() && rest()[i] != quote; ++i) {
      if (rest()[i] != '\\' || i + 1 == rest().size()) {
        text += rest()[i];
        continue;
      }
      i += escape(rest().substr(i + 1), text);
    }
    if (i >= rest().size()) refuse("a text has no quote at its end");
    tokens_.push_back({Kind::string, std::move(text), line_});
    advance(at_ + i + 1);
  }
  // Adds what an escape sequence means, as Python reads it; returns its length without the backslash.
  size_t escape(std::string_view after, std::string& text) const {
    static constexpr std::string_view letters = "ntrbfv\\'\"", meanings = "\n\t\r\b\f\v\\'\"";
    if (const size_t at = letters.find(after[0]); at != std::string_view::npos) return text += meanings[at], 1;
    if (after[0] == '\n') return 1;
    const size_t digits = after[0] == 'x' ? 2 : after[0] == 'u' ? 4 : 0;
    if (digits == 0 || after.size() <= digits) return text += '\\', text += after[0], 1;
    uint32_t code = 0;
    for (const char d : after.substr(1, digits)) {
      if (std::isxdigit(static_cast<unsigned char>(d)) == 0) refuse("an escape sequence of a text has too few digits");
      code = code * 16 + static_cast<uint32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
    }
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else {
      if (code >= 0x800) text += static_cast<char>(0xe0 | (code >> 12));
      text += static_cast<char>(code >= 0x800 ? 0x80 | (code >> 6 & 0x3f) : 0xc0 | (code >> 6));
      text += static_cast<char>(0x80 | (code & 0x3f));
    }
    return digits + 1;
  }

  std::string_view source_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
  bool strips_ = false, drops_line_ = false;  // what the next text loses at its begin
  bool line_begins_ = true;                   // the next text begins a line of the source
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
  std::string lines;  // Jinja reads all line ends as LF
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r')
      lines += source[i];
    else if (i + 1 == source.size() || source[i + 1] != '\n')
      lines += '\n';
  }
  return Lexer(lines).all();
}

}  // namespace pg::jinja
