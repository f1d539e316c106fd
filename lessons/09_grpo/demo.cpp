// The demonstration of lesson 9.
#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_bandit(demo, impl);
  show_characters(demo, impl);
  show_first_step(demo, impl);
  show_nesting(demo, impl);
  show_table(demo, impl);
  show_longer(demo, impl);
}

}  // namespace pg::lesson09

int main(int argc, char** argv) {
  using namespace pg::lesson09;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{.number = "9",
                            .folder = "lessons/09_grpo",
                            .title = "GRPO",
                            .reference = reference(),
                            .checks = checks(),
                            .demo = demo,
                            .hunt = show_table,
                            .settings = {pg::kit::seed_setting(),
                                         {"samples", 8, 2, 32, "G: the responses of a group", true},
                                         {"lr", 0.002, 0.0001, 0.1, "learning rate of the algorithms"},
                                         {"beta", 0.1, 0, 2, "weight of the KL to the bigram"},
                                         {"partial", 0.03, 0, 1, "weight of the partial credit"}}},
      argc, argv);
}
