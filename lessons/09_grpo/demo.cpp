// The demonstration of lesson 9.
#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_bandit(demo, impl);
  show_characters(demo, impl);
  show_first_step(demo, impl);
  show_table(demo, impl);
}

}  // namespace pg::lesson09

int main(int argc, char** argv) {
  using namespace pg::lesson09;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = 9,
                                                   .folder = "lessons/09_grpo",
                                                   .title = "GRPO",
                                                   .reference = reference(),
                                                   .checks = checks(),
                                                   .demo = demo,
                                                   .hunt = show_table},
                             argc, argv);
}
