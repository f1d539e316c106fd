#pragma once
// Checks every access of a block's threads: is it in bounds, is the memory initialised, is it ordered with other
// threads?
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tensor/sim/kernel.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/order.h"
#include "tensor/sim/races.h"
#include "tensor/sim/shared.h"

namespace pg::sim {

struct Access {
  uintptr_t address;
  size_t bytes;
  uint8_t kind;  // Touch::read, write or atomic
  const void* pc;
  int thread;
};

enum class Space { none, global, shared };

class Checker {
 public:
  explicit Checker(const SharedMemory& shared);

  void begin_launch(const Kernel& kernel);  // before the blocks of one launch
  void end_launch();                        // after them: reports to order.h the memory they used
  void begin_block(int threads);
  void barrier() { ++epoch_; }
  void syncwarp(int warp, uint32_t mask) { clocks_.syncwarp(warp, mask); }

  // The kind of memory that is accessed; Space::none for a thread's own variables, constants and arguments. Stops the
  // kernel if it is out of bounds.
  Space locate(const Access& access, size_t* shared_position);
  // Stops the kernel because the address is no multiple of `alignment`.
  [[noreturn]] void misaligned(const Access& access, size_t alignment) const;
  // Stop the kernel if the access races. A read of bytes that no thread has written is kept in unwritten(): if another
  // thread writes there before the next barrier, the error is the race.
  void check_shared(const Access& access, size_t position);
  void check_global(const Access& access);
  // For a checked write to shared memory that takes effect later: between delay() and arrive() no thread may access
  // these bytes.
  void delay(const Access& write, size_t position);
  void arrive(const Access& write, size_t position);
  // The block's first read of shared memory that no thread had written; it is an error if no race was found when the
  // block reaches a barrier or its end.
  const std::optional<Fault>& unwritten() const { return unwritten_; }

 private:
  // A word of shared memory.
  struct SharedWord {
    uint32_t block;   // the block that `written` and `last` belong to
    uint8_t written;  // one bit per byte
    uint8_t delayed;  // likewise: a cp.async to it is pending
    Touch last[3];
  };
  // A word of global memory, in a table of fixed size that holds the newest words.
  struct GlobalWord {
    uintptr_t word;
    Touch last[2];
  };
  static constexpr int kGlobalBits = 15;
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  [[noreturn]] void out_of_bounds(const Access& access);
  [[noreturn]] void out_of_shared(const Access& access, size_t position);
  [[noreturn]] void race(const Access& access, const Touch& other, std::string location);
  Touch touch(const Access& access, uint8_t bytes) const;

  const SharedMemory& shared_;
  const uintptr_t image_begin_, image_size_;
  uintptr_t arguments_ = 0;
  size_t argument_bytes_ = 0, dynamic_bytes_ = 0;
  int device_ = 0;  // of the kernel
  // An allocation, and the bytes of it that were read and written.
  struct Recent {
    Allocation allocation;
    Use read, written;
  };
  void forget(Recent& recent);
  std::array<Recent, 4> recent_;  // the allocations accessed last
  Uses uses_;
  int oldest_ = 0;
  uint32_t block_ = 0, epoch_ = 0;
  std::optional<Fault> unwritten_;
  WarpClocks clocks_;
  std::unique_ptr<SharedWord[], Free> shared_words_;
  std::unique_ptr<GlobalWord[], Free> global_words_;
};

}  // namespace pg::sim
