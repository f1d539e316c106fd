#pragma once
// What the fuzz targets of files share: a folder in memory for the inputs of a process.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tensor/base/error.h"

namespace fuzz {

// The path of a file of this name in a folder of this process, which is removed when the process ends.
inline std::string path_of(const std::string& name) {
  static const std::string& folder = *new std::string([] {  // never destroyed: the end of the process needs it
    const std::filesystem::path memory = "/dev/shm";
    std::string made = ((std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
                        ("policygrad-fuzz-" + std::to_string(::getpid())))
                           .string();
    std::filesystem::create_directories(made);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::path(path_of("x")).parent_path(), ignored);
    });
    return made;
  }());
  return folder + "/" + name;
}

// A file with this content; its path.
inline std::string file(const std::string& name, std::string_view content) {
  const std::string path = path_of(name);
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
  return path;
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

inline void expect(bool holds) {
  if (!holds) __builtin_trap();
}

// f(), whose Error must be one that can be printed.
template <class F>
void no_worse_than_error(F f) {
  try {
    f();
  } catch (const pg::Error& e) {
    expect(*e.what() != '\0');
  }
}

}  // namespace fuzz
