#pragma once
// One launch of a kernel as the simulator stores it, to run now or repeatedly from a graph; and the error that ends it.
#include <cstddef>
#include <exception>
#include <memory>
#include <string>

#include "tensor/sim/vector_types.h"

namespace pg::sim {

struct Kernel {
  const void* function = nullptr;  // the kernel, which also gives its name
  dim3 grid, block;
  size_t shared_bytes = 0;                                    // of dynamic shared memory
  std::shared_ptr<const void> arguments;                      // a tuple, copied at the launch
  size_t argument_bytes = 0;                                  // its size
  void (*call)(const void* function, const void* arguments);  // the kernel on these arguments, for one thread
  bool early = false;                                         // each thread must call wait_for_earlier_kernels()
  int device = 0;                                             // set when it is launched
};

// Runs all threads of all blocks. Throws pg::Error for a shape that no GPU accepts and for an error of a thread; the
// error is that of the faulty block with the lowest number.
void run(const Kernel& kernel);

// run(), or an entry in the graph that `stream` is being captured into. `stream` is a cudaStream_t. If the stream
// refuses the launch, cudaGetLastError returns the error.
void enqueue(Kernel kernel, void* stream);

// Sets how many bytes of dynamic shared memory launches of this kernel may use; 48 KiB if never called.
void set_dynamic_shared_limit(const void* function, size_t bytes);

// A kernel's error, passed from the thread that made it to the launch, which throws it as pg::Error.
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
