#pragma once
// Working memory of a kernel on this thread: kept between calls, never shared, contents undefined.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace pg::cpu {

// One buffer per use, so that kernels that call each other don't overwrite each other's buffers.
enum class Scratch : uint8_t {
  gemm_a,
  gemm_b,
  gemm_c,
  gemm_bias,
  gemm_sums,
  attention,
  rows,  // several buffers, see rows.h
  count = rows + 6
};

// At least `n` elements, aligned to 64 bytes; valid until the next call with the same `use` on this thread.
template <class T>
T* scratch(Scratch use, int64_t n) {
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  struct Buffer {
    std::unique_ptr<std::byte[], Free> data;
    size_t size = 0;
  };
  static thread_local Buffer buffers[static_cast<int>(Scratch::count)];
  Buffer& buffer = buffers[static_cast<int>(use)];
  const size_t bytes = static_cast<size_t>(n) * sizeof(T);
  if (buffer.size < bytes) {
    buffer.data.reset();  // first, so that the old and the new buffer are never held together
    buffer.size = 0;
    buffer.data.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
    buffer.size = bytes;
  }
  return reinterpret_cast<T*>(buffer.data.get());
}

}  // namespace pg::cpu
