#pragma once
// Every operation on tensors that the tape can differentiate. Names and meaning are PyTorch's. Floating inputs are f32,
// f64 or bf16, all of one dtype; ids are i32; conditions and masks u8. Binary ops broadcast. Dims may be negative. Each
// operation checks its shapes and throws Error with a sentence that names the operation, also for undefined tensors.
// For operations along a dim of an existing tensor (reductions, cumsum, softmax, gather and similar), a tensor of rank
// 0 counts as one of shape [1], with dims 0 and -1.
#include <concepts>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "autograd/tape.h"
#include "tensor/rope.h"
#include "tensor/tensor.h"

namespace pg {

// ---- arithmetic: a, b broadcast to the result's shape
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& x, double divisor);  // each quotient is rounded once: not a product with 1/divisor
Tensor pow(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& x, double exponent);
Tensor minimum(const Tensor& a, const Tensor& b);  // at ties each side gets half the gradient
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor swiglu(const Tensor& gate, const Tensor& x);  // silu(gate)·x (Shazeer 2020, arXiv:2002.05202)
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // condition u8
Tensor affine(const Tensor& x, double scale, double shift);               // scale·x + shift

// ---- comparisons (tensor/elementwise.def): u8 0/1, no gradient
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);

// ---- elementwise (tensor/elementwise.def defines those without further arguments), same shape as x
Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor softplus(const Tensor& x);  // log(1 + e^x)
Tensor relu(const Tensor& x);
enum class Gelu { tanh, erf };  // GPT-2's approximation, or exact
Tensor gelu(const Tensor& x, Gelu approximate = Gelu::tanh);
Tensor silu(const Tensor& x);  // x·sigmoid(x)
// The gradient passes where min < x < max, and at an infinite x that equals its bound.
Tensor clamp(const Tensor& x, double min, double max);
Tensor cast(const Tensor& x, DType dtype);  // differentiable between floating dtypes

// The dimensions that a reduction removes: -1, {0, 1}, a vector, or {} for all.
class ReduceDims {
 public:
  ReduceDims() = default;
  template <std::same_as<int> Int>  // int only: a bool in this position is a keepdim one argument early
  ReduceDims(Int dim) : dims_{dim} {}
  ReduceDims(std::initializer_list<int> dims) : dims_(dims) {}
  ReduceDims(std::vector<int> dims) : dims_(std::move(dims)) {}
  operator const std::vector<int>&() const { return dims_; }

 private:
  std::vector<int> dims_;
};

// ---- reductions over `dims` (default: all); keepdim leaves size 1. For zero elements, sum is 0, mean and var are NaN
// and logsumexp is -inf; amax and argmax throw Error.
Tensor sum(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
// Ties share the gradient evenly.
Tensor amax(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const ReduceDims& dims = {}, bool keepdim = false);
// Divides by max(0, n - correction), correction at least 0.
Tensor var(const Tensor& x, const ReduceDims& dims = {}, int correction = 1, bool keepdim = false);
Tensor cumsum(const Tensor& x, int dim);
Tensor argmax(const Tensor& x, int dim = -1, bool keepdim = false);  // i32, the first of equal maxima, no gradient

// ---- matrix products
Tensor matmul(const Tensor& a, const Tensor& b);  // [..., M, K] · [..., K, N]; leading dims broadcast; Error if 1-d
// x·weightᵀ + bias: x [..., K], weight [N, K], bias [N] or undefined → [..., N]
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
Tensor linear_gelu(const Tensor& x, const Tensor& weight, const Tensor& bias = {});  // gelu(linear(x), tanh)
// linear(linear_gelu(x, w1, b1), w2, b2), GPT-2's MLP: x [..., K], w1 [H, K], w2 [N, H]; b1, b2 or undefined
Tensor mlp_gelu(const Tensor& x, const Tensor& w1, const Tensor& b1, const Tensor& w2, const Tensor& b2);

// A norm over the last dim: layer_norm, or rms_norm, which has no bias.
struct RowNorm {
  bool rms = false;
  Tensor weight = {}, bias = {};
  double eps = 1e-5;
};
// {sum, linear(norm(sum), weight, bias)} with sum = x + residual, or x itself without a residual, and, with `gelu`,
// linear_gelu in place of linear: x [..., K], weight [N, K] → [..., K] and [..., N]. On the CPU the result is
// bit-identical to that of the separate operations. On a GPU one kernel computes it for a few rows. It has no gradient:
// Error if the tape would record it.
std::pair<Tensor, Tensor> add_norm_linear(const Tensor& x, const Tensor& residual, const RowNorm& norm,
                                          const Tensor& weight, const Tensor& bias = {}, bool gelu = false);

// ---- shape: views where strides allow
Tensor reshape(const Tensor& x, const Shape& shape);  // one size may be -1; copies only when strides force it
Tensor transpose(const Tensor& x, int dim0 = -2, int dim1 = -1);
Tensor permute(const Tensor& x, const std::vector<int>& dims);
Tensor slice(const Tensor& x, int dim, int64_t start, int64_t end,
             int64_t step = 1);                          // Python's rules for negative and large ends
Tensor select(const Tensor& x, int dim, int64_t index);  // slice without the dim
Tensor expand(const Tensor& x, const Shape& shape);      // repeats dims of size 1; -1 keeps a size
Tensor unsqueeze(const Tensor& x, int dim);              // a new dim of size 1
Tensor squeeze(const Tensor& x, int dim);                // without this dim, if its size is 1
Tensor contiguous(const Tensor& x);
Tensor cat(const std::vector<Tensor>& xs, int dim = 0);    // one after the other along the dim
Tensor stack(const std::vector<Tensor>& xs, int dim = 0);  // along a new dim, whose size is xs.size()

// ---- indexing: ids are i32 and checked against the size they index
// y[.., i, ..] = x[.., index[.., i, ..], ..] at `dim`: index has x's rank, and the result has index's shape.
Tensor gather(const Tensor& x, int dim, const Tensor& index);
Tensor index_select(const Tensor& x, int dim, const Tensor& index);  // index 1-d
// x, and added to it y[.., index[.., i, ..], ..] += source[.., i, ..].
Tensor scatter_add(const Tensor& x, int dim, const Tensor& index, const Tensor& source);
Tensor one_hot(const Tensor& ids, int64_t num_classes, DType dtype = f32);  // [...] → [..., num_classes], no gradient
Tensor embedding(const Tensor& weight, const Tensor& ids);  // row ids[...] of weight [V, C] → [..., C]

// ---- probability, over the last dim unless `dim` says otherwise
// e^x / Σ e^x along the dim: positive numbers whose sum is 1. log_softmax is its logarithm.
Tensor softmax(const Tensor& x, int dim = -1);
Tensor log_softmax(const Tensor& x, int dim = -1);
enum class Reduction { none, mean, sum };
struct CrossEntropyOptions {
  // mean divides by the number of targets that are not ignored, with weights by the total of theirs.
  Reduction reduction = Reduction::mean;
  int32_t ignore_index = -100;
  double label_smoothing = 0;
  Tensor weight = {};  // [V], no gradient
  // The gradient that backward() will pass to the result, with the result's shape and dtype; may be undefined. It lets
  // the forward pass write the gradient of the logits over the logits, so that they are read from memory once and
  // written once (the fused classifier of llm.c, Karpathy 2024). That is done when the call is recorded and nothing
  // else holds the logits: pass a temporary, or std::move() them. Otherwise `upstream` changes nothing.
  //
  // backward() compares the gradient that arrives with `upstream`. If they differ, it multiplies the gradient of the
  // logits by their quotient, which costs two more roundings, for bf16 logits one of them to bf16. From an `upstream`
  // of 0, inf or NaN that is impossible: an Error on the CPU, NaN on a GPU.
  Tensor upstream = {};
};
// logits [..., V]: one score for each of V classes. targets i32 [...]: the id of the right class. The loss of a row is
// -ln softmax(logits)[target], in nats. `reduction` makes one number of the losses of all rows.
Tensor cross_entropy(Tensor logits, const Tensor& targets, const CrossEntropyOptions& options = {});
// log softmax(logits)[id] and the entropy of softmax(logits), in nats: logits [..., V], ids [...] → two tensors [...].
std::pair<Tensor, Tensor> token_log_prob(const Tensor& logits, const Tensor& ids);

// ---- normalisation over the last dim C; weight, bias [C] or undefined; eps at least 0
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
// {x + residual, layer_norm(x + residual)} in one pass, bit-identical to two operations; so is add_rms_norm().
std::pair<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight = {},
                                         const Tensor& bias = {}, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double eps = 1e-6);
