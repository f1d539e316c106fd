#include "tasks/grade/parser.h"

#include <algorithm>
#include <array>

#include "tasks/grade/parser_state.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kRelations = {{{"le", "<="},
                                                                                       {"leq", "<="},
                                                                                       {"leqslant", "<="},
                                                                                       {"ge", ">="},
                                                                                       {"geq", ">="},
                                                                                       {"geqslant", ">="},
                                                                                       {"ne", "!="},
                                                                                       {"neq", "!="},
                                                                                       {"lt", "<"},
                                                                                       {"gt", ">"},
                                                                                       {"<", "<"},
                                                                                       {">", ">"},
                                                                                       {"=", "="}}};
}  // namespace

bool Parser::at_separator() const {
  if (token_.symbol(',') || token_.symbol(';')) return true;
  if (token_.kind == Token::Kind::word) return token_.value == "or" || token_.value == "and";
  if (token_.kind == Token::Kind::text) return inner(token_) == "or" || inner(token_) == "and";
  return token_.command("lor") || token_.command("vee");
}

Node Parser::list(bool inside) {
  std::vector<Node> items;
  items.push_back(statement());
  while (at_separator()) {
    advance();
    if (at_separator()) advance();  // "1, 2, and 3"
    if (!inside && token_.kind == Token::Kind::end) break;
    items.push_back(statement());
  }
  if (items.size() == 1) return std::move(items[0]);
  return make(Kind::list, std::move(items));
}

std::string_view Parser::relation() const {
  for (const auto& [name, sign] : kRelations) {
    if (token_.value == name && (token_.kind == Token::Kind::symbol || token_.kind == Token::Kind::command)) {
      return sign;
    }
  }
  return {};
}

Node Parser::statement() {
  const Level level(*this);
  Node first = union_of_sets();
  if (token_.command("in")) {
    advance();
    Node set = union_of_sets();
    std::vector<Node> parts;
    parts.push_back(std::move(first));
    parts.push_back(std::move(set));
    return make(Kind::member, std::move(parts));
  }
  if (relation().empty()) return first;
  Node result;
  result.kind = Kind::relation;
  result.children.push_back(std::move(first));
  while (!relation().empty()) {
    result.relations.emplace_back(relation());
    advance();
    result.children.push_back(union_of_sets());
  }
  return result;
}

Node Parser::union_of_sets() {
  std::vector<Node> sets;
  sets.push_back(quantity());
  while (token_.command("cup") || token_.word("U") || token_.command("bigcup")) {
    advance();
    sets.push_back(quantity());
  }
  if (sets.size() == 1) return std::move(sets[0]);
  return make(Kind::set_union, std::move(sets));
}

Node Parser::quantity() {
  if (token_.command("$")) {
    advance();
    return with_unit(sum(), *parse_unit("dollar", false));
  }
  if (token_.kind == Token::Kind::text && inner(token_).empty()) advance();
  Node value = sum();
  if (token_.symbol(':')) {
    std::vector<Node> parts;
    parts.push_back(std::move(value));
    while (accept(':')) parts.push_back(sum());
    return make(Kind::ratio, std::move(parts));
  }
  if (value.kind == Kind::product && value.children.size() == 2 && value.children[0].kind == Kind::degrees &&
      (value.children[1].name == "C" || value.children[1].name == "F")) {  // a temperature
    Node degrees = std::move(value.children[0].children[0]);
    return with_unit(std::move(degrees), *parse_unit(value.children[1].name == "C" ? "celsius" : "fahrenheit", false));
  }
  std::string phrase;
  bool letters = false;
  size_t end = token_.begin;
  while (unit_word()) {
    letters = letters || token_.kind == Token::Kind::text;
    phrase += " " + token_.value;
    end = token_.end;
    const size_t begin = token_.begin;
    advance();
    if (token_.symbol('^') && !phrase.empty()) {
      advance();
      phrase += "^" + exponent_digit();
    }
    if (token_.symbol('/')) {
      advance();
      check(unit_word(), "a unit is missing at byte {}", token_.begin);
      phrase += " /";
    }
    check(token_.begin > begin, "no progress at byte {}", begin);
  }
  if (phrase.empty()) return value;
  if (value.kind == Kind::degrees) {  // "99^\circ C" and "20 degrees Celsius"
    Node inside = std::move(value.children[0]);
    value = std::move(inside);
    phrase += " degree";
  }
  const std::optional<Unit> unit = parse_unit(phrase, letters);
  check(unit.has_value(), "'{}' before byte {} is no unit", excerpt(trimmed(phrase), 40), end);
  return with_unit(std::move(value), *unit);
}

std::string Parser::exponent_digit() {
  const bool brace = accept('{');
  check(token_.kind == Token::Kind::number && token_.value.size() == 1, "expected a digit at byte {}", token_.begin);
  std::string digit = token_.value;
  advance();
  if (brace) expect('}');
  return digit;
}

