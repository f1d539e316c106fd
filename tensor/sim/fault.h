#pragma once
// A kernel's mistake, on its way from the thread that made it to the launch, which throws it as pg::Error.
#include <exception>
#include <string>

#include "tensor/sim/vector_types.h"

namespace pg::sim {

struct Fault {
  const void* pc = nullptr;  // return address of the access or barrier; nullptr: no line to name
  int thread = -1;           // number in the block
  std::string text;
  std::exception_ptr
      thrown{};  // what the kernel threw that is no std::exception: the launch throws it instead of pg::Error
};

// Ends the calling simulated thread, and its launch with this message. Only inside a kernel. Destructors of the
// kernel's objects do not run (device code has none that matter).
[[noreturn]] void stop(const void* pc, std::string text);

}  // namespace pg::sim
