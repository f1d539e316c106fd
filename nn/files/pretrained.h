#pragma once
// Pretrained models of the formats that others publish: Hugging Face folders (config.json and safetensors) of the types
// gpt2, llama, qwen2 and qwen3, and GGUF files of the last three.
#include <string>
#include <string_view>
#include <vector>

#include "nn/files/hf_config.h"
#include "nn/files/tensor_source.h"
#include "nn/transformer.h"

namespace pg {

// The configuration in the metadata of a GGUF file.
TransformerConfig config_from_gguf(const TensorSource& source);

// The configuration of the model at `path`: a Hugging Face folder or a GGUF file, open as `source`. Error if the model
// has more parameters than the file has values, which is checked here, before a model that large is built.
TransformerConfig pretrained_config(const std::string& path, const TensorSource& source);
// The names that a module of ours, as in "h.3.attn.c_attn", has in the models of transformers: one, or three if the
// rows of queries, keys and values are modules of their own. Empty if there is no such module.
std::vector<std::string> hf_modules(const TransformerConfig& config, const std::string& module);
// Copies the weights into a model of that configuration, converted to its dtype. Names and layouts are those of
// transformers (GPT-2's Conv1D weights are transposed, the projections of queries, keys and values are joined) or of
// GGUF. An Error names a tensor that is missing, has another shape or belongs to no parameter. Adapters stay as they
// are.
void load_weights(Transformer& model, const TensorSource& source);
// Both: reads a Hugging Face folder or a GGUF file. The weights are held once.
Transformer load_pretrained(const std::string& path, DType dtype = f32);

// Writes config.json and model.safetensors, which transformers loads, into the folder, which is created. The tensors
// keep the dtype of the model. Error if the model has adapters that are not merged, or is not causal.
void save_pretrained(Transformer& model, const std::string& folder);

}  // namespace pg
