// The answers of a build without CUDA.
#include "tensor/base/error.h"
#include "tensor/cuda/runtime/runtime.h"

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
void set_exact(bool) {}
bool exact() { return true; }

struct Graph::Recorded {};
Graph::Graph(Device device, const std::function<void()>&) : pool_(device) { fail("cuda: {}", why_none()); }
Graph::~Graph() = default;
void Graph::replay() const {}

struct Readback::Arrival {};
Readback::Readback(size_t) { fail("cuda: {}", why_none()); }
Readback::~Readback() = default;
void Readback::start(const void*, size_t) {}
const void* Readback::wait() const { return nullptr; }

const Kernels& table() { fail("cuda: {}", why_none()); }
Moment::Moment() { fail("cuda: {}", why_none()); }
double seconds_between(const Moment&, const Moment&) { return 0; }

}  // namespace pg::cuda
