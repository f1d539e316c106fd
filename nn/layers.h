#pragma once
// The layers. Each is a struct with public parameters and a call operator; names and initial values are those of
// PyTorch. B batch, T time, C channels.
#include "autograd/ops.h"
#include "nn/kv_cache.h"
#include "nn/module.h"
#include "tensor/tensor.h"

namespace pg {

// How a layer initialises its parameters: the source of random values, and the dtype.
struct Init {
  Generator* generator;  // null: all zeros
  DType dtype;

  Init(Generator& generator = default_generator(), DType dtype = f32) : generator(&generator), dtype(dtype) {}
  // For callers that set the values themselves.
  static Init zeros(DType dtype) {
    Init init;
    init.generator = nullptr;
    init.dtype = dtype;
    return init;
  }
};

// x [..., in] → x weightᵀ + bias [..., out]. Weight and bias uniform in ±1/sqrt(in).
struct Linear : Module {
  Tensor weight;  // [out, in]
  Tensor bias;    // [out], or undefined

  Linear(int64_t in, int64_t out, bool with_bias = true, const Init& init = {});
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  void visit(Visitor& visitor) override;
};

// ids [...] → rows of the weight [..., C]. Weight N(0, 1).
struct Embedding : Module {
  Tensor weight;  // [V, C]

  Embedding(int64_t count, int64_t channels, const Init& init = {});
  Tensor operator()(const Tensor& ids) const { return embedding(weight, ids); }
  void visit(Visitor& visitor) override;
};

// Normalises the last dim. Weight 1, bias 0.
struct LayerNorm : Module {
  Tensor weight, bias;  // [C]; bias may be undefined
  double eps;

  explicit LayerNorm(int64_t channels, bool with_bias = true, double eps = 1e-5, DType dtype = f32);
  Tensor operator()(const Tensor& x) const { return layer_norm(x, weight, bias, eps); }
  // {x + residual, its layer norm} in one pass.
  std::pair<Tensor, Tensor> add(const Tensor& x, const Tensor& residual) const {
    return add_layer_norm(x, residual, weight, bias, eps);
  }
  void visit(Visitor& visitor) override;
};

// Divides the last dim by its root mean square. Weight 1.
struct RMSNorm : Module {
  Tensor weight;  // [C]
  double eps;

  explicit RMSNorm(int64_t channels, double eps = 1e-6, DType dtype = f32);
  Tensor operator()(const Tensor& x) const { return rms_norm(x, weight, eps); }
  // {x + residual, its RMS norm} in one pass.
  std::pair<Tensor, Tensor> add(const Tensor& x, const Tensor& residual) const {
    return add_rms_norm(x, residual, weight, eps);
  }
  void visit(Visitor& visitor) override;
};

// While training: zeroes each element with probability p and scales the rest by 1/(1-p). Draws from
// default_generator().
struct Dropout : Module {
  double p;

  explicit Dropout(double p) : p(p) {}
  Tensor operator()(const Tensor& x) const { return dropout(x, p, training); }
  void visit(Visitor&) override {}
};

// GPT-2's two-layer perceptron: x [..., C] → c_proj(gelu(c_fc(x))), gelu by the tanh formula, hidden width 4·C.
struct MLP : Module {
  Linear c_fc, c_proj;
  Dropout drop;

  MLP(int64_t channels, bool with_bias = true, double dropout = 0, const Init& init = {});
  Tensor operator()(const Tensor& x) const {
    return drop(mlp_gelu(x, c_fc.weight, c_fc.bias, c_proj.weight, c_proj.bias));
  }
  void visit(Visitor& visitor) override;
};

// A batch without padding, in which a prefix shared by several rows is stored once: N distinct positions represent the
// B·T positions of the padded grid.
struct PackedBatch {
  int64_t rows = 0, columns = 0;  // B, T
  Tensor ids, positions;          // i32 [N]: the token, and its position in its sequence
  Tensor grid;                    // i32 [N]: its row-major index in the grid
  Tensor from;                    // i32 [B·T]: for each index of the grid one of the N; any of them for padding
};

// Multi-head self-attention in which position t sees positions 0 … t: x [B, T, C] → [B, T, C]. Dropout applies to the
// result only: the fused attention never stores the attention weights.
struct CausalSelfAttention : Module {
  Linear c_attn;  // [3C, C]: queries, keys and values, concatenated
  Linear c_proj;
  Dropout drop;
  int heads;

  CausalSelfAttention(int64_t channels, int heads, bool with_bias = true, double dropout = 0, const Init& init = {});
  Tensor operator()(const Tensor& x) const;
  // Attention for new positions of known sequences: keys and values are stored in `slot` and read from there. The
  // result is bit-identical to the call without cache on the whole sequence.
  Tensor operator()(const Tensor& x, const KvSlot& slot) const;
  // x [N, C] → [N, C]; `rows` must be on the device of the weights.
  Tensor operator()(const Tensor& x, const PackedBatch& rows) const;
  void visit(Visitor& visitor) override;
};

// A random matrix [rows, columns] whose rows (or columns, whichever are fewer) are orthogonal with norm `gain`,
// uniformly distributed over such matrices: the Q of a QR factorisation of a Gaussian matrix (Saxe et al. 2013,
// arXiv:1312.6120). Computed in f64.
Tensor orthogonal(int64_t rows, int64_t columns, double gain, Generator& generator, DType dtype = f32);

}  // namespace pg
