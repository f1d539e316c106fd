#include <algorithm>
#include <array>
#include <cmath>

#include "tasks/grade/numeric.h"
#include "tasks/grade/polynomial.h"
#include "tensor/base/error.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

class Normalizer {
 public:
  Normalizer(Algebra& algebra, Budget& budget) : algebra_(algebra), budget_(budget) {}

  Quotient of(const Node& node) {
    budget_.spend();
    switch (node.kind) {
      case Kind::number:
      case Kind::based:
        return constant(node.number);
      case Kind::variable:
        return algebra_.quotient(algebra_.variable(Atom::Kind::variable, node.name));
      case Kind::pi:
        return algebra_.quotient(algebra_.variable(Atom::Kind::pi));
      case Kind::euler:
        return algebra_.quotient(algebra_.variable(Atom::Kind::euler));
      case Kind::imaginary:
        return imaginary();
      case Kind::sum: {
        Quotient total = constant(0);
        for (const Node& child : node.children) total = algebra_.add(total, of(child));
        return total;
      }
      case Kind::product: {
        Quotient total = constant(1);
        for (const Node& child : node.children) total = algebra_.multiply(total, of(child));
        return total;
      }
      case Kind::quotient:
        return algebra_.multiply(of(node.children[0]), algebra_.inverse(of(node.children[1])));
      case Kind::power:
        return power(of(node.children[0]), of(node.children[1]), node.children[0]);
      case Kind::root: {
        const auto index = Algebra::rational(of(node.children[1]));
        check(index && index->get_den() == 1 && *index >= 2 && *index <= 1000, "no rule for a root's index");
        return root(of(node.children[0]), static_cast<int32_t>(index->get_num().get_si()));
      }
      case Kind::function:
        return function(node);
      case Kind::factorial:
        return factorial(of(node.children[0]), node.number);
      case Kind::binomial:
        return binomial(of(node.children[0]), of(node.children[1]));
      case Kind::absolute:
        return absolute(node.children[0]);
      case Kind::percent:
        return algebra_.multiply(of(node.children[0]), constant(mpq_class(1, 100)));
      case Kind::degrees:
        return algebra_.multiply(of(node.children[0]), pi_times(mpq_class(1, 180)));
      default:
        fail("no value");
    }
  }

 private:
  Quotient constant(const mpq_class& value) const { return algebra_.quotient(algebra_.constant(value)); }
  Quotient imaginary() { return algebra_.quotient(algebra_.variable(Atom::Kind::imaginary)); }
  Quotient pi_times(const mpq_class& q) {
    return algebra_.multiply(algebra_.quotient(algebra_.variable(Atom::Kind::pi)), constant(q));
  }

  // The primes of a whole number above 1 with their exponents. The last may be a large number that is not known to be
  // prime: then `prime` is false.
  struct Factors {
    std::vector<std::pair<mpz_class, int64_t>> powers;
    bool prime = true;
  };
  Factors factors_of(mpz_class n) {
    Factors result;
    for (unsigned long p = 2; p < 1000 && n > 1; ++p) {
      budget_.spend(static_cast<int64_t>(mpz_size(n.get_mpz_t())));
      int64_t count = 0;
      while (mpz_divisible_ui_p(n.get_mpz_t(), p) != 0) {
        n /= p;
        budget_.spend(static_cast<int64_t>(mpz_size(n.get_mpz_t())) + 1);
        ++count;
      }
      if (count > 0) result.powers.emplace_back(p, count);
      if (n < p * p) break;
    }
    if (n == 1) return result;
    int64_t exponent = 1;
    for (unsigned long k = 7; k >= 2; --k) {  // a power of a large prime
      mpz_class base;
      while (n > 1000000 && mpz_root(base.get_mpz_t(), n.get_mpz_t(), k) != 0) {
        n = base;
        exponent *= static_cast<int64_t>(k);
      }
    }
    const size_t bits = mpz_sizeinbase(n.get_mpz_t(), 2);
    budget_.spend(static_cast<int64_t>(bits * bits / 64));
    result.prime = n < 1000000 || (bits < 2000 && mpz_probab_prime_p(n.get_mpz_t(), 30) > 0);
    result.powers.emplace_back(n, exponent);
    return result;
  }

