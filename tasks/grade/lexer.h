#pragma once
// Cuts an answer into numbers (lexer_numbers.cpp), words, commands and symbols. Spaces, \left, \right and spacing
// commands are left out.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tasks/grade/budget.h"

namespace pg::grading {

struct Token {
  enum class Kind { end, number, word, command, symbol, text } kind = Kind::end;
  std::string value;  // a number's digits and point; letters; a command's name; one character; the text of \text{…}
  std::string repeating;  // of a number: the digits that repeat for ever
  size_t begin = 0, end = 0;
  bool space_before = false;
  char side = 0;  // 'l' or 'r' after \left or \right

  bool is(Kind k, std::string_view v) const { return kind == k && value == v; }
  bool symbol(char c) const { return kind == Kind::symbol && value[0] == c; }
  bool command(std::string_view v) const { return is(Kind::command, v); }
  bool word(std::string_view v) const { return is(Kind::word, v); }
};

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Whether a name is one of the functions that are read.
bool is_function(std::string_view name);

// Characters of Unicode that stand for a symbol or command become that: U+2212 becomes -, U+00B0 becomes \degree.
class Lexer {
 public:
  // Reads `text` from byte `begin` on. `text` must outlive the lexer.
  Lexer(std::string_view text, size_t begin, Budget& budget);
  // The next token. Throws Error with the byte offset for what begins none.
  Token next();
  // Goes back to a byte offset.
  void seek(size_t position) { at_ = position; }
  // How deep the next token is in ( and [: there a comma before three digits separates elements, unless the text has a
  // comma with a space.
  int brackets = 0;

 private:
  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool digit(size_t position) const;
  std::string_view digits();
  bool thousands(bool with_spaces);
  void repeating(Token& token);
  char dotted_digit();
  static std::string period_of(std::string_view number);
  size_t wide_space() const;
  void skip_space(Token& token);
  Token number(Token token);
  std::optional<Token> command(Token token);
  bool text_in_font(Token& token, std::string_view font);
  Token plain(Token token);
  Token unicode(Token token);

  std::string_view text_;
  Budget& budget_;
  size_t at_ = 0;
  bool spaced_commas_;
  char side_ = 0;
};

}  // namespace pg::grading
