// Sums, products and what follows a value: powers, factorials, percent, degrees.
#include "tasks/grade/parser_state.h"

namespace pg::grading {

using Kind = Node::Kind;

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
      for (const std::string_view name : {"or", "and", "U", "per", "of"}) {
        if (token_.value == name) return false;
      }
      if (token_.space_before && is_plain_word(token_.value)) return false;
      if (number_word(token_.value) || is_short_noun() || at_unit_quotient()) return false;
      return known_word() || (token_.value.size() <= 3 && !is_unit_word(token_.value)) || token_.value == "infinity";
    case Token::Kind::text:
      return false;
    case Token::Kind::symbol:
      return token_.symbol('(') || token_.symbol('{') || (token_.symbol('|') && bars_ == 0 && token_.side != 'r');
    case Token::Kind::command:
      for (const std::string_view name :
           {"cup",      "in",        "pm",      "mp",    "cdot",  "times", "div",   "circ",     "degree", "begin",
            "end",      "}",         "&",       "\\",    "$",     "lor",   "vee",   "rangle",   "rfloor", "rceil",
            "right",    "bigcup",    "squared", "cubed", "prime", "colon", "rvert", "over",     "choose", "mid",
            "setminus", "backslash", "ldots",   "dots",  "cdots", "sim",   "euro",  "sterling", "yen"}) {
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
    } else if (take_division()) {
      Node numerator = factors.size() == 1 ? std::move(factors[0]) : make(Kind::product, std::move(factors));
      std::vector<Node> parts;
      parts.push_back(std::move(numerator));
      parts.push_back(signed_factor());
      factors.clear();
      factors.push_back(make(Kind::quotient, std::move(parts)));
      const Level level(*this);
      ++quotients_;
      check(quotients_ <= limits_.depth, "more than {} divisions", limits_.depth);
    } else if (const auto count = take_counting_word()) {
      factors.push_back(make_number(*count));
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

// A sign of division, or "out of".
bool Parser::take_division() {
  if (token_.symbol('/') || token_.command("div")) {
    advance();
    return true;
  }
  if (!take_word({"out"})) return false;
  check(take_word({"of"}), "expected 'out of' at byte {}", token_.begin);
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
    } else if (const int power = take_power_word(); power > 0) {
      parts.push_back(std::move(base));
      parts.push_back(make_number(power));
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
    } else if (take_percent()) {
      parts.push_back(std::move(base));
      base = make(Kind::percent, std::move(parts));
    } else if (take_degree()) {
      parts.push_back(std::move(base));
      base = make(Kind::degrees, std::move(parts));
    } else {
      return base;
    }
  }
}

// 2 for "squared" and a raised 2, 3 for "cubed" and a raised 3, else 0.
int Parser::take_power_word() {
  if (take_word({"squared"})) return 2;
  if (take_word({"cubed"})) return 3;
  if (!token_.command("squared") && !token_.command("cubed")) return 0;
  const int power = token_.command("squared") ? 2 : 3;
  advance();
  return power;
}

bool Parser::take_percent() {
  if (accept('%') || take_word({"percent", "percents"})) return true;
  if (!token_.word("per")) return false;
  const Token per = token_;
  advance();
  if (!token_.word("cent")) return back_to(per);
  advance();
  return true;
}

bool Parser::take_degree() {
  if (take_word({"degrees", "degree", "deg"})) return true;
  if (!token_.command("circ") && !token_.command("degree")) return false;
  advance();
  return true;
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
  if (token_.symbol('{')) return braced(/*one_value=*/true);
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

}  // namespace pg::grading
