#include "tasks/grade/numeric.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/base/error.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;
using Complex = std::complex<long double>;
constexpr long double kEpsilon = std::numeric_limits<long double>::epsilon();
constexpr long double kPi = 3.141592653589793238462643383279502884L;

Ball rounded(Complex value, long double error, int operations = 4) {
  if (value.imag() == 0) value = {value.real(), 0.0L};  // not -0, which is on the other side of a cut
  const long double size = std::abs(value);
  error += static_cast<long double>(operations) * kEpsilon * size;
  check(std::isfinite(size) && std::isfinite(error), "a value is too large");
  return {value, error};
}

// Refuses a term that is not zero and so small beside the sum that its digits are lost: e^40 + 10^-6 would equal e^40.
Ball sum(const Ball& a, const Ball& b) {
  const Ball total = rounded(a.value + b.value, a.error + b.error, 1);
  for (const Ball* term : {&a, &b}) {
    const long double size = std::abs(term->value);
    check(size <= 4 * term->error || size >= 1e6L * kEpsilon * std::abs(total.value),
          "a term is too small beside the others");
  }
  return total;
}

Ball product(const Ball& a, const Ball& b) {
  const long double error = std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error;
  const long double x = a.value.real(), y = a.value.imag(), u = b.value.real(), v = b.value.imag();
  // The error of a part is relative to the products in it, which is at most 2 |a| |b|.
  return rounded({x * u - y * v, x * v + y * u}, error + 4 * kEpsilon * std::abs(a.value) * std::abs(b.value));
}

Ball inverse(const Ball& a) {
  const long double size = std::abs(a.value);
  check(size > 2 * a.error && size > 0, "a denominator may be zero");
  return rounded(a.is_real() ? Complex(1 / a.value.real()) : 1.0L / a.value, 2 * a.error / (size * size));
}

// f(a), where `slope` bounds |f'| near a.
Ball apply(const Ball& a, Complex value, long double slope) {
  if (a.is_real()) value = {value.real(), value.imag()};
  return rounded(value, slope * a.error, 8);
}

Ball exponential(const Ball& a) {
  check(std::abs(a.value) < 5000 && a.error < 0.01L, "an exponent is too large");
  const Complex value = a.is_real() ? Complex(std::exp(a.value.real())) : std::exp(a.value);
  return rounded(value, 2 * std::abs(value) * (a.error + kEpsilon * std::abs(a.value)), 8);
}

Ball logarithm(const Ball& a) {
  const long double size = std::abs(a.value);
  check(size > 4 * a.error && size > 0, "a logarithm of zero");
  check(a.value.real() > 0 || a.is_real() || std::abs(a.value.imag()) > 2 * a.error, "a logarithm on its cut");
  const Complex value = a.is_real() && a.value.real() > 0 ? Complex(std::log(a.value.real())) : std::log(a.value);
  return rounded(value, 2 * a.error / size + kEpsilon);
}

Ball root(const Ball& a, long n) {
  const long double size = std::abs(a.value);
  if (size == 0 && a.error == 0) return {};
  check(size > 4 * a.error, "a root near zero");
  const bool odd = n % 2 != 0;
  Complex value;
  if (a.is_real() && (a.value.real() > 0 || odd)) {
    const long double magnitude = n == 2 ? std::sqrt(size) : n == 3 ? std::cbrt(size) : std::pow(size, 1.0L / n);
    value = a.value.real() > 0 ? magnitude : -magnitude;
  } else {
    check(a.value.real() > 0 || a.is_real() || std::abs(a.value.imag()) > 2 * a.error, "a root on its cut");
    if (n == 2 && a.is_real()) {
      value = {0, std::sqrt(size)};
    } else {
      value = std::exp(std::log(a.value) / static_cast<long double>(n));
    }
  }
  return rounded(value, 2 * std::abs(value) * a.error / size, 40);
}

// The floor (`down`) or ceiling of a value that is certainly not next to a whole number.
Ball whole_part(const Ball& a, bool down) {
  check(a.is_real(), "a whole part of a number that is not real");
  const auto part = [&](long double x) { return down ? std::floor(x) : std::ceil(x); };
  const long double low = part(a.value.real() - 2 * a.error), high = part(a.value.real() + 2 * a.error);
  check(low == high, "a whole part at a whole number");
  return {Complex(low)};
}

Ball power(Ball base, const mpz_class& exponent, Budget& budget) {
  check(mpz_sizeinbase(exponent.get_mpz_t(), 2) < 40, "an exponent is too large");
  int64_t n = exponent.get_si();
  if (n < 0) base = inverse(base);
  Ball result{1};
  for (n = std::abs(n); n > 0; n >>= 1) {
    budget.spend(4);
    if (n & 1) result = product(result, base);
    if (n > 1) base = product(base, base);
  }
  return result;
}

