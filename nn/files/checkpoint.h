#pragma once
// A checkpoint file holds all that a run needs to resume exactly where it stopped. It is a safetensors file: the
// weights have their own names, the optimizer's tensors the prefix "optim.", everything else is in the metadata. Models
// other than the main one (a critic, a reference) are parts: they have the same layout with the prefix "part.NAME.".
//
// With ZeRO (nn/param_slab.h) every rank writes the part of the optimizer's state that it updates, in a file beside it:
// "checkpoint-step200-00001-of-00004.safetensors". The checkpoint names these files, is written last, and replaces the
// one before as a whole. Any number of ranks can continue from it, with or without ZeRO.
//
// Each of these files has a checksum, with which it is compared when it is read. The checkpoint has the version of its
// layout: 2, or none before there were checksums. docs/PG.md, "Checkpoints of older versions", says what opens.
#include <map>
#include <string>
#include <vector>

#include "nn/files/safetensors.h"
#include "nn/module.h"
#include "nn/optim.h"
#include "tensor/base/random.h"

namespace pg {

struct TransformerConfig;

// The state of a run other than weights and optimizer.
struct RunState {
  int64_t step = 0;
  std::map<std::string, Generator> generators;  // by purpose; the data's generator is the data cursor
  std::map<std::string, std::string> metadata;  // "model", "config", "tokenizer", …: strings by name
};

struct CheckpointPart {
  std::string name;
  Module* module;
  const Optimizer* optimizer = nullptr;
};

// Writes the file atomically. Without an optimizer the file holds weights only. If the optimizers are those of ranks of
// ZeRO, all ranks must call it, with one path for all; the files of shards that the checkpoint no longer names are
// deleted.
void save_checkpoint(const std::string& path, Module& model, const Optimizer* optimizer, const RunState& state,
                     const std::vector<CheckpointPart>& parts = {});

// Whether `name` is that of a shard which save_checkpoint(path) writes beside `path` for some step and rank.
bool is_shard_of(const std::string& path, const std::string& name);

// A checkpoint in memory: read `state`, build the model it describes, then restore() it.
struct Checkpoint {
  SafetensorsFile file;
  RunState state;
  std::map<std::string, int64_t> optimizer_steps = {};  // by part; the main model is part ""; -1: weights only
  std::vector<std::string> shards = {};  // files beside it with the optimizers' state; read by restore(optimizer)

  // The metadata of this name; Error if there is none.
  const std::string& text(const std::string& name) const;
  const Generator& generator(const std::string& name) const;
  // The GPT-2 config in text("model"). Error if that model has more parameters than the file holds values: this is
  // checked here, before a model that large is built.
  TransformerConfig model_config() const;
  // An Error names the fields in which the config in text("model") differs from this one.
  void check_model(const TransformerConfig& config) const;
  // Strict: an Error names what does not match. `part` "" is the main model.
  void restore(Module& model, const std::string& part = "") const;
  void restore(Optimizer& optimizer, const std::string& part = "") const;
};
// Error that names the file if it is damaged, if it is no checkpoint, or if a later version of policygrad wrote it.
Checkpoint load_checkpoint(const std::string& path);

}  // namespace pg
