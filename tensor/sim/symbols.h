#pragma once
// Information about the running program: names of functions and thread-local variables (from its symbol table) and
// source lines (from its debug information, by addr2line). Nothing is read before the first query.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pg::sim {

struct SourceLine {
  std::string file;  // relative to the repository's root; empty: unknown
  int line = 0;
};
// "tests/a.cu:12", or "address 0x…" if the debug information or addr2line is missing.
std::string to_string(const SourceLine& source, const void* pc);

// The source lines of the calls that return to these addresses. For functions inlined into each other, it is the line
// in the innermost function that is not the simulator's.
std::vector<SourceLine> source_lines(const std::vector<const void*>& return_addresses);

// Name of the function at this address without return type, parameters and anonymous namespaces: "scale<float>".
// "kernel at 0x…" if it cannot be found.
std::string function_name(const void* function);

// A thread_local variable of the program, at `offset` in each thread's block of them.
struct ThreadLocal {
  std::string scope, name;  // "void scale<float>(float*, int)" and "tile"
  size_t offset = 0, size = 0;
};
std::vector<ThreadLocal> thread_locals();
// The calling thread's block of thread_local variables and its size; {nullptr, 0} if the program has none.
struct Bytes {
  char* begin = nullptr;
  size_t size = 0;
};
Bytes thread_local_block();
// The program's code, constants and global variables in memory.
Bytes program_image();

}  // namespace pg::sim
