// What a checkpoint of RlTrainer holds.
#include <cstdlib>
#include <sstream>

#include "rl/rl_trainer.h"
#include "tensor/error.h"

namespace pg::rl {
namespace {

std::string to_text(double x) { return fmt::format("{:a}", x); }
double to_double(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

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
  std::vector<CheckpointPart> parts;
  if (critic_optimizer_) parts.push_back({"critic", &critic_module(), critic_optimizer_.get()});
  if (auto* model = dynamic_cast<ModelReference*>(reference_.get())) parts.push_back({"reference", &model->model()});
  save_checkpoint(path, policy_, &optimizer_, {step_, {{"problems", problems_}, {"order", order_}}, std::move(texts)},
                  parts);
}

void RlTrainer::resume(const Checkpoint& checkpoint) {
  const Gpt2Config saved = gpt2_config_from_json(checkpoint.text("model"));
  check(saved == policy_.config, "{}: the checkpoint is of another model: {}, not {}", checkpoint.file.path,
        to_json(saved), to_json(policy_.config));
  checkpoint.restore(policy_);
  checkpoint.restore(optimizer_);
  if (critic_optimizer_) {
    checkpoint.restore(critic_module(), "critic");
    checkpoint.restore(*critic_optimizer_, "critic");
  }
  if (auto* model = dynamic_cast<ModelReference*>(reference_.get())) checkpoint.restore(model->model(), "reference");
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
}

}  // namespace pg::rl
