// An error of a kernel that shows later than its launch: the engine's objects end without std::terminate, the error is
// thrown, and with POLICYGRAD_CUDA_SYNC=1 it names the kernel.
#include <memory>
#include <vector>

#include "nn/decode/generate.h"
#include "nn/train/trainer.h"
#include "tensor/backend.h"
#include "tensor/cuda/runtime/synchronous.h"
#include "tensor/kernels.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/sim/must_find.h"

using namespace pg;
using testing::contains;
using testing::error_of;
using testing::needs_accesses;
using testing::Synchronous;

namespace {

constexpr Device kGpu{Device::Kind::cuda, 0}, kOther{Device::Kind::cuda, 1};

// Launches a kernel that is given an address of the host.
void launch_faulty() {
  std::vector<float> host(8);
  View view = Tensor::empty({8}, f32, kGpu).view();
  view.data = host.data();
  kernels(kGpu).fill(view, 1);
}

}  // namespace

TEST_CASE("a kernel's error is thrown by the next wait and the objects around it end", "[cuda][faults]") {
  needs_accesses();
  const Synchronous off(false);
  release_idle_memory(kGpu);
  {
    const sim::DeferredFaults faults;
    const std::string error = error_of([] {
      const Tensor y = Tensor::full({1000}, 1, f32, kOther), x = Tensor::full({1000}, 1, f32, kGpu);
      Tensor kept;
      const Graph graph(kGpu, [&] {
        kept = Tensor::empty({1000}, f32, kGpu);
        kernels(kGpu).binary(Binary::mul, kept, x, x);
      });
      const auto copy = backend(kGpu).async_copy(4);
      const auto event = backend(kGpu).record_event();
      launch_faulty();
      graph.replay();
      copy->start(x.view().data, 4);
      x.to_vector();
    });
    INFO(error);
    CHECK(contains(error,
                   "cudaStreamSynchronize: CUDA says an illegal memory access was encountered "
                   "(cudaErrorIllegalAddress); an earlier kernel made this error: run again with "
                   "POLICYGRAD_CUDA_SYNC=1, which names it"));
    CHECK(contains(error_of([] { kernels(kOther); }), "cudaErrorIllegalAddress"));  // noted when the objects ended
    // Memory returns without exceptions, here with the other device as the current one.
    kernels(kOther);
    CHECK_NOTHROW(empty_cache(kGpu));
    CHECK(contains(error_of([] { Tensor::full({10}, 1, f32, kGpu).to_vector(); }), "cudaErrorIllegalAddress"));
  }
  error_of([] { Tensor::full({10}, 1, f32, kGpu); });  // may still throw what was noted
  CHECK(Tensor::full({10}, 3, f32, kGpu).to_vector() == std::vector<double>(10, 3));
  CHECK(Tensor::full({10}, 4, f32, kOther).to_vector() == std::vector<double>(10, 4));
  kernels(kGpu);
}

TEST_CASE("an error of memory that an unwinding function returns is thrown by the next check", "[cuda][faults]") {
  needs_accesses();
  const Synchronous off(false);
  const sim::DeferredFaults faults;
  const std::string first = error_of([] {
    Tensor kept;
    const Graph graph(kGpu, [&] {  // its pool returns the memory at its end
      kept = Tensor::empty({1000}, f32, kGpu);
      kept.fill(1);
    });
    kept = {};
    launch_faulty();
    fail("another error");  // the device's is not known yet
  });
  CHECK(first == "another error");
  const std::string second = error_of([] { Tensor::full({10}, 1, f32, kGpu); });
  INFO(second);
  CHECK(contains(second, "cudaStreamSynchronize: CUDA says an illegal memory access"));
}

TEST_CASE("with POLICYGRAD_CUDA_SYNC=1 the error of a kernel names it", "[cuda][faults]") {
  needs_accesses();
  const Synchronous on(true);
  const sim::DeferredFaults faults;
  const std::string error = error_of([] { launch_faulty(); });
  INFO(error);
  CHECK(contains(error, "pg::cuda::"));
  CHECK(contains(error, "Fill"));
  CHECK(contains(error, ": CUDA says an illegal memory access was encountered (cudaErrorIllegalAddress); grid "));
  CHECK(!contains(error, "earlier kernel"));
  CHECK(!contains(error, "launch of"));
}

TEST_CASE("with POLICYGRAD_CUDA_SYNC=1 no graph is recorded and the results have the same bits", "[cuda][faults]") {
  std::vector<double> losses[2];
  std::vector<int32_t> tokens[2];
  for (const bool waits : {false, true}) {
    const Synchronous mode(waits);
    CHECK(backend(kGpu).records() == !waits);
    const std::string error = error_of([] { Graph(kGpu, [] {}); });
    CHECK(contains(error, waits ? "POLICYGRAD_CUDA_SYNC=1" : "") == true);
    CHECK(error.empty() == !waits);
    Generator init(3);
    Transformer model({.vocab_size = 29, .block_size = 12, .n_layer = 1, .n_head = 2, .n_embd = 16, .dtype = f32},
                      init);
    model.to(kGpu);
    TrainConfig config;
    Trainer trainer(model, config, [](Generator& g) {
      std::vector<int32_t> ids, targets;
      for (int i = 0; i < 12; ++i) {
        ids.push_back(static_cast<int32_t>(g.integer(29)));
        targets.push_back(static_cast<int32_t>(g.integer(29)));
      }
      return TokenBatch{Tensor::from(ids, {1, 12}), Tensor::from(targets, {1, 12})};
    });
    for (int i = 0; i < 5; ++i) losses[waits].push_back(trainer.step().loss);
    model.eval();
    tokens[waits] = generate(model, {{1, 2, 3}}, {.max_new_tokens = 6})[0].tokens;
  }
  CHECK(losses[0] == losses[1]);
  CHECK(tokens[0] == tokens[1]);
  CHECK(tokens[0].size() == 6);
}
