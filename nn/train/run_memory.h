#pragma once
// An estimate of the memory that a run needs, from the sizes of its model and its batches, before anything is
// allocated.
#include <cstdint>
#include <string>

#include "nn/transformer_config.h"

namespace pg {

// What a run does. The default is a model that is only read.
struct RunShape {
  TransformerConfig model;
  int64_t trained = 0;     // models of this kind with gradients and AdamW's state: the policy, and a critic
  int64_t references = 0;  // further models without them
  int ranks = 1, zero = 0;
  // One micro-batch in a forward and backward pass, and how many of them a rank has in a step.
  int64_t rows = 0, columns = 0, micro_batches = 1;
  int64_t logit_rows = 0;  // rows of logits at a time; 0: those of all positions
  bool checkpoint_blocks = false;
  // Sequences that are generated at a time, and their positions.
  int64_t cache_rows = 0, cache_columns = 0;
};

// Bytes on each rank.
struct RunMemory {
  double weights = 0;      // of all models that are trained, or of the one that is read; with f32 masters of bf16
  double gradients = 0;    // two sets if a rank adds up micro-batches
  double optimizer = 0;    // AdamW's two moments
  double activations = 0;  // what a forward pass keeps for the backward pass, and the logits
  double cache = 0;        // keys and values, and one row of logits for each sequence
  double reference = 0;    // the weights of references
  double total() const { return weights + gradients + optimizer + activations + cache + reference; }
};

// With n parameters, adapters among them, in elements of e bytes (s bytes for what is trained: f32 for bf16):
//   weights      n·e, and n·s of masters for bf16; with adapters the frozen ones n·e, the adapters s each
//   gradients    s of each trained parameter, twice if micro_batches > 1;  optimizer: 2·s of each
//                divided by the ranks as zero_bytes() says
//   activations  N = rows·columns positions keep 2·C for the embedding and the last norm, and in each of L blocks
//                4·C (sums and norms) + A (attention) + M (MLP), all times e; then the logits, logit_rows·V·s.
//                A = (2·H + 2·K)·D for H query and K key heads of D channels: queries, keys, values and the result;
//                with rotary positions, norms of queries and keys, or K < H, copies of queries, keys and result more
//                M = 2·F for GELU, 3·F for SwiGLU, with F channels
//                adapters keep 2·rank each, and in a bf16 model the inputs of their layers in f32
//                With checkpoint_blocks C of each block, and all of one block.
//                The backward pass holds one block's gradients besides: N·(F + 2·C)·e
//   cache        cache_rows·(cache_columns·cache_bytes_per_token() + V·s)
// Not counted: the program itself, data, temporary results of kernels, and what the pool keeps for later.
RunMemory run_memory(const RunShape& shape);

// "about 1.3 GB: weights 538 MB, gradients 538 MB, …", without what is not needed.
std::string to_text(const RunMemory& memory);
// "1.3 GB", in units of 1000 bytes.
std::string bytes_text(double bytes);

}  // namespace pg