// {x + residual, rms_norm(x + residual)} in one pass.
std::pair<Tensor, Tensor> add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight = {},
                                       double eps = 1e-6);

// ---- attention, dropout and rotary positions
struct AttentionOptions {
  bool causal = true;  // query t of row b has position len - T + t, len = kv_len[b] or S, and attends to no later key
  std::optional<double> scale;  // default 1/sqrt(D)
  Tensor key_mask = {};         // u8 [B, S], 1 = attend; a query with no key at all gives 0
  Tensor kv_len = {};           // i32 [B]: number of keys in use (KV cache with unused capacity)
};
// softmax(scale·q kᵀ + mask) v: q [B, H, T, D], k and v [B, Hkv, S, D] with Hkv dividing H → [B, H, T, D].
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
// Stores new_k and new_v [B, Hkv, T, D] in a cache k, v [B, Hkv, S, D], row b from position before[b] (i32 [B]) on, and
// returns attention(q, k, v, options) with q [B, H, T, D]; on a GPU in one kernel. options.kv_len must be before + T.
// Nothing is recorded on the tape.
Tensor attention_append(const Tensor& q, const Tensor& new_k, const Tensor& new_v, const Tensor& k, const Tensor& v,
                        const Tensor& before, const AttentionOptions& options);
// Self-attention on the packed projection [B, T, 3·H·D] (q, k, v concatenated) → [B, T, H·D]. The arithmetic is that of
// attention(); q, k and v are not copied.
Tensor attention_qkv(const Tensor& qkv, int heads, bool causal = true);
// While training: each element is 0 with probability p, else x / (1 - p). The masks are the next draws of `stream`.
Tensor dropout(const Tensor& x, double p, bool training, Generator& stream);
// Rotary position embedding (Su et al. 2021), half-split form: x [B, H, T, D], D even; base above 0. positions: i32
// [B], the position of query 0 of each row.
Tensor rope(const Tensor& x, const Rope& options = {}, const Tensor& positions = {});

// ---- operators
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x, double s) { return affine(x, 1, s); }
inline Tensor operator+(double s, const Tensor& x) { return affine(x, 1, s); }
inline Tensor operator-(const Tensor& x, double s) { return affine(x, 1, -s); }
inline Tensor operator-(double s, const Tensor& x) { return affine(x, -1, s); }
inline Tensor operator*(const Tensor& x, double s) { return affine(x, s, 0); }
inline Tensor operator*(double s, const Tensor& x) { return affine(x, s, 0); }
inline Tensor operator/(const Tensor& x, double s) { return div(x, s); }
inline Tensor operator/(double s, const Tensor& x) { return affine(reciprocal(x), s, 0); }

}  // namespace pg
