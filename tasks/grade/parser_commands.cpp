// Commands of LaTeX that begin a value: fractions, sets, brackets, figures, matrices.
#include <algorithm>

#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kGreek[] = {"alpha", "beta",  "gamma", "delta", "epsilon", "theta", "lambda", "mu",
                                       "rho",   "sigma", "tau",   "phi",   "omega",   "psi",   "xi",     "ell"};

Node one(Kind kind, Node child, std::string_view name = "") {
  std::vector<Node> children;
  children.push_back(std::move(child));
  Node node = make(kind, std::move(children));
  node.name = name;
  return node;
}

// The determinant of the rows' first minors: expansion along the first row. At most 4 rows.
Node determinant(const std::vector<const Node*>& cells, size_t size) {
  if (size == 1) return *cells[0];
  std::vector<Node> terms;
  for (size_t k = 0; k < size; ++k) {
    std::vector<const Node*> minor;
    for (size_t i = size; i < cells.size(); ++i) {
      if (i % size != k) minor.push_back(cells[i]);
    }
    std::vector<Node> factors;
    factors.push_back(make_number(k % 2 == 0 ? 1 : -1));
    factors.push_back(*cells[k]);
    factors.push_back(determinant(minor, size - 1));
    terms.push_back(make(Kind::product, std::move(factors)));
  }
  return make(Kind::sum, std::move(terms));
}

}  // namespace

Node Parser::command() {
  const std::string name = token_.value;
  const size_t begin = token_.begin;
  advance();
  if (name == "sqrt") return square_root();
  if (name == "pi") return make_name(Kind::pi, "");
  if (name == "infty") return make_name(Kind::infinity, "");
  if (is_function(name)) return function(name);
  if (name == "boxed" || name == "fbox") return argument();
  for (const std::string_view figure : {"angle", "triangle", "overline", "overrightarrow", "vec", "hat", "widehat"}) {
    if (name == figure) return named_figure(name);
  }
  if (name == "begin") return matrix(begin);
  if (auto found = fraction_command(name)) return *std::move(found);
  if (auto found = set_command(name, begin)) return *std::move(found);
  if (auto found = bracket_command(name, begin)) return *std::move(found);
  for (const std::string_view greek : kGreek) {
    if (name == greek) return token_.symbol('_') ? subscripted(name) : make_name(Kind::variable, name);
  }
  fail("an unknown command '\\{}' at byte {}", name.substr(0, 20), begin);
}

std::optional<Node> Parser::fraction_command(const std::string& name) {
  for (const std::string_view known : {"frac", "dfrac", "tfrac", "cfrac", "binom", "dbinom", "tbinom"}) {
    if (name != known) continue;
    std::vector<Node> parts;
    parts.push_back(argument());
    parts.push_back(argument());
    return make(name.ends_with("frac") ? Kind::quotient : Kind::binomial, std::move(parts));
  }
  return {};
}

std::optional<Node> Parser::set_command(const std::string& name, size_t begin) {
  if (name == "{") return braces(begin);
  if (name == "emptyset" || name == "varnothing") return make(Kind::set, {});
  if (name != "reals" && (name != "mathbb" || !(token_.symbol('{') || token_.word("R")))) return {};
  if (name == "mathbb") check(argument().name == "R", "an unknown set at byte {}", begin);
  std::vector<Node> ends;
  ends.push_back(negated(make_name(Kind::infinity, "")));
  ends.push_back(make_name(Kind::infinity, ""));
  Node all = make(Kind::group, std::move(ends));
  all.open = '(', all.close = ')';
  return all;
}

// |x|, the parts floor and ceiling, and \langle 1, 2 \rangle as a tuple.
std::optional<Node> Parser::bracket_command(const std::string& name, size_t begin) {
  const auto close = [&](std::string_view end) {
    check(token_.command(end), "the bracket at byte {} is not closed", begin);
    advance();
  };
  if (name == "lvert" || name == "vert") {
    ++bars_;
    Node inside = sum();
    --bars_;
    close(name == "vert" ? "vert" : "rvert");
    return one(Kind::absolute, std::move(inside));
  }
  if (name == "lfloor" || name == "lceil") {
    Node inside = sum();
    close(name == "lfloor" ? "rfloor" : "rceil");
    return one(Kind::function, std::move(inside), name == "lfloor" ? "floor" : "ceil");
  }
  if (name != "langle") return {};
  ++lexer_.brackets;
  Node content = list(true);
  --lexer_.brackets;
  close("rangle");
  check(content.kind == Kind::list, "one element in the brackets at byte {}", begin);
  content.kind = Kind::group;
  content.open = '(', content.close = ')';
  return content;
}

// \angle ABC, \overline{AB}, \vec{v}: a name.
Node Parser::named_figure(const std::string& name) {
  const size_t begin = token_.begin;
  const bool brace = accept('{');
  check(token_.kind == Token::Kind::word || token_.kind == Token::Kind::text, "a figure without letters at byte {}",
        begin);
  Node figure = make_name(Kind::variable, name + " " + inner(token_));
  advance();
  if (brace) expect('}');
  return figure;
}

Node Parser::braces(size_t begin) {
  const int bars = std::exchange(bars_, 0);
  ++lexer_.brackets;
  Node content;
  if (auto condition = set_builder()) {
    content = *std::move(condition);
  } else if (token_.command("}")) {
    content = make(Kind::set, {});
  } else {
    content = list(true);
    if (content.kind == Kind::list) {
      content.kind = Kind::set;
    } else {
      content = one(Kind::set, std::move(content));
    }
  }
  --lexer_.brackets;
  bars_ = bars;
  check(token_.command("}"), "the brace at byte {} is not closed", begin);
  advance();
  return content;
}

// The condition of {x | x > 2}, {x : x > 2} and {x in R | x > 2}, which is the set of all x that satisfy it. Nothing,
// and no token is taken, if the braces begin in another way.
std::optional<Node> Parser::set_builder() {
  const Token first = token_;
  if (token_.kind != Token::Kind::word || token_.value.size() != 1) return {};
  advance();
  const auto at_bar = [&] { return token_.symbol('|') || token_.symbol(':') || token_.command("mid"); };
  if (token_.command("in")) {
    advance();
    check(token_.command("mathbb") || token_.command("reals"), "an unknown set at byte {}", token_.begin);
    bars_ = 1;
    primary();
    bars_ = 0;
  }
  if (!at_bar()) {
    back_to(first);
    return {};
  }
  advance();
  Node condition = list(true);
  const auto about = [&](const Node& node) {
    return node.kind == Kind::relation && std::any_of(node.children.begin(), node.children.end(), [&](const Node& c) {
             return c.kind == Kind::variable && c.name == first.value;
           });
  };
  const bool fits = condition.kind == Kind::list
                        ? std::all_of(condition.children.begin(), condition.children.end(), about)
                        : about(condition);
  check(fits, "a condition at byte {} is not about '{}'", token_.begin, first.value);
  return condition;
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
  check(name == "pmatrix" || name == "bmatrix" || name == "matrix" || name == "array" || name == "smallmatrix" ||
            name == "vmatrix",
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
  if (name != "vmatrix") return node;
  check(columns * columns == std::ssize(node.children) && columns <= 4, "no determinant at byte {}", begin);
  std::vector<const Node*> cells;
  for (const Node& cell : node.children) cells.push_back(&cell);
  return determinant(cells, static_cast<size_t>(columns));
}

}  // namespace pg::grading
