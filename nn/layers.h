#pragma once
// The layers. Each is a struct with public parameters and a call operator. The names `weight` and `bias` and the
// initial values are PyTorch's. c_attn, c_fc and c_proj are GPT-2's names, as in its published weights: the matrix that
// makes queries, keys and values; the first matrix of the MLP; the last matrix of attention and of the MLP.
// B batch, T time, C channels.
#include <optional>
#include <string>
#include <vector>

#include "autograd/int8_linear.h"
#include "autograd/ops.h"
#include "nn/module.h"
#include "nn/transformer_config.h"
#include "tensor/tensor.h"

namespace pg {

struct KvSlot;  // nn/decode/kv_cache.h

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

// A low-rank term of the rows [begin, end) of a weight [out, in]: weight + scale·b·a (nn/variants/lora.h).
struct LoraAdapter {
  std::string prefix;  // of the names of its tensors: "" or "q_proj."
  int64_t begin = 0, end = 0;
  double scale = 1, dropout = 0;
  Tensor a, b;  // [rank, in], [end - begin, rank]
};

// x [..., in] → x weightᵀ + bias [..., out]. Weight and bias uniform in ±1/sqrt(in).
struct Linear : Module {
  Tensor weight;                   // [out, in]; undefined if `int8` holds the weight
  Tensor bias;                     // [out], or undefined
  std::optional<Int8Weight> int8;  // in place of the weight (nn/variants/int8.h): for decoding, without gradients
  std::vector<LoraAdapter> lora;   // of rows that do not overlap, in their order
  bool lora_merged = false;        // the weight contains the adapters' terms

  Linear(int64_t in, int64_t out, bool with_bias = true, const Init& init = {});
  Tensor operator()(const Tensor& x) const { return adds_terms() ? adapted(x) : product(x); }
  // Whether weight and bias are all of it: no int8 weight is in their place, and no adapter adds a term.
  bool plain() const { return !int8 && !adds_terms(); }
  void check_saved(const char* owner) const override;
  void visit(Visitor& visitor) override;

 private:
  bool adds_terms() const { return !lora.empty() && !lora_merged; }  // of adapters
  Tensor product(const Tensor& x) const { return int8 ? int8_linear(x, *int8, bias) : linear(x, weight, bias); }
  Tensor adapted(const Tensor& x) const;
};

// ids [...] → rows of the weight [..., C]. Weight N(0, 1).
struct Embedding : Module {
  Tensor weight;  // [V, C]

  Embedding(int64_t count, int64_t channels, const Init& init = {});
  Tensor operator()(const Tensor& ids) const { return embedding(weight, ids); }
  void visit(Visitor& visitor) override;
};

// Normalises the last dim: a layer norm, or an RMS norm, which only divides by the root mean square. Weight 1, bias 0.
struct Norm : Module {
  NormKind kind;
  Tensor weight, bias;  // [C]; bias may be undefined, and is for an RMS norm
  double eps;

  Norm(NormKind kind, int64_t channels, bool with_bias, double eps, DType dtype = f32);
  Tensor operator()(const Tensor& x) const;
  // {x + residual, its norm} in one pass, bit-identical to the two operations. `residual` may be undefined: {x, norm}.
  std::pair<Tensor, Tensor> add(const Tensor& x, const Tensor& residual) const;
  // {x + residual, linear(its norm)}, or linear_gelu: add_norm_linear(), for decoding. The layer has no adapter.
  std::pair<Tensor, Tensor> add_linear(const Tensor& x, const Tensor& residual, const Tensor& layer_weight,
                                       const Tensor& layer_bias = {}, bool gelu = false) const;
  void visit(Visitor& visitor) override;
};
struct LayerNorm : Norm {
  explicit LayerNorm(int64_t channels, bool with_bias = true, double eps = 1e-5, DType dtype = f32);
};
struct RMSNorm : Norm {
  explicit RMSNorm(int64_t channels, double eps = 1e-6, DType dtype = f32);
};

// dropout() in the mode of `module`, from its stream. Error if it is in train mode and has no stream.
Tensor dropout(const Tensor& x, double p, const Module& module);
struct Dropout : Module {
  double p;

