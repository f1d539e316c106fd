// The demonstration of lesson 12.
#include "lessons/12_data_parallel/demo.h"

namespace pg::lesson12 {

void demo(kit::Demo& demo, const Impl& impl) {
  show_ring(demo, impl);
  show_gradients(demo, impl);
  show_memory(demo, impl);
  show_overlap(demo, impl);
  show_scaling(demo, impl);
}

}  // namespace pg::lesson12

int main(int argc, char** argv) {
  using namespace pg::lesson12;
  return pg::kit::run_lesson(pg::kit::Lesson<Impl>{.number = "12",
                                                   .folder = "lessons/12_data_parallel",
                                                   .title = "data parallelism",
                                                   .reference = reference(),
                                                   .checks = checks(),
                                                   .demo = demo},
                             argc, argv);
}
