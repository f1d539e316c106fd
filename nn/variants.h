#pragma once
// What a transformer may have beyond the core: attention of another kind, and adapters. The model calls these functions
// and includes no variant. They are defined in nn/variants/check_variants.cpp, nn/variants/variants.cpp and
// nn/variants/lora.cpp. A program of pg_core alone has those of nn/core/alone.cpp, which refuse every variant.
#include <memory>
#include <string_view>

#include "nn/layers.h"

namespace pg {

struct Transformer;
struct TransformerConfig;

// Self-attention x [B, T, C] → [B, T, C] in the place of CausalSelfAttention, with the same three calls.
struct AttentionVariant : Module {
  virtual Tensor operator()(const Tensor& x) const = 0;
  virtual Tensor operator()(const Tensor& x, const KvSlot& slot) const = 0;
  virtual Tensor operator()(const Tensor& x, const PackedBatch& rows) const = 0;
  virtual std::unique_ptr<AttentionVariant> copy() const = 0;
};

// Owns a variant, or none; its copy owns a copy.
class OwnedAttention {
 public:
  OwnedAttention() = default;
  explicit OwnedAttention(std::unique_ptr<AttentionVariant> own) : own_(std::move(own)) {}
  OwnedAttention(const OwnedAttention& other) : own_(other.own_ ? other.own_->copy() : nullptr) {}
  OwnedAttention(OwnedAttention&&) = default;
  OwnedAttention& operator=(OwnedAttention other) noexcept {
    own_ = std::move(other.own_);
    return *this;
  }
  explicit operator bool() const { return own_ != nullptr; }
  AttentionVariant& operator*() const { return *own_; }

 private:
  std::unique_ptr<AttentionVariant> own_;
};

// Throws Error "WHAT: …" that names the field if no model can have this configuration's fields of variants.
void check_variants(const TransformerConfig& config, std::string_view what);
// The attention of such a model's blocks, with linear layers of zeros; null: CausalSelfAttention.
std::unique_ptr<AttentionVariant> attention_variant(const TransformerConfig& config);
// Adds the adapters of model.config to a new model. Without a generator their random matrices are zero.
void attach_adapters(Transformer& model, Generator* generator);

}  // namespace pg