  explicit Dropout(double p) : p(p) {}
  Tensor operator()(const Tensor& x) const { return dropout(x, p, *this); }
  void visit(Visitor&) override {}
};

// A two-layer perceptron x [..., C] → [..., C]. GPT-2's is c_proj(gelu(c_fc(x))), gelu by the tanh formula. A gated one
// is c_proj(swiglu(c_gate(x), c_fc(x))), the SwiGLU of Shazeer (2020, arXiv:2002.05202) as Llama has it.
struct MLP : Module {
  std::optional<Linear> c_gate;
  Linear c_fc, c_proj;
  Dropout drop;

  // The hidden width is 4·channels if it is not given.
  MLP(int64_t channels, bool with_bias = true, double dropout = 0, const Init& init = {}, int64_t hidden = 0,
      bool gated = false);
  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) override;
};

// A view of x [B, T, H·D] as [B, H, T, D].
Tensor split_heads(const Tensor& x, int64_t heads);

// A batch without padding, in which a prefix shared by several rows is stored once: N distinct positions represent the
// B·T positions of the padded grid.
struct PackedBatch {
  int64_t rows = 0, columns = 0;  // B, T
  Tensor ids, positions;          // i32 [N]: the token, and its position in its sequence
  Tensor grid;                    // i32 [N]: its row-major index in the grid
  Tensor from;                    // i32 [B·T]: for each index of the grid one of the N; any of them for padding

  Tensor on_grid(const Tensor& packed) const;  // [N, W] → [B, T, W]
  Tensor from_grid(const Tensor& x) const;     // [B, T, W] → [N, W]
};

// Multi-head self-attention of a model with this configuration: x [B, T, C] → [B, T, C]. With `causal`, position t sees
// positions 0 … t; without, it sees all T, and a KV cache or packed rows are an Error. Dropout applies to the result
// only: the fused attention never stores the attention weights.
struct CausalSelfAttention : Module {
  TransformerConfig config;  // H = n_head, H_kv = kv_heads(), D = head_width()
  Linear c_attn;             // [(H + 2·H_kv)·D, C]: queries, keys and values, concatenated
  Linear c_proj;             // [C, H·D]
  std::optional<RMSNorm> q_norm, k_norm;
  Dropout drop;

  explicit CausalSelfAttention(const TransformerConfig& config, const Init& init = {});
  Tensor operator()(const Tensor& x) const;
  // Attention for new positions of known sequences: keys and values are stored in `slot` and read from there. The
  // result is bit-identical to the call without cache on the whole sequence.
  Tensor operator()(const Tensor& x, const KvSlot& slot) const;
  // The call with a cache from the result of c_attn on.
  Tensor from_qkv(const Tensor& qkv, const KvSlot& slot) const;
  // x [N, C] → [N, C]; `rows` must be on the device of the weights.
  Tensor operator()(const Tensor& x, const PackedBatch& rows) const;
  void visit(Visitor& visitor) override;

 private:
  struct Heads {
    Tensor q, k, v;  // [B, H or H_kv, T, D]
  };
  // The heads in the result of c_attn [B, T, ...]; `positions`: the first positions i32 [B] of its rows, or undefined
  // for 0.
  Heads split(const Tensor& qkv, const Tensor& positions) const;
  // The result of attention [B, H, T, D] → [B, T, C].
  Tensor project(const Tensor& y) const;
  bool plain() const;  // attention_qkv computes all of it
};

// A random matrix [rows, columns] whose rows (or columns, whichever are fewer) are orthogonal with norm `gain`,
// uniformly distributed over such matrices: the Q of a QR factorisation of a Gaussian matrix (Saxe et al. 2013,
// arXiv:1312.6120). Computed in f64.
Tensor orthogonal(int64_t rows, int64_t columns, double gain, Generator& generator, DType dtype = f32);

}  // namespace pg
