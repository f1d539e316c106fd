#pragma once
// The checks of lesson 13 by part, and the known mistakes.
#include <vector>

#include "lessons/13_positions/grading.h"
#include "lessons/13_positions/lesson.h"

namespace pg::lesson13 {

// checks_rope.cpp
kit::Grades<Impl> check_rope, check_decode;
// 13.2, row by row, by pg::rope from position 0 and by a softmax.
Tensor decode_by_rows(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options);
// checks_heads.cpp
kit::Grades<Impl> check_repeat_heads;

// mistakes.cpp
kit::Mistakes<&Impl::rope> rope_mistakes();
kit::Mistakes<&Impl::decode> decode_mistakes();
kit::Mistakes<&Impl::repeat_heads> repeat_mistakes();

// The heads `of` of x [B, Hkv, T, D].
Tensor heads_of(const Tensor& x, const std::vector<int32_t>& of);

}  // namespace pg::lesson13
