#pragma once
// Decoders kept between calls of generate() on a CUDA device: their passes are recorded as graphs once and launched by
// every later call that fits. On the CPU nothing is kept.
#include <cstdint>
#include <memory>

namespace pg {

class Decoder;
struct DecodingOptions;
struct Transformer;
struct KeptDecoder;

// A decoder for one call. It is one that this thread has kept if that was made for the same model with the same
// parameters in the same memory, for the same options, and for as many rows and as much room, rounded up alike: so what
// a call computes does not depend on the calls before. Otherwise it is a new one. It is destroyed at the end of the
// lease unless keep() was called.
class DecoderLease {
 public:
  // As for a Decoder. On a CUDA device rows and room are rounded up by at most an eighth, but room at least to a
  // multiple of 64 (at most block_size).
  DecoderLease(Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds);
  ~DecoderLease();
  DecoderLease(const DecoderLease&) = delete;

  Decoder* operator->() const;
  // Keeps the decoder for later calls of this thread, which keeps the two that were used last. All results must have
  // been taken (Error). A model that gathers its parameters for each pass (Transformer::before_part) gets a new decoder
  // for each call, because a graph would not gather them.
  void keep();

 private:
  std::unique_ptr<KeptDecoder> decoder_;
};

// Destroys the decoders that this thread keeps and does not use, as happens when a device is full (tensor/reclaim.h).
// Their memory returns to the thread's pool, from which empty_cache() returns it to the system. Decoders for many rows
// may hold gigabytes.
void release_idle_decoders();

}  // namespace pg
