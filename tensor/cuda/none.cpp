// The answers of a build without CUDA.
#include "tensor/cuda/runtime.h"
#include "tensor/error.h"

namespace pg::cuda {

int device_count() { return 0; }
std::string why_none() {
  return "this build has no CUDA; make CUDA=1 builds for a GPU, make CUDA=sim for the simulator";
}
DeviceInfo device_info(int) { fail("cuda: {}", why_none()); }
void* allocate(size_t, int) { fail("cuda: {}", why_none()); }
void release(void*, int) { fail("cuda: {}", why_none()); }
void copy(void*, Device, const void*, Device, size_t) { fail("cuda: {}", why_none()); }
void synchronize() {}
const Kernels& table() { fail("cuda: {}", why_none()); }
Moment::Moment() { fail("cuda: {}", why_none()); }
double seconds_between(const Moment&, const Moment&) { return 0; }

}  // namespace pg::cuda
