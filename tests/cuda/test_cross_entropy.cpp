// Cross-entropy on CUDA whose forward pass writes the gradient over the logits. The expected bits are those of a
// separate backward pass, which tests/cuda/test_kernels_rows.cpp compares with the CPU in f64.
#include <cmath>

#include "tests/autograd/loss_runs.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

Tensor targets_of(int64_t rows, int64_t v) {
  Generator g(2);
  std::vector<int32_t> ids;
  for (int64_t r = 0; r < rows; ++r) ids.push_back(r == 3 ? -100 : static_cast<int32_t>(g.integer(v)));
  return Tensor::from(ids, {rows}).to(device());
}

}  // namespace

TEST_CASE("CUDA: a gradient written over the logits has the bits of a backward pass", "[cuda][cross_entropy]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t v : {7, 1030}) {
      Generator g(4);
      const Tensor weight = Tensor::uniform({v}, 0.5, 2, g, f64).to(dtype).to(device());
      check_written_over(random({5, v}, dtype, 1).to(device()), targets_of(5, v), weight);
    }
  }
}

TEST_CASE("CUDA: logits of linear with padded rows are written over", "[cuda][cross_entropy]") {
  const int64_t rows = 5, v = 29;  // whose rows of 29 elements begin at multiples of 16 bytes
  for (const DType dtype : {f32, bf16}) {
    const Tensor x = random({rows, 16}, dtype, 1).to(device()), w = random({v, 16}, dtype, 2).to(device());
    const Tensor targets = targets_of(rows, v), upstream = Tensor::scalar(0.125, f32, device());
    const auto slopes = [&](bool holds) {
      const Tensor weight = w.clone().set_requires_grad();
      Tensor logits = linear(x, weight);
      CHECK(!logits.contiguous());
      Tensor held = holds ? logits.detach() : Tensor{};
      const CrossEntropyOptions options{.reduction = Reduction::sum, .upstream = upstream};
      const Tensor loss = cross_entropy(std::move(logits), targets, options);
      held = {};  // so that backward() may write over the padded rows too
      backward(loss, upstream);
      return weight.grad();
    };
    CHECK(same_bits(slopes(false), slopes(true)));
  }
}

TEST_CASE("CUDA: upstream from which no other gradient can be computed gives NaN", "[cuda][cross_entropy]") {
  const Tensor x = random({2, 3}, f32, 1).to(device());
  const Tensor targets = Tensor::from(std::vector<int32_t>{0, 2}, {2}).to(device());
  for (const double expected : {0.0, double(INFINITY), double(NAN)}) {
    const Tensor upstream = Tensor::scalar(expected, f32, device());
    const CrossEntropyOptions options{.reduction = Reduction::sum, .upstream = upstream};
    const LossRun over = run_loss(x, targets, options, Tensor::scalar(2, f32, device()), false);
    CHECK(over.in_place);
    for (const double d : over.dlogits.to_vector()) CHECK(std::isnan(d));
    const LossRun same = run_loss(x, targets, options, upstream, false);
    CHECK(same_bits(same.dlogits, run_loss(x, targets, options, upstream, true).dlogits));
  }
}
