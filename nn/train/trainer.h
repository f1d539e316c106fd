#pragma once
// The training loop of language models and masked denoisers: get batches, accumulate gradients, clip, AdamW step,
// repeat. With equal seed and data the results are bit-identical for any thread count, in one run or resumed from a
// checkpoint, and for any number of ranks whose sums are in order (Comm::sums_in_order).
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "nn/optim.h"
#include "nn/ranks/gathered_weights.h"
#include "nn/ranks/gradient_sum.h"
#include "nn/train/schedule.h"
#include "nn/transformer.h"
#include "tensor/backend.h"

namespace pg {

struct TrainConfig {
  int64_t max_steps = 2000;
  int64_t micro_batches = 1;  // batches whose gradients are added up in one step, those of all ranks together
  Schedule schedule;
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0.1};
  double max_grad_norm = 1;  // 0: no clipping
  // 0: the loss is the mean over the targets of a step, so long texts weigh more. Above 0: the mean over its texts of
  // (sum over the text's targets / normalizer), so that a target weighs the same in every text of every step. Texts
  // without a target do not count. Not for a masked denoiser.
  double normalizer = 0;
  int64_t eval_interval = 250;        // 0: only at the end
  int64_t checkpoint_interval = 250;  // 0: only at the end
  uint64_t seed = 1337;
  // On CUDA, without dropout: the third step over batches of one shape is recorded as a graph. That step and those that
  // follow are launched as a whole: bit-identical results with less host time.
  bool graph = true;
  // Which state each rank holds (nn/param_slab.h). The bits do not depend on these two.
  int zero = 0;
  int64_t bucket_bytes = int64_t{8} << 20;
};
// All fields but normalizer, graph, zero, bucket_bytes and the stochastic rounding of AdamW.
std::vector<Field> fields(TrainConfig& config);

// i32 [B, T] both: token ids, and for each position the next token. Targets of -100 are ignored.
struct TokenBatch {
  Tensor ids, targets;
  // Instead of them, rows without padding: the targets `tokens` i32 [M] of the positions `indices` i32 [M], row-major
  // in the grid of `packed`. Logits are computed at these positions only.
  PackedBatch packed = {};
  Tensor indices = {}, tokens = {};
  // For a masked denoiser (nn/variants/denoiser.h), ids and targets as in MaskedTokens: the weights f64 [B, T] of the
  // losses of the targets. The mean loss is their weighted sum over all B·T positions. Error if the model is causal,
  // and for a batch without weights if it is not.
  Tensor weights = {};
};
struct Checkpoint;  // nn/files/checkpoint.h

// Returns a batch; all its randomness must come from the generator, whose state is the data cursor in a checkpoint.
using NextBatch = std::function<TokenBatch(Generator&)>;

struct StepReport {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // mean over the tokens of the step, nats, or as TrainConfig::normalizer says; before the update.
                     // For a denoiser the bound on it
  double lr = 0;
  double grad_norm = 0;  // before clipping
  int64_t tokens = 0;    // targets; for a denoiser all positions
};

// Memory of tensors of this rank during the last step, in bytes. With stages 1 to 3 of ZeRO the first three are the
// pages that exist after the step.
struct StepMemory {
  size_t weights = 0;  // including frozen ones and the masters of bf16 weights
  size_t gradients = 0, optimizer = 0;
  size_t most_weights = 0;  // during the step; more than `weights` in stage 3 only
  // On several ranks: what zero_bytes() (nn/ranks/zero_memory.h) says of the first three together.
  size_t formula = 0;
  size_t activations = 0;  // all other memory at the peak of the step: tensors kept by the tape, and temporaries
};

// The weights of a model, the gradients of those in the slab, and the state of their optimizer.
StepMemory state_memory(Module& model, const ParamSlab& slab, const AdamW& optimizer);

