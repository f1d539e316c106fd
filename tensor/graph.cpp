// Work that a device records once and launches as a whole.
#include <atomic>

#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {
namespace {
std::atomic<int64_t> recorded_graphs{0};
}
int64_t graphs_recorded() { return recorded_graphs; }

Graph::Graph(Device device, const std::function<void()>& work) {
  backend(device).kernels(device.index);  // makes it the device that this thread works with
  try {
    record(device, work);
    return;
  } catch (const Error&) {
    if (!pool_->ran_out()) throw;
  }
  // Idle memory could not be released during the recording.
  pool_.reset();
  release_idle_memory(device);
  record(device, work);
}

void Graph::record(Device device, const std::function<void()>& work) {
  pool_ = std::make_unique<PrivatePool>(device);
  const PrivatePool::Use use(*pool_);
  recorded_ = backend(device).record(work);
  ++recorded_graphs;
}

}  // namespace pg
