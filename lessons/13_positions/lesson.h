#pragma once
// Lesson 13: the functions that you write.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/decode/kv_cache.h"
#include "tensor/rope.h"

namespace pg::lesson13 {

Tensor rope(const Tensor& x, const Rope& options, const Tensor& positions);
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options);
Tensor repeat_heads(const Tensor& x, int64_t heads);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson13::rope)* rope = lesson13::rope;
  decltype(lesson13::decode)* decode = lesson13::decode;
  decltype(lesson13::repeat_heads)* repeat_heads = lesson13::repeat_heads;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();

// The parts of the demonstration, each in a file of its name.
void show_positions(kit::Demo& demo, const Impl& impl);
void show_sharing(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson13
