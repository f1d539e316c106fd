#pragma once
// Time per kernel. While a Profile is alive, this process's CPU kernels run through timing wrappers; otherwise they are
// called directly and nothing is measured.
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/kernels.h"

namespace pg {

struct ProfileEntry {
  const char* kernel;
  int64_t calls = 0;
  double seconds = 0;
  double flops = 0;  // matmul and attention; 0 elsewhere
  double bytes = 0;  // size of every view the kernel was given
};

class Profile {
 public:
  Profile();  // Error when one is alive already
  ~Profile();
  Profile(const Profile&) = delete;

  // Kernels called so far, slowest first.
  std::vector<ProfileEntry> entries() const;
  // The entries as a text table: calls, ms, share, GFLOP/s, GB/s.
  std::string table() const;
};

// The floating-point operations that the living Profile has counted; 0 if none is alive.
double profiled_flops();

}  // namespace pg
