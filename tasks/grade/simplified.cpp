#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "tasks/grade/grade.h"
#include "tasks/grade/parser.h"
#include "tensor/base/error.h"

namespace pg {
namespace grading {
namespace {

using Kind = Node::Kind;

// What the expected answer has, and an answer may therefore have too.
struct Allowed {
  bool percent = false, degrees = false, ratio = false, sum_below = false;
  std::set<std::string> functions;  // names; "!", "binomial" and "abs" too
  std::set<std::string> roots;
};
std::string function_name(const Node& node) {
  switch (node.kind) {
    case Kind::function:
      return node.name;
    case Kind::factorial:
      return "!";
    case Kind::binomial:
      return "binomial";
    case Kind::absolute:
      return "abs";
    default:
      return "";
  }
}
void collect(const Node& node, Allowed& allowed) {
  allowed.percent = allowed.percent || node.kind == Kind::percent;
  allowed.degrees = allowed.degrees || node.kind == Kind::degrees;
  allowed.ratio = allowed.ratio || node.kind == Kind::ratio;
  allowed.sum_below = allowed.sum_below || (node.kind == Kind::quotient && node.children[1].kind == Kind::sum);
  if (const std::string name = function_name(node); !name.empty()) allowed.functions.insert(name);
  if (node.kind == Kind::root) allowed.roots.insert(to_text(node));
  for (const Node& child : node.children) collect(child, allowed);
}

bool is_whole(const Node& node) {
  return node.kind == Kind::number && node.decimals == 0 && node.number.get_den() == 1;
}
// The largest d with d^index | n is 1, and no root of a power: sqrt[4]{4} is sqrt{2}. False if n is too large to tell.
bool is_reduced_radicand(const mpz_class& n, int64_t index) {
  if (n < 2 || n > 1'000'000'000) return false;
  long rest = n.get_si();
  int64_t common = 0;
  for (long p = 2; p * p <= rest; ++p) {
    int64_t count = 0;
    for (; rest % p == 0; rest /= p) ++count;
    if (count >= index) return false;
    if (count > 0) common = std::gcd(common, count);
  }
  if (rest > 1) common = std::gcd(common, int64_t{1});
  return std::gcd(common, index) == 1;
}

// A product of a rational coefficient and powers of atoms, as a term of a sum or a side of a quotient.
struct Term {
  mpq_class coefficient = 1;
  bool number = false;                     // a coefficient is written
  bool quotient = false;                   // written as a fraction
  std::map<std::string, mpz_class> atoms;  // the exponents by what has them: "x", "root 2 3"
  bool root = false;
};

class Form {
 public:
  explicit Form(const Allowed& allowed) : allowed_(allowed) {}

  // An answer of any kind that no arithmetic is left in.
  bool answer(const Node& node) const {
    switch (node.kind) {
      case Kind::quantity:
      case Kind::plus_minus:
        return answer(node.children[0]);
      case Kind::percent:
        return allowed_.percent && answer(node.children[0]);
      case Kind::degrees:
        return allowed_.degrees && answer(node.children[0]);
      case Kind::based:
      case Kind::infinity:
        return true;
      case Kind::sequence:
        return false;
      case Kind::ratio:  // 6:8 is an unreduced 3/4
        if (!allowed_.ratio) return false;
        break;
      default:
        break;
    }
    if (node.kind == Kind::product && node.children.size() == 2 && is_minus_one(node.children[0])) {
      const Kind inside = node.children[1].kind;
      if (inside == Kind::infinity || inside == Kind::percent || inside == Kind::degrees) {
        return answer(node.children[1]);
      }
    }
    if (node.kind <= Kind::based) return value(node);
    return std::all_of(node.children.begin(), node.children.end(), [&](const Node& child) { return answer(child); });
  }

  // A sum of terms of different monomials, a term, or a quotient of a sum.
  bool value(const Node& node) const {
    if (node.kind == Kind::sum) return !terms_of(node).empty();
    if (term_of(node)) return true;
    if (node.kind == Kind::product && node.children.size() == 2 && is_minus_one(node.children[0])) {
      return node.children[1].kind == Kind::quotient && quotient_of_sums(node.children[1]);
    }
    return node.kind == Kind::quotient && quotient_of_sums(node);
  }

  // The number of factors that are no numbers, each as often as its exponent says. Nothing if the node is no product
  // with a sum among its factors, or a factor is not simplified.
  std::optional<int64_t> factors(const Node& node) const {
    int64_t count = 0;
    bool sum = false, number = false;
    if (node.kind != Kind::product && node.kind != Kind::power) return {};
    if (!count_factors(node, count, sum, number) || !sum) return {};
    return count;
  }

 private:
  static bool is_minus_one(const Node& node) { return node.kind == Kind::number && node.number == -1; }

  bool count_factors(const Node& node, int64_t& count, bool& sum, bool& number) const {
    if (node.kind == Kind::product) {
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const Node& child) { return count_factors(child, count, sum, number); });
    }
    if (is_minus_one(node)) return true;
    if (node.kind == Kind::sum) {
      sum = true, ++count;
      return primitive(node);
    }
    if (node.kind == Kind::power && is_whole(node.children[1]) && node.children[1].number > 1 &&
        node.children[1].number < 1000) {
      const Node& base = node.children[0];
      if (base.kind != Kind::sum && base.kind != Kind::variable) return false;
      sum = sum || base.kind == Kind::sum;
      count += node.children[1].number.get_num().get_si();
      return base.kind == Kind::variable || primitive(base);
    }
    const auto term = term_of(node);
    if (!term || (term->number && std::exchange(number, true))) return false;
    count += term->atoms.empty() ? 0 : 1;
    return true;
  }
  // A simplified sum whose coefficients are whole numbers without a common factor.
  bool primitive(const Node& node) const {
    mpz_class common = 0;
    const std::vector<Term> terms = terms_of(node);
    for (const Term& term : terms) {
      if (term.coefficient.get_den() != 1) return false;
      mpz_gcd(common.get_mpz_t(), common.get_mpz_t(), term.coefficient.get_num_mpz_t());
    }
    return common == 1;
  }

