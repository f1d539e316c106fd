// make my_policy, the end of track B: one small GPT, from REINFORCE to GRPO, with the learner's pieces.
#include <cmath>

#include "lessons/kit/milestone.h"
#include "lessons/kit/plot.h"
#include "lessons/milestones/my_policy.h"
#include "tasks/text/text_task.h"

namespace pg::milestones {
namespace {

using lesson09::Aggregation;

constexpr int64_t kSteps = 70;

const Method kMethods[] = {
    {.name = "REINFORCE"},
    {.name = "RLOO",
     .advantage = [](const PolicyPieces& p, const Tensor& r) { return p.grpo.leave_one_out_advantage(r); },
     .aggregation = Aggregation::sequence_sum},
    {.name = "Dr. GRPO",
     .advantage = [](const PolicyPieces& p, const Tensor& r) { return p.grpo.group_mean_advantage(r); },
     .aggregation = Aggregation::constant},
    {.name = "GRPO",
     .advantage = [](const PolicyPieces& p, const Tensor& r) { return p.grpo.group_std_advantage(r, 1e-6, 1); }},
    {.name = "a ratio per response",
     .advantage = [](const PolicyPieces& p, const Tensor& r) { return p.grpo.group_std_advantage(r, 1e-6, 1); },
     .aggregation = Aggregation::token_mean,
     .per_sequence = true},
    {.name = "GRPO, shuffled",
     .advantage = [](const PolicyPieces& p, const Tensor& r) { return p.grpo.group_std_advantage(r, 1e-6, 1); },
     .shuffled = true}};

double mean_of_last(const std::vector<double>& x, size_t n) {
  double sum = 0;
  for (size_t i = x.size() - n; i < x.size(); ++i) sum += x[i] / static_cast<double>(n);
  return sum;
}

void show(kit::Demo& demo, const PolicyPieces& pieces) {
  const auto task = reverse_task({.length = 4});
  demo.heading("A start by imitation");
  const auto start = imitator(pieces, *task);
  demo.say(
      "A GPT imitated 60 batches of \"412=\" -> \"214.\", made by your sft_batch. The reward of a response is the "
      "share "
      "that is right up to the first mistake.");
  demo.claim("your sequence_log_probs from the sums of your token_log_prob", log_prob_difference(pieces, *start, *task),
             "nats", kit::at_most(1e-4));

  demo.heading("From REINFORCE to GRPO");
  demo.say(
      "{} steps each of {} prompts with {} responses. Sampled: mean reward of the last ten steps. Solved: held-out, "
      "greedy. Any of 8: your pass_at_k. Vote: your majority_vote. KL: your k3 from the start, per token. The last row "
      "is the control: its rewards are dealt out at random.",
      kSteps, kPrompts, kSamples);
  demo.line("{:<22}{:>8}{:>9}{:>9}{:>10}{:>8}{:>8}", "", "sampled", "silent", "solved", "any of 8", "vote", "KL");
  std::vector<Learned> all;
  for (const Method& method : kMethods) {
    demo.status(method.name + " ...");
    all.push_back(learn(pieces, *start, *task, method, kSteps));
    const Learned& l = all.back();
    demo.line("{:<22}{:>8.2f}{:>7.0f} %{:>7.0f} %{:>8.0f} %{:>6.0f} %{:>8.2f}", method.name,
              mean_of_last(l.rewards, 10), 100 * l.silent, 100 * l.solved, 100 * l.any_of_8, 100 * l.vote, l.k3);
  }
  demo.gap();
  demo.show(kit::line_plot({{.name = "GRPO", .y = kit::thinned(all[3].rewards, 50)},
                            {.name = "REINFORCE", .y = kit::thinned(all[0].rewards, 50)}},
                           {.x_label = "part of the training", .y_label = "sampled reward", .height = 10}));
  demo.gap();
  const Learned& grpo = all[3];
  demo.say("The KL of GRPO's policy from the start, in nats per token: {:.3f} by your k1, {:.3f} by k2, {:.3f} by k3.",
           grpo.k1, grpo.k2, grpo.k3);
  double least = 1, lowest_k3 = 1;
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    least = std::min(least, mean_of_last(all[i].rewards, 10) - all[i].rewards[0]);
    lowest_k3 = std::min(lowest_k3, std::min(all[i].k2, all[i].k3));
  }
  demo.claim("sampled reward gained, the least of five", least, "", kit::at_least(0.07));
  demo.claim("the same of the control", mean_of_last(all.back().rewards, 10) - all.back().rewards[0], "",
             kit::at_most(0.05));
  demo.claim("any of 8 solves, less the vote, GRPO", grpo.any_of_8 - grpo.vote, "", kit::at_least(0));
  demo.claim("least of k2 and k3, which are never negative", lowest_k3, "", kit::at_least(0));
}

}  // namespace
}  // namespace pg::milestones

int main() {
  using namespace pg;
  const auto lesson = []<class Impl>(const char* number, const char* folder, const Impl& reference, auto checks) {
    return kit::Lesson<Impl>{number, folder, "", reference, {}, checks, {}};
  };
  const auto six = lesson("6", "lessons/06_reinforce", lesson06::reference(), lesson06::checks());
  const auto seven =
      kit::with_pieces(lesson("7b", "lessons/07b_ppo", lesson07b::reference(), lesson07b::checks()), {"clip_loss"});
  const auto eight = kit::with_pieces(lesson("8", "lessons/08_rlhf", lesson08::reference(), lesson08::checks()),
                                      {"sft_batch", "set_rewards", "subtract_kl", "sequence_log_probs"});
  const auto nine = lesson("9", "lessons/09_grpo", lesson09::reference(), lesson09::checks());
  const auto ten = kit::with_pieces(lesson("10", "lessons/10_rlvr", lesson10::reference(), lesson10::checks()),
                                    {"pass_at_k", "majority_vote"});
  const milestones::PolicyPieces pieces{kit::own_pieces(six), kit::own_pieces(seven), kit::own_pieces(eight),
                                        kit::own_pieces(nine), kit::own_pieces(ten)};
  return kit::run_milestone(
      {"my_policy",
       {kit::entry_of(six, six.learner), kit::entry_of(seven, seven.learner), kit::entry_of(eight, eight.learner),
        kit::entry_of(nine, nine.learner), kit::entry_of(ten, ten.learner)},
       [&](kit::Demo& demo) { milestones::show(demo, pieces); },
       "the GPT, its gradients, sampling, AdamW, the task"});
}
