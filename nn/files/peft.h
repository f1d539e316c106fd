#pragma once
// Adapter folders of PEFT (https://github.com/huggingface/peft): adapter_config.json and adapter_model.safetensors.
#include <string>

#include "nn/transformer.h"

namespace pg {

// Writes the model's adapters into the folder, which is created, so that PeftModel.from_pretrained(base, folder) in
// Python gives the same model: with full names in target_modules, rank_pattern and alpha_pattern if the adapters are
// not the same in every block. `base` is the name or path of the base model, for PEFT's base_model_name_or_path. Error
// if the model has no adapters, or one that no module of transformers has: q_proj of a model with learned positions
// (GPT-2), where queries, keys and values are one module.
void save_peft(Transformer& model, const std::string& folder, const std::string& base);

// Adds the adapters in the folder to the base model, which has none, and sets model.config.lora. The tensors decide
// which modules have adapters, so target_modules may hold full names or a regular expression, and layers_to_transform
// and exclude_modules may be set. rank_pattern and alpha_pattern follow PEFT's rule (nn/files/peft_pattern.h); rsLoRA's
// scale alpha/√rank becomes the alpha that gives it. Adapters that are not the same in every block become
// model.config.lora.modules.
//
// An Error names a setting that is not computed here (another peft_type, DoRA, biases, modules_to_save, ...), a module
// that this model lacks, and a tensor that is missing, has another shape or belongs to no target; then the model is
// unchanged. A module that target_modules lists, or "all-linear" means, must have its tensors, unless
// layers_to_transform or exclude_modules is set.
void load_peft(Transformer& model, const std::string& folder);

}  // namespace pg
