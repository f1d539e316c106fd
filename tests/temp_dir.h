#pragma once
// A folder that is removed when the test ends.
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pg::testing {

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
