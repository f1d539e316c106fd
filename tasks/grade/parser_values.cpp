// Parses primaries other than numbers and commands: variables, functions, brackets.
#include <algorithm>

#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kFunctions[] = {"sin",    "cos",    "tan",  "cot",  "sec",  "csc", "arcsin",
                                           "arccos", "arctan", "sinh", "cosh", "tanh", "log", "ln",
                                           "lg",     "exp",    "asin", "acos", "atan"};

}  // namespace

bool is_function(std::string_view name) {
  return std::find(std::begin(kFunctions), std::end(kFunctions), name) != std::end(kFunctions);
}

Node Parser::primary() {
  const Level level(*this);
  switch (token_.kind) {
    case Token::Kind::number:
    case Token::Kind::word:
      if (take_letter_digits()) {
        const Token literal = token_;
        advance();
        return based(literal);
      }
      return token_.kind == Token::Kind::number ? number_or_mixed() : word();
    case Token::Kind::symbol:
      return bracket();
    case Token::Kind::command:
      return command();
    case Token::Kind::text:
      return text_name();
    case Token::Kind::end:
      break;
  }
  fail("an operand is missing at byte {}", token_.begin);
}

// The letters behind this token and a space.
std::string_view Parser::next_word() const {
  size_t begin = token_.end;
  while (begin < text_.size() && text_[begin] == ' ') ++begin;
  size_t end = begin;
  while (end < text_.size() && is_letter(text_[end])) ++end;
  return text_.substr(begin, end - begin);
}

Node Parser::word() {
  const std::string value = token_.value;
  if (value == "sqrt") {
    advance();
    return square_root();
  }
  if (value == "pi" || value == "infinity" || value == "inf") {
    advance();
    return make_name(value == "pi" ? Kind::pi : Kind::infinity, "");
  }
  if (is_function(value)) {
    advance();
    return function(value);
  }
  for (const std::string_view name : kGluedFunctions) {
    if (value.size() == name.size() + 1 && value.starts_with(name)) {
      lexer_.seek(token_.begin + name.size());
      advance();
      return name == "sqrt" ? square_root() : function(std::string(name));
    }
  }
  if (number_word(value) || value == "half") return number_in_words();
  if ((value == "a" || value == "an") && counting_word(next_word())) return number_in_words();
  check(value.size() <= 3 && value != "or" && value != "and", "'{}' at byte {} is a word", value.substr(0, 20),
        token_.begin);
  // The letters are variables; the powers and subscripts that follow belong to the last one.
  lexer_.seek(token_.begin + 1);
  advance();
  Node letter = letter_of(value[0]);
  if (token_.symbol('_')) letter = subscripted(value);
  while (token_.symbol('\'')) {
    letter.kind = Kind::variable;
    letter.name = (letter.name.empty() ? value.substr(0, 1) : letter.name) + "'";
    check(letter.name.size() < 8, "many primes at byte {}", token_.begin);
    advance();
  }
  return letter;
}

Node Parser::subscripted(const std::string& letters) {
  advance();
  const size_t begin = token_.begin;
  argument();
  const std::string_view index = trimmed(text_.substr(begin, token_.begin - begin));
  std::string name = letters.substr(0, 1) + "_";
  for (const char c : index) {
    if (std::string_view("{} \t").find(c) == std::string_view::npos) name += c;
  }
  return make_name(Kind::variable, name);
}

Node Parser::square_root() {
  Node degree = make_number(2);
  if (accept('[')) {
    degree = sum();
    expect(']');
  }
  std::vector<Node> parts;
  parts.push_back(token_.symbol('(') || token_.symbol('{') ? (token_.symbol('{') ? argument() : primary())
                                                           : argument(/*one_digit=*/false));
  parts.push_back(std::move(degree));
  return make(Kind::root, std::move(parts));
}

Node Parser::function(std::string name) {
  const Level level(*this);
  if (name == "asin" || name == "acos" || name == "atan") name = "arc" + name.substr(1);
  if (name == "lg") name = "log";
  std::vector<Node> parts(1);
  if (name == "log" && token_.symbol('_')) {
    advance();
    parts.push_back(argument());
  }
  std::optional<Node> power;
  if (token_.symbol('^')) {
    advance();
    power = exponent();
    const bool inverse = power->kind == Kind::number && power->number == -1;
    if (inverse && (name == "sin" || name == "cos" || name == "tan")) {
      name = "arc" + name;
      power.reset();
    }
  }
  if (token_.symbol('(') || token_.symbol('{')) {
    parts[0] = factor();
  } else {  // the factors up to the next sign or function
    std::vector<Node> factors;
    factors.push_back(signed_factor());
    while (starts_factor() && !(token_.kind != Token::Kind::symbol && is_function(token_.value)) &&
           !token_.symbol('(')) {
      factors.push_back(factor());
    }
    if (token_.symbol('/') && factors.size() == 1 && token_.end < text_.size() && text_[token_.end] >= '0' &&
        text_[token_.end] <= '9' && factors[0].kind == Kind::pi) {  // "sin pi/6"
      advance();
      factors.push_back(factor());
      parts[0] = make(Kind::quotient, std::move(factors));
    } else {
      parts[0] = factors.size() == 1 ? std::move(factors[0]) : make(Kind::product, std::move(factors));
    }
  }
  Node node = make(Kind::function, std::move(parts));
  node.name = name;
  if (!power) return node;
  std::vector<Node> raised;
  raised.push_back(std::move(node));
  raised.push_back(std::move(*power));
  return make(Kind::power, std::move(raised));
}

Node Parser::bracket() {
  const char open = token_.value[0];
  const size_t begin = token_.begin;
  if (open == '|') {
    advance();
    ++bars_;
    std::vector<Node> one;
    one.push_back(sum());
    --bars_;
    expect('|');
    return make(Kind::absolute, std::move(one));
  }
  check(open == '(' || open == '[' || open == '{', "unexpected {} at byte {}", shown(), token_.begin);
  const int bars = std::exchange(bars_, 0);
  if (open == '{') {
    Node content = braced(/*one_value=*/false);
    bars_ = bars;
    if (content.kind == Kind::list) content.kind = Kind::set;
    return content;
  }
  ++lexer_.brackets;
  advance();
  Node content = list(true);
  --lexer_.brackets;
  bars_ = bars;
  const char close = token_.kind == Token::Kind::symbol ? token_.value[0] : 0;
  check(close == ')' || close == ']', "the bracket at byte {} is not closed", begin);
  advance();
  if (content.kind == Kind::matrix) return content;
  if (content.kind != Kind::list) {
    if (open == '[' && close == ']' && content.kind == Kind::text) {  // the area [ABC]
      return make_name(Kind::variable, "[" + content.name + "]");
    }
    check(open == '(' && close == ')', "one element in square brackets at byte {}", begin);
    return content;
  }
  content.kind = Kind::group;
  content.open = open;
  content.close = close;
  return content;
}

Node Parser::braced(bool one_value) {
  expect('{');
  Node content = one_value ? statement() : list(true);
  if (token_.command("over") || token_.command("choose")) {
    const bool over = token_.command("over");
    advance();
    std::vector<Node> parts;
    parts.push_back(std::move(content));
    parts.push_back(sum());
    content = make(over ? Kind::quotient : Kind::binomial, std::move(parts));
  }
  expect('}');
  return content;
}

}  // namespace pg::grading
