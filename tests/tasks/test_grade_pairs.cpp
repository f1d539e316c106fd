// The table of 300 pairs written by hand: no different answer is accepted, and at most 2 % of the equal ones are
// missed.
#include "tasks/grade/grade.h"
#include "tests/catch.h"
#include "tests/tasks/grade_pairs.h"

using namespace pg;

TEST_CASE("the grader misses at most two percent of 300 pairs written by hand and accepts no false one", "[grade]") {
  int equal = 0, missed = 0, all = 0;
  std::string misses;
  for (const auto& [given, gold, is_equal] : testing::kGradePairs) {
    const Verdict verdict = grade_answer(given, gold);
    const bool yes = verdict.kind == Verdict::Kind::yes;
    INFO(given << " ~ " << gold << ": " << verdict.reason);
    if (!is_equal) CHECK_FALSE(yes);
    ++all;
    equal += is_equal;
    if (!is_equal || yes) continue;
    ++missed;
    misses += fmt::format("{} ~ {}: {}\n", given, gold, verdict.reason);
  }
  CHECK(all == 300);
  CHECK(equal == 150);
  INFO(misses);
  CHECK(missed * 50 <= equal);
}
