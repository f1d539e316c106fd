#include "lessons/12_data_parallel/lesson.h"
namespace pg::lesson12 {
void demo(kit::Demo&, const Impl&) {}
}  // namespace pg::lesson12
int main(int argc, char** argv) {
  using namespace pg::lesson12;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = 12,
                                                   .folder = "lessons/12_data_parallel",
                                                   .title = "data parallelism",
                                                   .reference = reference(),
                                                   .learner = learner(),
                                                   .checks = checks(),
                                                   .demo = demo},
                             argc, argv);
}
