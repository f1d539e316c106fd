// The demonstration of lesson 10.
#include "lessons/10_rlvr/lesson.h"

namespace pg::lesson10 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_attacks(demo, impl);
  show_estimators(demo, impl);
  show_stages(demo, impl);
  show_progress(demo, impl);
  if (demo.full()) show_pretrained(demo, impl);
}

}  // namespace pg::lesson10

int main(int argc, char** argv) {
  using namespace pg::lesson10;
  return pg::kit::run_lesson<Impl>({.number = "10",
                                    .folder = "lessons/10_rlvr",
                                    .title = "rewards that can be verified",
                                    .reference = reference(),
                                    .checks = checks(),
                                    .demo = demo,
                                    .settings = {pg::kit::seed_setting(),
                                                 {"samples", 16, 2, 64, "G: the responses of a group in GRPO", true},
                                                 {"lr", 0.001, 0.00001, 0.1, "learning rate of GRPO"},
                                                 {"entropy", 0.02, 0, 1, "weight of the entropy bonus"}}},
                                   argc, argv);
}
