#pragma once
// Runs one block after another on the calling host thread. Each thread of a block is a fiber; they take turns when they
// wait: lanes of a warp in order, warps in order, so a run repeats exactly.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/sim/checker.h"
#include "tensor/sim/kernel.h"
#include "tensor/sim/meeting.h"
#include "tensor/sim/recorder.h"

namespace pg::sim {

constexpr int kMaxThreads = 1024;  // of a block

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  static Block& of_this_host_thread();

  // Sets the kernel, and what is checked and counted in the following blocks.
  void begin_launch(const Kernel& kernel, const std::string& name, bool check_accesses, Report::Data* report);
  // Runs a block to its end. Returns the error that ended it early, if any.
  std::optional<Fault> run(uint3 index);
  void end_launch();

  // For the running thread:
  uint64_t meet(Meeting meeting, unsigned mask, uint64_t value, int source, const void* pc);
  [[noreturn]] void stop(const void* pc, std::string text);
  // `alignment`: the power of two that the address must be a multiple of; 1 if the type of the access promises none.
  void on_access(uintptr_t address, size_t bytes, size_t alignment, uint8_t kind, const void* pc);
  // A read or write by an instruction that can access only shared memory; `name` is the name of the instruction.
  void on_shared_access(const char* name, uintptr_t address, size_t bytes, uint8_t kind, const void* pc);
  void begin_copy(uintptr_t to, uintptr_t from, size_t bytes, size_t zeros, const void* pc);  // cp.async
  void commit_copies() { ++threads_[current_].groups; }
  void wait_for_copies(unsigned pending_groups);
  void wait_for_earlier_kernels() { threads_[current_].waited = true; }
  void on_function_entry(uintptr_t stack_pointer, const void* pc);
  int thread() const { return current_; }
  bool whole_warp() const { return warps_[current_ / 32].exists == 0xffffffffu; }
  unsigned active_lanes() const { return ~warps_[current_ / 32].done & warps_[current_ / 32].exists; }
  void* dynamic_shared() const { return shared_.dynamic(); }
  [[noreturn]] void thread_main();

 private:
  // A pending cp.async.
  struct Copy {
    uintptr_t to, from;
    size_t bytes, zeros;  // bytes to copy, and bytes to clear after them
    unsigned group;
    const void* pc;
  };
  struct Thread {
    uint3 index{};            // threadIdx
    void* context = nullptr;  // where to continue; nullptr: not begun
    int stack = -1;
    Meeting meeting{};  // what it waits for
    unsigned mask = 0;
    int source = 0;
    uint64_t value = 0, result = 0;
    const void* pc = nullptr;
    void* fake_stack = nullptr;  // AddressSanitizer's
    std::vector<Copy> copies;
    unsigned groups = 0;  // number of committed groups
    bool waited = false;  // for the kernels ahead of this one
  };
  struct Warp {
    unsigned exists = 0, ready = 0, done = 0;
    unsigned waiting = 0;  // for a Meeting of the warp
  };

  void continue_thread(int thread);
  void leave_thread(bool for_ever);
  bool at_barrier(int thread) const;
  void resolve_barrier();
  void resolve_warp(int warp, unsigned mask);
  void exchange_fragments(Meeting meeting, int warp);
  Space judge(const Access& access, size_t* shared_position);
  void fail_stuck();
  void free_all_stacks();
  std::string whereabouts(int thread) const;
  char* stack_of(int thread) const;

  const Kernel* kernel_ = nullptr;
  std::string name_;
  Report::Data* report_ = nullptr;
  bool check_ = false;
  uint64_t barriers_ = 0;
  int count_ = 0, current_ = 0;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::optional<Fault> fault_;
  char* stacks_ = nullptr;
  std::vector<int> free_stacks_;
  bool observes_ = false;  // accesses of the kernel that runs
  void* scheduler_ = nullptr;
  void* scheduler_fake_stack_ = nullptr;
  const void* scheduler_stack_ = nullptr;
  size_t scheduler_stack_size_ = 0;
  SharedMemory shared_;
  Checker checker_;
  Recorder recorder_;
};

// Compiled kernels call the simulator through these: they are compiled with -fsanitize=thread, which puts a call of a
// __tsan_… function before every access to memory; hooks.cpp defines those functions in place of ThreadSanitizer's.

// The block that runs on this host thread, or ran last.
extern constinit thread_local Block* running_block;
// The block whose kernel code runs on this host thread, if its accesses are observed; else nullptr.
extern constinit thread_local Block* observed_block;

// While it lives, the simulator's own code runs on the stack of a kernel's thread, and no accesses are observed. Inline
// functions of the standard library that a .cu file uses call the hooks too, and the linker may choose these copies for
// the whole program.
class Unobserved {
 public:
  Unobserved() : block_(observed_block) { observed_block = nullptr; }
  ~Unobserved() { observed_block = block_; }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;

 private:
  Block* block_;
};

}  // namespace pg::sim
