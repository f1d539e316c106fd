// The training loop of a language model: batches, steps, evaluation, checkpoints.
#include "nn/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "autograd/op_util.h"
#include "nn/ranks/zero_memory.h"
#include "nn/train/run_steps.h"
#include "nn/variants/denoiser.h"
#include "tensor/base/fields.h"
#include "tensor/base/random.h"
#include "tensor/measure/timeline.h"
#include "tensor/paged_memory.h"
#include "tensor/reclaim.h"

namespace pg {
namespace {

constexpr int32_t kIgnore = -100;
enum Stream : uint64_t { data_stream, dropout_stream, eval_stream };  // random streams of TrainConfig::seed

int64_t count_targets(const TokenBatch& batch, const TransformerConfig& model) {
  if (!batch.weights.defined()) check_causal(model, "Trainer: a batch without weights");
  if (batch.indices.defined()) return batch.indices.numel();
  check(batch.ids.defined() && batch.ids.shape() == batch.targets.shape(),
        "Trainer: ids and targets must have one shape, got {} and {}", batch.ids.shape(), batch.targets.shape());
  if (batch.weights.defined()) return batch.ids.numel();
  const auto targets = batch.targets.data<const int32_t>();
  return std::count_if(targets.begin(), targets.end(), [](int32_t target) { return target != kIgnore; });
}

// The texts of a batch that have a target.
int64_t count_texts(const TokenBatch& batch) {
  const bool packed = batch.indices.defined();
  const auto values = (packed ? batch.indices : batch.targets).data<const int32_t>();
  const int64_t columns = packed ? batch.packed.columns : batch.targets.size(1);
  int64_t texts = 0, last = -1;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const int32_t value = values[static_cast<size_t>(i)];
    if (!packed && value == kIgnore) continue;
    const int64_t row = (packed ? value : i) / columns;
    texts += row != last;  // both are in row-major order
    last = row;
  }
  return texts;
}

// The operations check ids on the CPU only, because reading them from a GPU would wait for the device.
void check_batch(const TokenBatch& batch, int64_t vocab_size) {
  detail::check_ids(batch.ids, vocab_size, "Trainer");
  detail::check_ids(batch.targets, vocab_size - (batch.weights.defined() ? 1 : 0), "Trainer", &kIgnore);
}

// `upstream`: the gradient that backward() will pass to it, if any. The logits are temporaries, so that the forward
// pass writes their gradient over them.
Tensor summed_loss(const Transformer& model, const TokenBatch& batch, const Tensor& upstream = {}) {
  if (batch.weights.defined()) {
    return summed_denoising_loss(masked_denoiser(model), {batch.ids, batch.targets, batch.weights});
  }
  CrossEntropyOptions options;
  options.upstream = upstream;
  options.reduction = Reduction::sum;
  options.ignore_index = kIgnore;
  if (batch.indices.defined()) {
    const Tensor hidden = model.hidden(batch.packed);
    const Tensor rows = index_select(reshape(hidden, {-1, hidden.size(2)}), 0, batch.indices.to(model.device()));
    return cross_entropy(model.head(rows), batch.tokens.to(model.device()), options);
  }
  return cross_entropy(model(batch.ids), batch.targets.to(model.device()), options);
}

}  // namespace

std::vector<Field> fields(TrainConfig& c) {
  return joined(
      {{{"steps", &c.max_steps, "optimizer steps", whole_from(1)},
        {"accumulate", &c.micro_batches, "batches per step", whole_from(1, 1000000)},
        {.name = "max-grad-norm",
         .value = &c.max_grad_norm,
         .about = "largest gradient norm; 0: any",
         .range = kNotNegative,
         .former = {"clip"}},
        {"eval-every", &c.eval_interval, "steps between evaluations; 0: only at the end", whole_from(0)},
        {"save-every", &c.checkpoint_interval, "steps between checkpoints; 0: only at the end", whole_from(0)},
        {"seed", &c.seed, "the same seed gives the same model, bit for bit"}},
       titled("Optimizer", joined({fields(c.schedule), fields(c.adamw)}))});
}

Trainer::Trainer(Transformer& model, const TrainConfig& config, NextBatch next_batch, Comm* comm)
    : model_(model),
      config_(config),
      next_batch_(std::move(next_batch)),
      data_(random_stream(config.seed, data_stream)),
      single_(comm ? nullptr : single_rank(model.device())),
      comm_(comm ? *comm : *single_),
      slab_(model, {&comm_, config.zero, config.bucket_bytes}),
      optimizer_(slab_, config.adamw),
      weights_(model, slab_),
      gradients_({&slab_}, comm_) {
  check_fields("Trainer", fields(config_));
  check(config_.normalizer >= 0 && std::isfinite(config_.normalizer),
        "Trainer: normalizer must be a number that is not negative, got {}", config_.normalizer);
  check(config_.normalizer == 0 || model.config.causal,
        "Trainer: the loss of a masked denoiser is the mean over its tokens; normalizer must be 0");
  check(slab_.zero() < 3 || config_.micro_batches % comm_.size() == 0,
        "Trainer: in stage 3 of ZeRO all ranks must compute equally many batches: {} batches per step are no multiple "
        "of {} ranks",
        config_.micro_batches, comm_.size());
  model_.train();
  model_.set_dropout_stream(dropout_stream_);
  if (comm_.size() == 1) return;
  std::string text =
      fmt::format("{}\nzero: {}\nnormalizer: {}\n", to_json(model_.config), config_.zero, config_.normalizer);
  for (const Field& field : fields(config_)) text += fmt::format("{}: {}\n", field.name, field.text());
  check_same_on_all_ranks(comm_, "configurations", text);
}

