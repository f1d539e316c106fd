#pragma once
// What a model of pg train learns to predict: the next token, or masked tokens. A run's model states it, as
// TransformerConfig::causal.
#include <cstdint>
#include <string_view>
#include <vector>

#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "tasks/data/text_data.h"
#include "tensor/base/fields.h"

namespace pg::tools {

struct Objective {
  std::string_view name, about;
  bool causal;
  int64_t extra_tokens;    // ids of the model after those of the tokenizer: 1 for the mask
  std::string_view bound;  // what to write before a loss, bits or perplexity: "at most " if it is an upper bound
  std::string_view note;   // what to write after an evaluation on one batch per window
  // The batch of these windows for a step, and for an evaluation.
  TokenBatch (*training)(const Windows& windows, const TransformerConfig& model, Generator& generator);
  TokenBatch (*evaluation)(const Windows& windows, const TransformerConfig& model, Generator& generator);
  // A hundred tokens at temperature 0.8: after the prompt, or at most a whole context without it.
  std::vector<int32_t> (*sample)(Transformer& model, const std::vector<int32_t>& prompt, uint64_t seed);

  static const std::vector<Objective>& table();
  static constexpr const char* axis = "objective";
};

const Objective& objective_of(const TransformerConfig& model);
// The name of the objective; setting it sets `causal`.
NamedValue objective_field(TransformerConfig& model);

}  // namespace pg::tools
