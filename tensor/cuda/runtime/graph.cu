// Work that is recorded and launched again.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {

struct Graph::Recorded {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  ~Recorded() {
    cudaStreamSynchronize(stream());  // it may still run
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
  }
};

Graph::Graph(Device device, const std::function<void()>& work)
    : pool_(device), recorded_(std::make_unique<Recorded>()) {
  const PrivatePool::Use use(pool_);
  // Relaxed: the pool may ask for memory meanwhile.
  check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream(), &recorded_->graph);
    cudaGetLastError();
    throw;
  }
  check(cudaStreamEndCapture(stream(), &recorded_->graph), "cudaStreamEndCapture");
  check(cudaGraphInstantiate(&recorded_->exec, recorded_->graph, 0), "cudaGraphInstantiate");
}

Graph::~Graph() = default;

void Graph::replay() const { check(cudaGraphLaunch(recorded_->exec, stream()), "cudaGraphLaunch"); }

}  // namespace pg::cuda
