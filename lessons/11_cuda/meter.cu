// Counts and times kernels: with the simulator's report, or on a GPU with CUDA events.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "lessons/11_cuda/device.h"
#include "lessons/11_cuda/meter.h"
#if defined(POLICYGRAD_CUDA_SIMULATOR)
#include "tensor/sim/sim.h"
#endif

namespace pg::lesson11 {

#if defined(POLICYGRAD_CUDA_SIMULATOR)

bool on_gpu() { return false; }
bool counts_traffic() { return sim::sees_accesses(); }
std::string why_unavailable() { return ""; }
std::string gpu_name() { return "simulator"; }
double copy_bytes_per_second() { return 0; }

struct Meter::Data {
  sim::Report report;
};
Meter::Meter() : data_(new Data) {}
Meter::~Meter() { delete data_; }
Traffic Meter::traffic() const {
  Traffic sum;
  for (const auto& [name, k] : data_->report.kernels()) {
    sum.accesses += k.accesses;
    sum.sectors += k.sectors;
    sum.ideal_sectors += k.ideal_sectors;
    sum.shared_accesses += k.shared_accesses;
    sum.passes += k.wavefronts;
    sum.busiest_warp = std::max(sum.busiest_warp, k.busiest_warp);
    sum.ways = std::max(sum.ways, k.worst_ways);
    sum.barriers += k.barriers;
  }
  return sum;
}
double* detail::timed_seconds() { return nullptr; }

#else

namespace {
double* timed = nullptr;
}  // namespace

bool on_gpu() { return true; }
bool counts_traffic() { return false; }

// Asks CUDA in a child process: checks are forked processes too, and CUDA does not survive a fork.
std::string why_unavailable() {
  const pid_t child = fork();
  if (child == 0) {
    int count = 0;
    _exit(cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? 0 : 1);
  }
  int status = 1;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return "";
  return "This lesson was built by nvcc for a GPU, and CUDA finds none on this machine. The same kernels run in the "
         "simulator, which also checks them for races and bounds: make lesson11 && ./lesson11, without CUDA=1.";
}

std::string gpu_name() {
  cudaDeviceProp properties;
  cuda::check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

double copy_bytes_per_second() {
  const int64_t n = int64_t{1} << 26;
  const OnDevice from(n), to(n);
  const Meter meter;
  start([&] { cuda::check(cudaMemcpyAsync(to, from, n * 4, cudaMemcpyDeviceToDevice), "cudaMemcpy"); });
  return 8 * static_cast<double>(n) / meter.traffic().seconds;
}

struct Meter::Data {
  double seconds = 0;
};
Meter::Meter() : data_(new Data) { timed = &data_->seconds; }
Meter::~Meter() {
  timed = nullptr;
  delete data_;
}
Traffic Meter::traffic() const {
  Traffic sum;
  sum.seconds = data_->seconds;
  return sum;
}
double* detail::timed_seconds() { return timed; }

#endif

}  // namespace pg::lesson11
