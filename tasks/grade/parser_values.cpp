// What a value begins with, numbers apart: words, functions, brackets, commands.
#include <algorithm>
#include <array>

#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kGreek[] = {"alpha", "beta",  "gamma", "delta", "epsilon", "theta", "lambda", "mu",
                                       "rho",   "sigma", "tau",   "phi",   "omega",   "psi",   "xi",     "ell"};
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

Node Parser::text_name() {
  Node node = make_name(Kind::variable, inner(token_));
  check(!node.name.empty() &&
            node.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ") == std::string::npos,
        "a text at byte {} is no name", token_.begin);
  advance();
  check(node.name.size() == 1 || !relation().empty(), "a text stands for a value before byte {}", token_.begin);
  return node;
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
  for (const std::string_view name : {"sqrt", "sin", "cos", "tan", "log", "ln"}) {  // "sinx"
    if (value.size() == name.size() + 1 && value.starts_with(name)) {
      lexer_.seek(token_.begin + name.size());
      advance();
      return name == "sqrt" ? square_root() : function(std::string(name));
    }
  }
  check(value.size() <= 3 && scale_of(value) == 0 && value != "or" && value != "and", "'{}' at byte {} is a word",
        value.substr(0, 20), token_.begin);
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
  if (open != '{') ++lexer_.brackets;
  advance();
  Node content = list(true);
  if (open != '{') --lexer_.brackets;
  bars_ = bars;
  const char close = token_.kind == Token::Kind::symbol ? token_.value[0] : 0;
  check(open == '{' ? close == '}' : close == ')' || close == ']', "the bracket at byte {} is not closed", begin);
  advance();
  if (open == '{') {
    if (content.kind == Kind::list) content.kind = Kind::set;
    return content;
  }
  if (content.kind != Kind::list) {
    check(open == '(' && close == ')', "one element in square brackets at byte {}", begin);
    return content;
  }
  content.kind = Kind::group;
  content.open = open;
  content.close = close;
  return content;
}

Node Parser::command() {
  const std::string name = token_.value;
  const size_t begin = token_.begin;
  advance();
  if (name == "frac" || name == "dfrac" || name == "tfrac" || name == "cfrac" || name == "binom" || name == "dbinom" ||
      name == "tbinom") {
    std::vector<Node> parts;
    parts.push_back(argument());
    parts.push_back(argument());
    return make(name.ends_with("frac") ? Kind::quotient : Kind::binomial, std::move(parts));
  }
  if (name == "sqrt") return square_root();
  if (name == "pi") return make_name(Kind::pi, "");
  if (name == "infty") return make_name(Kind::infinity, "");
  if (is_function(name)) return function(name);
  if (name == "boxed" || name == "fbox" || name == "overline") {
    check(name != "overline", "a bar at byte {}", begin);
    return argument();
  }
  if (name == "{") return braces(begin);
  if (name == "emptyset" || name == "varnothing") return make(Kind::set, {});
  if (name == "reals" || (name == "mathbb" && (token_.symbol('{') || token_.word("R")))) {
    if (name == "mathbb") {
      const Node field = argument();
      check(field.name == "R", "an unknown set at byte {}", begin);
    }
    std::vector<Node> ends;
    ends.push_back(negated(make_name(Kind::infinity, "")));
    ends.push_back(make_name(Kind::infinity, ""));
    Node all = make(Kind::group, std::move(ends));
    all.open = '(', all.close = ')';
    return all;
  }
  if (name == "begin") return matrix(begin);
  if (name == "lvert" || name == "vert") {
    std::vector<Node> one;
    ++bars_;
    one.push_back(sum());
    --bars_;
    check(token_.command("rvert") || token_.command("vert"), "the bar at byte {} is not closed", begin);
    advance();
    return make(Kind::absolute, std::move(one));
  }
  for (const std::string_view greek : kGreek) {
    if (name == greek) {
      return token_.symbol('_') ? subscripted(name) : make_name(Kind::variable, name);
    }
  }
  fail("an unknown command '\\{}' at byte {}", name.substr(0, 20), begin);
}

Node Parser::braces(size_t begin) {
  const int bars = std::exchange(bars_, 0);
  ++lexer_.brackets;
  Node content;
  if (token_.command("}")) {
    content = make(Kind::set, {});
  } else {
    content = list(true);
    if (content.kind == Kind::list) {
      content.kind = Kind::set;
    } else {
      std::vector<Node> one;
      one.push_back(std::move(content));
      content = make(Kind::set, std::move(one));
    }
  }
  --lexer_.brackets;
  bars_ = bars;
  check(token_.command("}"), "the brace at byte {} is not closed", begin);
  advance();
  return content;
}

std::string Parser::environment() {
  expect('{');
  std::string name = token_.value;
  check(token_.kind == Token::Kind::word, "an environment's name is missing at byte {}", token_.begin);
  advance();
  expect('}');
  return name;
}

Node Parser::matrix(size_t begin) {
  const std::string name = environment();
  check(name == "pmatrix" || name == "bmatrix" || name == "matrix" || name == "array" || name == "smallmatrix",
        "an unknown environment '{}' at byte {}", name.substr(0, 20), begin);
  if (name == "array" && token_.symbol('{')) {
    while (!token_.symbol('}')) {
      check(token_.kind != Token::Kind::end, "the array at byte {} has no columns", begin);
      advance();
    }
    advance();
  }
  Node node;
  node.kind = Kind::matrix;
  int64_t columns = 0, column = 0;
  while (!token_.command("end")) {
    node.children.push_back(statement());
    ++column;
    if (token_.symbol('&')) {
      advance();
      continue;
    }
    const bool row_ends = token_.command("\\");
    if (row_ends) advance();
    check(row_ends || token_.command("end"), "the matrix at byte {} has no end", begin);
    check(columns == 0 || column == columns, "the rows of the matrix at byte {} have different lengths", begin);
    columns = column;
    column = 0;
  }
  advance();
  check(environment() == name && column == 0 && columns > 0, "the matrix at byte {} has no end", begin);
  node.number = columns;
  return node;
}

}  // namespace pg::grading