Node Parser::with_unit(Node value, Unit unit) {
  Node node;
  node.kind = Kind::quantity;
  node.unit = std::move(unit);
  node.children.push_back(std::move(value));
  return node;
}

bool Parser::unit_word() const {
  if (at_separator()) return false;
  if (token_.kind == Token::Kind::text) return true;
  return token_.kind == Token::Kind::word &&
         (is_unit_word(token_.value) || token_.value == "per" || (token_.value.size() > 3 && !known_word()));
}

Node Parser::sum() {
  const Level level(*this);
  std::vector<Node> terms;
  bool first = true;
  for (;; first = false) {
    std::string sign;
    if (token_.symbol('+') || token_.symbol('-')) sign = token_.value;
    if (token_.command("pm")) sign = "+-";
    if (token_.command("mp")) sign = "-+";
    if (sign.empty() && !first) break;
    if (!sign.empty()) advance();
    if (sign.size() == 1 && token_.symbol('-')) {  // 1+-2; "+-2" alone is a plus-minus sign
      sign = sign == "-" ? "+" : first ? "+-" : "-";
      advance();
    }
    Node term = product();
    if (sign == "-") term = negated(std::move(term));
    if (sign.size() == 2) {
      std::vector<Node> one;
      one.push_back(std::move(term));
      term = make(Kind::plus_minus, std::move(one));
      term.name = sign;
    }
    terms.push_back(std::move(term));
  }
  if (terms.size() == 1) return std::move(terms[0]);
  return make(Kind::sum, std::move(terms));
}

bool Parser::starts_factor() const {
  switch (token_.kind) {
    case Token::Kind::number:
      return true;
    case Token::Kind::word:
      if (token_.value == "or" || token_.value == "and" || token_.value == "U" || token_.value == "per") return false;
      return known_word() || (token_.value.size() <= 3 && !is_unit_word(token_.value)) || token_.value == "infinity";
    case Token::Kind::text:
      return false;
    case Token::Kind::symbol:
      return token_.symbol('(') || token_.symbol('{') || (token_.symbol('|') && bars_ == 0 && token_.side != 'r');
    case Token::Kind::command:
      for (const std::string_view name :
           {"cup",    "in",    "pm",    "mp",     "cdot",    "times", "div",   "circ", "degree",
            "begin",  "end",   "}",     "&",      "\\",      "$",     "lor",   "vee",  "rangle",
            "rfloor", "rceil", "right", "bigcup", "squared", "cubed", "prime", "colon"}) {
        if (token_.value == name) return false;
      }
      return relation().empty();
    default:
      return false;
  }
}

Node Parser::product() {
  std::vector<Node> factors;
  factors.push_back(factor());
  for (;;) {
    if (token_.symbol('*') || token_.command("cdot") || token_.command("times")) {
      advance();
      factors.push_back(signed_factor());
    } else if (token_.symbol('/') || token_.command("div")) {
      advance();
      Node numerator = factors.size() == 1 ? std::move(factors[0]) : make(Kind::product, std::move(factors));
      std::vector<Node> parts;
      parts.push_back(std::move(numerator));
      parts.push_back(signed_factor());
      factors.clear();
      factors.push_back(make(Kind::quotient, std::move(parts)));
      const Level level(*this);
      ++quotients_;
      check(quotients_ <= limits_.depth, "more than {} divisions", limits_.depth);
    } else if (token_.kind == Token::Kind::word && scale_of(token_.value) > 0) {
      factors.push_back(make_number(scale_of(token_.value)));
      advance();
    } else if (token_.kind == Token::Kind::text && scale_of(inner(token_)) > 0) {
      factors.push_back(make_number(scale_of(inner(token_))));
      advance();
    } else if (starts_factor()) {
      if (token_.kind == Token::Kind::number && factors.back().kind == Kind::number) {
        if (!mixed(factors.back())) return sequence(std::move(factors));
      } else {
        factors.push_back(factor());
      }
    } else {
      break;
    }
  }
  if (factors.size() == 1) return std::move(factors[0]);
  return make(Kind::product, std::move(factors));
}

