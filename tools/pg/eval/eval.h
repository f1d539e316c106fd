#pragma once
// pg eval: how well a language model or a masked denoiser predicts a text.
#include <cstdint>
#include <vector>

#include "nn/transformer.h"

namespace pg::tools {

// The sum over ids[1], ids[2], … of -log p(id), in nats. The ids are split into windows of the model's context length,
// as in training; the last window may be shorter. The first token of each window is predicted only from the last token
// of the previous window. Throws Error for fewer than two ids.
double text_loss(Transformer& model, const std::vector<int32_t>& ids);

// An estimate of an upper bound on the sum over all ids of -log p(id), in nats, for a masked denoiser.
struct TextBound {
  double nats = 0;
  double standard_error = 0;  // of nats; NaN for one draw
};
// The mean of `draws` independent estimates, each with one set of masks (mask_counts, nn/variants/denoiser.h) for each
// window of the model's context length; the last window may be shorter. No window sees another. The masks are the same
// in each call. Throws Error for no ids and for a model that is causal.
TextBound text_bound(Transformer& model, const std::vector<int32_t>& ids, int64_t draws);

}  // namespace pg::tools
