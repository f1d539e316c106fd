#pragma once
// What the ranks of a group share out in reinforcement learning on text. Afterwards all of them know all results, bit
// for bit, so that everything else can be computed by every rank.
#include <functional>
#include <vector>

#include "rl/text/metrics.h"
#include "rl/text/rollout.h"
#include "tensor/comm/comm.h"

namespace pg::rl {

// A scorer of responses in addition to or instead of the task, typically a reward model. It writes Score::reward and
// parts (and per_token, if it rewards tokens). Each rank calls it for the responses to its own problems, so it must
// score a response without regard to those to other problems.
using Judge = std::function<void(std::vector<Response>&)>;

// What every rank gives: the element of rank r is element r of the result, on all ranks. Error if a rank gives more
// than 2^28 values.
std::vector<std::vector<double>> gather_values(Comm& comm, const std::vector<double>& own);

// rollout() and then `score`, if there is one. Each rank samples the responses to neighbouring problems: those of
// shard_of(). Rows keep their numbers, and so their random streams. A rank that should stop (RolloutOptions) does not
// score, and takes part in the exchange.
Experience rollout_on_ranks(Comm& comm, Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                            RolloutOptions options, const Judge& score = {});

// add_eval_metrics() of a greedy response to each problem. The task scores it, since the policy might exploit a Judge.
// Only the options of sampling and stopping are used. `responses`, unless it is null, becomes these
// responses.
Metrics evaluate_on_ranks(Comm& comm, Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                          RolloutOptions options = {}, Experience* responses = nullptr);

// Rows rows[i] of the f64 tensors [B, T] are known to rank i mod size; afterwards to all.
void share_rows(Comm& comm, const std::vector<Tensor>& tensors, const std::vector<std::vector<size_t>>& rows);

}  // namespace pg::rl