long double to_long_double(const mpq_class& value) {
  // Two doubles have more digits than a long double of 64 bits.
  check(std::isfinite(value.get_d()), "a number is too large");  // GMP ends the process for infinity
  const mpq_class high(value.get_d());
  const mpq_class low = value - high;
  return static_cast<long double>(value.get_d()) + static_cast<long double>(low.get_d());
}

Ball trigonometric(const std::string& name, const Ball& a) {
  if (name.starts_with("arc")) {
    check(a.is_real(), "{} of a number that is not real", name);
    const long double x = a.value.real();
    if (name == "arctan") return apply(a, std::atan(x), 1);
    check(std::abs(x) + a.error <= 1 || (a.error < 1e-15L && std::abs(x) <= 1), "{} outside [-1, 1]", name);
    const long double slope = 1 / std::sqrt(std::max(1 - x * x, kEpsilon));
    return apply(a, name == "arcsin" ? std::asin(x) : std::acos(x), 2 * slope);
  }
  check(std::abs(a.value) < 1e6L, "an angle is too large");
  // The argument's own rounding counts as its error.
  const Ball angle{a.value, a.error + kEpsilon * std::abs(a.value)};
  const long double growth = 2 * std::cosh(std::min(std::abs(a.value.imag()), 1000.0L));
  const auto sine = [&] {
    return apply(angle, a.is_real() ? Complex(std::sin(a.value.real())) : std::sin(a.value), growth);
  };
  const auto cosine = [&] {
    return apply(angle, a.is_real() ? Complex(std::cos(a.value.real())) : std::cos(a.value), growth);
  };
  if (name == "sin") return sine();
  if (name == "cos") return cosine();
  if (name == "tan") return product(sine(), inverse(cosine()));
  if (name == "cot") return product(cosine(), inverse(sine()));
  if (name == "sec") return inverse(cosine());
  if (name == "csc") return inverse(sine());
  const Ball up = exponential(a), down = exponential({-a.value, a.error});
  const Ball difference = sum(up, {-down.value, down.error}), total = sum(up, down);
  if (name == "sinh") return product(difference, {0.5L});
  if (name == "cosh") return product(total, {0.5L});
  if (name == "tanh") return product(difference, inverse(total));
  fail("no rule for {}", name);
}

// `base`: of a logarithm.
Ball function(const Node& node, const Ball& argument, const Ball& base) {
  if (node.name == "exp") return exponential(argument);
  if (node.name == "ln") return logarithm(argument);
  if (node.name == "floor" || node.name == "ceil") return whole_part(argument, node.name == "floor");
  if (node.name == "log") return product(logarithm(argument), inverse(logarithm(base)));
  return trigonometric(node.name, argument);
}

}  // namespace

Ball evaluate(const Node& node, const Point& point, Budget& budget) {
  budget.spend(8);
  const auto child = [&](size_t i) { return evaluate(node.children[i], point, budget); };
  switch (node.kind) {
    case Kind::number:
    case Kind::based:
      return rounded(to_long_double(node.number), 0, 1);
    case Kind::variable: {
      const auto found = point.find(node.name);
      check(found != point.end(), "no value of {}", node.name);
      return {found->second};
    }
    case Kind::pi:
      return rounded(kPi, 0, 1);
    case Kind::euler:
      return rounded(std::exp(1.0L), 0, 2);
    case Kind::imaginary:
      return {Complex(0, 1)};
    case Kind::sum: {
      Ball total;
      for (size_t i = 0; i < node.children.size(); ++i) total = sum(total, child(i));
      return total;
    }
    case Kind::product: {
      Ball total{1};
      for (size_t i = 0; i < node.children.size(); ++i) total = product(total, child(i));
      return total;
    }
    case Kind::quotient:
      return product(child(0), inverse(child(1)));
    case Kind::power: {
      if (const auto exponent = small_rational(node.children[1])) {
        if (exponent->get_den() == 1) return power(child(0), exponent->get_num(), budget);
        check(exponent->get_den().fits_sint_p() && exponent->get_den() < 1000, "an exponent's denominator is large");
        return power(root(child(0), exponent->get_den().get_si()), exponent->get_num(), budget);
      }
      return exponential(product(child(1), node.children[0].kind == Kind::euler ? Ball{1} : logarithm(child(0))));
    }
    case Kind::root: {
      const auto index = small_rational(node.children[1]);
      check(index && index->get_den() == 1 && *index >= 2 && *index <= 1000, "no rule for a root's index");
      return root(child(0), index->get_num().get_si());
    }
    case Kind::absolute: {
      const Ball a = child(0);
      return rounded(std::abs(a.value), a.error);
    }
    case Kind::percent:
      return product(child(0), {0.01L, kEpsilon});
    case Kind::degrees:
      return product(child(0), {kPi / 180, kEpsilon});
    case Kind::function:
      return function(node, child(0), node.children.size() > 1 ? child(1) : Ball{10});
    default:
      fail("no rule for this expression");
  }
}

