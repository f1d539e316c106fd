#pragma once
// A kernel's error, passed from the thread that made it to the launch, which throws it as pg::Error.
#include <exception>
#include <string>

#include "tensor/sim/vector_types.h"

namespace pg::sim {

struct Fault {
  const void* pc = nullptr;  // return address of the access or barrier; nullptr: no line to name
  int thread = -1;           // index in the block
  std::string text;
  std::exception_ptr
      thrown{};  // an exception of the kernel that is not a std::exception: the launch throws it instead of pg::Error
};

// Ends the calling simulated thread, and its launch with this message. Only inside a kernel. Destructors of the
// kernel's objects do not run (device code has none that matter).
[[noreturn]] void stop(const void* pc, std::string text);

}  // namespace pg::sim
