// Values with their units: a sum with a unit or noun behind it or a sign of money before it.
#include "tasks/grade/parser_state.h"

namespace pg::grading {

using Kind = Node::Kind;

// The unit of a sign of money: \$5, 5€.
std::optional<Unit> Parser::currency() const {
  if (token_.command("$")) return parse_unit("dollar", false);
  for (const std::string_view name : {"euro", "sterling", "yen"}) {
    if (token_.command(name)) return parse_unit(name, false);
  }
  return {};
}

Node Parser::quantity() {
  if (const auto money = currency()) {
    advance();
    Node value = sum();
    Unit unit = *money;
    if (const auto behind = unit_behind(value); behind && behind->dims != unit.dims) {  // "$5 per hour"
      for (const auto& [dimension, exponent] : behind->dims) unit.dims[dimension] += exponent;
      unit.size *= behind->size;
    }
    return with_unit(std::move(value), std::move(unit));
  }
  if (token_.kind == Token::Kind::text && inner(token_).empty()) advance();
  if (auto text = text_element()) return *std::move(text);
  Node value = sum();
  if (accept(':') || take_word({"to"})) {
    std::vector<Node> parts;
    parts.push_back(std::move(value));
    do parts.push_back(sum());
    while (accept(':') || take_word({"to"}));
    return make(Kind::ratio, std::move(parts));
  }
  if (value.kind == Kind::product && value.children.size() == 2 && value.children[0].kind == Kind::degrees &&
      (value.children[1].name == "C" || value.children[1].name == "F")) {  // a temperature
    Node degrees = std::move(value.children[0].children[0]);
    return with_unit(std::move(degrees), *parse_unit(value.children[1].name == "C" ? "celsius" : "fahrenheit", false));
  }
  if (const auto money = currency(); money && !token_.command("$")) {
    advance();
    return with_unit(std::move(value), *money);
  }
  const auto unit = unit_behind(value);
  return unit ? with_smaller_units(with_unit(std::move(value), *unit)) : value;
}

// The unit of the words at this token. Nothing if there are none. Throws Error for words that are no unit. Degrees
// become their number: "99^\circ C" and "20 degrees Celsius".
std::optional<Unit> Parser::unit_behind(Node& value) {
  std::string phrase;
  const size_t begin = token_.begin;
  bool letters = false;
  const bool doubtful = is_short_noun() && !is_plain_word(token_.value) && !is_ordinal();
  for (bool behind_slash = false; unit_word(value, phrase, behind_slash);) {
    letters =
        letters || token_.kind == Token::Kind::text || at_unit_quotient() || (behind_slash && token_.value.size() == 1);
    phrase += " " + token_.value;
    advance();
    if (token_.symbol('^')) {
      advance();
      phrase += fmt::format("^{}", exponent_digit());
    } else if (token_.command("squared") || token_.command("cubed")) {
      phrase += token_.command("squared") ? "^2" : "^3";
      advance();
    }
    behind_slash = token_.symbol('/');
    if (behind_slash) {
      advance();
      check(unit_word(value, phrase, true), "a unit is missing at byte {}", token_.begin);
      phrase += " /";
    }
  }
  if (phrase.empty()) return {};
  if (value.kind == Kind::degrees) {
    Node inside = std::move(value.children[0]);
    value = std::move(inside);
    phrase += " degree";
  }
  std::optional<Unit> unit = parse_unit(phrase, letters);
  check(unit.has_value(), "'{}' at byte {} is no unit", excerpt(trimmed(phrase), 40), begin);
  unit->doubtful = doubtful;
  return unit;
}

// "5 ft 6 in": the number of the first unit.
Node Parser::with_smaller_units(Node whole) {
  mpq_class last = whole.unit.size;
  while (token_.kind == Token::Kind::number) {
    const size_t begin = token_.begin;
    Node part = number_or_mixed();
    const auto unit = unit_behind(part);
    Node& value = whole.children[0];
    check(unit && unit->dims == whole.unit.dims && unit->size < last && value.kind == Kind::number &&
              value.number > 0 && part.kind == Kind::number,
          "a number without a smaller unit at byte {}", begin);
    value = make_number(value.number + part.number * unit->size / whole.unit.size);
    last = unit->size;
  }
  return whole;
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

// "10 m/s": behind a number, a letter that is a unit, "/", and a unit. As factors they would be variables.
bool Parser::at_unit_quotient() const {
  if (token_.kind != Token::Kind::word || !is_unit_letter(token_.value)) return false;
  size_t at = token_.begin;
  while (at > 0 && text_[at - 1] == ' ') --at;
  if (at == 0 || std::string_view("0123456789}").find(text_[at - 1]) == std::string_view::npos) return false;
  at = token_.end;
  if (at >= text_.size() || text_[at] != '/') return false;
  const size_t begin = ++at;
  while (at < text_.size() && is_letter(text_[at])) ++at;
  const std::string_view below = text_.substr(begin, at - begin);
  return is_unit_letter(below) || is_unit_word(below);
}

// "4th"
bool Parser::is_ordinal() const {
  return !token_.space_before && token_.begin > 0 && text_[token_.begin - 1] >= '0' && text_[token_.begin - 1] <= '9' &&
         (token_.word("st") || token_.word("nd") || token_.word("rd") || token_.word("th"));
}

// "5 men": a word of three letters with a space before it that is no product of variables.
bool Parser::is_short_noun() const {
  if (is_ordinal()) return true;
  if (token_.kind != Token::Kind::word || token_.value.size() > 3 || !token_.space_before || known_word() ||
      number_word(token_.value) || token_.value == "inf") {
    return false;
  }
  if (is_plain_word(token_.value)) return token_.value.size() == 3;
  return token_.value.size() == 3 && lower(token_.value).find_first_of("aeiou") != std::string::npos &&
         !is_product_of_letters(token_.value);
}

// Whether the token belongs to the unit of a value, behind the words of `phrase`.
bool Parser::unit_word(const Node& value, const std::string& phrase, bool behind_slash) const {
  if (at_separator()) return false;
  if (token_.kind == Token::Kind::text) return true;
  if (token_.kind != Token::Kind::word || number_word(token_.value) || token_.value == "U") return false;
  if (!phrase.empty() && !behind_slash) return true;  // "cups of tea"
  if (token_.value == "of") {                         // "3 pairs of socks", "3/4 of a pizza", but no "5 of them"
    return value.kind == Kind::percent || value.kind == Kind::quotient || counted_until_ == token_.begin;
  }
  return is_unit_word(token_.value) || (behind_slash ? is_unit_letter(token_.value) : at_unit_quotient()) ||
         token_.value == "per" || is_short_noun() || (token_.value.size() > 3 && !known_word());
}

}  // namespace pg::grading
