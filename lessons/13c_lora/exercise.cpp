// Lesson 13c: LoRA. This is your file: replace each TODO(...), then:
// make lesson13c && ./lesson13c check
//
// matmul(a, b) multiplies matrices. Tensors: Tensor::uniform(shape, low, high,
// generator, dtype), Tensor::zeros(shape, dtype), x.set_requires_grad(),
// x.detach(), x.view_slice(dim, begin, end), x.copy_from(y). The engine's own
// functions are pg::add_lora and pg::merge_lora, for whole models.
#include <cmath>

#include "lessons/13c_lora/lesson.h"

namespace pg::lesson13c {

// Gives a layer with weight W [out, in] one low-rank adapter for all its rows,
// so that layer(x) becomes x·(W + scale·B·A)ᵀ + bias. Make a LoraAdapter, set
// its begin = 0, end = out, scale = alpha/rank (rank and alpha are in the
// config), a and b, and push it back to layer.lora. A [rank, in] is uniform in
// ±1/√in (Tensor::uniform(shape, low, high, generator, dtype)), B [out, rank]
// is zero, both of W's dtype. From now on A and B require a gradient, W and the
// bias (it may be undefined) do not: x.set_requires_grad(true or false).
void add_lora(Linear& layer, const LoraConfig& config, Generator& generator) {
  // Yours, in place of the next line.
  TODO("13.5 add_lora");
}

// Adds the terms of layer.lora to the weight: scale·B·A of each adapter to the
// rows adapter.begin ... adapter.end - 1 (a layer may have one for its queries
// and one for its values). Then layer.lora_merged = true, so that layer(x) no
// longer adds the terms itself. Others hold the same memory: write into the
// weight (rows = weight.view_slice(0, begin, end); rows.copy_from(...)) instead
// of replacing it. An Error, and no change, if the layer has no adapter or is
// merged already.
void merge_lora(Linear& layer) {
  // Yours, in place of the next line.
  TODO("13.6 merge_lora");
}

}  // namespace pg::lesson13c