namespace {

uint64_t times(uint64_t a, uint64_t b, uint64_t p) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b % p);
}

uint64_t raised(uint64_t base, mpz_class exponent, uint64_t p) {
  uint64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (mpz_odd_p(exponent.get_mpz_t())) result = times(result, base, p);
    base = times(base, base, p);
  }
  return result;
}

struct Modular {
  uint64_t prime, seed;
  Budget& budget;
  bool undefined = false;

  uint64_t inverse(uint64_t a) {
    if (a == 0) undefined = true;
    return raised(a, mpz_class(std::to_string(prime - 2)), prime);
  }
  uint64_t of(const mpz_class& a) { return mpz_fdiv_ui(a.get_mpz_t(), prime); }
  uint64_t of(const mpq_class& a) {
    return a.get_den() == 1 ? of(a.get_num()) : times(of(a.get_num()), inverse(of(a.get_den())), prime);
  }
  // `degree`: the product of the exponents around this node.
  uint64_t value(const Node& node, double degree) {
    budget.spend(8);
    check(degree < 0x1p40, "the degree is too large");
    switch (node.kind) {
      case Kind::number:
      case Kind::based:
        return of(node.number);
      case Kind::percent:
        return times(value(node.children[0], degree), inverse(100), prime);
      case Kind::variable:
        return hash_of(node.name, seed) % prime;
      case Kind::sum: {
        uint64_t total = 0;
        for (const Node& child : node.children) total = (total + value(child, degree)) % prime;
        return total;
      }
      case Kind::product: {
        uint64_t total = 1;
        for (const Node& child : node.children) {
          total = times(total, value(child, degree * static_cast<double>(node.children.size())), prime);
        }
        return total;
      }
      case Kind::quotient:
        return times(value(node.children[0], 2 * degree), inverse(value(node.children[1], 2 * degree)), prime);
      case Kind::power: {
        const auto exponent = small_rational(node.children[1]);
        check(exponent && exponent->get_den() == 1, "no rule for this exponent");
        budget.spend(static_cast<int64_t>(mpz_sizeinbase(exponent->get_num_mpz_t(), 2)));
        const mpz_class magnitude = abs(exponent->get_num());
        const uint64_t result =
            raised(value(node.children[0], degree * std::max(1.0, magnitude.get_d())), magnitude, prime);
        return *exponent < 0 ? inverse(result) : result;
      }
      default:
        fail("no rule for this expression");
    }
  }
};

}  // namespace

std::optional<uint64_t> evaluate_modulo(const Node& node, uint64_t prime, uint64_t seed, Budget& budget) {
  static_assert(sizeof(unsigned long) == 8);
  Modular modular{prime, seed, budget};
  const uint64_t value = modular.value(node, 1);
  if (modular.undefined) return {};
  return value;
}

void collect_variables(const Node& node, std::set<std::string>& names) {
  if (node.kind == Kind::variable) names.insert(node.name);
  for (const Node& child : node.children) collect_variables(child, names);
}

int longest_decimal(const Node& node) {
  int longest = node.decimals;
  for (const Node& child : node.children) longest = std::max(longest, longest_decimal(child));
  return longest;
}

std::optional<mpq_class> small_rational(const Node& node) {
  std::vector<mpq_class> values;
  if (node.kind == Kind::number) return node.number;
  if (node.kind != Kind::sum && node.kind != Kind::product && node.kind != Kind::quotient && node.kind != Kind::power) {
    return {};
  }
  for (const Node& child : node.children) {
    const auto value = small_rational(child);
    if (!value || mpz_sizeinbase(value->get_num_mpz_t(), 2) > 64 || mpz_sizeinbase(value->get_den_mpz_t(), 2) > 64) {
      return {};
    }
    values.push_back(*value);
  }
  mpq_class result = node.kind == Kind::sum ? 0 : 1;
  if (node.kind == Kind::quotient) {
    if (values[1] == 0) return {};
    return mpq_class(values[0] / values[1]);
  }
  if (node.kind == Kind::power) {
    if (values[1].get_den() != 1 || values[1] < 0 || values[1] > 64 ||
        values[1].get_d() * static_cast<double>(mpz_sizeinbase(values[0].get_num_mpz_t(), 2)) > 64) {
      return {};
    }
    for (int i = 0; values[1] > i; ++i) result *= values[0];
    return result;
  }
  for (const mpq_class& value : values) {
    if (node.kind == Kind::sum) {
      result += value;
    } else {
      result *= value;
    }
    if (mpz_sizeinbase(result.get_num_mpz_t(), 2) > 4096) return {};
  }
  return result;
}

uint64_t hash_of(std::string_view text, uint64_t seed) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  seed ^= seed >> 29;
  seed *= 0xbf58476d1ce4e5b9ull;
  return seed ^ (seed >> 32);
}

}  // namespace pg::grading
