// CUDA graphs: captured work that can be launched again.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {
namespace {

class Capture : public RecordedWork {
 public:
  explicit Capture(const std::function<void()>& work) {
    // Relaxed mode: the memory pool may allocate during the capture.
    check(cudaStreamBeginCapture(stream(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream(), &graph_);
      cudaGetLastError();
      destroy();
      throw;
    }
    check(cudaStreamEndCapture(stream(), &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&exec_, graph_, 0), "cudaGraphInstantiate");
  }
  ~Capture() override {
    cudaStreamSynchronize(stream());  // the graph may still be running
    destroy();
  }
  Capture(const Capture&) = delete;

  void launch() override { check(cudaGraphLaunch(exec_, stream()), "cudaGraphLaunch"); }

 private:
  void destroy() {
    if (exec_) cudaGraphExecDestroy(exec_);
    if (graph_) cudaGraphDestroy(graph_);
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace

std::unique_ptr<RecordedWork> record(const std::function<void()>& work) { return std::make_unique<Capture>(work); }

}  // namespace pg::cuda