struct TrainHooks {
  std::function<void(const StepReport&)> on_step = {};
  std::function<void(int64_t step)> on_eval = {};  // every eval_interval steps, before the first and after the last
  std::function<void(int64_t step)> on_checkpoint = {};  // every checkpoint_interval steps and after the last
  // Called before every step, and by step() as GradientSum::run() says, on all ranks: true ends the run. A step that
  // was begun is then left out, as if it had not begun.
  std::function<bool()> should_stop = {};
};

class Trainer {
 public:
  // Moves the model's parameters into a slab. The ranks of `comm` (null: one rank) share out the micro-batches of a
  // step; each must have the same config and weights, which is an Error otherwise, and a next_batch that returns the
  // same batches. The group must outlive the trainer. In stage 3 of ZeRO all ranks must have equally many micro-batches
  // (Error), and from the first step on the model has this rank's shard of its weights only: all ranks together call
  // step(), evaluate() and with_all_weights().
  Trainer(Transformer& model, const TrainConfig& config, NextBatch next_batch, Comm* comm = nullptr);
  Trainer(const Trainer&) = delete;

  // One optimizer step over micro_batches batches; the host waits for the device once, at the end of the step. The
  // gradient is that of the mean loss over all their tokens: the sum of the gradients of the micro-batches, in their
  // order. Dropout draws from a stream for each step and micro-batch, which the model has from the trainer. If
  // should_stop answers true between two micro-batches, steps(), weights and the data cursor stay as they were, so that
  // the next call is the same step, and the report has no tokens. A state of next_batch_ outside of its generator does
  // not return.
  StepReport step(const std::function<bool()>& should_stop = {});
  int64_t steps() const { return optimizer_.steps(); }
  StepMemory memory() const;
  // Steps until max_steps or should_stop; true if max_steps was reached. Evaluation and checkpoints that are due run
  // before the next step.
  bool run(const TrainHooks& hooks);
  // Mean loss per token over `batches` batches in eval mode; every call uses the same batches and leaves the training
  // state unchanged.
  double evaluate(const NextBatch& next, int64_t batches);

  // Calls f while the model has all its weights. A collective.
  void with_all_weights(const std::function<void()>& f);

  // These two are in the library of nn/files, so that a program without them links no reader or writer of files.
  // Writes a checkpoint with weights, optimizer, generator, the model's config as metadata "model", and `metadata`. A
  // collective: rank 0 writes it, and with ZeRO every rank its shard of the optimizer's state (nn/files/checkpoint.h).
  void save(const std::string& path, std::map<std::string, std::string> metadata = {});
  // Continues from a checkpoint, bit-identical to a run without interruption. The model must have the checkpoint's
  // config. A collective.
  void resume(const Checkpoint& checkpoint);

 private:
  double total_of(std::vector<std::vector<double>> losses);
  void set_batches(std::vector<TokenBatch> batches, double divisor);
  bool run_on_device(const std::function<bool()>& should_stop);
  bool compute(const std::function<bool()>& should_stop);

  Transformer& model_;
  TrainConfig config_;
  NextBatch next_batch_;
  Generator data_;
  std::shared_ptr<Generator> dropout_stream_ = std::make_shared<Generator>();
  std::unique_ptr<Comm> single_;  // if no group was given
  Comm& comm_;
  ParamSlab slab_;
  AdamW optimizer_;
  GatheredWeights weights_;
  GradientSum gradients_;
  size_t step_memory_ = 0;  // memory the last step added at its peak; graph replays do not update it

  // Inputs and results of this rank's micro-batches of a step, other than the weights; a graph has recorded their
  // addresses.
  std::vector<TokenBatch> batches_;
  Tensor per_token_;  // scalar tensor: 1 / number of targets of the step, or as TrainConfig::normalizer says
  std::vector<Tensor> losses_;
  Tensor squared_norm_;
  int64_t steps_alike_ = 0;  // number of previous steps in a row with batches of these shapes
  std::unique_ptr<Graph> graph_;
};

}  // namespace pg
