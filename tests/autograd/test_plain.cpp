// The plain backend against differences and against the CPU's kernels. It is the definition of every kernel, so both
// must agree with it, and it with mathematics.
#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tests/kernels/device.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("the plain kernels can compute tensors of the CPU too", "[plain]") {
  CHECK(&kernels(Device{}) == &cpu_kernels());
  CHECK(&kernels(kPlain) == &plain_kernels());
  use_plain_kernels(true);
  CHECK(&kernels(Device{}) == &plain_kernels());
  use_plain_kernels(false);
  CHECK(&kernels(Device{}) == &cpu_kernels());
}

TEST_CASE("gradients of the plain backend agree with differences", "[plain][gradcheck]") {
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    GradcheckOptions options;
    options.op = name_of(s.op);
    options.label = s.label;
    options.constant = s.constant;
    const GradcheckResult r = gradcheck(s.call, inputs_of(s, f64, kPlain), options);
    INFO(r.message);
    CHECK(r.ok);
  }
}

TEST_CASE("every operation on the CPU agrees with the plain backend", "[plain][ops]") {
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    for (DType dtype : {f32, f64, bf16}) {
      INFO(title(s) << " " << name_of(dtype));
      const std::vector<Tensor> inputs = inputs_of(s, dtype), plain = inputs_of(s, dtype, kPlain);
      const Run want = run(s, s.call, widened(inputs, kPlain)), got = run(s, s.call, plain);
      const double tolerance = dtype == f64 ? std::max(s.tolerance, 1e-12) : dtype == f32 ? 1e-5 : s.tolerance_bf16;
      check_close(run(s, s.call, inputs), want, tolerance);
      check_close(got, want, tolerance);
      for (const Tensor& y : got.outputs) CHECK(y.device() == kPlain);
    }
  }
}

TEST_CASE("the plain backend reads inputs of any strides", "[plain][ops]") {
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    INFO(title(s));
    const std::vector<Tensor> inputs = inputs_of(s, f64, kPlain);
    std::vector<Tensor> scattered;
    for (const Tensor& x : inputs) scattered.push_back(strided(x));
    check_close(run(s, s.call, scattered), run(s, s.call, inputs), 1e-13);
  }
}
