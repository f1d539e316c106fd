#pragma once
// The demonstration of lesson 12 by part.
#include <sys/mman.h>

#include <string>

#include "lessons/12_data_parallel/lesson.h"
#include "tensor/base/error.h"

namespace pg::lesson12 {

void show_ring(kit::Demo& demo, const Impl& impl);       // ring.cpp
void show_rounds(kit::Demo& demo, const Impl& impl);     // rounds.cpp, the beginning of show_ring()
void show_gradients(kit::Demo& demo, const Impl& impl);  // gradients.cpp
// step_models.cpp: calculated, not measured.
void show_overlap(kit::Demo& demo, const Impl& impl);
void show_memory(kit::Demo& demo, const Impl& impl);
void show_scaling(kit::Demo& demo, const Impl& impl);

// Numbers that the processes of run_ranks() share with this one.
class SharedNumbers {
 public:
  explicit SharedNumbers(size_t n) : bytes_(n * sizeof(float)) {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED, "lesson 12: the system has no {} bytes of shared memory", bytes_);
    data_ = static_cast<float*>(memory);
  }
  ~SharedNumbers() { munmap(data_, bytes_); }
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;
  std::span<float> all() const { return {data_, bytes_ / sizeof(float)}; }

 private:
  size_t bytes_;
  float* data_;
};

}  // namespace pg::lesson12
