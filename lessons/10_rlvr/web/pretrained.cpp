// The last part of lesson 10's demonstration in a browser, which has no files.
#include "lessons/10_rlvr/lesson.h"

namespace pg::lesson10 {

void show_pretrained(kit::Demo& demo, const Impl&) {
  demo.heading("A pretrained model");
  demo.line("skipped: a browser has no file smollm2 (./lesson10 --full asks the model)");
}

}  // namespace pg::lesson10
