#pragma once
// Pairs of answers whose equality is known by how they are made, and what tries them. POLICYGRAD_GRADE_PAIRS sets how
// many each test tries.
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "tasks/grade/grade.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

namespace pg::testing {

// An answer, the expected one, and whether they are equal.
struct Pair {
  std::string given, gold;
  bool equal;
};

inline int whole(Generator& g, int low, int high) { return low + static_cast<int>(g.integer(high - low + 1)); }
inline bool coin(Generator& g) { return g.integer(2) == 0; }
template <class T>
const T& one_of(Generator& g, const std::vector<T>& all) {
  return all[static_cast<size_t>(g.integer(std::ssize(all)))];
}
template <class T>
std::vector<T> shuffled(Generator& g, std::vector<T> all) {
  for (size_t i = all.size(); i > 1; --i)
    std::swap(all[i - 1], all[static_cast<size_t>(g.integer(static_cast<int64_t>(i)))]);
  return all;
}
inline std::string shuffled(Generator& g, const std::string& text) {
  const std::vector<char> letters = shuffled(g, std::vector<char>(text.begin(), text.end()));
  return {letters.begin(), letters.end()};
}
inline std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : between) + parts[i];
  return text;
}

struct Family {
  const char* name;
  Pair (*make)(Generator&);
};

// Tries the families in turn: each pair that is equal must be accepted, and no other one.
inline void try_pairs(const std::vector<Family>& families) {
  const char* wanted = std::getenv("POLICYGRAD_GRADE_PAIRS");
  const int64_t all = wanted != nullptr ? std::atoll(wanted) : rounds(34000);
  int64_t equal = 0, missed = 0, wrong = 0;
  for (int64_t i = 0; i < all; ++i) {
    const auto& [name, family] = families[static_cast<size_t>(i) % families.size()];
    Generator g(static_cast<uint64_t>(1000 + i));
    const Pair pair = family(g);
    const Verdict verdict = grade_answer(pair.given, pair.gold);
    const bool yes = verdict.kind == Verdict::Kind::yes;
    equal += pair.equal;
    missed += pair.equal && !yes;
    wrong += !pair.equal && yes;
    if (pair.equal != yes && missed + wrong <= 60) {
      INFO(name << ": " << pair.given << " ~ " << pair.gold << ": " << name_of(verdict.kind) << ", " << verdict.reason);
      CHECK(pair.equal == yes);
    }
  }
  INFO(all << " pairs, " << equal << " of them equal: " << missed << " missed, " << wrong << " false");
  CHECK(equal > all / 3);
  CHECK(missed == 0);
  CHECK(wrong == 0);
  if (wanted != nullptr) WARN(all << " pairs, " << equal << " equal: " << missed << " missed, " << wrong << " false");
}

}  // namespace pg::testing
