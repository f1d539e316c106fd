// What stands around values: lists, relations, unions of sets, units; and the start of the parser.
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
      phrase += fmt::format("^{}", exponent_digit());
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

Node parse_answer(std::string_view text, Work& work) {
  check(static_cast<int64_t>(text.size()) <= work.limits.bytes, "the text has {} bytes, more than {}", text.size(),
        work.limits.bytes);
  text = bare_answer(text);
  check(!text.empty(), "the text is empty");
  if (const std::optional<int64_t> value = number_of_words(text)) return make_number(mpz_class(*value));
  const std::string_view first = text.substr(0, text.find(' '));
  check(!is_plain_word(first) || (first != text && !is_wordy(plain_text(text))), "'{}' is a word", first);
  if (std::count(text.begin(), text.end(), '$') % 2 == 1) {  // "$5": the others are signs of mathematics
    const size_t at = text.find('$');
    if (at == 0 || text[at - 1] != '\\') {
      Parser parser(text, work);
      Node node = parser.answer();
      if (node.kind == Kind::quantity || at != 0) return node;
      Node money;
      money.kind = Kind::quantity;
      money.unit = *parse_unit("dollar", false);
      money.children.push_back(std::move(node));
      return money;
    }
  }
  return Parser(text, work).answer();
}

}  // namespace pg::grading
