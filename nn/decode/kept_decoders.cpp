// Decoders kept between calls of a Sampler.
#include "nn/decode/kept_decoders.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr size_t kMostKept = 2;

DecoderKey key_of(Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds) {
  DecoderKey key{model.config, {}, options, rows, room, holds, backend(model.device()).exact()};
  for (const auto& [name, parameter] : named_parameters(model)) {
    key.parameters.push_back({parameter.storage(), parameter.view().data, parameter.dtype(), parameter.shape()});
  }
  return key;
}

// n rounded up to a multiple of `grain` and of an eighth of the power of two at or below n.
int64_t rounded_up(int64_t n, int64_t grain) {
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(n, 1))));
  const int64_t step = std::max(grain, power / 8);
  return (n + step - 1) / step * step;
}

}  // namespace

KeptDecoders::KeptDecoders(Transformer& model) : model_(model), when_full_([this](Device) { release(); }) {}

std::unique_ptr<KeptDecoder> KeptDecoders::take(int64_t rows, int64_t room, const DecodingOptions& options,
                                                bool holds) {
  if (model_.device().on_host() || model_.before_part) {
    return std::make_unique<KeptDecoder>(model_,
                                         DecoderKey{.options = options, .rows = rows, .room = room, .holds = holds});
  }
  DecoderKey key =
      key_of(model_, rounded_up(rows, 1), std::min(rounded_up(room, 64), model_.config.block_size), options, holds);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& decoder) { return decoder->key == key; });
  if (found != kept_.end()) {
    std::unique_ptr<KeptDecoder> decoder = std::move(*found);
    kept_.erase(found);
    return decoder;
  }
  if (kept_.size() == kMostKept) kept_.erase(kept_.begin());  // before the new one needs memory
  return std::make_unique<KeptDecoder>(model_, std::move(key));
}

void KeptDecoders::keep(std::unique_ptr<KeptDecoder> decoder) {
  check(decoder->decoder.all_taken(), "Sampler: a decoder with results that were not taken cannot be kept");
  if (decoder->key.parameters.empty()) return;
  if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
  kept_.push_back(std::move(decoder));
}

void KeptDecoders::release() { kept_.clear(); }

}  // namespace pg