bool Parser::mixed(Node& whole) {
  const Token numerator = token_;
  if (whole.decimals > 0 || whole.number.get_den() != 1 ||
      numerator.value.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  advance();
  if (!token_.symbol('/')) return back_to(numerator);
  advance();
  if (token_.kind != Token::Kind::number || token_.value.find_first_not_of("0123456789") != std::string::npos) {
    return back_to(numerator);
  }
  const mpz_class n(numerator.value, 10), d(token_.value, 10);
  if (n >= d) return back_to(numerator);
  advance();
  mpq_class part(n, d);
  part.canonicalize();
  whole.number += part;
  return true;
}

Node Parser::signed_factor() {
  if (token_.symbol('-')) {
    const Level level(*this);
    advance();
    return negated(signed_factor());
  }
  if (token_.symbol('+')) advance();
  return factor();
}

Node Parser::factor() {
  const Level level(*this);
  Node base = primary();
  for (int64_t wraps = 0;;) {
    check(++wraps <= limits_.depth, "more than {} signs behind each other at byte {}", limits_.depth, token_.begin);
    std::vector<Node> parts;
    if (token_.symbol('^')) {
      advance();
      if (token_.command("circ") || token_.command("degree")) {
        advance();
        parts.push_back(std::move(base));
        base = make(Kind::degrees, std::move(parts));
        continue;
      }
      if (token_.symbol('{')) {
        const Token brace = token_;
        advance();
        if (token_.command("circ") || token_.command("degree")) {
          advance();
          expect('}');
          parts.push_back(std::move(base));
          base = make(Kind::degrees, std::move(parts));
          continue;
        }
        back_to(brace);
      }
      parts.push_back(std::move(base));
      parts.push_back(exponent());
      base = make(Kind::power, std::move(parts));
    } else if (token_.command("squared") || token_.command("cubed")) {
      parts.push_back(std::move(base));
      parts.push_back(make_number(token_.value == "squared" ? 2 : 3));
      advance();
      base = make(Kind::power, std::move(parts));
    } else if (token_.symbol('*') && next_is_star()) {
      advance();
      advance();
      parts.push_back(std::move(base));
      parts.push_back(exponent());
      base = make(Kind::power, std::move(parts));
    } else if (token_.symbol('!')) {
      int64_t step = 0;
      while (accept('!')) ++step;
      parts.push_back(std::move(base));
      base = make(Kind::factorial, std::move(parts));
      base.number = step;
    } else if (token_.symbol('%')) {
      advance();
      parts.push_back(std::move(base));
      base = make(Kind::percent, std::move(parts));
    } else if (token_.command("circ") || token_.command("degree") || token_.word("degrees") || token_.word("degree") ||
               (token_.kind == Token::Kind::text && (inner(token_) == "degrees" || inner(token_) == "degree"))) {
      advance();
      parts.push_back(std::move(base));
      base = make(Kind::degrees, std::move(parts));
    } else {
      return base;
    }
  }
}

Node Parser::exponent() {
  const Level level(*this);
  if (token_.symbol('-')) {
    advance();
    return negated(exponent());
  }
  if (token_.symbol('+')) advance();
  Node node = primary();
  if (token_.symbol('!')) {
    advance();
    std::vector<Node> one;
    one.push_back(std::move(node));
    node = make(Kind::factorial, std::move(one));
    node.number = 1;
  }
  if (!token_.symbol('^')) return node;
  advance();
  std::vector<Node> parts;
  parts.push_back(std::move(node));
  parts.push_back(exponent());
  return make(Kind::power, std::move(parts));
}

Node Parser::argument(bool one_digit) {
  const Level level(*this);
  if (token_.symbol('{')) {
    advance();
    Node node = statement();
    expect('}');
    return node;
  }
  if (token_.kind == Token::Kind::number && one_digit && token_.value.size() > 1) {
    Node digit = make_number(token_.value[0] - '0');
    lexer_.seek(token_.begin + 1);
    advance();
    return digit;
  }
  if (token_.kind == Token::Kind::number) {
    Node node = one_digit ? make_number(token_.value[0] - '0') : number();
    if (one_digit) advance();
    return node;
  }
  if (token_.kind == Token::Kind::word && token_.value.size() > 1 && one_digit) {
    const size_t begin = token_.begin;
    token_.value = token_.value.substr(0, 1);
    Node letter = letter_of(token_.value[0]);
    lexer_.seek(begin + 1);
    advance();
    return letter;
  }
  if (token_.symbol('-')) {
    advance();
    return negated(argument(one_digit));
  }
  return primary();
}

Node parse_answer(std::string_view text, const GradeLimits& limits) {
  check(static_cast<int64_t>(text.size()) <= limits.bytes, "the text has {} bytes, more than {}", text.size(),
        limits.bytes);
  text = bare_answer(text);
  check(!text.empty(), "the text is empty");
  if (const std::optional<int64_t> value = number_of_words(text)) return make_number(mpz_class(*value));
  const std::string_view first = text.substr(0, text.find(' '));
  check(!is_plain_word(first) || (first != text && !is_wordy(plain_text(text))), "'{}' is a word", first);
  if (std::count(text.begin(), text.end(), '$') % 2 == 1) {  // "$5": the others are signs of mathematics
    const size_t at = text.find('$');
    if (at == 0 || text[at - 1] != '\\') {
      Parser parser(text, limits);
      Node node = parser.answer();
      if (node.kind == Kind::quantity || at != 0) return node;
      Node money;
      money.kind = Kind::quantity;
      money.unit = *parse_unit("dollar", false);
      money.children.push_back(std::move(node));
      return money;
    }
  }
  return Parser(text, limits).answer();
}

}  // namespace pg::grading
