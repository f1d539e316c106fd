// Runs the threads of a block as fibers.
#include "tensor/sim/block.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <bit>
#include <exception>

#include "tensor/base/error.h"
#include "tensor/sim/fiber.h"
#include "tensor/sim/symbols.h"
#if POLICYGRAD_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

// device.h declares these as constants for kernels, so it is not included here.
constinit thread_local uint3 threadIdx{}, blockIdx{}, blockDim{}, gridDim{};

namespace pg::sim {

namespace {

// Reserved address space; only the part that a thread uses is backed by memory. AddressSanitizer makes frames larger.
constexpr size_t kStackBytes = POLICYGRAD_SIM_ASAN ? 512 << 10 : 128 << 10;
constexpr size_t kStackReserve = 32 << 10;  // for the simulator's own functions at the end of a stack
constexpr uint64_t kCanary = 0x5ca1ab1e0ddba11;

bool of_block(Meeting meeting) { return meeting <= Meeting::syncthreads_or; }

void fiber_entry() { running_block->thread_main(); }

// AddressSanitizer must be told of every switch of stacks; in other builds these functions do nothing.
void before_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* stack,
                   [[maybe_unused]] size_t bytes) {
#if POLICYGRAD_SIM_ASAN
  __sanitizer_start_switch_fiber(fake_stack, stack, bytes);
#endif
}
void after_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** stack,
                  [[maybe_unused]] size_t* bytes) {
#if POLICYGRAD_SIM_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, stack, bytes);
#endif
}

}  // namespace

Block& Block::of_this_host_thread() {
  thread_local Block block;
  return block;
}

Block::Block() : checker_(shared_) {
  void* memory = mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "CUDA simulator: no address space for {} stacks of {} bytes", kMaxThreads, kStackBytes);
  stacks_ = static_cast<char*>(memory);
  free_all_stacks();
}

void Block::free_all_stacks() {
  free_stacks_.clear();
  for (int i = kMaxThreads - 1; i >= 0; --i) free_stacks_.push_back(i);
}

Block::~Block() {
#if POLICYGRAD_SIM_ASAN
  __asan_unpoison_memory_region(stacks_, kMaxThreads * kStackBytes);  // else later mappings there would stay poisoned
#endif
  munmap(stacks_, kMaxThreads * kStackBytes);
}

char* Block::stack_of(int thread) const { return stacks_ + threads_[thread].stack * kStackBytes; }

void Block::begin_launch(const Kernel& kernel, const std::string& name, bool check_accesses, Report::Data* report) {
  kernel_ = &kernel;
  name_ = name;
  check_ = check_accesses;
  report_ = report;
  barriers_ = 0;
  count_ = static_cast<int>(kernel.block.x * kernel.block.y * kernel.block.z);
  blockDim = kernel.block;
  gridDim = kernel.grid;
  checker_.begin_launch(kernel);
}

void Block::end_launch() {
  checker_.end_launch();
  if (report_) recorder_.add_to(*report_, name_, barriers_);
}

std::optional<Fault> Block::run(uint3 index) {
  blockIdx = index;
  fault_.reset();
  running_block = this;
  threads_.assign(count_, Thread{});
  uint3 next{};
  for (Thread& t : threads_) {
    t.index = next;
    if (++next.x < blockDim.x) continue;
    next.x = 0;
    if (++next.y < blockDim.y) continue;
    next.y = 0;
    ++next.z;
  }
  warps_.assign((count_ + 31) / 32, Warp{});
  for (int thread = 0; thread < count_; ++thread) warps_[thread / 32].exists |= 1u << thread % 32;
  for (Warp& warp : warps_) warp.ready = warp.exists;
  checker_.begin_block(count_);
  if (report_) recorder_.begin_block(count_);
  if (!sees_accesses()) shared_.poison();
  observes_ = sees_accesses() && (check_ || report_);

  bool done = false;
  while (!done) {
    for (size_t w = 0; w < warps_.size() && !fault_; ++w) {
      while (warps_[w].ready && !fault_) {
        continue_thread(static_cast<int>(w) * 32 + std::countr_zero(warps_[w].ready));
      }
    }
    if (!fault_) fault_ = checker_.unwritten();
    if (fault_) break;
    bool all_at_barrier = true;
    done = true;
    for (int thread = 0; thread < count_; ++thread) {
      if (!at_barrier(thread)) all_at_barrier = false;
      if (!(warps_[thread / 32].done >> thread % 32 & 1)) done = false;
    }
    if (all_at_barrier) {
      resolve_barrier();
    } else if (!done) {
      fail_stuck();
    }
  }
  if (fault_) free_all_stacks();  // threads that never end hold some
  if (report_) {
    for (size_t w = 0; w < warps_.size(); ++w) recorder_.warp_met(static_cast<int>(w));
  }
  return fault_;
}

