#pragma once
// The whole interface of a backend: one function pointer per kernel, its shapes beside it. Kernels speak views; they
// never allocate tensors, validate or record. A null entry means "no kernel here": the op composes it or says so.
// Conventions: results come first. `beta` scales what the result already holds: 0 overwrites (even NaN), 1 adds.
// R rows, C columns (contiguous rows where written [R, C]); B batch, H heads, T queries, S keys, D head size, V
// vocabulary. "any": any shape and strides, all views of equal shape (broadcast inputs have stride 0). A view marked ?
// may be empty (data == nullptr). Floating views are f32, f64 or bf16, all of one type, unless said. bf16 is computed
// in f32 and rounded once; beside bf16, statistics and values per row (mean, rstd, lse, stats, loss, log_prob, entropy)
// are f32, and so are the gradients of weights (dw, db) and what is added to in place (scatter_add); any result may be
// f32.
#include "tensor/device.h"
#include "tensor/sample.h"
#include "tensor/view.h"

namespace pg {

enum class Unary : uint8_t {
  // clang-format off
  neg, abs, exp, expm1, log, log1p, sqrt, rsqrt, reciprocal, sin, cos, tanh, sigmoid, softplus, relu, gelu_tanh, gelu_erf, silu,
  affine,      // a·x + b
  div_scalar,  // x / a
  clamp,       // min(max(x, a), b); gradient passes where a < x < b, and at an infinite x that is its own bound
  pow_scalar,  // x^a
  // clang-format on
};
enum class Binary : uint8_t {
  // clang-format off
  add, sub, mul, div, pow,
  minimum, maximum,        // at ties each side gets half the gradient
  eq, ne, lt, le, gt, ge,  // result u8 0/1, no gradient
  // clang-format on
};
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
  // ---- memory
  void (*copy)(const View& y, const View& x);                     // any; converts between all dtypes
  void (*fill)(const View& y, double value);                      // any, all dtypes
  void (*accumulate)(const View& y, const View& x, double beta);  // any: y = beta·y + x
  void (*random_uniform)(const View& y, double low, double high, uint64_t seed,
                         uint64_t offset);  // f32 or f64, contiguous; element i uses word offset + i
  void (*random_normal)(const View& y, double mean, double std, uint64_t seed,
                        uint64_t offset);  // f32 or f64, contiguous; element i uses words offset + 2i, 2i + 1
  // ---- elementwise
  void (*unary)(Unary op, const View& y, const View& x, Scalars s);  // any
  void (*unary_backward)(Unary op, const View& dx, const View& dy, const View& x, const View& y, Scalars s,
                         double beta);                                     // any
  void (*binary)(Binary op, const View& z, const View& x, const View& y);  // any; comparisons write u8
  void (*binary_backward)(Binary op, int side, const View& d, const View& dz, const View& x, const View& y,
                          double beta);  // any; gradient of x (side 0) or y (1)
  void (*where)(const View& z, const View& condition, const View& x,
                const View& y);  // any; condition u8, x and y any dtype equal to z's
  void (*dropout)(const View& y, const View& x, double p, uint64_t seed, uint64_t offset,
                  double beta);  // contiguous: y = beta·y + x·keep/(1-p); keep(i) = word offset + i
  // ---- reductions
  void (*reduce)(Reduce op, const View& y, const View& x, double divisor,
                 double beta);  // y has x's rank with size 1 at reduced dims; y = beta·y + reduce(x) / divisor; max
                                // of nothing is -inf, beta and divisor apply to sum only
  void (*cumsum)(const View& y, const View& x, int dim, bool reverse, double beta);  // any
  void (*argmax)(const View& index, const View& x);      // x [R, C] → i32 [R]; the first of equal maxima
  void (*sum_of_squares)(const View& y, const View& x);  // x contiguous, y f64 [1]
  // ---- indexing (ids and index are i32, validated by the op)
  void (*gather)(const View& y, const View& x, const View& index,
                 int dim);  // any: y[..i..] = x[..index[..i..]..]; y and index of equal shape
  void (*scatter_add)(const View& y, const View& index, const View& x,
                      int dim);  // any: y[..index[..i..]..] += x[..i..]; index and x of equal shape
  void (*embedding)(const View& y, const View& w, const View& ids);  // y [R, C] = w[ids[R]], w [V, C]
  void (*embedding_backward)(const View& dw, const View& dy, const View& ids, double beta);
  // ---- matrix products
  void (*matmul)(const View& c, const View& a, const View& b,
                 const MatmulArgs& args);  // c [..., M, N] = beta·c + a [..., M, K] · b [..., K, N]; any strides, batch
                                           // dims equal (stride 0 repeats)
  // ---- rows
  // stats: f32 or f64 [R, 2], contiguous: of each row of logits the maximum m and Σ e^(x - m) (0, 0 where ignored).
  void (*softmax)(const View& y, const View& x, bool log);  // [R, C]
  void (*softmax_backward)(const View& dx, const View& dy, const View& y, bool log, double beta);
  void (*cross_entropy)(const View& loss, const View& stats, const View& logits, const View& targets,
                        const CrossEntropyArgs& args);  // loss [R] (0 where ignored), stats, logits [R, V]
  void (*cross_entropy_backward)(const View& dlogits, const View& dloss, const View& logits, const View& stats,
                                 const View& targets, const CrossEntropyArgs& args, double beta);  // dloss [R]
  void (*token_log_prob)(const View& log_prob, const View& entropy, const View& stats, const View& logits,
                         const View& ids);  // log_prob and entropy (in nats) [R], stats, logits [R, V]
  void (*token_log_prob_backward)(const View& dlogits, const View& dlog_prob, const View& dentropy, const View& logits,
                                  const View& stats, const View& entropy, const View& ids,
                                  double beta);  // dlog_prob?, dentropy?
  void (*layer_norm)(const View& y, const View& mean, const View& rstd, const View& sum, const View& x,
                     const View& residual, const View& w, const View& b,
                     double eps);  // sum?, residual?: normalises sum = x + residual; w?, b? [C]; mean, rstd [R]
  void (*layer_norm_backward)(const View& dx, const View& dw, const View& db, const View& dy, const View& x,
                              const View& w, const View& mean, const View& rstd, double beta_x, double beta_w,
                              double beta_b);  // dx?, dw?, db?
  void (*rms_norm)(const View& y, const View& rstd, const View& sum, const View& x, const View& residual, const View& w,
                   double eps);  // sum?, residual?: normalises sum = x + residual; w?
  void (*rms_norm_backward)(const View& dx, const View& dw, const View& dy, const View& x, const View& w,
                            const View& rstd, double beta_x,
                            double beta_w);  // dx?, dw?
  void (*attention)(const View& out, const View& lse, const View& q, const View& k, const View& v,
                    const AttentionArgs& args);  // out, q [B, H, T, D], k, v [B, Hkv, S, D]: D contiguous, other
                                                 // strides any; lse [B, H, T] contiguous
  void (*attention_backward)(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                             const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                             double beta);
  void (*rope)(const View& y, const View& x, const RopeArgs& args,
               double beta);  // [B, H, T, D], D even and contiguous; half-split rotation
  // ---- generation
  void (*kv_append)(
      const View& k, const View& v, const View& new_k, const View& new_v,
      const View& starts);  // k, v [B, H, S, D] of equal strides, new_k, new_v [B, H, T, D], D contiguous,
                            // any dtype; position starts[b] + t of the cache becomes new position t
  void (*sample)(const View& ids, const View& logits, const View& u,
                 const SampleOptions& options);  // ids i32 [R] drawn from logits [R, V] by u f64 [R] in [0, 1), as
                                                 // sample_token() does; 0 where one is NaN or +inf, or all -inf
  // ---- optimizer (contiguous, one pass, f32 or f64)
  void (*adamw)(const View& p, const View& g, const View& m, const View& v, const AdamWArgs& args);
};

// The table of a device; Error when this build has none.
const Kernels& kernels(Device device);
const Kernels& cpu_kernels();

}  // namespace pg
