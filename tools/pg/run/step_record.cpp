// Records a step of pg rl.
#include "tools/pg/run/step_record.h"

#include "rl/text/models.h"
#include "rl/text/update.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/run/samples.h"

namespace pg::tools {
namespace {

constexpr int64_t kMostNumbers = 4'000'000;  // about 80 MB of text

// The scores of all responses by the policy as it is, in micro-batches.
struct Scores {
  Tensor log_prob, entropy;  // f64 [B, T]
};
Scores scores_of(const Transformer& policy, const rl::Batch& batch, const rl::RlConfig& config) {
  NoGrad no_grad;
  Scores all = {Tensor::zeros(batch.mask.shape(), f64), Tensor::zeros(batch.mask.shape(), f64)};
  for (const auto& rows : rl::micro_batches(batch, rl::all_rows(batch), config.batch.micro_batch)) {
    const rl::TokenScores scores = rl::score_tokens(policy, rl::rows_of(batch, rows), config.temperature);
    const std::vector<Tensor> read = rl::read_back({scores.log_prob, scores.entropy});
    rl::put_rows(all.log_prob, rows, read[0]);
    rl::put_rows(all.entropy, rows, read[1]);
  }
  return all;
}

}  // namespace

StepRecorder::StepRecorder(int64_t step, const rl::RlConfig& config, const TextTask& task, const Transformer& policy)
    : step_(step), config_(config), task_(task), policy_(policy) {
  check(step <= config.steps, "pg rl: --record-step {}: the run has {} steps", step, config.steps);
  check(config.adaptive_temperature.target_std == 0,
        "pg rl: --record-step needs a constant temperature; leave --target-std out");
  const rl::BatchShape& b = config.batch;
  const int64_t numbers = b.prompts * b.samples * task.max_response() * (config.algorithm.epochs * b.mini_batches + 8);
  check(numbers <= kMostNumbers,
        "pg rl: --record-step: {} responses of up to {} tokens with {} optimizer steps are {} numbers, and {} are the "
        "most; take fewer --prompts or --samples",
        b.prompts * b.samples, task.max_response(), config.algorithm.epochs * b.mini_batches, numbers, kMostNumbers);
}

rl::RlHooks StepRecorder::added_to(rl::RlHooks hooks, std::string path) {
  rl::RlHooks all = hooks;
  all.on_samples = [this, hooks](int64_t step, const rl::Experience& experience, const rl::Batch& batch) {
    if (hooks.on_samples) hooks.on_samples(step, experience, batch);
    now_ = step == step_;
    if (now_) begin(experience, batch);
  };
  all.on_update = [this, hooks](const rl::UpdateReport& report) {
    if (hooks.on_update) hooks.on_update(report);
    if (now_) add_update(report);
  };
  all.on_step = [this, hooks, path](int64_t step, const rl::Metrics& metrics) {
    if (now_ && step == step_) write_file_atomically(path, text_of(metrics));
    now_ = false;
    if (hooks.on_step) hooks.on_step(step, metrics);
  };
  return all;
}

void StepRecorder::begin(const rl::Experience& experience, const rl::Batch& batch) {
  experience_ = experience;
  batch_ = batch;
  updates_.clear();
  log_probs_.clear();
  entropy_ = scores_of(policy_, batch, config_).entropy;
}

void StepRecorder::add_update(const rl::UpdateReport& report) {
  updates_.push_back(report);
  log_probs_.push_back(scores_of(policy_, batch_, config_).log_prob);
}

std::string StepRecorder::text_of(const rl::Metrics& metrics) const {
  rl::Algorithm a = config_.algorithm;
  // The reward before a KL was subtracted from it, so that any algorithm can begin there.
  Tensor reward = batch_.reward;
  if (a.kl.in_reward) {
    const rl::KlInputs in = {batch_.old_log_prob, batch_.ref_log_prob, batch_.old_log_prob, {}, batch_.mask};
    a.kl_control.beta = metrics.at("ref_kl/beta");
    reward = a.kl.subtract(reward, in, -a.kl_control.beta);
  }
  Json fields = Json::object();
  for (const Field& field : rl::fields(a)) fields[field.name] = field.text();
  Json file = {{"kind", "policygrad step"},
               {"version", 1},
               {"step", step_},
               {"task", task_.name()},
               {"algorithm", a.name},
               {"fields", std::move(fields)},
               {"temperature", config_.temperature},
               {"longest", task_.max_response()},
               {"samples", experience_.samples},
               {"updates", Json::array()},
               {"responses", Json::array()}};
  if (!experience_.greedy.empty()) file["greedy"] = experience_.greedy;
  for (const rl::UpdateReport& u : updates_) {
    file["updates"].push_back(
        {{"epoch", u.epoch}, {"mini_batch", u.mini_batch}, {"loss", u.loss}, {"grad_norm", u.grad_norm}});
  }
  for (size_t b = 0; b < experience_.responses.size(); ++b) {
    const rl::Response& r = experience_.responses[b];
    const auto numbers = [&](const Tensor& x) { return rl::of_response(x, batch_, b); };
    Json row = {{"prompt", task_.shown(r.prompt)},
                {"prompt_ids", r.prompt},
                {"ids", r.tokens},
                {"tokens", token_texts(task_, r)},
                {"policy", r.action_mask},
                {"score", r.score.reward},
                {"solved", r.score.solved},
                {"finished", r.finished},
                {"reward", numbers(reward)},
                {"advantage", numbers(batch_.advantage)},
                {"sampler_log_prob", numbers(batch_.sampler_log_prob)},
                {"old_log_prob", numbers(batch_.old_log_prob)},
                {"entropy", numbers(entropy_)},
                {"log_prob", Json::array()}};
    for (const auto& [name, value] : r.score.parts) row["parts"][name] = value;
    if (batch_.ref_log_prob.defined()) row["ref_log_prob"] = numbers(batch_.ref_log_prob);
    if (batch_.value.defined()) row["value"] = numbers(batch_.value);
    for (const Tensor& log_prob : log_probs_) row["log_prob"].push_back(numbers(log_prob));
    file["responses"].push_back(std::move(row));
  }
  return file.dump(-1, Json::Utf8::replace) + "\n";
}

}  // namespace pg::tools
