// The first part of the demonstration of lesson 12 in a browser, which has no threads.
#include "lessons/12_data_parallel/demo.h"

namespace pg::lesson12 {

void show_ring(kit::Demo& demo, const Impl&) {
  demo.heading("Around the ring");
  demo.line("skipped: a browser has no threads (./lesson12 starts them)");
}

}  // namespace pg::lesson12
