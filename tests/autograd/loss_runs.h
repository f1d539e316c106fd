#pragma once
// Cross-entropy with and without CrossEntropyOptions::upstream, forward and backward. Shared by the CPU tests and the
// CUDA tests.
#include <utility>

#include "tests/op_runs.h"

namespace pg::testing {

struct LossRun {
  Tensor loss;
  Tensor dlogits;         // a copy of what the node of the logits received
  bool in_place = false;  // whether it received the memory of the logits
  Tensor held;            // the logits after the forward pass, if the caller held them
};

// The result of a node that needs no values for its backward, with the values `x`; `seen` receives its gradient.
inline Tensor recorded(const Tensor& x, const std::function<void(const Tensor&)>& seen) {
  const Tensor leaf = Tensor::zeros({1}, x.dtype(), x.device()).set_requires_grad();
  return record(Op::mul, x.clone(), {&leaf}, [seen](const Tensor& dy, Grads&) { seen(dy); });
}

// The logits have the values `x`. `holds`: the caller holds them during the forward pass.
inline LossRun run_loss(const Tensor& x, const Tensor& targets, const CrossEntropyOptions& options,
                        const Tensor& gradient, bool holds) {
  LossRun r;
  const void* memory = nullptr;
  Tensor logits = recorded(x, [&](const Tensor& dy) {
    r.dlogits = dy.clone();
    r.in_place = dy.storage()->data == memory;
  });
  memory = logits.storage()->data;
  Tensor other = holds ? logits.detach() : Tensor{};
  const Tensor loss = cross_entropy(std::move(logits), targets, options);
  r.held = holds ? other.clone() : Tensor{};
  other = {};
  backward(loss, gradient);
  r.loss = loss.detach();
  return r;
}

// Compares the bits of both ways for all options: `x` [R, V], `targets` [R], `weight` [V].
inline void check_written_over(const Tensor& x, const Tensor& targets, const Tensor& weight) {
  for (const Reduction reduction : {Reduction::none, Reduction::mean, Reduction::sum}) {
    for (const double smoothing : {0.0, 0.1}) {
      for (const bool weighted : {false, true}) {
        INFO(name_of(x.dtype()) << " " << fmt::format("{}", x.shape()) << ", reduction " << int(reduction)
                                << ", smoothing " << smoothing << ", weights " << weighted);
        CrossEntropyOptions options{reduction, -100, smoothing, weighted ? weight : Tensor{}};
        Generator g(3);
        const Shape shape = reduction == Reduction::none ? targets.shape() : Shape{};
        const DType dtype = sum_type(x.dtype());
        const Tensor gradient = Tensor::uniform(shape, 0.1, 0.9, g, f32).to(dtype).to(x.device());
        const LossRun apart = run_loss(x, targets, options, gradient, true);
        options.upstream = gradient.clone();
        const LossRun held = run_loss(x, targets, options, gradient, true);
        const LossRun over = run_loss(x, targets, options, gradient, false);
        CHECK(over.in_place);
        CHECK(same_bits(held.held, x));
        for (const LossRun& r : {held, over}) {
          CHECK(same_bits(r.loss, apart.loss));
          CHECK(same_bits(r.dlogits, apart.dlogits));
        }
        // A quotient that is a power of 2 rounds nothing.
        const Tensor doubled = affine(gradient, 2, 0);
        CHECK(same_bits(run_loss(x, targets, options, doubled, false).dlogits,
                        run_loss(x, targets, options, doubled, true).dlogits));
        const Tensor other = affine(gradient, -0.37, 0);
        const LossRun rescaled = run_loss(x, targets, options, other, false);
        CHECK(rescaled.in_place);
        CHECK(same_bits(rescaled.loss, apart.loss));
        // It is rounded to the type of the logits twice, the other once; its quotient and their product to `dtype`.
        const double unit = dtype == f64 ? 0x1p-53 : 0x1p-24, stored = x.dtype() == bf16 ? 0x1p-8 : unit;
        CHECK(relative_error(rescaled.dlogits, run_loss(x, targets, options, other, true).dlogits) <=
              3 * stored + 8 * unit);
      }
    }
  }
}

}  // namespace pg::testing
