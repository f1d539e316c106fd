#pragma once
// One file holds all that a run needs to go on as if it had never stopped. It is a safetensors file: the weights stand
// under their own names, the optimizer's tensors under "optim.", everything else in the metadata. Models beside the
// main one (a critic, a reference) are parts: the same under "part.NAME.".
#include <map>
#include <string>
#include <vector>

#include "nn/module.h"
#include "nn/optim.h"
#include "tensor/base/random.h"

namespace pg {

struct Gpt2Config;

// What belongs to a run beside weights and optimizer.
struct RunState {
  int64_t step = 0;
  std::map<std::string, Generator> generators;  // by purpose; that of the data is the data cursor
  std::map<std::string, std::string> texts;     // "model", "config", "tokenizer", …: whatever the writer needs again
};

struct CheckpointPart {
  std::string name;
  Module* module;
  const Optimizer* optimizer = nullptr;
};

// Writes the file atomically. Without an optimizer it is a file of weights.
void save_checkpoint(const std::string& path, Module& model, const Optimizer* optimizer, const RunState& state,
                     const std::vector<CheckpointPart>& parts = {});

// A checkpoint in memory: look at `state`, build the model it describes, then fill it.
struct Checkpoint {
  SafetensorsFile file;
  RunState state;
  std::map<std::string, int64_t> optimizer_steps = {};  // by part, that of the main model under ""; -1: weights only

  // Error when there is none of that name.
  const std::string& text(const std::string& name) const;
  const Generator& generator(const std::string& name) const;
  // What text("model") says of a GPT-2. Error when it has more parameters than the file holds numbers: a model that
  // large must not be built to find that out.
  Gpt2Config gpt2_config() const;
  // Strict: Error naming what does not fit. `part` "" is the main model.
  void restore(Module& model, const std::string& part = "") const;
  void restore(Optimizer& optimizer, const std::string& part = "") const;
};
Checkpoint load_checkpoint(const std::string& path);

}  // namespace pg
