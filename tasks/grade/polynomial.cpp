#include "tasks/grade/polynomial.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg::grading {
namespace {

bool is_one(const Polynomial& a) { return a.size() == 1 && a.begin()->first.empty() && a.begin()->second == 1; }

}  // namespace

void Algebra::spend(const mpq_class& value) {
  budget_.spend_bits(
      static_cast<double>(mpz_sizeinbase(value.get_num_mpz_t(), 2) + mpz_sizeinbase(value.get_den_mpz_t(), 2)));
}

int32_t Algebra::find(Atom atom) {
  for (size_t i = 0; i < atoms_.size(); ++i) {
    budget_.spend();
    const Atom& known = atoms_[i];
    if (known.kind != atom.kind || known.name != atom.name || known.prime != atom.prime || known.index != atom.index ||
        known.arguments.size() != atom.arguments.size()) {
      continue;
    }
    const std::vector<Quotient> arguments = known.arguments;
    bool equal = true;
    for (size_t k = 0; equal && k < arguments.size(); ++k) equal = same(arguments[k], atom.arguments[k]);
    if (equal) return static_cast<int32_t>(i);
  }
  atoms_.push_back(std::move(atom));
  return static_cast<int32_t>(atoms_.size() - 1);
}

Polynomial Algebra::constant(const mpq_class& value) const {
  if (value == 0) return {};
  return {{Monomial(), value}};
}

Polynomial Algebra::of_atom(int32_t atom, int32_t exponent) const {
  return {{exponent == 0 ? Monomial() : Monomial{{atom, exponent}}, mpq_class(1)}};
}

Polynomial Algebra::variable(Atom::Kind kind, const std::string& name) {
  return of_atom(find({.kind = kind, .name = name}), kind == Atom::Kind::euler ? kFraction : 1);
}

Polynomial Algebra::prime_power(const mpz_class& prime, int64_t exponent) {
  const int64_t whole = exponent / kFraction;
  budget_.spend_bits(static_cast<double>(whole) * static_cast<double>(mpz_sizeinbase(prime.get_mpz_t(), 2)));
  mpz_class factor;
  mpz_pow_ui(factor.get_mpz_t(), prime.get_mpz_t(), static_cast<unsigned long>(whole));
  const auto rest = static_cast<int32_t>(exponent % kFraction);
  if (rest == 0) return constant(factor);
  Polynomial result = of_atom(find({.kind = Atom::Kind::prime, .name = "", .prime = prime}), rest);
  result.begin()->second = factor;
  return result;
}

Polynomial Algebra::e_power(int64_t exponent) {
  check(exponent < INT32_MAX, "a power of e is too large");
  return of_atom(find({.kind = Atom::Kind::euler, .name = ""}), static_cast<int32_t>(exponent));
}

Polynomial Algebra::log_prime(const mpz_class& prime) {
  return of_atom(find({.kind = Atom::Kind::opaque, .name = "log of a prime", .prime = prime}), 1);
}

Polynomial Algebra::root(const Quotient& radicand, int32_t index) {
  return of_atom(find({.kind = Atom::Kind::root, .name = "", .arguments = {radicand}, .index = index}), 1);
}

Polynomial Algebra::opaque(const std::string& function, std::vector<Quotient> arguments) {
  return of_atom(find({.kind = Atom::Kind::opaque, .name = function, .arguments = std::move(arguments)}), 1);
}

// Adds a term whose exponents may have reached what i^2 = -1, p^1 = p and root^n = radicand replace.
void Algebra::accumulate(Polynomial& sum, Monomial monomial, mpq_class coefficient) {
  spend(coefficient);
  budget_.spend(static_cast<int64_t>(monomial.size()));
  for (size_t k = 0; k < monomial.size(); ++k) {
    const Atom& atom = atoms_[static_cast<size_t>(monomial[k].first)];
    int32_t& exponent = monomial[k].second;
    if (atom.kind == Atom::Kind::imaginary) {
      if (exponent % 4 >= 2) coefficient = -coefficient;
      exponent %= 2;
    } else if (atom.kind == Atom::Kind::prime && exponent >= kFraction) {
      coefficient *= atom.prime;
      exponent -= kFraction;  // two factors have less than 2 kFraction
    } else if (atom.kind == Atom::Kind::root && exponent >= atom.index && is_one(atom.arguments[0].bottom)) {
      const Polynomial radicand = atom.arguments[0].top;
      exponent -= atom.index;
      Monomial rest = monomial;
      std::erase_if(rest, [](const auto& power) { return power.second == 0; });
      check(++level_ < 100, "roots of roots are nested too deep");
      for (const auto& [other, factor] : multiply(radicand, {{rest, coefficient}})) accumulate(sum, other, factor);
      --level_;
      return;
    }
  }
  std::erase_if(monomial, [](const auto& power) { return power.second == 0; });
  const auto [at, added] = sum.try_emplace(std::move(monomial), coefficient);
  if (added) return;
  at->second += coefficient;
  spend(at->second);
  if (at->second == 0) sum.erase(at);
}

Polynomial Algebra::add(const Polynomial& a, const Polynomial& b, const mpq_class& factor) {
  Polynomial sum = a;
  budget_.spend(static_cast<int64_t>(a.size()) + 1);
  for (const auto& [monomial, coefficient] : b) accumulate(sum, monomial, factor * coefficient);
  return sum;
}

