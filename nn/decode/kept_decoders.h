#pragma once
// Decoders that a Sampler keeps between its calls on a CUDA device, so that later calls record and allocate nothing.
#include <memory>
#include <utility>
#include <vector>

#include "nn/decode/decoder.h"
#include "tensor/reclaim.h"

namespace pg {

// All that the graphs of a decoder depend on.
struct DecoderKey {
  struct Parameter {       // its place in memory, which a graph has recorded
    Ref<Storage> storage;  // held, so that no other model gets this memory
    const void* data;
    DType dtype;
    Shape shape;
    bool operator==(const Parameter&) const = default;
  };
  TransformerConfig config = {};
  std::vector<Parameter> parameters = {};  // empty: the decoder is not kept
  DecodingOptions options = {};
  int64_t rows = 0, room = 0;
  bool holds = false, exact = false;
  bool operator==(const DecoderKey&) const = default;
};

struct KeptDecoder {
  KeptDecoder(const Transformer& model, DecoderKey of)
      : key(std::move(of)), decoder(model, key.rows, key.room, key.options, key.holds) {}
  const DecoderKey key;
  Decoder decoder;
};

class KeptDecoders {
 public:
  explicit KeptDecoders(Transformer& model);

  // As for a Decoder. On a CUDA device rows and room are rounded up by at most an eighth, but room at least to a
  // multiple of 64 (at most block_size); a kept decoder that fits is taken instead of a new one.
  std::unique_ptr<KeptDecoder> take(int64_t rows, int64_t room, const DecodingOptions& options, bool holds);
  // Keeps the decoder for later calls. At most two are kept: the oldest is destroyed. All results must have been taken
  // (Error). A model that gathers its parameters for each pass (Transformer::before_part) gets a new decoder for each
  // call, because a graph would not gather them.
  void keep(std::unique_ptr<KeptDecoder> decoder);

  // Destroys the decoders that are not in use, as happens when the device is full. Decoders for many rows may hold
  // gigabytes.
  void release();

 private:
  Transformer& model_;
  std::vector<std::unique_ptr<KeptDecoder>> kept_;  // the one used last is the last
  const Reclaimer when_full_;
};

}  // namespace pg
