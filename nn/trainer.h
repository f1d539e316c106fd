#pragma once
// The training loop of language models: batches in, gradients accumulated, clipped, AdamW, again. The same seed and
// data give the same bits for any thread count, in one go or resumed from a checkpoint.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "nn/checkpoint.h"
#include "nn/gpt2.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "tensor/backend.h"

namespace pg {

struct TrainConfig {
  int64_t max_steps = 2000;
  int64_t micro_batches = 1;  // batches whose gradients make one step
  Schedule schedule;
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0.1};
  double max_grad_norm = 1;           // 0: no clipping
  int64_t eval_interval = 250;        // 0: only at the end
  int64_t checkpoint_interval = 250;  // 0: only at the end
  uint64_t seed = 1337;
  // On CUDA, without dropout: the third step over batches of one shape is recorded as a graph, and it and those that
  // follow are launched as a whole: the same bits for less of the host's time.
  bool graph = true;
};

// Token ids and what follows each: i32 [B, T] both. Targets of -100 do not count.
struct TokenBatch {
  Tensor ids, targets;
};
// Gives a batch; all its randomness must come from the generator, whose state is the data cursor in a checkpoint.
using NextBatch = std::function<TokenBatch(Generator&)>;

struct StepReport {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // mean over the tokens of the step, nats, before the update
  double lr = 0;
  double grad_norm = 0;  // before clipping
  int64_t tokens = 0;
};

// Bytes of tensors during the last step.
struct StepMemory {
  size_t weights = 0;  // with the masters of bf16 weights
  size_t gradients = 0, optimizer = 0;
  size_t activations = 0;  // all else that was alive at the peak of the step: what the tape keeps, and temporaries
};

struct TrainHooks {
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(int64_t step)> on_eval = {};  // every eval_interval steps, before the first and after the last
  std::function<void(int64_t step)> on_checkpoint = {};  // every checkpoint_interval steps and after the last
  std::function<bool()> should_stop = {};                // asked before every step
};

class Trainer {
 public:
  // Takes the model's parameters into a slab. Seeds default_generator(), from which dropout draws.
  Trainer(Gpt2& model, const TrainConfig& config, NextBatch next_batch);
  Trainer(const Trainer&) = delete;

  // One optimizer step over micro_batches batches; the device is waited for once, at its end. The gradient is that of
  // the mean loss over all their tokens, as if they were one batch: equal bits for the weights of linear layers, equal
  // to rounding for the sums over rows of another kind (biases, norms, embeddings).
  StepReport step();
  int64_t steps() const { return optimizer_.steps(); }
  StepMemory memory() const;
  // Steps until max_steps or should_stop; true when max_steps was reached. Evaluation and checkpoints come before the
  // step that follows them.
  bool run(const TrainHooks& hooks);
  // Mean loss per token over `batches` batches in eval mode; the same batches at every call, training undisturbed.
  double evaluate(const NextBatch& next, int64_t batches);

  // A checkpoint with weights, optimizer, generators, the model's config as text "model", and these texts.
  void save(const std::string& path, std::map<std::string, std::string> texts = {});
  // Goes on from a checkpoint, bit for bit. The model must have its config.
  void resume(const Checkpoint& checkpoint);

 private:
  void take(std::vector<TokenBatch> batches, int64_t tokens);
  void run_on_device();
  void compute();

  Gpt2& model_;
  TrainConfig config_;
  NextBatch next_batch_;
  Generator data_;
  ParamSlab slab_;
  AdamW optimizer_;
  size_t step_memory_ = 0;  // peak of the last step that was no replay, over what was in use before it

  // What a step reads and leaves, beside the weights; a graph knows these addresses.
  std::vector<TokenBatch> batches_;
  Tensor per_token_;  // [] 1 / targets of the step
  std::vector<Tensor> losses_;
  Tensor squared_norm_;
  int64_t steps_alike_ = 0;  // with batches of these shapes
  std::unique_ptr<Graph> graph_;
};

}  // namespace pg
