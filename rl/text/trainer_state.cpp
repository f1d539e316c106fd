// Saves and restores the state of RlTrainer.
#include <cstdlib>
#include <sstream>

#include "rl/text/trainer.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

std::string to_text(double x) { return fmt::format("{:a}", x); }
double to_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Throws Error unless the run's reference has the config and the weights of this model.
void check_reference(const Checkpoint& checkpoint, Transformer& given) {
  const std::string& path = checkpoint.file.path;
  const TransformerConfig saved = transformer_config_from_json(checkpoint.text("reference_model"));
  check(saved == given.config, "{}: the run has another reference: it has {}", path, differences(saved, given.config));
  Generator unused(0);
  Transformer of_run(saved, unused);
  checkpoint.restore(of_run, "reference");
  const NamedTensors mine = state_dict(given), theirs = state_dict(of_run);
  for (size_t i = 0; i < mine.size(); ++i) {
    check(mine[i].second.to_vector() == theirs[i].second.to_vector(),
          "{}: the run has another reference than the one given now: '{}' differs; give the one it began with", path,
          mine[i].first);
  }
}

}  // namespace

void RlTrainer::save(const std::string& path, std::map<std::string, std::string> texts) {
  texts["model"] = to_json(policy_.config);
  texts["baseline_sum"] = to_text(moving_.sum());
  texts["baseline_weight"] = to_text(moving_.weight());
  texts["kl_beta"] = to_text(kl_.state().beta);
  texts["kl_tokens"] = to_text(kl_.state().tokens);
  std::string& recent = texts["kl_recent"];
  for (const double kl : kl_.state().recent) recent += to_text(kl) + " ";
  texts["reward_std"] = to_text(last_std_);
  if (auto* model = dynamic_cast<ModelReference*>(reference_.get())) {
    texts["reference_model"] = to_json(model->model().config);
  }
  std::vector<CheckpointPart> parts;
  if (critic_optimizer_) parts.push_back({"critic", &critic_module(), critic_optimizer_.get()});
  if (auto* model = dynamic_cast<ModelReference*>(reference_.get())) parts.push_back({"reference", &model->model()});
  save_checkpoint(path, policy_, &optimizer_, {step_, {{"problems", problems_}, {"order", order_}}, std::move(texts)},
                  parts);
}

void RlTrainer::resume(const Checkpoint& checkpoint) {
  checkpoint.check_model(policy_.config);
  checkpoint.restore(policy_);
  checkpoint.restore(optimizer_);
  if (critic_optimizer_) {
    checkpoint.restore(critic_module(), "critic");
    checkpoint.restore(*critic_optimizer_, "critic");
  }
  if (auto* model = dynamic_cast<ModelReference*>(reference_.get())) {
    if (config_.algorithm.reference.is_given) check_reference(checkpoint, model->model());
    checkpoint.restore(model->model(), "reference");
  }
  problems_ = checkpoint.generator("problems");
  order_ = checkpoint.generator("order");
  const auto number = [&](const char* name) { return to_double(checkpoint.text(name)); };
  moving_ = MovingBaseline(config_.algorithm.baseline_decay, number("baseline_sum"), number("baseline_weight"));
  KlControl::State kl{.beta = number("kl_beta"), .tokens = number("kl_tokens")};
  std::istringstream recent(checkpoint.text("kl_recent"));
  for (std::string word; recent >> word;) kl.recent.push_back(to_double(word));
  kl_.set_state(kl);
  last_std_ = number("reward_std");
  step_ = checkpoint.state.step;
  comm_.barrier();  // the next save() may delete files that another rank reads
}

}  // namespace pg::rl
