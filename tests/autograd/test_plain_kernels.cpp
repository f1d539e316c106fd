// The plain kernels that no differentiable operation calls, beside those of the CPU.
#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tests/op_runs.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr Device kPlain{Device::Kind::plain};

Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  Generator g(seed);
  return Tensor::normal(shape, 0, 1, g, f64).to(dtype);
}
// Calls f with the kernels of the CPU and of the plain backend, on copies of the same tensors, and compares the
// tensors.
void compare(const std::vector<Tensor>& tensors, double tolerance,
             const std::function<void(const Kernels&, const std::vector<Tensor>&)>& f) {
  std::vector<Tensor> cpu, plain;
  for (const Tensor& x : tensors) {
    cpu.push_back(x.clone());
    plain.push_back(x.to(kPlain));
  }
  f(kernels({}), cpu);
  f(kernels(kPlain), plain);
  for (size_t i = 0; i < cpu.size(); ++i) {
    INFO("tensor " << i);
    CHECK((same_bits(cpu[i], plain[i]) || relative_error(cpu[i], plain[i]) <= tolerance));
  }
}

}  // namespace

TEST_CASE("plain adamw", "[plain]") {
  for (DType dtype : {f32, f64}) {
    AdamWArgs args{0.01, 0.9, 0.99, 1e-8, 0.1};
    args.bias_correction1 = 1 - 0.9;
    args.bias_correction2 = 1 - 0.99;
    args.grad_scale = 0.5;
    const Tensor flags = Tensor::from(std::vector<uint8_t>{1, 0, 1}, {3});
    args.decayed = flags.view();
    args.first = 200;  // the first unit ends within the tensor
    const Tensor v = normal({400}, 4).to(dtype);
    compare({normal({400}, 1, dtype), normal({400}, 2, dtype), normal({400}, 3, dtype), abs(v)},
            dtype == f64 ? 1e-14 : 1e-6,
            [&](const Kernels& k, const std::vector<Tensor>& x) { k.adamw(x[0], x[1], x[2], x[3], args); });
  }
}

TEST_CASE("plain adamw rounds as the CPU does and skips a gradient that is not finite", "[plain]") {
  for (bool stochastic : {false, true}) {
    for (double squares : {4.0, HUGE_VAL}) {
      AdamWArgs args{0.01, 0.9, 0.99, 1e-8, 0.1};
      const Tensor now = Tensor::from(std::vector<double>{0.02, 0.1, 0.01, 3}, {4});
      const Tensor sum = Tensor::from(std::vector<double>{squares}, {1});
      args.now = now.view();
      args.sum_of_squares = sum.view();
      args.max_norm = 1;
      args.stochastic_rounding = stochastic;
      args.seed = 11;
      args.first = 256;
      compare({normal({301}, 1, f32), normal({301}, 2, f32), normal({301}, 3, f32), abs(normal({301}, 4, f32)),
               normal({301}, 5, bf16)},
              1e-6, [&](const Kernels& k, const std::vector<Tensor>& x) {
                AdamWArgs with = args;
                with.rounded = x[4].view();
                k.adamw(x[0], x[1], x[2], x[3], with);
              });
    }
  }
}

TEST_CASE("plain sampling draws the CPU's tokens", "[plain]") {
  Generator g(3);
  const Tensor u = Tensor::uniform({64}, 0, 1, g, f64), logits = normal({64, 33}, 8);
  Tensor broken = logits.clone();
  broken.data<double>()[5] = NAN;
  broken.data<double>()[40] = INFINITY;
  for (int i = 66; i < 99; ++i) broken.data<double>()[static_cast<size_t>(i)] = -INFINITY;
  for (const Tensor& x : {logits, broken}) {
    for (const SampleOptions& options : {SampleOptions{}, {0.7, 5, 1, 0}, {1.5, 0, 0.8, 0}, {1, 0, 1, 0.2}}) {
      compare({Tensor::zeros({64}, i32), x, u}, 0,
              [&](const Kernels& k, const std::vector<Tensor>& t) { k.sample(t[0], t[1], t[2], options); });
    }
  }
}

TEST_CASE("plain attention with a cache", "[plain]") {
  const Tensor starts = Tensor::from(std::vector<int32_t>{0, 4}, {2}),
               length = Tensor::from(std::vector<int32_t>{3, 7}, {2});
  for (bool causal : {false, true}) {
    compare({normal({2, 4, 3, 8}, 1), normal({2, 4, 3}, 2), normal({2, 4, 3, 8}, 3), normal({2, 2, 9, 8}, 4),
             normal({2, 2, 9, 8}, 5), normal({2, 2, 3, 8}, 6), normal({2, 2, 3, 8}, 7)},
            1e-14, [&](const Kernels& k, const std::vector<Tensor>& x) {
              k.attention_append(x[0], x[1], x[2], x[3], x[4], x[5], x[6], starts,
                                 {.scale = 0.3, .causal = causal, .kv_len = length.view()});
            });
  }
}

TEST_CASE("plain rescaled rows, arguments of maxima and products with int8", "[plain]") {
  compare({normal({5, 7}, 1), normal({5}, 2), normal({5}, 3)}, 1e-15,
          [&](const Kernels& k, const std::vector<Tensor>& x) { k.rescale_rows(x[0], x[1], x[2]); });
  Tensor ties = Tensor::zeros({3, 4});
  ties.data<float>()[6] = ties.data<float>()[9] = NAN;
  compare({Tensor::zeros({3}, i32), ties}, 0,
          [&](const Kernels& k, const std::vector<Tensor>& x) { k.argmax(x[0], x[1]); });
  Tensor bytes = Tensor::zeros({2, 9, 16}, u8);
  Generator g(5);
  for (uint8_t& b : bytes.data<uint8_t>()) b = static_cast<uint8_t>(g.next_u32());
  compare({Tensor::zeros({4, 21}), normal({4, 9}, 1, f32), bytes, normal({21}, 2, f32), normal({21}, 3, f32)}, 1e-6,
          [&](const Kernels& k, const std::vector<Tensor>& x) { k.int8_matmul(x[0], x[1], x[2], x[3], x[4]); });
}
