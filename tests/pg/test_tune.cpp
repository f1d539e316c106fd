// The search of pg tune, with times that are known.
#include <algorithm>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tools/pg/machine/tune_search.h"

using namespace pg;
using namespace pg::tools;
using cpu::GemmTuning;

namespace {

const GemmTuning kRules = cpu::gemm_tuning_of_caches(32 << 10, 1 << 20);

// Compares by a function that says how long a setting takes.
template <class Seconds>
Compare compare_by(Seconds seconds) {
  return [=](const TuningStep& step, const GemmTuning& present, const std::vector<GemmTuning>& candidates) {
    std::vector<double> shares;
    for (const GemmTuning& one : candidates) shares.push_back(seconds(step, one) / seconds(step, present));
    return shares;
  };
}

}  // namespace

TEST_CASE("tune: every choice of the matrix product belongs to one step", "[pg]") {
  std::map<std::string, int> steps_of;
  std::set<std::string> names;
  for (const TuningStep& step : tuning_steps()) {
    CHECK(names.insert(step.name).second);
    CHECK_FALSE(step.products.empty());
    for (const std::string& choice : step.choices) ++steps_of[choice];
  }
  for (const cpu::GemmChoice& choice : cpu::gemm_choices()) CHECK(steps_of[choice.name] == 1);
  CHECK(steps_of.size() == cpu::gemm_choices().size());
}

TEST_CASE("tune: the candidates are all other combinations of a step's values", "[pg]") {
  for (const TuningStep& step : tuning_steps()) {
    size_t combinations = 1;
    std::set<std::string> seen;
    for (const cpu::GemmChoice& choice : cpu::gemm_choices()) {
      const bool mine = std::count(step.choices.begin(), step.choices.end(), choice.name) > 0;
      if (mine) combinations *= choice.values.size();
    }
    for (const GemmTuning& one : candidates_of(step, kRules)) {
      CHECK(one != kRules);
      CHECK(seen.insert(cpu::gemm_tuning_text(one, "")).second);
      for (const cpu::GemmChoice& choice : cpu::gemm_choices()) {
        const bool mine = std::count(step.choices.begin(), step.choices.end(), choice.name) > 0;
        if (!mine) CHECK(one.*choice.value == kRules.*choice.value);
      }
    }
    CHECK(seen.size() == combinations - 1);
    // A present value that is none of the list, as caches of an odd size set it, leaves all combinations.
    GemmTuning odd = kRules;
    odd.block_depth = 1920;
    if (std::count(step.choices.begin(), step.choices.end(), "block_depth"))
      CHECK(candidates_of(step, odd).size() == combinations);
  }
}

TEST_CASE("tune: the search finds the fastest setting and hands it to the next step", "[pg]") {
  GemmTuning best = kRules;
  for (const cpu::GemmChoice& choice : cpu::gemm_choices()) {
    best.*choice.value = choice.values.front() == kRules.*choice.value ? choice.values.back() : choice.values.front();
  }
  // Each choice that differs from the best costs a tenth.
  const auto seconds = [&](const TuningStep&, const GemmTuning& tuning) {
    double time = 1;
    for (const cpu::GemmChoice& choice : cpu::gemm_choices()) {
      if (tuning.*choice.value != best.*choice.value) time *= 1.1;
    }
    return time;
  };
  std::vector<std::string> reported;
  GemmTuning last = kRules;
  const GemmTuning found = search_tuning(tuning_steps(), kRules, compare_by(seconds), [&](const StepResult& r) {
    reported.push_back(r.step.name);
    CHECK(r.before == last);
    CHECK(r.shares.size() == r.candidates.size());
    CHECK(r.again < 1);
    last = r.after;
  });
  CHECK(found == best);
  CHECK(last == best);
  CHECK(reported.size() == tuning_steps().size());
}

TEST_CASE("tune: what is hardly faster or not faster again is not taken", "[pg]") {
  const auto hardly = [&](const TuningStep&, const GemmTuning& tuning) { return tuning == kRules ? 1 : 0.985; };
  CHECK(search_tuning(tuning_steps(), kRules, compare_by(hardly), [](const StepResult& r) { CHECK(r.again == 0); }) ==
        kRules);
  // All candidates seem faster at first; the one that is measured again is not.
  const Compare noise = [](const TuningStep&, const GemmTuning&, const std::vector<GemmTuning>& candidates) {
    return std::vector<double>(candidates.size(), candidates.size() > 1 ? 0.5 : 1.01);
  };
  std::vector<TuningStep> steps = tuning_steps();
  std::erase_if(steps, [](const TuningStep& step) { return candidates_of(step, kRules).size() < 2; });
  REQUIRE_FALSE(steps.empty());
  CHECK(search_tuning(steps, kRules, noise, [](const StepResult& r) { CHECK(r.again == 1.01); }) == kRules);
}

TEST_CASE("tune: measured shares are positive and the setting in use stays", "[pg]") {
  const GemmTuning before = cpu::gemm_tuning();
  TuningStep step{"small", {"block_depth"}, {{f32, GemmForm::nn, 8, {{16, 32}}, 2}, {bf16, GemmForm::tn, 5, {{3, 7}}}}};
  const auto candidates = candidates_of(step, before);
  const auto shares = compare_by_time(3)(step, before, candidates);
  REQUIRE(shares.size() == candidates.size());
  for (const double share : shares) CHECK(share > 0);
  CHECK(cpu::gemm_tuning() == before);
}