  // n^(k / index) for a positive whole number n.
  Quotient whole_root(const mpz_class& n, int32_t index, int64_t k) {
    Quotient result = constant(1);
    if (n == 1) return result;
    const Factors factors = factors_of(n);
    for (size_t i = 0; i < factors.powers.size(); ++i) {
      const auto& [prime, exponent] = factors.powers[i];
      const int64_t total = exponent * k;  // prime^(total / index)
      Quotient factor;
      if (total % index == 0) {
        factor = algebra_.quotient(algebra_.prime_power(prime, total / index * kFraction));
      } else if (kFraction % index == 0 && (factors.prime || i + 1 < factors.powers.size())) {
        factor = algebra_.quotient(algebra_.prime_power(prime, total * (kFraction / index)));
      } else {
        factor = algebra_.power(algebra_.quotient(algebra_.root(constant(prime), index)), total);
      }
      result = algebra_.multiply(result, factor);
    }
    return result;
  }

  Quotient root(const Quotient& radicand, int32_t index) {
    if (const auto q = Algebra::rational(radicand)) {
      if (*q == 0) return constant(0);
      mpz_class top = abs(q->get_num());
      mpz_class bottom = q->get_den();
      // (a/b)^(1/n) = (a b^(n-1))^(1/n) / b has no root in the denominator.
      Quotient size = algebra_.multiply(whole_root(top, index, 1), whole_root(bottom, index, index - 1));
      size = algebra_.multiply(size, constant(mpq_class(1, bottom)));
      if (*q > 0) return size;
      if (index % 2 == 1) return algebra_.multiply(size, constant(-1));
      if (index == 2) return algebra_.multiply(size, imaginary());
      return algebra_.quotient(algebra_.root(radicand, index));
    }
    // A positive rational factor comes out: sqrt(4 f) = 2 sqrt(f).
    mpq_class content = 0;
    for (const auto& term : radicand.top) {
      mpq_class size = abs(term.second);
      if (content == 0) {
        content = size;
      } else {
        mpq_class both;
        mpz_gcd(both.get_num_mpz_t(), content.get_num_mpz_t(), size.get_num_mpz_t());
        mpz_lcm(both.get_den_mpz_t(), content.get_den_mpz_t(), size.get_den_mpz_t());
        both.canonicalize();
        content = both;
      }
      budget_.spend_bits(static_cast<double>(mpz_sizeinbase(content.get_den_mpz_t(), 2)));
    }
    const Quotient rest = algebra_.multiply(radicand, constant(1 / content));
    return algebra_.multiply(root(constant(content), index), algebra_.quotient(algebra_.root(rest, index)));
  }

  Quotient power(const Quotient& base, const Quotient& exponent, const Node& base_node) {
    const auto q = Algebra::rational(exponent);
    if (q && q->get_den() == 1) {
      check(q->get_num().fits_sint_p(), "an exponent is too large");
      const int64_t n = q->get_num().get_si();
      if (n == 0) {
        check(!base.top.empty(), "zero to the power zero");
        return constant(1);
      }
      if (const auto number = Algebra::rational(base)) {
        const double bits = static_cast<double>(mpz_sizeinbase(number->get_num_mpz_t(), 2)) +
                            static_cast<double>(mpz_sizeinbase(number->get_den_mpz_t(), 2));
        if (abs(*number) != 1) budget_.spend_bits(bits * std::abs(static_cast<double>(n)));
      }
      return algebra_.power(base, n);
    }
    if (q && q->get_den() <= 1000 && q->get_num().fits_sint_p()) {
      const int64_t k = q->get_num().get_si();
      const auto n = static_cast<int32_t>(q->get_den().get_si());
      if (base_node.kind == Kind::euler && kFraction % n == 0) {
        const Quotient e = algebra_.quotient(algebra_.e_power(std::abs(k) * (kFraction / n)));
        return k > 0 ? e : algebra_.inverse(e);
      }
      return algebra_.power(root(base, n), k);
    }
    if (base_node.kind == Kind::euler) return exponential(exponent);
    return algebra_.quotient(algebra_.opaque("power", {base, exponent}));
  }

