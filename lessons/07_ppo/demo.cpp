// The demonstration of lesson 7.
#include "lessons/07_ppo/lesson.h"

namespace pg::lesson07 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_first_step(demo, impl);
  show_cartpole(demo, impl);
  show_ablations(demo, impl);
  show_robots(demo, impl);
}

}  // namespace pg::lesson07

int main(int argc, char** argv) {
  using namespace pg::lesson07;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = "7",
                                                   .folder = "lessons/07_ppo",
                                                   .title = "PPO",
                                                   .reference = reference(),
                                                   .checks = checks(),
                                                   .demo = demo,
                                                   .hunt = show_cartpole},
                             argc, argv);
}