// The sum of the losses of all micro-batches, in their order; this rank has set its own.
double Trainer::total_of(std::vector<std::vector<double>> losses) {
  gather_parts(comm_, losses);
  double sum = 0;
  for (const auto& loss : losses) sum += loss[0];
  return sum;
}

StepReport Trainer::step(const std::function<bool()>& should_stop) {
  StepReport report;
  const Generator data = data_;
  const size_t before = memory_stats(model_.device()).in_use;
  reset_peak_memory(model_.device());
  // All ranks draw all batches, so that they have one data cursor and know the number of targets.
  std::vector<TokenBatch> batches;
  int64_t texts = 0;
  for (int64_t i = 0; i < config_.micro_batches; ++i) {
    TokenBatch batch = next_batch_(data_);
    report.tokens += count_targets(batch, model_.config);
    if (config_.normalizer > 0) texts += count_texts(batch);
    if (i % comm_.size() == comm_.rank()) batches.push_back(std::move(batch));
  }
  check(report.tokens > 0, "Trainer: the batch of step {} has no target", steps() + 1);
  const double divisor =
      config_.normalizer > 0 ? config_.normalizer * static_cast<double>(texts) : static_cast<double>(report.tokens);
  set_batches(std::move(batches), divisor);

  if (Timeline::current()) Timeline::current()->begin_step();
  report.lr = config_.schedule.at(steps());
  optimizer_.begin_step(report.lr);
  weights_.release();
  const bool done = run_on_device(should_stop);
  weights_.release();
  if (!done) {
    data_ = data;
    return {.step = steps()};
  }
  std::vector<std::vector<double>> losses(static_cast<size_t>(config_.micro_batches), {0});
  for (size_t k = 0; k < losses_.size(); ++k) {
    const size_t i = k * static_cast<size_t>(comm_.size()) + static_cast<size_t>(comm_.rank());
    losses[i] = {losses_[k].item() / divisor};
  }
  report.loss = total_of(std::move(losses));
  report.grad_norm = norm_of(slab_, squared_norm_);
  optimizer_.end_step();
  if (Timeline::current()) Timeline::current()->end_step();
  report.step = steps();
  if (!graph_) {
    losses_.clear();
    step_memory_ = memory_stats(model_.device()).peak - before;
  }
  return report;
}

// On CUDA, batches with the shapes of the last step are copied to the same addresses.
void Trainer::set_batches(std::vector<TokenBatch> batches, double divisor) {
  const Device device = model_.device();
  const double per_token = 1 / divisor;
  const auto same = [](const TokenBatch& a, const TokenBatch& b) {
    return !a.indices.defined() && !b.indices.defined() && a.weights.defined() == b.weights.defined() &&
           a.ids.shape() == b.ids.shape();
  };
  const bool alike = per_token_.defined() && per_token_.device() == device &&
                     std::equal(batches.begin(), batches.end(), batches_.begin(), batches_.end(), same);
  steps_alike_ = alike ? steps_alike_ + 1 : 0;
  if (alike) {
    per_token_.fill(per_token);
  } else {
    graph_.reset();
    per_token_ = Tensor::scalar(per_token, sum_type(model_.config.dtype), device);
  }
  if (device.on_host()) {
    batches_ = std::move(batches);
    return;
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    if (batches[i].indices.defined()) continue;  // moved when it is used
    check_batch(batches[i], model_.config.vocab_size);
    if (alike) {
      batches_[i].ids.copy_from(batches[i].ids);
      batches_[i].targets.copy_from(batches[i].targets);
      if (batches[i].weights.defined()) batches_[i].weights.copy_from(batches[i].weights);
    } else {
      TokenBatch& batch = batches[i];
      batch.ids = batch.ids.to(device);
      batch.targets = batch.targets.to(device);
      if (batch.weights.defined()) batch.weights = batch.weights.to(device);
    }
  }
  if (!alike) batches_ = std::move(batches);
}

// False if should_stop answered true, which a recorded step does not ask.
bool Trainer::run_on_device(const std::function<bool()>& should_stop) {
  const bool can_record =
      config_.graph && comm_.size() == 1 && backend(model_.device()).records() && model_.config.largest_dropout() == 0;
  // From the second step on, all memory is allocated and all algorithms are selected.
  if (can_record && !graph_ && steps_alike_ >= 2) {
    call_reclaimers(model_.device());
    empty_cache(model_.device());  // a graph has its own memory
    graph_ = std::make_unique<Graph>(model_.device(), [this] { compute({}); });
  }
  if (!graph_) return compute(should_stop);
  graph_->replay();
  return true;
}

