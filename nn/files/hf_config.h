#pragma once
// The configuration of pretrained models: config.json of Hugging Face, of the types gpt2, llama, qwen2 and qwen3.
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "nn/transformer_config.h"

namespace pg {

// The configuration in the text of a config.json. `what` names the file in messages. An Error names a model type that
// is not known, a key that is missing or out of range, a feature that the Transformer does not have, and sizes that no
// model has together. The dtype is f32.
TransformerConfig config_from_hf(std::string_view json, std::string_view what);
// The text of a config.json from which transformers builds the same model. An Error names the feature that none of the
// known types has.
std::string config_to_hf(const TransformerConfig& config);
// The model type, as config_to_hf() writes it; empty if no known type has this configuration, such as bidirectional
// attention.
std::string_view hf_model_type(const TransformerConfig& config);
// Error for a model with latent attention, which no known type has.
void check_no_latent(const TransformerConfig& config);

namespace detail {

class HfObject;
struct ModelFamily {
  const char* name;                                   // model_type, and the architecture of GGUF files
  const char* architecture;                           // the class in transformers
  bool like_llama;                                    // whether its files have the keys of llama, not those of gpt2
  void (*choose)(TransformerConfig&);                 // sets the fields in which it differs from GPT-2
  void (*read)(const HfObject&, TransformerConfig&);  // reads what has no row in file_keys()
};
const std::vector<ModelFamily>& model_families();

// A field of the configuration with its names in the files of models.
struct FileKey {
  struct Name {
    std::string name = {};  // empty: those files do not have it
    bool optional = false;  // if it is not there, the field stays as it is
  };
  std::variant<int64_t TransformerConfig::*, double TransformerConfig::*, bool TransformerConfig::*> member;
  Name gpt2, llama;  // in config.json
  Name gguf;         // in GGUF files, behind "llama."
};
const std::vector<FileKey>& file_keys();
// Sizes that follow from others are 0, and what has no effect has its default, so that equal models have equal
// configurations.
TransformerConfig canonical(TransformerConfig config);

}  // namespace detail
}  // namespace pg
