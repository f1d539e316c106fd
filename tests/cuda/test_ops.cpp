// The registry on a CUDA device, which in a simulated build every machine has: against the CPU in f64, run after run.
#include "tensor/cuda/runtime.h"
#include "tests/op_runs.h"

using namespace pg;
using namespace pg::testing;

namespace {

Device device() {
  if (cuda::device_count() == 0) SKIP_TEST("cuda: " + cuda::why_none());
  return {Device::Kind::cuda, 0};
}

// Large samples are many seconds each in the simulator: there they are made for the CPU's threads.
bool in_reach(const OpSample& s) { return !s.large; }

// What a test says about all samples: f(sample), each by itself, so that one that throws leaves the others.
template <class F>
void for_each_sample(F f) {
  for (const OpSample& s : op_samples()) {
    if (!in_reach(s)) continue;
    INFO(title(s));
    try {
      f(s);
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
  }
}

std::vector<Tensor> widened(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> wide;
  for (const Tensor& x : inputs) {
    wide.push_back((x.defined() && is_floating(x.dtype()) ? x.to(f64) : x).to(Device{}));
  }
  return wide;
}

}  // namespace

TEST_CASE("every operation on CUDA agrees with the CPU in f64", "[cuda]") {
  for_each_sample([](const OpSample& s) {
    for (DType dtype : {f32, f64, bf16}) {
      INFO(name_of(dtype));
      const std::vector<Tensor> inputs = inputs_of(s, dtype, device());
      const double tolerance = dtype == f64 ? 1e-12 : dtype == f32 ? 1e-5 : s.tolerance_bf16;
      const Run r = run(s, s.call, inputs);
      check_close(r, run(s, s.call, widened(inputs)), std::max(tolerance, dtype == f64 ? s.tolerance : 0));
      for (const Tensor& y : r.outputs) CHECK(y.device() == device());
    }
  });
}

TEST_CASE("CUDA reads inputs of any strides", "[cuda]") {
  for_each_sample([](const OpSample& s) {
    const std::vector<Tensor> inputs = inputs_of(s, f32, device());
    std::vector<Tensor> scattered;
    for (const Tensor& x : inputs) scattered.push_back(strided(x));
    check_close(run(s, s.call, scattered), run(s, s.call, inputs), 1e-5);
  });
}

TEST_CASE("a rerun on CUDA has the same bits and every element is written", "[cuda][slow]") {
  for_each_sample([](const OpSample& s) {
    for (DType dtype : {f32, bf16}) {
      INFO(name_of(dtype));
      const std::vector<Tensor> inputs = inputs_of(s, dtype, device());
      const Run once = run(s, s.call, inputs);
      poison_free_memory(device(), 4096);  // what small samples take
      check_same_bits(run(s, s.call, inputs), once);
    }
  });
}
