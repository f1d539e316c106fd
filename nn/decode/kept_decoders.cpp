// Decoders kept between calls of generate().
#include "nn/decode/kept_decoders.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "nn/decode/decoder.h"
#include "tensor/base/error.h"
#include "tensor/reclaim.h"

namespace pg {
namespace {

constexpr size_t kMostKept = 2;

struct Parameter {  // its place in memory, which a graph has recorded
  const void* data;
  DType dtype;
  Shape shape;
  bool operator==(const Parameter&) const = default;
};

// All that the graphs of a decoder depend on.
struct DecoderKey {
  uint64_t model = 0;  // 0: the decoder is not kept
  TransformerConfig config = {};
  std::vector<Parameter> parameters = {};
  DecodingOptions options = {};
  int64_t rows = 0, room = 0;
  bool holds = false, exact = false;
  bool operator==(const DecoderKey&) const = default;
};

DecoderKey key_of(Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds) {
  DecoderKey key{model.identity.value(), model.config, {}, options, rows, room, holds, backend(model.device()).exact()};
  for (const auto& [name, parameter] : named_parameters(model)) {
    key.parameters.push_back({parameter.view().data, parameter.dtype(), parameter.shape()});
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

struct KeptDecoder {
  KeptDecoder(const Transformer& model, DecoderKey of)
      : key(std::move(of)), decoder(model, key.rows, key.room, key.options, key.holds) {}
  const DecoderKey key;
  Decoder decoder;
};

namespace {

using Kept = std::vector<std::unique_ptr<KeptDecoder>>;  // the one used last is the last

// A plain pointer, so that a model with static lifetime can still be destroyed after the thread's destructors have run.
constinit thread_local Kept* kept = nullptr;

struct OfThread {
  const Reclaimer when_full{[](Device) { release_idle_decoders(); }};
  ~OfThread() { delete std::exchange(kept, nullptr); }
};

void release_of(uint64_t model) {
  if (kept) std::erase_if(*kept, [=](const auto& decoder) { return decoder->key.model == model; });
}

Kept& kept_here() {
  static thread_local OfThread of_thread;
  ModelIdentity::at_end(release_of);
  if (!kept) kept = new Kept;
  return *kept;
}

}  // namespace

DecoderLease::DecoderLease(Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds) {
  if (model.device().on_host() || model.before_part) {
    decoder_ = std::make_unique<KeptDecoder>(
        model, DecoderKey{.options = options, .rows = rows, .room = room, .holds = holds});
    return;
  }
  DecoderKey key =
      key_of(model, rounded_up(rows, 1), std::min(rounded_up(room, 64), model.config.block_size), options, holds);
  Kept& all = kept_here();
  const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& decoder) { return decoder->key == key; });
  if (found != all.rend()) {
    decoder_ = std::move(*found);
    all.erase(std::next(found).base());
    return;
  }
  if (all.size() == kMostKept) all.erase(all.begin());  // before the new one needs memory
  decoder_ = std::make_unique<KeptDecoder>(model, std::move(key));
}
DecoderLease::~DecoderLease() = default;

Decoder* DecoderLease::operator->() const { return &decoder_->decoder; }

void DecoderLease::keep() {
  check(decoder_ && decoder_->decoder.all_taken(),
        "DecoderLease: a decoder with results that were not taken cannot be kept");
  if (decoder_->key.model == 0) return;
  Kept& all = kept_here();
  if (all.size() == kMostKept) all.erase(all.begin());
  all.push_back(std::move(decoder_));
}

void release_idle_decoders() {
  if (kept) kept->clear();
}

}  // namespace pg
