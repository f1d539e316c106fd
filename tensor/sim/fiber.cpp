// Switches between stacks.
#include "tensor/sim/fiber.h"

#include <cstdint>
#include <cstring>
#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>

#include <new>
#endif

// A switch pushes the registers that a called function must preserve, exchanges the stack pointer, and pops them from
// the other stack. Its `ret` then continues the other fiber. The system's swapcontext would also save the signal mask
// with a system call, which is a hundred times slower.
#if defined(__x86_64__)
extern "C" void policygrad_switch_fiber(void** save, void* load);
asm(R"(
.text
.type policygrad_switch_fiber,@function
policygrad_switch_fiber:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size policygrad_switch_fiber, .-policygrad_switch_fiber
)");
#elif defined(__aarch64__)
extern "C" void policygrad_switch_fiber(void** save, void* load);
asm(R"(
.text
.type policygrad_switch_fiber,%function
policygrad_switch_fiber:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size policygrad_switch_fiber, .-policygrad_switch_fiber
)");
#endif

namespace pg::sim {

#if defined(__x86_64__)

void switch_fiber(void** save, void* load) { policygrad_switch_fiber(save, load); }

void* prepare_fiber(char* stack, size_t bytes, void (*entry)()) {
  // Six registers, the address that `ret` takes, and a null return address, at which debuggers stop. After `ret` the
  // stack pointer is 8 off a multiple of 16, as at the start of any function.
  char* top = stack + (bytes & ~size_t{15});
  uint64_t frame[8] = {};
  frame[6] = reinterpret_cast<uint64_t>(entry);
  std::memcpy(top - sizeof(frame), frame, sizeof(frame));
  return top - sizeof(frame);
}

#elif defined(__aarch64__)

void switch_fiber(void** save, void* load) { policygrad_switch_fiber(save, load); }

void* prepare_fiber(char* stack, size_t bytes, void (*entry)()) {
  char* top = stack + (bytes & ~size_t{15});
  uint64_t frame[20] = {};
  frame[11] = reinterpret_cast<uint64_t>(entry);  // x30, where `ret` goes
  std::memcpy(top - sizeof(frame), frame, sizeof(frame));
  return top - sizeof(frame);
}

#else

void switch_fiber(void** save, void* load) {
  ucontext_t here;  // is on the stack that is left, until that is continued
  *save = &here;
  swapcontext(&here, static_cast<ucontext_t*>(load));
}

void* prepare_fiber(char* stack, size_t bytes, void (*entry)()) {
  const size_t room = (sizeof(ucontext_t) + 63) & ~size_t{63};
  auto* context = new (stack + (bytes & ~size_t{63}) - room) ucontext_t;
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = (bytes & ~size_t{63}) - room;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}

#endif

}  // namespace pg::sim
