// The AdamW kernel: sizes, addresses, flags of weight decay, clipping and rounding.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {
constexpr Bound kAdamW{{5e-16, 5e-7, 0}, 1, {1e-14, 1e-6, 0}, false, 1};
}

TEST_CASE("adamw of every size and address over three steps", "[kernels][adamw]") {
  for (const DType dtype : {f32, f64}) {
    for (const int64_t n : {0, 1, 6, 4099}) {
      for (const int64_t start : {0, 1}) {
        check(dtype, {.begin = start}, kAdamW, [&](const Side& s) {
          const auto in = [&](uint64_t seed) { return s.in(random({n}, f64, seed), s.layout); };
          const auto zeros = [&] { return s.in(Tensor::zeros({n}, f64), s.layout); };
          const Tensor p = in(19), m = zeros(), v = zeros(), rounded = s.out({n}, bf16, s.layout);
          for (int t = 1; t <= 3; ++t) {
            AdamWArgs args{.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.95, .eps = 1e-8, .weight_decay = 0.1};
            args.bias_correction1 = 1 - std::pow(0.9, t);
            args.bias_correction2 = 1 - std::pow(0.95, t);
            args.grad_scale = 0.5;
            if (dtype == f32 && !s.plain()) args.rounded = rounded;
            s.k().adamw(p, in(20 + static_cast<uint64_t>(t)), m, v, args);
          }
          if (dtype == f32 && !s.plain()) CHECK(same_bits(rounded, p.to(bf16)));
          return Results{p, m, v};
        });
      }
    }
  }
}

TEST_CASE("adamw clips, rounds, skips gradients that are not finite, and decays units", "[kernels][adamw]") {
  for (const bool stochastic : {false, true}) {
    for (const double squares : {4.0, kInf}) {
      for (const DType dtype : {f32, f64}) {
        INFO((stochastic ? "stochastic" : "to nearest") << ", " << squares);
        check(dtype, kContiguous, kAdamW, [&](const Side& s) {
          // Stochastic rounding needs p as the devices store it, so the plain backend stores that dtype, too.
          const auto on = [&](const Tensor& x) { return x.to(s.device); };
          const auto in = [&](uint64_t seed) { return on(random({401}, dtype, seed)).clone(); };
          const Tensor now = on(Tensor::from(std::vector<double>{0.02, 0.1, 0.01, 3}, {4}));
          const Tensor sum = on(Tensor::from(std::vector<double>{squares}, {1}));
          const Tensor flags = on(Tensor::from(std::vector<uint8_t>{1, 0, 1, 0}, {4}));
          const Tensor p = in(1), g = in(2), m = in(3), v = on(abs(random({401}, dtype, 4))).clone();
          const Tensor rounded = on(random({401}, bf16, 5)).clone();
          AdamWArgs args{.lr = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1};
          args.now = now, args.sum_of_squares = sum, args.decayed = flags;
          args.max_norm = 1;
          args.stochastic_rounding = stochastic && dtype == f32;
          args.seed = 11;
          args.first = 200;  // the first unit ends within the tensor
          if (dtype == f32) args.rounded = rounded;
          s.k().adamw(p, g, m, v, args);
          return Results{p, m, v, rounded.to(f32)};
        });
      }
    }
  }
}