// The device part of a step.
bool Trainer::compute(const std::function<bool()>& should_stop) {
  losses_.clear();
  const Generator dropout = random_stream(config_.seed, dropout_stream);
  const auto backward_of = [&](int64_t i) {
    const auto stream = static_cast<uint64_t>(steps() * config_.micro_batches + i);
    *dropout_stream_ = random_stream(dropout.seed(), stream);
    Tensor loss;
    {
      const TimelineSpan span(Timeline::Lane::computing, "forward");
      loss = summed_loss(model_, batches_[static_cast<size_t>(i / comm_.size())], per_token_);
    }
    losses_.push_back(loss.detach());
    const TimelineSpan span(Timeline::Lane::computing, "backward");
    backward(loss, per_token_);
  };
  if (!gradients_.run(config_.micro_batches, backward_of, should_stop)) return false;
  const TimelineSpan span(Timeline::Lane::computing, "update");
  squared_norm_ = squared_grad_norm(slab_);
  optimizer_.update_by_norm(squared_norm_, config_.max_grad_norm);
  return true;
}

StepMemory state_memory(Module& model, const ParamSlab& slab, const AdamW& optimizer) {
  StepMemory m{resident_bytes(slab.params()) + resident_bytes(slab.rounded()), resident_bytes(slab.grads())};
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (!parameter.requires_grad()) m.weights += resident_bytes(parameter);
  }
  for (const auto& [name, tensor] : optimizer.state()) {
    if (!name.starts_with("master.")) m.optimizer += resident_bytes(tensor);
  }
  m.most_weights = m.weights;
  return m;
}

namespace {

// The bytes of the model with its optimizer on this rank, by the formula.
double formula_of(Transformer& model, const ParamSlab& slab, int ranks) {
  const auto element = static_cast<double>(size_of(slab.dtype()));
  const bool rounded = slab.rounded().defined();
  const StateBytes bytes{rounded ? static_cast<double>(size_of(slab.rounded().dtype())) : element, element,
                         (rounded ? 3 : 2) * element};
  double trained = 0, frozen = 0;
  for (const auto& [name, parameter] : named_parameters(model)) {
    const auto n = static_cast<double>(parameter.numel());
    parameter.requires_grad() ? trained += n : frozen += n * static_cast<double>(size_of(parameter.dtype()));
  }
  return frozen + zero_bytes(trained, ranks, slab.zero(), bytes);
}

}  // namespace

StepMemory Trainer::memory() const {
  StepMemory m = state_memory(model_, slab_, optimizer_);
  m.most_weights += static_cast<size_t>(weights_.gathered_bytes());
  if (comm_.size() > 1) m.formula = static_cast<size_t>(formula_of(model_, slab_, comm_.size()));
  m.activations = step_memory_;
  return m;
}

bool Trainer::run(const TrainHooks& hooks) {
  const auto one_step = [&] {
    const StepReport report = step(hooks.should_stop);
    if (report.tokens > 0 && hooks.on_step) hooks.on_step(report);
    return report.tokens > 0;
  };
  return run_steps({.last = config_.max_steps,
                    .eval_interval = config_.eval_interval,
                    .checkpoint_interval = config_.checkpoint_interval,
                    .steps = [this] { return steps(); },
                    .step = one_step,
                    .on_eval = hooks.on_eval,
                    .on_checkpoint = hooks.on_checkpoint,
                    .should_stop = hooks.should_stop});
}

double Trainer::evaluate(const NextBatch& next, int64_t batches) {
  check(batches >= 1, "Trainer: evaluation needs at least one batch");
  NoGrad no_grad;
  EvalMode eval_mode(model_);
  Generator generator = random_stream(config_.seed, eval_stream);
  int64_t tokens = 0;
  std::vector<std::vector<double>> losses(static_cast<size_t>(batches), {0});
  TokenBatch batch;
  for (int64_t i = 0; i < batches; ++i) {
    batch = next(generator);
    tokens += count_targets(batch, model_.config);
    if (i % comm_.size() == comm_.rank()) losses[static_cast<size_t>(i)] = {summed_loss(model_, batch).item()};
  }
  // Where the ranks gather the weights together, each computes as often.
  const int64_t without = batches % comm_.size();
  if (slab_.zero() == 3 && without > 0 && comm_.rank() >= without) summed_loss(model_, batch);
  check(tokens > 0, "Trainer: the evaluation batches have no target");
  return total_of(std::move(losses)) / static_cast<double>(tokens);
}

void Trainer::with_all_weights(const std::function<void()>& f) {
  const bool whole = weights_.whole();
  weights_.gather_all();
  f();
  if (!whole) weights_.release();
}

}  // namespace pg
