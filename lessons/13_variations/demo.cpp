#include "lessons/13_variations/lesson.h"
namespace pg::lesson13 {
void demo(kit::Demo& demo, const Impl&) { demo.say("x"); }
}  // namespace pg::lesson13
int main(int argc, char** argv) {
  using namespace pg::lesson13;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = 13,
                                                   .folder = "lessons/13_variations",
                                                   .title = "variations",
                                                   .reference = reference(),
                                                   .learner = learner(),
                                                   .checks = checks(),
                                                   .demo = demo},
                             argc, argv);
}