Polynomial Algebra::multiply(const Polynomial& a, const Polynomial& b) {
  if (is_one(a)) return b;
  if (is_one(b)) return a;
  Polynomial result;
  Monomial product;
  for (const auto& [x, x_coefficient] : a) {
    for (const auto& [y, y_coefficient] : b) {
      product.clear();
      auto i = x.begin();
      auto j = y.begin();
      while (i != x.end() || j != y.end()) {
        if (j == y.end() || (i != x.end() && i->first < j->first)) {
          product.push_back(*i++);
        } else if (i == x.end() || j->first < i->first) {
          product.push_back(*j++);
        } else {
          const int64_t exponent = int64_t{i->second} + j->second;
          check(exponent < 1'000'000'000, "an exponent is too large");
          product.emplace_back(i->first, static_cast<int32_t>(exponent));
          ++i, ++j;
        }
      }
      accumulate(result, product, x_coefficient * y_coefficient);
    }
  }
  return result;
}

// A rational denominator goes into the numerator.
Quotient Algebra::simplified(Quotient a) const {
  if (a.top.empty()) return {};
  if (a.bottom.size() == 1 && a.bottom.begin()->first.empty() && a.bottom.begin()->second != 1) {
    const mpq_class factor = 1 / a.bottom.begin()->second;
    for (auto& term : a.top) term.second *= factor;
    a.bottom.begin()->second = 1;
  }
  return a;
}

Quotient Algebra::add(const Quotient& a, const Quotient& b, const mpq_class& factor) {
  if (a.bottom == b.bottom) return simplified({add(a.top, b.top, factor), a.bottom});
  return simplified({add(multiply(a.top, b.bottom), multiply(b.top, a.bottom), factor), multiply(a.bottom, b.bottom)});
}

Quotient Algebra::multiply(const Quotient& a, const Quotient& b) {
  return simplified({multiply(a.top, b.top), multiply(a.bottom, b.bottom)});
}

Quotient Algebra::inverse(const Quotient& a) {
  check(!a.top.empty(), "a division by zero");
  return simplified({a.bottom, a.top});
}

Quotient Algebra::power(const Quotient& a, int64_t exponent) {
  Quotient result = quotient(constant(1)), square = exponent < 0 ? inverse(a) : a;
  check(exponent > -1'000'000'000 && exponent < 1'000'000'000, "an exponent is too large");
  for (int64_t rest = std::abs(exponent); rest > 0; rest >>= 1) {
    if (rest & 1) result = multiply(result, square);
    if (rest > 1) square = multiply(square, square);
  }
  return result;
}

bool Algebra::same(const Quotient& a, const Quotient& b) {
  if (a.bottom == b.bottom) return add(a.top, b.top, -1).empty();
  return add(multiply(a.top, b.bottom), multiply(b.top, a.bottom), -1).empty();
}

std::optional<mpq_class> Algebra::ratio(const Quotient& a, const Quotient& b) {
  const Polynomial left = multiply(a.top, b.bottom), right = multiply(b.top, a.bottom);
  if (left.size() != right.size()) return {};
  if (left.empty()) return mpq_class(1);
  if (left.begin()->first != right.begin()->first) return {};
  const mpq_class factor = right.begin()->second / left.begin()->second;
  if (!add(right, left, -factor).empty()) return {};
  return factor;
}

bool Algebra::decides(const Quotient& a, const Quotient& b) const {
  bool pi = false, e = false;
  for (const Polynomial* polynomial : {&a.top, &a.bottom, &b.top, &b.bottom}) {
    for (const auto& term : *polynomial) {
      for (const auto& power : term.first) {
        const Atom::Kind kind = atoms_[static_cast<size_t>(power.first)].kind;
        if (kind == Atom::Kind::root || kind == Atom::Kind::opaque) return false;
        pi = pi || kind == Atom::Kind::pi;
        e = e || kind == Atom::Kind::euler;
      }
    }
  }
  return !(pi && e);
}

bool Algebra::safe_bottom(const Quotient& a) const { return decides({a.bottom}, {}); }

std::optional<mpq_class> Algebra::rational(const Quotient& a) {
  if (a.top.empty()) return mpq_class(0);
  if (!is_one(a.bottom) || a.top.size() != 1 || !a.top.begin()->first.empty()) return {};
  return a.top.begin()->second;
}

std::optional<mpq_class> Algebra::multiple_of_pi(const Quotient& a) const {
  if (a.top.empty()) return mpq_class(0);
  if (!is_one(a.bottom) || a.top.size() != 1 || a.top.begin()->first.size() != 1) return {};
  const auto& power = a.top.begin()->first[0];
  if (atoms_[static_cast<size_t>(power.first)].kind != Atom::Kind::pi || power.second != 1) return {};
  return a.top.begin()->second;
}

bool Algebra::has_variables(const Quotient& a) const {
  for (const Polynomial* polynomial : {&a.top, &a.bottom}) {
    for (const auto& term : *polynomial) {
      for (const auto& power : term.first) {
        const Atom& atom = atoms_[static_cast<size_t>(power.first)];
        if (atom.kind == Atom::Kind::variable) return true;
        for (const Quotient& argument : atom.arguments) {
          if (has_variables(argument)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace pg::grading
