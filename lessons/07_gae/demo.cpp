// The demonstration of lesson 7: a whole training, and what lambda and the ends of episodes do.
#include "lessons/07_gae/ablations.h"
#include "lessons/07_gae/cartpole.h"
#include "lessons/07_gae/lesson.h"

namespace pg::lesson07 {
namespace {

constexpr Variant kNoLambda{"lambda = 0", [](auto& config, auto&) { config.lambda = 0; }};
constexpr Variant kFullLambda{"lambda = 1", [](auto& config, auto&) { config.lambda = 1; }};
constexpr Variant kTruncationAsEnd{"truncation as an end",
                                   [](auto&, auto& functions) { treat_truncation_as_end(functions); }};

void show_lambda(kit::Demo& demo, const rl::EnvFunctions& functions) {
  demo.heading("How far to trust the critic");
  const Pace pace = slow_pace(demo);
  demo.say(
      "{} steps of CartPole, {} seeds. The mean return over the whole run measures how fast a policy learns. "
      "\"everything\" has lambda = {:g}:",
      pace.steps, pace.seeds, demo.setting("lambda"));
  const auto results = table(demo, functions, pace, {kEverything, kNoLambda, kFullLambda});
  demo.say(
      "With lambda = 0 an advantage depends on one reward and on the values of the critic, which learns slowly here. "
      "With lambda = 1 the noise of the whole return makes learning slower.");
  demo.claim("lambda = 0, return over the whole run / everything", results[1].mean / results[0].mean, "",
             kit::at_most(0.6));
}

void show_truncation(kit::Demo& demo, const rl::EnvFunctions& functions) {
  demo.heading("What is a standing pole worth?");
  const Pace pace = fast_pace(demo);
  demo.say(
      "In {} steps with ten times the learning rate the critic has time to learn the value of an upright pole. If "
      "truncation is treated as an end, that value should be 80, the mean of (1 - 0.99^n) / (1 - 0.99) over n = 1 to "
      "500 remaining steps:",
      pace.steps);
  std::vector<Variant> variants = {kEverything, kTruncationAsEnd};
  if (demo.full()) variants.insert(variants.end(), {kNoLambda, kFullLambda});
  const auto results = table(demo, functions, pace, variants);
  demo.claim("V of the upright pole at rest, everything", results[0].upright, "", kit::at_least(90));
  demo.claim("the same, truncation as an end", results[1].upright, "", kit::at_most(90));
}

rl::EnvFunctions functions_of(const Impl& impl) { return {.gae = impl.gae}; }

void demo(kit::Demo& demo, const Impl& impl) {
  const rl::EnvFunctions functions = functions_of(impl);
  show_cartpole(demo, functions);
  show_lambda(demo, functions);
  show_truncation(demo, functions);
}

}  // namespace
}  // namespace pg::lesson07

int main(int argc, char** argv) {
  using namespace pg::lesson07;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{
          .number = "7",
          .folder = "lessons/07_gae",
          .title = "advantages",
          .reference = reference(),
          .checks = checks(),
          .demo = demo,
          .hunt = [](pg::kit::Demo& demo, const Impl& impl) { show_cartpole(demo, functions_of(impl)); },
          .settings = cartpole_settings()},
      argc, argv);
}