  // The terms of a sum, empty if it is not simplified.
  std::vector<Term> terms_of(const Node& node) const {
    std::vector<Term> terms;
    std::set<std::map<std::string, mpz_class>> monomials;
    for (const Node& child : node.children) {
      const Node& inside = child.kind == Kind::plus_minus ? child.children[0] : child;
      auto term = term_of(inside);
      if (!term || term->coefficient == 0 || !monomials.insert(term->atoms).second) return {};
      terms.push_back(std::move(*term));
    }
    return terms;
  }

  std::optional<Term> term_of(const Node& node) const {
    Term term;
    if (!multiply(term, node) || (term.number && abs(term.coefficient) == 1 && !term.atoms.empty())) return {};  // 1x
    return term;
  }

  // Multiplies a term by a node; false if the product is then not simplified.
  bool multiply(Term& term, const Node& node) const {
    switch (node.kind) {
      case Kind::number:
        if (std::exchange(term.number, true)) return false;
        term.coefficient *= node.number;
        return true;
      case Kind::product: {
        // A minus sign is the factor -1 before what is no number.
        const bool sign = is_minus_one(node.children[0]) && node.children[1].kind != Kind::number;
        if (sign) term.coefficient = -term.coefficient;
        return std::all_of(node.children.begin() + (sign ? 1 : 0), node.children.end(),
                           [&](const Node& child) { return multiply(term, child); });
      }
      case Kind::quotient:
        return divide(term, node);
      case Kind::variable:
        return raise(term, "v " + node.name, 1);
      case Kind::pi:
        return raise(term, "pi", 1);
      case Kind::euler:
        return raise(term, "e", 1);
      case Kind::imaginary:
        return raise(term, "i", 1);
      case Kind::root:
        return root(term, node);
      case Kind::power:
        return power(term, node);
      case Kind::function:
      case Kind::factorial:
      case Kind::binomial:
      case Kind::absolute:
        return allowed_.functions.contains(function_name(node)) && !(node.kind != Kind::function && is_number(node)) &&
               std::all_of(node.children.begin(), node.children.end(),
                           [&](const Node& child) { return value(child); }) &&
               raise(term, to_text(node), 1);
      default:
        return false;
    }
  }
  static bool is_number(const Node& node) {
    return std::all_of(node.children.begin(), node.children.end(),
                       [](const Node& child) { return child.kind == Kind::number; });
  }
  static bool raise(Term& term, const std::string& atom, const mpz_class& exponent) {
    return term.atoms.try_emplace(atom, exponent).second;  // an atom that is there already is not collected
  }

  static bool has_letter(const Node& node) {
    return node.kind == Kind::variable || node.kind == Kind::pi || node.kind == Kind::euler ||
           std::any_of(node.children.begin(), node.children.end(), has_letter);
  }

