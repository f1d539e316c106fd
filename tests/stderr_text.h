#pragma once
// What a function writes to standard error.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch.h"

namespace pg::testing {

inline std::string stderr_of(const std::function<void()>& f) {
  const TempDir folder;
  const std::string path = folder.file("errors");
  std::fflush(stderr);
  const int before = dup(2), file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE((before >= 0 && file >= 0));
  dup2(file, 2);
  close(file);
  f();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::ifstream text(path);
  return {std::istreambuf_iterator<char>(text), {}};
}

}  // namespace pg::testing
