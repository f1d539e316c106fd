// Stage 3, PPO with four models in one short file. rl::RlTrainer is this loop with metrics, checkpoints and health
// checks.
#include "lessons/08_rlhf/stages.h"
#include "rl/text/credit.h"
#include "rl/text/update.h"

namespace pg::lesson08 {
namespace {

rl::Algorithm ppo() {
  rl::Algorithm a = rl::algorithm("ppo");
  a.epochs = 2;
  return a;
}

double mean_of(const std::vector<Response>& responses, double (*number)(const Response&)) {
  double sum = 0;
  for (const Response& r : responses) sum += number(r);
  return sum / static_cast<double>(responses.size());
}

}  // namespace

Curve improve(const Impl& impl, Gpt2& policy, const TextTask& task, const rl::Judge& judge, const PpoOptions& o) {
  const rl::Algorithm algorithm = ppo();
  Generator g(o.seed);
  rl::ModelReference reference(policy);  // frozen
  rl::ScalarModel critic(policy, 0, g);  // the value of a partial response; its head starts at 0
  ParamSlab slab(policy), critic_slab(critic);
  AdamW optimizer(slab, {0.9, 0.95, 1e-8, 0}), critic_optimizer(critic_slab, {0.9, 0.95, 1e-8, 0});
  rl::MovingBaseline unused;
  Curve curve;
  for (int64_t step = 0; step < o.steps; ++step) {
    // The policy generates responses, and the reward model gives each of them one score.
    rl::Experience experience = write(policy, task, o.batch, 1, g.next_u32());
    std::vector<Response>& responses = experience.responses;
    judge(responses);
    // The score is the reward of the last token, a KL penalty is subtracted at every token, and the critic predicts the
    // return.
    std::vector<Response*> all;
    for (Response& r : responses) all.push_back(&r);
    const auto view = pointers(responses);
    const rl::TokenRows rows = rl::token_rows(view);
    {
      NoGrad no_grad;
      rl::set_token_values(all, &Response::ref_log_probs, reference.log_prob(rows, 1));
      rl::set_token_values(all, &Response::values, critic(rows.ids));
    }
    for (Response& r : responses) {
      r.old_log_probs = r.sampler_log_probs;  // bitwise equal (docs/ARCHITECTURE.md)
      impl.set_rewards(r);
      impl.subtract_kl(r, o.beta);
    }
    rl::assign_advantages(algorithm, experience, unused);
    // The policy and the critic are updated. The reference and the reward model are not.
    rl::LossSums sums;
    const rl::Update update{
        .algorithm = algorithm, .policy = policy, .critic = &critic, .total = rl::denominators(rows.mask)};
    for (int64_t epoch = 0; epoch < algorithm.epochs; ++epoch) {
      slab.zero_grad();
      critic_slab.zero_grad();
      backward(rl::micro_batch_loss(update, view, sums));
      optimizer.step(2e-3, clip_scale(grad_norm(slab), 1));
      critic_optimizer.step(3e-3, clip_scale(grad_norm(critic_slab), 1));
    }
    curve.proxy.push_back(mean_of(responses, [](const Response& r) { return r.score.reward; }));
    curve.human.push_back(mean_of(responses, [](const Response& r) { return r.score.parts[1].second; }));
    curve.kl.push_back(mean_of(responses, [](const Response& r) {
      double kl = 0;
      for (size_t t = 0; t < r.tokens.size(); ++t) kl += r.old_log_probs[t] - r.ref_log_probs[t];
      return kl;
    }));
  }
  return curve;
}

void train_with_engine(Gpt2& policy, const TextTask& task, const rl::Judge& judge, const PpoOptions& o) {
  rl::RlConfig config;
  config.algorithm = ppo();
  config.algorithm.kl_control.beta = o.beta;
  config.batch = {.prompts = o.batch, .samples = 1};
  config.schedule.lr = 2e-3;
  config.critic_lr = 3e-3;
  config.seed = o.seed;
  rl::RlTrainer trainer(policy, task, config, judge);
  while (trainer.steps() < o.steps) trainer.step();
}

}  // namespace pg::lesson08
