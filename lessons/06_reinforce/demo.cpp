// The demonstration of lesson 6.
#include "lessons/06_reinforce/lesson.h"

namespace pg::lesson06 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_bandit(demo, impl);
  show_writer(demo, impl);
}

}  // namespace pg::lesson06

int main(int argc, char** argv) {
  using namespace pg::lesson06;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{.number = "6",
                            .folder = "lessons/06_reinforce",
                            .title = "REINFORCE",
                            .reference = reference(),
                            .checks = checks(),
                            .demo = demo,
                            .settings = {pg::kit::seed_setting(),
                                         {"bandit_lr", 0.3, 0.001, 10, "learning rate of the bandit"},
                                         {"decay", 0.9, 0, 0.999, "decay of the moving baseline"},
                                         {"lr", 0.003, 0.0001, 0.1, "learning rate of the writer"},
                                         {"penalty", 2, 0, 10, "taken off for each token past the eighth"},
                                         {"beta", 0.3, 0, 5, "weight of the KL"}}},
      argc, argv);
}
