#pragma once
// The known mistakes that a check names by running them, and the names of mistakes in kernels.
#include <cstddef>

#include "lessons/11_cuda/impl.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson11 {

// mistakes.cu
kit::Mistakes<&Impl::reduce> reduce_mistakes();
kit::Mistakes<&Impl::matmul> matmul_mistakes();
kit::Mistakes<&Impl::row_stats> stats_mistakes();

// The name of a mistake as a number, its hash FNV-1a: nvcc takes no kit::Name as an argument of a kernel's template.
consteval uint64_t operator""_id(const char* name, size_t n) {
  uint64_t id = 14695981039346656037u;
  for (size_t i = 0; i < n; ++i) id = (id ^ static_cast<unsigned char>(name[i])) * 1099511628211u;
  return id;
}
inline constexpr uint64_t kNoMistake = 0;

}  // namespace pg::lesson11
