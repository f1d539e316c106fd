#pragma once
// The whole interface of a backend: struct Kernels, one function pointer per row of tensor/kernels.def, and the
// arguments of those functions. Kernels work on views; they never allocate tensors, validate or record. A view marked ?
// may be empty.
#include "tensor/device.h"
#include "tensor/rope.h"
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
  View pre_activation = {};  // c's shape and type: gelu_tanh writes its argument here (?); gelu_tanh_backward reads it
  View row_sums = {};  // ? [M], only if a is a matrix: row_sums_beta·row_sums + the sums of a's rows. With a = dyᵀ, c
                       // is the gradient of a weight and this is the gradient of its bias
  float row_sums_beta = 0;
};
struct NormMatmulArgs {
  bool rms = false;                       // RMS norm instead of layer norm
  View norm_weight = {}, norm_bias = {};  // ? [K], contiguous; norm_bias for a layer norm only
  double eps = 0;
  View bias = {};                            // ? [N], contiguous
  Activation activation = Activation::none;  // none or gelu_tanh
  // Memory for the normalised rows [R, K] and the statistics [R], which a backend may use; undefined afterwards.
  View normed = {}, mean = {}, rstd = {};
};
struct CrossEntropyArgs {
  int32_t ignore_index = -100;
  double label_smoothing = 0;
  View weight = {};  // ? [V] class weights
};
struct AttentionArgs {
  double scale = 1;
  // Query t of row b has position len - T + t and attends to keys 0 … that position; len = kv_len[b] or S.
  bool causal = true;
  View key_mask = {};  // ? u8 [B, S], 1 = attend
  View kv_len = {};    // ? i32 [B]: number of keys in use in row b; the rest of S is unused capacity (KV cache)
};
struct RopeArgs {
  Rope rope = {};
  View positions = {};   // ? i32 [B]: position of query 0 of row b; absent means 0
  bool inverse = false;  // rotate back (the backward pass)
};
inline constexpr int64_t kDecayUnit = 256;  // elements that share a flag of AdamWArgs::decayed
struct AdamWArgs {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0;
  // ? u8: 0 for units without weight decay. Element i of p is in unit (first + i) / kDecayUnit. Empty: all have it.
  View decayed = {};
  double bias_correction1 = 1, bias_correction2 = 1;  // 1 - beta^t
  double grad_scale = 1;                              // applied to g first: the clip factor
  View rounded = {};  // ? bf16, p's shape: receives p rounded, for models that compute in bf16
  // Values that the kernel reads from device memory while it runs: the host does not need them or, when a graph is
  // replayed, cannot pass them.
  View now = {};  // ? f64 [4]: lr, bias_correction1 and bias_correction2, which replace those above, and the step t
  View sum_of_squares = {};  // ? f64 [1], of all gradients: grad_scale is min(1, max_norm/(√sum + 1e-6)) (1 without
                             // max_norm), and if the sum is not finite, nothing is written
  double max_norm = 0;
  // Stochastic rounding of p to `rounded`: the expectation is p. Element i uses word first + i of the Philox stream
  // (seed, t). Needs `now`.
  bool stochastic_rounding = false;
  uint64_t seed = 0;
  int64_t first = 0;  // a multiple of 4
};

struct Kernels {
#define KERNEL(name, parameters) void(*name) parameters;
#include "tensor/kernels.def"
};

// The kernel table of a device; Error if this build has none for it.
const Kernels& kernels(Device device);
const Kernels& cpu_kernels();
// The CPU's kernels, or the plain ones; with timing around each if a Profile is alive (tensor/measure/profile.h).
const Kernels& host_kernels(bool plain);
// From now on the plain kernels compute tensors of the CPU too: `--device plain` of lessons.
void use_plain_kernels(bool on);
const Kernels& plain_kernels();

}  // namespace pg
