#pragma once
// Catch2, version 2 (Debian 12) or 3 (Ubuntu 24.04), and what most tests use with it. Use only what both versions have:
// TEST_CASE, SECTION, GENERATE, REQUIRE, CHECK, tags, Approx. A test case's name must not contain brackets, commas or
// semicolons (CTest runs test cases by name).
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"

namespace pg::testing {

// Ends the running test case and reports it as skipped. Helper functions of a test may call it.
[[noreturn]] void skip(const std::string& reason);
#define SKIP_TEST(reason) ::pg::testing::skip(reason)

// The message of the Error that f throws, or "" if it throws none.
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}
// The bytes of a file, none if there is no file.
inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The number of random cases that a test tries: n, or a fifth of it under AddressSanitizer, where a case takes as long
// as five.
constexpr int rounds(int n) {
#if defined(__SANITIZE_ADDRESS__)
  return n / 5;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  return n / 5;
#else
  return n;
#endif
#else
  return n;
#endif
}

// Sets the number of threads, and restores it at the end of the block.
struct Threads {
  const int before = num_threads();
  explicit Threads(int n) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  Threads(const Threads&) = delete;
};

// A folder that is removed when the test ends.
struct TempDir {
  std::filesystem::path path;
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "policygrad-test-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    path = name;
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  TempDir(const TempDir&) = delete;
  std::string file(const std::string& name) const { return (path / name).string(); }
};

}  // namespace pg::testing
