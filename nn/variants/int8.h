#pragma once
// A transformer whose weights are 8-bit integers (autograd/int8_linear.h), for decoding.
#include <cstdint>
#include <span>

namespace pg {

struct Transformer;

// Holds the weights of all linear layers, and of the head, as 8-bit integers with a scale for each output, and releases
// what they replace. Embeddings, norms, biases, adapters (nn/variants/lora.h) and latent attention's k_up and v_up stay
// as they are. A tied head gets an 8-bit copy, and the embedding keeps its values. The model then computes under NoGrad
// only: training is an Error, and so are state_dict(), checkpoints and merging adapters. Cannot be undone; later
// changes of a tied embedding do not reach the head. Error, and the model is unchanged, if it is not f32 or bf16, is
// quantized already, has a non-finite weight (which is named), or gathers its parameters for each pass.
void quantize_weights(Transformer& model);

// What quantize_weights() changes, on a text of T tokens: log-probabilities are those of the next token in the text (T
// - 1 of them), the rest is the mean over all T predictions.
struct Int8Effect {
  int64_t tokens = 0;
  double mean_difference = 0, largest_difference = 0;  // |log p - log q| in nats
  double kl = 0;                                       // KL(p ‖ q) in nats
  double same_choice = 0;                              // share of predictions whose likeliest token stays
  int64_t bytes_before = 0, bytes_after = 0;           // of all the model's weights
};
// quantize_weights(), measured on `ids`: at least 2 and at most block_size tokens. Error if the model is not causal.
Int8Effect quantize_weights(Transformer& model, std::span<const int32_t> ids);

}  // namespace pg