  bool root(Term& term, const Node& node) const {
    const Node &radicand = node.children[0], &index = node.children[1];
    if (std::exchange(term.root, true) || !is_whole(index) || index.number < 2 || index.number > 1000) return false;
    if (radicand.kind == Kind::number) {
      if (!is_whole(radicand) || !is_reduced_radicand(radicand.number.get_num(), index.number.get_num().get_si()))
        return false;
    } else if (!value(radicand) || (!has_letter(radicand) && !allowed_.roots.contains(to_text(node)))) {
      return false;
    }
    return raise(term, to_text(node), 1);
  }

  bool power(Term& term, const Node& node) const {
    const Node &base = node.children[0], &exponent = node.children[1];
    if (exponent.kind == Kind::number) {
      const bool letter = base.kind == Kind::variable || base.kind == Kind::pi || base.kind == Kind::euler;
      if (!letter || !is_whole(exponent) || exponent.number < 2) return false;
      const std::string name = base.kind == Kind::variable ? "v " + base.name : base.kind == Kind::pi ? "pi" : "e";
      return raise(term, name, exponent.number.get_num());
    }
    const bool fits = base.kind == Kind::variable || base.kind == Kind::euler || (is_whole(base) && base.number > 1);
    return fits && exponent.kind != Kind::quotient && value(exponent) && raise(term, to_text(node), 1);
  }

  // A quotient of two terms: its numbers have no common factor, no atom is on both sides, and no root is below.
  bool divide(Term& term, const Node& node) const {
    Term above, below;
    if (!multiply(above, node.children[0]) || !multiply(below, node.children[1])) return false;
    if (above.quotient || below.quotient || below.root || !reduced(above.coefficient, below.coefficient)) return false;
    if (below.atoms.contains("i") || (below.coefficient == 1 && below.atoms.empty())) return false;
    if (std::exchange(term.quotient, true)) return false;
    const bool number = above.coefficient != 1 || below.coefficient != 1;
    if (number && std::exchange(term.number, true)) return false;
    term.coefficient *= above.coefficient / below.coefficient;
    if (above.root && std::exchange(term.root, true)) return false;
    for (const auto& [atom, exponent] : above.atoms) {
      if (below.atoms.contains(atom) || !raise(term, atom, exponent)) return false;
    }
    for (const auto& [atom, exponent] : below.atoms) {
      if (!raise(term, atom, -exponent)) return false;
    }
    return true;
  }
  static bool reduced(const mpq_class& above, const mpq_class& below) {
    if (above.get_den() != 1 || below.get_den() != 1 || above == 0 || below <= 0) return false;
    mpz_class common;
    mpz_gcd(common.get_mpz_t(), above.get_num_mpz_t(), below.get_num_mpz_t());
    return common == 1;
  }

  // A quotient with a sum above or below: whole coefficients without a common factor of all.
  bool quotient_of_sums(const Node& node) const {
    if (node.children[1].kind == Kind::sum && !allowed_.sum_below) return false;
    mpz_class common = 0;
    std::map<std::string, size_t> seen;  // in how many terms an atom is
    size_t count = 0;
    for (const Node& side : node.children) {
      std::vector<Term> terms;
      if (side.kind == Kind::sum) {
        terms = terms_of(side);
      } else if (const auto term = term_of(side)) {
        terms.push_back(*term);
      }
      if (terms.empty()) return false;
      const bool below = &side == &node.children[1];
      for (const Term& term : terms) {
        if (term.quotient || term.coefficient.get_den() != 1 || (below && term.root)) return false;
        mpz_gcd(common.get_mpz_t(), common.get_mpz_t(), term.coefficient.get_num_mpz_t());
        for (const auto& atom : term.atoms) ++seen[atom.first];
      }
      if (below && terms.size() == 1 && terms[0].atoms.empty() && terms[0].coefficient < 2) return false;
      count += terms.size();
    }
    return common == 1 && std::none_of(seen.begin(), seen.end(), [&](const auto& a) { return a.second == count; });
  }

  const Allowed& allowed_;
};

}  // namespace
}  // namespace grading

bool is_simplified(std::string_view given, std::string_view gold, const GradeLimits& limits) {
  using namespace grading;
  if (given == gold) return true;
  try {
    Work work{limits};
    const Node answer = parse_answer(given, given, work), expected = parse_answer(gold, gold, work);
    Allowed allowed;
    collect(expected, allowed);
    const Form form(allowed);
    if (const auto factors = form.factors(expected)) return form.factors(answer) == factors;
    return form.answer(expected) && form.answer(answer);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace pg
