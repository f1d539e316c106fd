#pragma once
// The whole interface of a backend: struct Kernels, one function pointer per row of tensor/kernels.def, and the
// arguments of those functions. Kernels work on views; they never allocate tensors, validate or record.
#include "tensor/device.h"
#include "tensor/sample.h"
#include "tensor/view.h"

namespace pg {

// The functions of tensor/elementwise.def.
enum class Unary : uint8_t {
#define UNARY(name, ...) name,
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
};
enum class Binary : uint8_t {
#define BINARY(name, ...) name,
#include "tensor/elementwise.def"
};
enum class Comparison : uint8_t {
#define COMPARISON(name, condition) name,
#include "tensor/elementwise.def"
};
// What the derivative of a function reads.
enum class Keeps : uint8_t { nothing, input, output };
constexpr Keeps keeps(Unary op) {
  constexpr Keeps all[] = {
#define UNARY(name, cost, keeps, ...) Keeps::keeps,
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
  };
  return all[static_cast<int>(op)];
}
// Whether a function is more than a few instructions.
enum class Cost : uint8_t { cheap, costly };
constexpr Cost cost(Unary op) {
  constexpr Cost all[] = {
#define UNARY(name, cost, ...) Cost::cost,
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
  };
  return all[static_cast<int>(op)];
}
constexpr Cost cost(Binary op) {
  constexpr Cost all[] = {
#define BINARY(name, cost, ...) Cost::cost,
#include "tensor/elementwise.def"
  };
  return all[static_cast<int>(op)];
}

enum class Reduce : uint8_t { sum, max };
struct Scalars {
  double a = 0, b = 0;
};

enum class Activation : uint8_t {
  none,
  gelu_tanh,
  gelu_tanh_backward,  // y → y·gelu_tanh'(pre_activation): y is the gradient of gelu_tanh's result
};
struct MatmulArgs {
  float beta = 0;
  View bias = {};                            // ? [N], added to every row
  Activation activation = Activation::none;  // applied after the bias; beta must then be 0
  View pre_activation = {};  // c's shape and type: ? written by gelu_tanh, its argument; read by gelu_tanh_backward
  View row_sums = {};  // ? [M], where a is a matrix: row_sums_beta·row_sums + the sums of a's rows. With a = dyᵀ
                       // c is the gradient of a weight, and this of its bias
  float row_sums_beta = 0;
};
struct CrossEntropyArgs {
  int32_t ignore_index = -100;
  double label_smoothing = 0;
  View weight = {};  // ? [V] class weights
};
struct AttentionArgs {
  double scale = 1;
  bool causal =
      true;  // query t of row b sits at position len - T + t and sees keys 0 … that position; len = kv_len[b] or S
  View key_mask = {};  // ? u8 [B, S], 1 = attend
  View kv_len = {};    // ? i32 [B]: keys in use of row b, the rest of the S is unused room (KV cache)
};
struct RopeArgs {
  double base = 10000;
  View positions = {};   // ? i32 [B]: position of query 0 of row b; absent means 0
  bool inverse = false;  // rotate back (the backward pass)
};
struct AdamWArgs {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  double bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^t
  double grad_scale = 1;                              // applied to g first: the clip factor
  View rounded = {};  // ? bf16, p's shape: receives p rounded, for models that compute in bf16
  // What the host need not know or, when a graph is replayed, cannot say: read beside p while the kernel runs.
  View now = {};             // ? f64 [4]: lr, bias_correction1 and 2 instead of those above, and t
  View sum_of_squares = {};  // ? f64 [1], of all gradients: grad_scale is min(1, max_norm/(√sum + 1e-6)) (1 without
                             // max_norm), and where the sum is not finite nothing is written
  double max_norm = 0;
  // `rounded` goes up or down with the odds that keep its mean at p: element i by word first + i of the Philox stream
  // (seed, t). Needs `now`.
  bool stochastic_rounding = false;
  uint64_t seed = 0;
  int64_t first = 0;  // a multiple of 4
};

struct Kernels {
#define KERNEL(name, parameters) void(*name) parameters;
#include "tensor/kernels.def"
};

// The table of a device; Error when this build has none.
const Kernels& kernels(Device device);
const Kernels& cpu_kernels();

}  // namespace pg
