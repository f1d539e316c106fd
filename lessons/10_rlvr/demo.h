#pragma once
// The demonstration of lesson 10: its parts, each in a file of its name.
#include "lessons/10_rlvr/lesson.h"

namespace pg::lesson10 {

void show_attacks(kit::Demo& demo, const Impl& impl);     // graders.cpp
void show_estimators(kit::Demo& demo, const Impl& impl);  // estimators.cpp
void show_stages(kit::Demo& demo, const Impl& impl);      // stages.cpp
void show_progress(kit::Demo& demo, const Impl& impl);    // estimators.cpp
void show_pretrained(kit::Demo& demo, const Impl& impl);  // pretrained.cpp

}  // namespace pg::lesson10
