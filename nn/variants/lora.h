#pragma once
// Low-rank adaptation, LoRA (Hu et al. 2021, arXiv:2106.09685): the weights W [out, in] of a model are frozen, and the
// linear layers compute with W + (alpha/rank)·B·A, of which A [rank, in] and B [out, rank] are trained. B begins as
// zero, so a model with new adapters computes what it computed before, bit for bit. (One exception: adapters of GPT-2's
// c_fc in bf16, where the result of c_fc is then rounded to bf16 before gelu.)
//   add_lora(model, {.rank = 8}, generator);
//   ParamSlab slab(model);                    // the adapters only
//   …                                         // train, generate, save as with any model
//   merge_lora(model);                        // W becomes W + (alpha/rank)·B·A
// The adapters have f32 values also in a model of bf16, as with PEFT: their updates are smaller than the steps of bf16,
// and they are few. Their terms are then computed in f32 and added to the layer's result before it is rounded to bf16.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/transformer_config.h"
#include "tensor/base/fields.h"

namespace pg {

class Generator;
struct Transformer;

// All fields but `merged` and `modules`.
std::vector<Field> fields(LoraConfig& config);

// The linear layers of a block, by the names that PEFT's adapters of the Llama family have. A target also names the
// layers whose module in our model ends with it: "c_fc" is up_proj, "c_proj" is o_proj and down_proj, "mlp.c_proj" is
// down_proj. Latent attention has q_down, q_up, kv_down and o_proj; its k_up and v_up are no targets, because the
// absorbed form computes with these weights themselves and not with the layers.
struct LoraTarget {
  std::string name;
  std::string module;  // in a block of our model
  int part;            // q_proj, k_proj, v_proj: rows number 0, 1, 2 of c_attn; -1: all rows
};
const std::vector<LoraTarget>& lora_targets();

// Which rows of which linear layer of a block.
struct LoraSite {
  LoraTarget target;
  int64_t in = 0, begin = 0, end = 0;  // columns; rows [begin, end) of the weight
  bool all_rows = false;
};
// The sites that config.lora.targets names, in the order of the table. In a model with learned positions (GPT-2)
// "c_attn" is one adapter of all its rows, otherwise one each for queries, keys and values. An Error lists the known
// names for a name that is unknown or that this model lacks, and names two targets with rows in common.
std::vector<LoraSite> lora_sites(const TransformerConfig& config);
// The adapters of such a model, block after block, those of a layer in the order of its rows: a site in a block, with
// its rank and alpha. An Error also names an element of config.lora.modules that this model cannot have.
struct LoraPlace {
  LoraSite site;
  int64_t block = 0, rank = 0;
  double alpha = 0;
};
std::vector<LoraPlace> lora_places(const TransformerConfig& config);
// Whether a parameter is one of an adapter, by its name: "h.3.attn.c_attn.q_proj.lora_A".
bool is_adapter(std::string_view parameter);
// The number of values in the adapters of such a model.
double lora_parameters(const TransformerConfig& config);

// Adds adapters to a model without any and sets model.config.lora. A is uniform in ±1/√in, PEFT's initial values
// (kaiming_uniform with a = √5), B zero. All other parameters no longer require a gradient. Error for a rank below 1, a
// field out of its range, or a target that lora_sites() refuses; then the model is unchanged.
void add_lora(Transformer& model, const LoraConfig& config, Generator& generator);
// Adds (alpha/rank)·B·A to the weights, computed in the dtype of the adapters, or subtracts it again, which restores
// the weights up to rounding. A merged model computes no adapter terms, so its adapters get no gradient. Error without
// adapters, or if they are merged (not merged) already.
void merge_lora(Transformer& model);
void unmerge_lora(Transformer& model);
// Removes the adapters, and what they add unless they are merged. All parameters require a gradient again.
void remove_lora(Transformer& model);

}  // namespace pg
