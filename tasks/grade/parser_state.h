#pragma once
// The parser of answers. parser.cpp has what stands around values: lists, relations, sets; parser_units.cpp values with
// units; parser_words.cpp texts and numbers in words; parser_terms.cpp sums, products and powers; parser_numbers.cpp
// numbers; parser_values.cpp variables, functions and brackets; parser_commands.cpp commands of LaTeX.
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tasks/grade/expression.h"
#include "tasks/grade/extract.h"
#include "tasks/grade/lexer.h"
#include "tasks/grade/units.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::grading {

// Functions that may stand before one letter without a space: "sinx".
inline constexpr std::string_view kGluedFunctions[] = {"sqrt", "sin", "cos", "tan", "log", "ln"};

inline Node letter_of(char c) {
  if (c == 'e') return make_name(Node::Kind::euler, "");
  if (c == 'i') return make_name(Node::Kind::imaginary, "");
  Node letter = make_name(Node::Kind::variable, "");
  letter.name.push_back(c);
  return letter;
}

class Parser {
 public:
  using Kind = Node::Kind;

  // Reads `text` from byte `begin` on.
  Parser(std::string_view text, size_t begin, Work& work)
      : work_(work), budget_(work), lexer_(text, begin, budget_), text_(text), limits_(work.limits) {
    advance();
  }

  Node answer();

 private:
  // Counts a level of nesting while it lives.
  struct Level {
    explicit Level(Parser& parser) : depth(parser.depth_) {
      ++depth;
      check(depth <= parser.limits_.depth, "more than {} levels of nesting", parser.limits_.depth);
    }
    ~Level() { --depth; }
    Level(const Level&) = delete;
    int64_t& depth;
  };

  void advance() {
    budget_.spend();
    token_ = lexer_.next();
  }
  std::string shown() const {
    return token_.kind == Token::Kind::end ? "end" : fmt::format("'{}'", excerpt(token_.value, 20));
  }
  bool accept(char c) {
    if (!token_.symbol(c)) return false;
    advance();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail("expected '{}' instead of {} at byte {}", c, shown(), token_.begin);
  }

  static std::string inner(const Token& token) { return std::string(trimmed(token.value)); }
  bool at_separator() const;

  // Statements between commas, "or" and "and". `inside`: in brackets or braces.
  Node list(bool inside);

  std::string_view relation() const;

  Node statement();

  Node union_of_sets();

  // A text, or a sum with a unit or a noun behind it or a $ before it.
  Node quantity();
  std::optional<Unit> currency() const;
  std::optional<Unit> unit_behind(Node& value);
  Node with_smaller_units(Node whole);
  std::string exponent_digit();
  static Node with_unit(Node value, Unit unit);
  bool at_unit_quotient() const;
  bool is_ordinal() const;
  bool is_short_noun() const;
  bool unit_word(const Node& value, const std::string& phrase, bool behind_slash) const;
  bool known_word() const { return is_function(token_.value) || token_.value == "sqrt"; }

  bool at_element_end() const;
  bool begins_value(std::string_view word) const;
  std::optional<Node> text_element();
  bool value_in_text(std::string_view content) const;
  bool take_word(std::initializer_list<std::string_view> names);
  std::optional<mpq_class> take_counting_word();
  void take_first_word(size_t size);
  std::string_view hyphened_word() const;
  Node number_in_words();

  Node sum();

  bool starts_factor() const;

  Node product();

  // "7 3/4": adds the proper fraction that follows to the whole number before it.
  bool mixed(Node& whole);
  bool back_to(const Token& token) {
    lexer_.seek(token.end);
    token_ = token;
    return false;
  }

  Node sequence(std::vector<Node> numbers) {
    check(numbers.size() == 1, "two numbers without a sign between them at byte {}", token_.begin);
    while (token_.kind == Token::Kind::number) numbers.push_back(number());
    return make(Kind::sequence, std::move(numbers));
  }

  Node signed_factor();

  // A primary with what follows it: powers, factorials, percent, degrees.
  Node factor();

  bool next_is_star() const { return token_.end < text_.size() && text_[token_.end] == '*'; }

  bool take_division();
  int take_power_word();
  bool take_percent();
  bool take_degree();
  Node exponent();

  // "A3_{16}": a number whose digits include letters. False if there is none at this token.
  bool take_letter_digits();

  Node number();
  mpq_class ten_to(int64_t exponent);

  // "42_7": digits in a base from 2 to 36.
  Node based(const Token& literal);

  // What \frac, \sqrt and _ take: a group in braces, or one digit, letter or command.
  Node argument(bool one_digit = true);

  Node primary();

  Node number_or_mixed();

  // \text{…} where a value must be: a name, as in \text{Area} = 5.
  Node text_name();

  std::string_view next_word() const;
  Node word();

  Node subscripted(const std::string& letters);

  Node square_root();

  Node function(std::string name);

  // A statement or a list in brackets: parentheses, a tuple, an interval, a set, an absolute value.
  Node bracket();

  // What stands in { }, also a \over b and n \choose k. The first brace is taken.
  Node braced(bool one_value);

  Node command();
  std::optional<Node> fraction_command(const std::string& name);
  std::optional<Node> set_command(const std::string& name, size_t begin);
  std::optional<Node> bracket_command(const std::string& name, size_t begin);
  Node named_figure(const std::string& name);
  Node braces(size_t begin);
  std::optional<Node> set_builder();
  std::string environment();
  Node matrix(size_t begin);

  Work& work_;
  Budget budget_;
  Lexer lexer_;
  std::string_view text_;
  const GradeLimits& limits_;
  Token token_;
  int64_t depth_ = 0, quotients_ = 0;
  int bars_ = 0;
  size_t counted_until_ = 0;  // where the last word that counts ends: "3 pairs of socks"
};

}  // namespace pg::grading
