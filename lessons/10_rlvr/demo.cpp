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
  return pg::kit::run_lesson<Impl>(
      {10, "lessons/10_rlvr", "rewards that can be verified", reference(), {}, checks(), demo}, argc, argv);
}
