#pragma once
// One file holds all that a run needs to go on as if it had never stopped. It is a safetensors file: the weights stand
// under their own names, the optimizer's tensors under "optim.", everything else in the metadata.
#include <map>
#include <string>

#include "nn/module.h"
#include "nn/optim.h"
#include "tensor/random.h"

namespace pg {

// What belongs to a run beside weights and optimizer.
struct RunState {
  int64_t step = 0;
  std::map<std::string, Generator> generators;  // by purpose; that of the data is the data cursor
  std::map<std::string, std::string> texts;     // "model", "config", "tokenizer", …: whatever the writer needs again
};

// Writes the file atomically. Without an optimizer it is a file of weights.
void save_checkpoint(const std::string& path, Module& model, const Optimizer* optimizer, const RunState& state);

// A checkpoint in memory: look at `state`, build the model it describes, then fill it.
struct Checkpoint {
  SafetensorsFile file;
  RunState state;
  int64_t optimizer_steps = -1;  // -1: weights only

  // Error when there is none of that name.
  const std::string& text(const std::string& name) const;
  const Generator& generator(const std::string& name) const;
  // Strict: Error naming what does not fit.
  void restore(Module& model) const;
  void restore(Optimizer& optimizer) const;
};
Checkpoint load_checkpoint(const std::string& path);

}  // namespace pg
