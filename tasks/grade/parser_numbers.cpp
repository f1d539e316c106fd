// Numbers: decimals, exponents, repeating digits, mixed numbers, digits in a base.
#include "tasks/grade/parser_state.h"

namespace pg::grading {

using Kind = Node::Kind;

bool Parser::take_letter_digits() {
  size_t end = token_.begin;
  bool digit = false, letter = false;
  for (; end < text_.size() && end - token_.begin < 1000; ++end) {
    const char c = text_[end];
    if (c >= '0' && c <= '9') {
      digit = true;
    } else if (c >= 'A' && c <= 'F') {
      letter = true;
    } else {
      break;
    }
  }
  budget_.spend(static_cast<int64_t>(end - token_.begin));
  if (!digit || !letter || end >= text_.size() || text_[end] != '_') return false;
  token_.kind = Token::Kind::number;
  token_.value = text_.substr(token_.begin, end - token_.begin);
  token_.end = end;
  lexer_.seek(end);
  return true;
}

Node Parser::number() {
  check(token_.value.size() <= static_cast<size_t>(limits_.bits) / 4, "a number with {} digits", token_.value.size());
  Node node;
  std::string digits = token_.value;
  int64_t exponent = 0;
  if (const size_t e = digits.find('e'); e != std::string::npos) {
    check(digits.size() - e <= 8, "an exponent of {} digits", digits.size() - e);
    exponent = std::stoll(digits.substr(e + 1));
    digits.resize(e);
  }
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    node.decimals = static_cast<int>(digits.size() - point - 1);
    digits.erase(point, 1);
  }
  if (digits.empty()) digits.push_back('0');
  node.number = mpz_class(digits, 10);
  exponent -= node.decimals;
  if (!token_.repeating.empty()) {  // a.b + c / (10^k - 1) / 10^places
    const mpq_class nines = ten_to(static_cast<int64_t>(token_.repeating.size())) - 1;
    node.number += mpq_class(mpz_class(token_.repeating, 10)) / nines;
    node.decimals = 0;
  }
  if (exponent > 0) node.number *= ten_to(exponent);
  if (exponent < 0) node.number /= ten_to(-exponent);
  const Token literal = token_;
  advance();
  if (token_.symbol('_')) return based(literal);
  return node;
}

mpq_class Parser::ten_to(int64_t exponent) {
  budget_.spend_bits(3.33 * static_cast<double>(exponent));
  mpz_class result;
  mpz_ui_pow_ui(result.get_mpz_t(), 10, static_cast<unsigned long>(exponent));
  return result;
}

Node Parser::based(const Token& literal) {
  advance();
  const Node base = argument();
  check(base.kind == Kind::number && base.number.get_den() == 1 && base.number >= 2 && base.number <= 36 &&
            literal.value.find_first_of(".e") == std::string::npos,
        "no base at byte {}", literal.end);
  const int radix = static_cast<int>(base.number.get_num().get_si());
  Node node;
  node.kind = Kind::based;
  node.name = literal.value;
  mpz_class value;
  check(value.set_str(node.name, radix) == 0, "'{}' has digits that base {} lacks", node.name, radix);
  node.number = value;
  node.children.push_back(make_number(radix));
  return node;
}

Node Parser::number_or_mixed() {
  Node whole = number();
  const bool fraction = token_.command("frac") || token_.command("dfrac") || token_.command("tfrac");
  if (!fraction || whole.kind != Kind::number || whole.decimals > 0 || whole.number.get_den() != 1) return whole;
  const Token begin = token_;
  advance();
  const Node numerator = argument(), denominator = argument();
  const bool proper = numerator.kind == Kind::number && denominator.kind == Kind::number &&
                      numerator.number.get_den() == 1 && denominator.number.get_den() == 1 && numerator.number > 0 &&
                      numerator.number < denominator.number;
  if (!proper) {
    back_to(begin);
    return whole;
  }
  return make_number(whole.number + numerator.number / denominator.number);
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

}  // namespace pg::grading
