#pragma once
// pg eval: how well a language model predicts a text.
#include <cstdint>
#include <vector>

#include "nn/transformer.h"

namespace pg::tools {

// The sum over ids[1], ids[2], … of -log p(id), in nats. The ids are split into windows of the model's context length,
// as in training; the last window may be shorter. The first token of each window is predicted only from the last token
// of the previous window. Throws Error for fewer than two ids.
double text_loss(Transformer& model, const std::vector<int32_t>& ids);

}  // namespace pg::tools
