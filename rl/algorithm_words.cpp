// The names of the choices on each axis.
#include <fmt/ranges.h>

#include <algorithm>

#include "rl/algorithm.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::rl {

#define PG_RL_WORDS(E, what, ...)                                                                      \
  template <>                                                                                          \
  const std::vector<std::string>& words<E>() {                                                         \
    static const std::vector<std::string> all = {__VA_ARGS__};                                         \
    return all;                                                                                        \
  }                                                                                                    \
  template <>                                                                                          \
  std::string_view word(E value) {                                                                     \
    return words<E>()[static_cast<size_t>(value)];                                                     \
  }                                                                                                    \
  template <>                                                                                          \
  E from_word(std::string_view given) {                                                                \
    const auto& all = words<E>();                                                                      \
    const auto found = std::find(all.begin(), all.end(), given);                                       \
    if (found == all.end()) {                                                                          \
      fail(what ": expected {}, got \"{}\"{}", fmt::join(all, ", "), given, did_you_mean(given, all)); \
    }                                                                                                  \
    return static_cast<E>(found - all.begin());                                                        \
  }

PG_RL_WORDS(Credit, "credit", "response", "to_go", "token")
PG_RL_WORDS(Baseline, "baseline", "none", "moving", "batch_mean", "group_mean", "leave_one_out", "group_std",
            "batch_std", "opo", "remax", "maxrl", "gpg", "critic")
PG_RL_WORDS(Ratio, "ratio", "none", "token", "sequence", "sequence_token")
PG_RL_WORDS(Surrogate, "surrogate", "log_prob", "ratio", "clip", "dual_clip", "cispo")
PG_RL_WORDS(Aggregation, "aggregation", "token_mean", "sequence_mean", "constant", "sequence_sum")
PG_RL_WORDS(KlPlace, "kl", "none", "reward", "loss")
PG_RL_WORDS(KlEstimator, "kl estimator", "k1", "k2", "k3", "weighted_k3", "full")
PG_RL_WORDS(KlSchedule, "kl schedule", "fixed", "warmup", "adaptive", "stepped")
PG_RL_WORDS(ReferenceKind, "reference", "none", "frozen", "moving", "random", "bigram", "given")

#undef PG_RL_WORDS

}  // namespace pg::rl