  // e^(i q pi) has an exact value where sin(q pi) has one.
  Quotient exponential(const Quotient& exponent) {
    const Quotient over_i = algebra_.multiply(exponent, algebra_.multiply(imaginary(), constant(-1)));
    if (const auto q = algebra_.multiple_of_pi(over_i)) {
      const auto cosine = sine_of(*q + mpq_class(1, 2)), sine = sine_of(*q);
      if (cosine && sine) return algebra_.add(*cosine, algebra_.multiply(*sine, imaginary()));
    }
    return algebra_.quotient(algebra_.opaque("exp", {exponent}));
  }

  // sin(q pi) where q is a multiple of 1/12.
  std::optional<Quotient> sine_of(const mpq_class& q) {
    const mpq_class twelfths = q * 12;
    if (twelfths.get_den() != 1) return {};
    auto n = static_cast<int>(mpz_fdiv_ui(twelfths.get_num_mpz_t(), 24));
    const int sign = n >= 12 ? -1 : 1;
    n %= 12;
    if (n > 6) n = 12 - n;
    const auto root_of = [&](int k) { return whole_root(k, 2, 1); };
    const mpq_class half = mpq_class(sign, 2), quarter = mpq_class(sign, 4);
    switch (n) {
      case 0:
        return constant(0);
      case 1:
        return algebra_.multiply(algebra_.add(root_of(6), root_of(2), -1), constant(quarter));
      case 2:
        return constant(half);
      case 3:
        return algebra_.multiply(root_of(2), constant(half));
      case 4:
        return algebra_.multiply(root_of(3), constant(half));
      case 5:
        return algebra_.multiply(algebra_.add(root_of(6), root_of(2)), constant(quarter));
      default:
        return constant(sign);
    }
  }

  Quotient logarithm(const Quotient& a) {
    const auto q = Algebra::rational(a);
    if (q && *q > 0) {
      Polynomial total;
      bool known = true;
      for (const auto& [number, sign] : {std::pair(q->get_num(), 1), std::pair(q->get_den(), -1)}) {
        if (number == 1) continue;
        const Factors factors = factors_of(number);
        known = known && factors.prime;
        for (const auto& [prime, exponent] : factors.powers) {
          total = algebra_.add(total, algebra_.log_prime(prime), mpq_class(sign * exponent));
        }
      }
      if (known) return algebra_.quotient(std::move(total));
    }
    const Quotient e = algebra_.quotient(algebra_.e_power(kFraction));
    if (algebra_.same(a, e)) return constant(1);
    return algebra_.quotient(algebra_.opaque("ln", {a}));
  }

  Quotient function(const Node& node) {
    const Quotient argument = of(node.children[0]);
    const std::string& name = node.name;
    if (name == "exp") {
      Node e;
      e.kind = Kind::euler;
      return power(of(e), argument, e);
    }
    if (name == "ln") return logarithm(argument);
    if (name == "floor" || name == "ceil") return whole_part(node, argument);
    if (name == "log") {
      const Quotient base = node.children.size() > 1 ? of(node.children[1]) : constant(10);
      return algebra_.multiply(logarithm(argument), algebra_.inverse(logarithm(base)));
    }
    if (const auto q = algebra_.multiple_of_pi(argument)) {
      const auto sine = sine_of(*q), cosine = sine_of(*q + mpq_class(1, 2));
      if (sine && cosine) {
        if (name == "sin") return *sine;
        if (name == "cos") return *cosine;
        if (name == "tan") return algebra_.multiply(*sine, algebra_.inverse(*cosine));
        if (name == "cot") return algebra_.multiply(*cosine, algebra_.inverse(*sine));
        if (name == "sec") return algebra_.inverse(*cosine);
        if (name == "csc") return algebra_.inverse(*sine);
      }
    }
    if (name.starts_with("arc") && !algebra_.has_variables(argument)) {
      if (const auto angle = arc_of(name, argument)) return *angle;
    }
    return algebra_.quotient(algebra_.opaque(name, {argument}));
  }

