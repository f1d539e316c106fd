#pragma once
// Checks that the simulator reports a planted mistake: kernel, line, block, thread, and words that explain it. Also
// what is needed to do so: accesses that are seen, and launches that wait.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/cuda/runtime/synchronous.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"

namespace pg::testing {

// Returns e.g. "tests/sim/faults.cu:12", where that line of the file ends with "// FAULT: name" (or another mark).
inline std::string location_in(const std::string& path, const std::string& name, const std::string& mark = "FAULT") {
  std::ifstream file(path);
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    if (text.ends_with("// " + mark + ": " + name)) return path + ":" + std::to_string(line);
  }
  FAIL("no line of " << path << " is marked " << mark << ": " << name << "; run from the root of the tree");
  return "";
}

inline std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// The error must begin with kernel, line, block and thread, and must contain `words`. Checked with one and with two
// threads.
inline void must_find_in(const std::string& path, const std::string& name, const std::string& block_and_thread,
                         const std::vector<std::string>& words, const std::function<void()>& f) {
  for (int threads : {1, 2}) {
    const Threads guard(threads);
    const std::string message = message_of(f);
    const std::string start =
        "pg::testing::" + name + "_kernel (" + location_in(path, name) + "), " + block_and_thread + ": ";
    INFO(message);
    CHECK(message.substr(0, start.size()) == start);
    for (const auto& word : words) {
      INFO("must contain: " << word);
      CHECK(message.find(word) != std::string::npos);
    }
  }
}

// Launches wait, or do not, while it exists.
class Synchronous {
 public:
  explicit Synchronous(bool on) : before_(cuda::synchronous()) { cuda::set_synchronous(on); }
  ~Synchronous() { cuda::set_synchronous(before_); }

 private:
  const bool before_;
};

inline void needs_accesses() {
  if (!sim::sees_accesses()) SKIP_TEST("this build has a sanitizer instead of the simulator's own checks");
}

}  // namespace pg::testing