void Block::continue_thread(int thread) {
  Thread& t = threads_[thread];
  current_ = thread;
  threadIdx = t.index;
  if (!t.context) {
    t.stack = free_stacks_.back();
    free_stacks_.pop_back();
#if POLICYGRAD_SIM_ASAN
    __asan_unpoison_memory_region(stack_of(thread), kStackBytes);
#endif
    *reinterpret_cast<uint64_t*>(stack_of(thread)) = kCanary;
    // Stacks begin at different offsets in their pages: else all would compete for the same few cache lines.
    const size_t shift = static_cast<size_t>(t.stack) % 64 * 192;
    t.context = prepare_fiber(stack_of(thread), kStackBytes - shift, fiber_entry);
  }
  before_switch(&scheduler_fake_stack_, stack_of(thread), kStackBytes);
  observed_block = observes_ ? this : nullptr;
  switch_fiber(&scheduler_, t.context);
  observed_block = nullptr;
  after_switch(scheduler_fake_stack_, nullptr, nullptr);
  if (*reinterpret_cast<uint64_t*>(stack_of(thread)) != kCanary && !fault_)
    fault_ = Fault{nullptr, thread, "the thread's local variables need more stack than the simulator has"};
  // A kernel without barriers thus runs all its threads on one stack, which stays in the cache.
  if (warps_[thread / 32].done >> thread % 32 & 1) free_stacks_.push_back(t.stack);
}

void Block::leave_thread(bool for_ever) {
  Thread& t = threads_[current_];
  before_switch(for_ever ? nullptr : &t.fake_stack, scheduler_stack_, scheduler_stack_size_);
  switch_fiber(&t.context, scheduler_);
  after_switch(t.fake_stack, &scheduler_stack_, &scheduler_stack_size_);
}

void Block::thread_main() {
  after_switch(nullptr, &scheduler_stack_, &scheduler_stack_size_);
  try {
    kernel_->signature->call(kernel_->function, kernel_->arguments.get());
  } catch (const std::exception& error) {
    const Unobserved own_code;
    stop(nullptr, fmt::format("the kernel threw an exception: {}", error.what()));
  } catch (...) {
    fault_ = Fault{nullptr, current_, "", std::current_exception()};
  }
  if (!fault_ && kernel_->early && !threads_[current_].waited) {
    stop(nullptr, "ends without wait_for_earlier_kernels(); the kernels after it may then start too early");
  }
  if (fault_) leave_thread(true);
  Warp& warp = warps_[current_ / 32];
  const unsigned bit = 1u << current_ % 32;
  warp.ready &= ~bit;
  warp.done |= bit;
  leave_thread(true);
  std::terminate();  // a thread that is done is never continued
}

void Block::stop(const void* pc, std::string text) {
  observed_block = nullptr;  // until another thread continues
  fault_ = Fault{pc, current_, std::move(text)};
  // A read of unwritten bytes may be the cause of an access out of bounds, so it is reported instead; a race may be the
  // cause of the unwritten bytes, so it is reported itself.
  if (checker_.unwritten() && fault_->text.rfind("race", 0) != 0) fault_ = checker_.unwritten();
  leave_thread(true);
  std::terminate();
}

bool Block::at_barrier(int thread) const {
  const Warp& warp = warps_[thread / 32];
  const unsigned bit = 1u << thread % 32;
  return !((warp.ready | warp.done | warp.waiting) & bit) && of_block(threads_[thread].meeting);
}

uint64_t Block::meet(Meeting meeting, unsigned mask, uint64_t value, int source, const void* pc) {
  const Unobserved own_code;
  Thread& t = threads_[current_];
  t.meeting = meeting;
  t.mask = mask;
  t.source = source;
  t.value = value;
  t.pc = pc;
  const int w = current_ / 32;
  Warp& warp = warps_[w];
  const unsigned bit = 1u << current_ % 32;
  if (!of_block(meeting)) {
    if (!(mask & bit))
      stop(pc,
           fmt::format("{}: mask {:#010x} does not name the calling lane {}", name_of(meeting), mask, current_ % 32));
    warp.waiting |= bit;
    const unsigned wanted = mask & warp.exists;
    bool complete = (warp.waiting & wanted) == wanted;
    for (unsigned rest = wanted; complete && rest; rest &= rest - 1) {
      const Thread& other = threads_[w * 32 + std::countr_zero(rest)];
      complete = other.meeting == meeting && other.mask == mask;
    }
    if (complete) {
      resolve_warp(w, wanted);
      return t.result;
    }
  }
  warp.ready &= ~bit;
  leave_thread(false);
  return t.result;
}

