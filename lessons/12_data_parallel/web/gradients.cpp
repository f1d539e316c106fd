// The part of lesson 12's demonstration that trains in several processes, which a browser has not.
#include "lessons/12_data_parallel/demo.h"

namespace pg::lesson12 {

void show_gradients(kit::Demo& demo, const Impl&) {
  demo.heading("A mean of means is no mean");
  demo.line("skipped: a browser has no processes (./lesson12 starts them)");
}

}  // namespace pg::lesson12
