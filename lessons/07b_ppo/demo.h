#pragma once
// The demonstration of lesson 7b: what its parts share.
#include "lessons/07_gae/train.h"
#include "lessons/07b_ppo/lesson.h"

namespace pg::lesson07b {

using namespace lesson07;

rl::EnvFunctions functions_of(const Impl& impl);
void remove_clip(rl::EnvFunctions& functions);  // the policy loss is -ratio·A
void show_robots(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson07b
