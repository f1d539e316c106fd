// Generated calls, including combinations that no test names: each gives the right value and gradients, or an Error
// that names the operation.
#include "tests/autograd/op_crossings.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::vector<Tensor> converted(const std::vector<Tensor>& inputs, DType dtype) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) result.push_back(x.defined() && is_floating(x.dtype()) ? x.to(dtype) : x);
  return result;
}
std::vector<Tensor> laid_out(const std::vector<Tensor>& inputs, InputLayout layout) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) result.push_back(in_layout(x, layout));
  return result;
}
std::vector<Tensor> contiguous_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& x : inputs) result.push_back(x.contiguous_copy());
  return result;
}

std::string gradients_fit(const Outcome& got, const std::vector<Tensor>& inputs) {
  for (size_t i = 0; i < got.run.gradients.size(); ++i) {
    const Tensor& g = got.run.gradients[i];
    if (g.defined() && g.shape() != inputs[i].shape()) return fmt::format("gradient {} is {}", i, g.shape());
  }
  return "";
}

}  // namespace

TEST_CASE("generated calls of every operation give the right value or name it in an Error", "[ops]") {
  size_t calls = 0, values = 0, at = 0;
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    for (const CrossedInputs& c : crossed(inputs_of(s, f32))) {
      INFO(title(s) << ", " << c.label);
      const auto expect = [](const std::string& problem) {
        if (!problem.empty()) FAIL_CHECK(problem);
      };
      const Outcome wanted = outcome_of(s, s.call, converted(c.inputs, f64));  // computed from contiguous inputs
      if (s.composed && wanted.error.empty()) {
        const Outcome twin = outcome_of(s, s.composed, converted(c.inputs, f64));
        // On empty inputs the composed form may give NaN in intermediate steps that the operation itself does not have.
        if (twin.error.empty() && !holds_nan(twin)) expect(difference(wanted, twin, std::max(s.tolerance, 1e-11)));
      }
      for (InputLayout layout : kLayouts) {
        INFO(name_of(layout));
        // Each layout is combined with each dtype within a few samples. Inputs with repeated elements are tested in f64
        // only, because some of their results are nothing but rounding error.
        const DType dtype = repeats(layout) ? f64 : std::array{f32, f64, bf16}[at++ % 3];
        const std::vector<Tensor> inputs = laid_out(converted(c.inputs, dtype), layout);
        const Outcome got = outcome_of(s, s.call, inputs);
        const double tolerance = dtype == f64 ? 1e-10 : dtype == f32 ? 1e-5 : s.tolerance_bf16;
        INFO(pg::name_of(dtype));
        if (repeats(layout) || dtype == bf16) {  // other inputs than for `wanted`, or rounding between steps
          expect(difference(got, outcome_of(s, s.call, contiguous_of(inputs)), tolerance));
        } else {
          expect(difference(got, wanted, tolerance));
        }
        expect(gradients_fit(got, inputs));
        if (!got.error.empty()) expect(names_nothing(got.error));
        ++calls, values += got.error.empty();
      }
    }
  }
  CHECK(calls > 20000);
  CHECK(values > calls / 4);  // not every call was refused
}
