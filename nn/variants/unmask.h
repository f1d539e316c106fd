#pragma once
// Iterative sampling from a masked denoiser (nn/variants/denoiser.h): at each step the denoiser predicts all masked
// tokens, some of the predictions are kept, and the others stay masked for the next step.
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "nn/variants/denoiser.h"
#include "tensor/base/table.h"
#include "tensor/sample.h"

namespace pg {

// A sampled token of a masked position.
struct Prediction {
  int64_t position = 0;
  int32_t token = 0;
  double log_prob = 0;  // log softmax(logits)[token], at temperature 1 and without filters
};

// Which predictions of a step are kept.
struct UnmaskOrder {
  std::string_view name, about;
  void (*sort)(std::vector<Prediction>&, Generator&);  // puts the predictions to keep first

  // random: all orders are equally likely, as in the loss. With one token per step and exact conditional probabilities
  // the result is a sample of the joint distribution. confidence: the most probable tokens first (LLaDA's
  // "low-confidence remasking"). This favours likely tokens: the result is not a sample of the joint distribution.
  static const std::vector<UnmaskOrder>& table();
  static constexpr const char* axis = "order";
};

struct UnmaskOptions {
  // From 1 (all tokens at once, each independent of the others) to the number of masks (one token per step).
  int64_t steps = 1;
  Choice<UnmaskOrder> order = "confidence";
  bool greedy = false;  // the most probable token (the first if several are equal) instead of a sample
  SampleOptions sampling = {};
  // Row i draws from random_stream(seed, first_row + i), whatever the other rows are: at each step one number for each
  // of its masks, then those of the order.
  uint64_t seed = 0;
  uint64_t first_row = 0;
  std::function<void(int64_t step, const Tensor& ids)> on_step = {};  // called after each step, from 1, if set
};

// The tokens of a prompt, then masks: i32 [1, length]. Error unless length is greater than the prompt, which may be
// empty.
Tensor masks_after(std::span<const int32_t> prompt, int64_t length, int32_t mask_id);

// Replaces every mask in ids i32 [B, L] by a token of 0 … mask_id - 1; other tokens stay as they are. After step s of S
// floor(m·s/S) of the m masks of a row are filled: the share of masks falls evenly, as alpha_t does. Error if an id is
// above mask_id, if a row has fewer masks than there are steps, or if the logits are not finite. The result is the same
// for any number of threads.
Tensor unmask(const MaskedDenoiser& model, const Tensor& ids, const UnmaskOptions& options);
// unmask() in eval mode. Error if L is above block_size or the model is causal.
Tensor unmask(Transformer& model, const Tensor& ids, const UnmaskOptions& options);

}  // namespace pg
