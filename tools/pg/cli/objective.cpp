// The objectives of pg train: their batches and samples.
#include "tools/pg/cli/objective.h"

#include <algorithm>

#include "nn/decode/generate.h"
#include "nn/variants/denoiser.h"
#include "nn/variants/unmask.h"

namespace pg::tools {
namespace {

constexpr int64_t kSampleTokens = 100;
constexpr SampleOptions kSampling = {.temperature = 0.8};

TokenBatch next_token(const Windows& windows, const TransformerConfig&, Generator&) {
  const Shape shape = {windows.rows, windows.length};
  return {Tensor::from(windows.x, shape), Tensor::from(windows.y, shape)};
}

std::vector<int32_t> continuation(Transformer& model, const std::vector<int32_t>& prompt, uint64_t seed) {
  GenerateOptions options;
  options.max_new_tokens = kSampleTokens;
  options.sampling = kSampling;
  options.seed = seed;
  options.slide = true;
  return generate(model, {prompt}, options)[0].tokens;
}

int32_t mask_id(const TransformerConfig& model) { return static_cast<int32_t>(model.vocab_size - 1); }

template <MaskedTokens (*mask)(const Tensor&, int32_t, Generator&)>
TokenBatch masked(const Windows& windows, const TransformerConfig& model, Generator& generator) {
  const MaskedTokens tokens = mask(Tensor::from(windows.x, {windows.rows, windows.length}), mask_id(model), generator);
  TokenBatch batch{tokens.ids, tokens.targets};
  batch.weights = tokens.weights;
  return batch;
}

std::vector<int32_t> filled_masks(Transformer& model, const std::vector<int32_t>&, uint64_t seed) {
  const int64_t length = std::min(kSampleTokens, model.config.block_size);
  const UnmaskOptions options{.steps = length, .sampling = kSampling, .seed = seed};
  const Tensor ids = unmask(model, masks_after({}, length, mask_id(model.config)), options);
  const auto values = ids.data<const int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace

const std::vector<Objective>& Objective::table() {
  static const std::vector<Objective> rows = {
      {"next-token", "each token from those before it", true, 0, "", "", next_token, next_token, continuation},
      {"denoise", "masked tokens from those that are visible", false, 1, "at most ", ", with one draw of masks",
       masked<mask_tokens>, masked<mask_counts>, filled_masks}};
  return rows;
}

const Objective& objective_of(const TransformerConfig& model) {
  const auto& rows = Objective::table();
  return *std::find_if(rows.begin(), rows.end(), [&](const Objective& row) { return row.causal == model.causal; });
}

NamedValue objective_field(TransformerConfig& model) {
  return {
      names_of(Objective::table()), [&model] { return std::string(objective_of(model).name); },
      [&model](std::string_view name) { model.causal = find_row(Objective::table(), Objective::axis, name).causal; }};
}

}  // namespace pg::tools
