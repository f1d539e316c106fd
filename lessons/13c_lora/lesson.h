#pragma once
// Lesson 13c: the functions that you write.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/layers.h"
#include "nn/variants/lora.h"

namespace pg::lesson13c {

void add_lora(Linear& layer, const LoraConfig& config, Generator& generator);
void merge_lora(Linear& layer);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson13c::add_lora)* add_lora = lesson13c::add_lora;
  decltype(lesson13c::merge_lora)* merge_lora = lesson13c::merge_lora;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();

}  // namespace pg::lesson13c