  // The floor or ceiling of a number; that of a function is an atom.
  Quotient whole_part(const Node& node, const Quotient& argument) {
    const bool down = node.name == "floor";
    if (const auto q = Algebra::rational(argument)) {
      mpz_class whole;
      (down ? mpz_fdiv_q : mpz_cdiv_q)(whole.get_mpz_t(), q->get_num_mpz_t(), q->get_den_mpz_t());
      return constant(whole);
    }
    if (algebra_.has_variables(argument)) return algebra_.quotient(algebra_.opaque(node.name, {argument}));
    const Ball whole = evaluate(node, {}, budget_);
    check(std::abs(whole.value) < 0x1p60L, "a value is too large");
    return constant(static_cast<long>(whole.value.real()));
  }

  // The angle among the multiples of pi/12, if it is one.
  std::optional<Quotient> arc_of(const std::string& name, const Quotient& argument) {
    for (int n = -6; n <= 6; ++n) {
      const mpq_class q(n, 12);
      Quotient value = *sine_of(q);
      if (name == "arctan") {
        if (n == -6 || n == 6) continue;
        value = algebra_.multiply(value, algebra_.inverse(*sine_of(q + mpq_class(1, 2))));
      }
      if (algebra_.same(value, argument)) return pi_times(name == "arccos" ? mpq_class(1, 2) - q : q);
    }
    return {};
  }

  Quotient factorial(const Quotient& argument, const mpq_class& step) {
    const auto n = Algebra::rational(argument);
    check(n && n->get_den() == 1 && *n >= 0, "a factorial of what is no whole number");
    check(*n <= 20000, "the factorial of a number above 20000");
    const long top = n->get_num().get_si(), by = step.get_num().get_si();
    const double steps = static_cast<double>(top) / static_cast<double>(by);
    budget_.spend_bits(steps * std::log2(static_cast<double>(top) + 1));
    mpz_class result = 1;
    for (long k = top; k > 1; k -= by) {
      budget_.spend(static_cast<int64_t>(mpz_size(result.get_mpz_t())));
      result *= k;
    }
    return constant(result);
  }

  Quotient binomial(const Quotient& n, const Quotient& k) {
    auto count = Algebra::rational(k);
    check(count && count->get_den() == 1, "a binomial coefficient with no whole number below");
    if (const auto top = Algebra::rational(n); top && top->get_den() == 1 && *top >= 0 && *count * 2 > *top) {
      *count = *top - *count;  // the smaller of k and n - k
    }
    if (*count < 0) return constant(0);
    check(*count <= 5000, "a binomial coefficient is too large");
    Quotient result = constant(1);
    for (long j = 0; *count > j; ++j) {
      result = algebra_.multiply(result, algebra_.add(n, constant(-j)));
      result = algebra_.multiply(result, constant(mpq_class(1, j + 1)));
    }
    return result;
  }

  Quotient absolute(const Node& node) {
    const Quotient inside = of(node);
    if (const auto q = Algebra::rational(inside)) return constant(abs(*q));
    if (!algebra_.has_variables(inside)) {
      const Ball ball = evaluate(node, {}, budget_);
      if (ball.is_real() && std::abs(ball.value) > 2 * ball.error) {
        return ball.value.real() > 0 ? inside : algebra_.multiply(inside, constant(-1));
      }
    }
    return algebra_.quotient(algebra_.opaque("abs", {inside}));
  }

  Algebra& algebra_;
  Budget& budget_;
};

}  // namespace

Quotient normal_form(const Node& node, Algebra& algebra, Budget& budget) {
  return Normalizer(algebra, budget).of(node);
}

}  // namespace pg::grading
