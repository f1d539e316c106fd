#pragma once
// Lesson 4: the functions that you write, with the engine's own names.
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/decode/kv_cache.h"
#include "nn/transformer.h"

namespace pg::lesson04 {

struct AttentionGrads {
  Tensor dq, dk, dv;
};
struct LayerNormGrads {
  Tensor dx, dw, db;
};

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v);
AttentionGrads attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v);
LayerNormGrads layer_norm_backward(const Tensor& dy, const Tensor& x, const Tensor& w, double eps);
void init_weights(Transformer& model, Generator& generator);
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v);

struct Impl {  // yours by default
  decltype(&lesson04::attention) attention = lesson04::attention;
  decltype(&lesson04::attention_backward) attention_backward = lesson04::attention_backward;
  decltype(&lesson04::layer_norm_backward) layer_norm_backward = lesson04::layer_norm_backward;
  decltype(&lesson04::init_weights) init_weights = lesson04::init_weights;
  decltype(&lesson04::decode) decode = lesson04::decode;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// impl's attention and layer norm as ops on the tape: forward and backward are the exercise functions.
Tensor attention(const Impl& impl, const Tensor& q, const Tensor& k, const Tensor& v);
Tensor layer_norm(const Impl& impl, const Tensor& x, const Tensor& w, const Tensor& b);
// softmax(q kᵀ / √D) under the causal mask. q and k are [B, H, T, D], the result is [B, H, T, T].
Tensor attention_weights(const Tensor& q, const Tensor& k);

// The three parts of the demonstration.
void show_looking_back(kit::Demo& demo, const Impl& impl);
void show_training(kit::Demo& demo, const Impl& impl);
void show_cache(kit::Demo& demo, const Impl& impl);
// A part of the second: the first block of the model as it reads ids [1, T ≥ 3]. It was trained with `rows` texts at
// once.
void show_block(kit::Demo& demo, const Impl& impl, const Transformer& model, const Tensor& ids, int64_t rows);

}  // namespace pg::lesson04