void Block::resolve_barrier() {
  const Thread& first = threads_[0];
  uint64_t count = 0;
  for (int i = 0; i < count_; ++i) {
    const Thread& t = threads_[i];
    count += t.value;
    // The compiler may have made two calls of one barrier in the source, so source lines are compared.
    if (t.meeting == first.meeting && t.pc == first.pc) continue;
    const auto where = source_lines({first.pc, t.pc});
    const bool same_line = where[0].file == where[1].file && where[0].line == where[1].line;
    if (t.meeting == first.meeting && same_line) continue;
    fault_ = Fault{first.pc, 0,
                   fmt::format("divergent barrier: waits at {}, but thread {} {}; all threads of a block must reach "
                               "the same barrier",
                               name_of(first.meeting), i, whereabouts(i))};
    return;
  }
  const bool all = count == static_cast<uint64_t>(count_);
  const uint64_t result = first.meeting == Meeting::syncthreads_and  ? all
                          : first.meeting == Meeting::syncthreads_or ? count > 0
                                                                     : count;
  for (Thread& t : threads_) t.result = result;
  for (Warp& warp : warps_) warp.ready = warp.exists;
  checker_.barrier();
  ++barriers_;
  if (report_) {
    for (size_t w = 0; w < warps_.size(); ++w) recorder_.warp_met(static_cast<int>(w));
  }
}

std::string Block::whereabouts(int thread) const {
  if (warps_[thread / 32].done >> thread % 32 & 1) return "has left the kernel";
  const Thread& t = threads_[thread];
  const std::string mask = of_block(t.meeting) ? "" : fmt::format(" with mask {:#010x}", t.mask);
  return fmt::format("waits at {}{} ({})", name_of(t.meeting), mask, to_string(source_lines({t.pc})[0], t.pc));
}

// Called when no thread can continue. Names a thread that waits and one that does not arrive.
void Block::fail_stuck() {
  for (int i = 0; i < count_; ++i) {
    const Warp& warp = warps_[i / 32];
    if (!(warp.waiting >> i % 32 & 1)) continue;
    const Thread& t = threads_[i];
    for (int lane = 0; lane < 32; ++lane) {
      const int other = i / 32 * 32 + lane;
      if (!(t.mask & warp.exists & 1u << lane) || other == i) continue;
      const Thread& o = threads_[other];
      if ((warp.waiting >> lane & 1) && o.meeting == t.meeting && o.mask == t.mask) continue;
      fault_ =
          Fault{t.pc, i,
                fmt::format("{}: mask {:#010x} names lane {}, but that lane (thread {}) {}; the mask may name only "
                            "lanes that make this call",
                            name_of(t.meeting), t.mask, lane, other, whereabouts(other))};
      return;
    }
  }
  int waiting = -1, absent = -1;
  for (int i = count_ - 1; i >= 0; --i) (at_barrier(i) ? waiting : absent) = i;
  fault_ = Fault{threads_[waiting].pc, waiting,
                 fmt::format("divergent barrier: waits at {}, but thread {} {}; all threads of a block must reach the "
                             "same barrier",
                             name_of(threads_[waiting].meeting), absent, whereabouts(absent))};
}

void Block::on_access(uintptr_t address, size_t bytes, size_t alignment, uint8_t kind, const void* pc) {
  const Unobserved own_code;
  if (address & (alignment - 1)) [[unlikely]]
    checker_.misaligned({address, bytes, kind, pc, current_}, alignment);
  const uintptr_t offset = address - reinterpret_cast<uintptr_t>(stacks_);
  if (offset < kMaxThreads * kStackBytes) {
    if (static_cast<int>(offset / kStackBytes) != threads_[current_].stack)
      stop(pc, "accesses a local variable of another thread");
    return;
  }
  size_t position = 0;
  judge({address, bytes, kind, pc, current_}, &position);
}

// Checks and counts an access, and returns the kind of memory accessed.
Space Block::judge(const Access& access, size_t* position) {
  const Space space = checker_.locate(access, position);
  if (space == Space::none) return space;
  if (space == Space::global && kernel_->early && !threads_[current_].waited) {
    stop(access.pc,
         "accesses device memory before wait_for_earlier_kernels(); launch_early() may start a kernel before the one "
         "ahead of it has ended");
  }
  if (check_) {
    if (space == Space::shared) {
      checker_.check_shared(access, *position);
    } else {
      checker_.check_global(access);
    }
  }
  if (report_) recorder_.record(access, space, *position);
  return space;
}

void Block::on_function_entry(uintptr_t stack_pointer, const void* pc) {
  if (stack_pointer - reinterpret_cast<uintptr_t>(stack_of(current_)) < kStackReserve) {
    const Unobserved own_code;
    stop(pc, fmt::format("the thread's local variables need more than the {} bytes of stack that the simulator has; "
                         "make arrays smaller or recursion shallower",
                         kStackBytes - kStackReserve));
  }
}

}  // namespace pg::sim
