#pragma once
// One launch of a kernel as the simulator stores it, to run now or repeatedly from a graph; and the error that ends it.
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tensor/sim/vector_types.h"

namespace pg::sim {

// The types of a kernel's parameters, for code that does not know them. Stored arguments follow each other, each
// aligned.
struct Signature {
  struct Parameter {
    size_t bytes, alignment;
    size_t offset = 0;  // of the stored argument
  };
  int count;
  const Parameter* parameters;
  size_t bytes;                                               // of all stored arguments
  void (*call)(const void* function, const void* arguments);  // the kernel on stored arguments, for one thread
};
// A copy of arguments[0], arguments[1], … as Signature stores them.
std::shared_ptr<const void> copy_of(const Signature& signature, const void* const* arguments);

struct Kernel {
  const void* function = nullptr;  // the kernel, which also gives its name
  dim3 grid, block;
  size_t shared_bytes = 0;  // of dynamic shared memory
  const Signature* signature = nullptr;
  std::shared_ptr<const void> arguments;  // copied at the launch
  bool early = false;                     // each thread must call wait_for_earlier_kernels()
  int device = 0;                         // set when it is launched
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

// ---- Signature of a kernel with these parameters

// The parameters with their offsets; the last one has the size of all.
template <size_t n>
constexpr std::array<Signature::Parameter, n> placed(std::array<Signature::Parameter, n> parameters) {
  size_t end = 0;
  for (Signature::Parameter& p : parameters) {
    p.offset = (end + p.alignment - 1) / p.alignment * p.alignment;
    end = p.offset + p.bytes;
  }
  return parameters;
}
template <class... Params>
constexpr auto kParameters = placed<sizeof...(Params) + 1>({{{sizeof(Params), alignof(Params)}..., {0, 1}}});

template <class... Params, size_t... i>
constexpr Signature signature_of(std::index_sequence<i...>) {
  static_assert((std::is_trivially_destructible_v<Params> && ...), "a kernel's arguments are copied as bytes");
  static_assert(((alignof(Params) <= alignof(std::max_align_t)) && ...), "copy_of() does not align them further");
  return {.count = sizeof...(Params),
          .parameters = kParameters<Params...>.data(),
          .bytes = kParameters<Params...>.back().offset,
          .call = [](const void* function, [[maybe_unused]] const void* arguments) {
            reinterpret_cast<void (*)(Params...)>(const_cast<void*>(function))(*reinterpret_cast<const Params*>(
                static_cast<const char*>(arguments) + kParameters<Params...>[i].offset)...);
          }};
}
template <class... Params>
constexpr Signature kSignature = signature_of<Params...>(std::index_sequence_for<Params...>{});

}  // namespace pg::sim
