// The registry on a CUDA device (a simulated build has one on every machine): compared with the CPU in f64, and run
// after run.
#include "tests/autograd/op_crossings.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Large samples exist to test the CPU's thread pool; in the simulator each would take many seconds.
bool in_reach(const OpSample& s) { return !s.large; }

// Calls f(sample) for all samples. An Error in one sample does not stop the others.
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

// Like tests/autograd/test_op_crossings.cpp on the CPU, with one layout and one dtype per call and a third of the
// calls. Where CUDA kernels cannot refuse an invalid id, they give NaN, so those calls are not compared. For bf16 only
// shapes, NaN and Errors are compared: for rows whose terms cancel, the values are nothing but rounding error.
TEST_CASE("generated calls on CUDA give the right value or an Error", "[cuda][slow]") {
  size_t calls = 0, at = 0;
  for_each_sample([&](const OpSample& s) {
    for (const CrossedInputs& c : crossed(inputs_of(s, f32))) {
      if (calls++ % 3 != 0) continue;
      const InputLayout layout = kLayouts[at % std::size(kLayouts)];
      const DType dtype = repeats(layout) ? f64 : std::array{f32, f64, bf16}[at % 3];
      ++at;
      INFO(c.label << ", " << name_of(layout) << ", " << pg::name_of(dtype));
      std::vector<Tensor> inputs;
      for (const Tensor& x : c.inputs) {
        inputs.push_back(in_layout((x.defined() && is_floating(x.dtype()) ? x.to(dtype) : x).to(device()), layout));
      }
      const Outcome got = outcome_of(s, s.call, inputs), want = outcome_of(s, s.call, widened(inputs));
      if (!want.error.empty() && want.error.find(": id ") != std::string::npos) continue;
      const std::string problem = difference(got, want, dtype == f64 ? 1e-10 : dtype == f32 ? 1e-5 : HUGE_VAL);
      if (!problem.empty()) FAIL_CHECK(problem);
    }
  });
  CHECK(at > 2000);
}

TEST_CASE("a rerun on CUDA has the same bits and every element is written", "[cuda][slow]") {
  for_each_sample([](const OpSample& s) {
    for (DType dtype : {f32, bf16}) {
      INFO(name_of(dtype));
      const std::vector<Tensor> inputs = inputs_of(s, dtype, device());
      const Run once = run(s, s.call, inputs);
      poison_free_memory(device(), 4096);  // the block sizes that small samples use
      check_same_bits(run(s, s.call, inputs), once);
    }
  });
}
