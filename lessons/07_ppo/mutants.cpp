// Wrong answers to lesson 7. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/07_ppo/answers.h"

namespace pg::lesson07 {

const kit::Mutants<Impl> mutants = {
    {"clip_about_zero", "07.5", "the range is about 1",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio * a, clipped = clamp(ratio, -low, high) * a;
         return neg(where(le(free, clipped), free, clipped));
       };
     }},
    {"clip_alone", "07.5", "the clipped term alone",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor clipped = clamp(ratio, 1 - low, 1 + high) * a;
         return neg(clipped);
       };
     }},
    {"clip_exchanged", "07.5", "low and high are exchanged",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio * a, clipped = clamp(ratio, 1 - high, 1 + low) * a;
         return neg(where(le(free, clipped), free, clipped));
       };
     }},
    {"clip_maximum", "07.5", "the hopeful bound",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
         return neg(where(ge(free, clipped), free, clipped));
       };
     }},
    {"clip_no_tape", "07.5", "without a gradient nothing is learned",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio.detach() * a, clipped = clamp(ratio.detach(), 1 - low, 1 + high) * a;
         return neg(where(le(free, clipped), free, clipped));
       };
     }},
    {"clip_none", "07.5", "nothing is clipped",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio * a;
         return neg(free);
       };
     }},
    {"clip_not_detached", "07.5", "a gradient flows into the advantage",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage;
         const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
         return neg(where(le(free, clipped), free, clipped));
       };
     }},
    {"clip_sign", "07.5", "the sign is flipped",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
         return where(le(free, clipped), free, clipped);
       };
     }},
    {"clip_wrong_side", "07.5", "on the wrong side for negative A",
     [](Impl& m) {
       m.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double low, double high) -> Tensor {
         const Tensor a = advantage.detach();
         const Tensor clipped = clamp(ratio, 1 - low, 1 + high);
         return neg(where(le(ratio, clipped), ratio, clipped) * a);
       };
     }},
    {"cut_carried", "07.3", "A is carried across the cut",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i];
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"cut_ignored", "07.3", "truncated is not used",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1);
         const auto terminated = numbers(options.terminated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"cut_is_end", "07.3", "truncation is treated as termination",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (terminated[i] != 0 || truncated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"cut_next_row", "07.3", "use final_values",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"cut_wins", "07.3", "where both flags are 1",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (terminated[i] != 0) next = after = 0;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"end_bootstrapped", "07.2", "V of the next row is used after a termination",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.3"},
    {"end_carried", "07.2", "credited to this one",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.3"},
    {"end_early", "07.2", "one step early",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (t + 1 < steps && terminated[i + 1] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.3"},
    {"end_ignored", "07.2", "terminated is not used",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.3"},
    {"end_late", "07.2", "one step late",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (t > 0 && terminated[i - 1] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.3"},
    {"entropy_mean", "07.8", "a mean over the k numbers",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = pg::mean(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"entropy_no_constant", "07.8", "log(2πe)/2 is missing",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"entropy_no_e", "07.8", "half a nat",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"entropy_no_log_std", "07.8", "log_std is missing",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(zeros_like(log_std) + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"entropy_sampled", "07.8", "of the action taken",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         return {log_prob, neg(log_prob)};
       };
     }},
    {"entropy_sign", "07.8", "the sign is flipped",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = neg(sum(log_std + half_log_2pi + 0.5));
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gae_delta_alone", "07.1", "this is delta alone",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i];
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gae_lambda_alone", "07.1", "gamma is forgotten where A is carried on",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gae_no_gamma", "07.1", "gamma is forgotten in delta",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gae_no_lambda", "07.1", "lambda is forgotten",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gae_no_next", "07.1", "next_values is not used",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = 0, after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gae_returns_advantages", "07.1", "the returns are A + V",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.4"},
    {"gae_returns_whitened", "07.1", "the returns are made from whitened advantages",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             next = v[i];
           }
         }
         // Right advantages go out, but the returns are made of whitened ones.
         const std::vector<double> plain = advantages;
         double mean = 0, squares = 0;
         for (double x : advantages) mean += x / static_cast<double>(count);
         for (double x : advantages) squares += (x - mean) * (x - mean);
         for (double& x : advantages) x = (x - mean) / std::sqrt(squares / static_cast<double>(count - 1));
         for (size_t i = 0; i < v.size(); ++i) returns[i] = advantages[i] + v[i];
         advantages = plain;
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.4"},
    {"gae_whitened", "07.1", "these are whitened",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         double mean = 0, squares = 0;
         for (double x : advantages) mean += x / static_cast<double>(count);
         for (double x : advantages) squares += (x - mean) * (x - mean);
         for (double& x : advantages) x = (x - mean) / std::sqrt(squares / static_cast<double>(count - 1));
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     },
     "07.2 07.3 07.4"},
    {"gauss_log_variance", "07.7", "log of the variance",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std * 0.5);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std * 0.5 + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_mean", "07.7", "a mean over the k numbers",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(pg::mean(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_no_exp", "07.7", "exp() is missing",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / log_std;
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_no_half", "07.7", "the 1/2 of the square",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_no_log_std", "07.7", "a wider bell is a lower one",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_no_two_pi", "07.7", "does not sum to 1",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_one_two_pi", "07.7", "counted once",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std, {1}) + half_log_2pi);
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_square_sign", "07.7", "far from the mean is unlikely",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std);
         const Tensor log_prob = neg(sum(log_std - z * z * 0.5 + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"gauss_variance", "07.7", "taken for the variance",
     [](Impl& m) {
       m.gaussian_log_prob = [](const Tensor& mean, const Tensor& log_std,
                                const Tensor& actions) -> std::pair<Tensor, Tensor> {
         const double half_log_2pi = 0.5 * std::log(2 * std::numbers::pi);
         const Tensor z = (actions - mean) / exp(log_std * 0.5);
         const Tensor log_prob = neg(sum(z * z * 0.5 + log_std + half_log_2pi, {1}));
         const Tensor entropy = sum(log_std + half_log_2pi + 0.5);
         return {log_prob, expand(entropy, {mean.size(0)})};
       };
     }},
    {"mask_hands_value", "07.4", "still hands its V",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) {
               next = v[i];
               continue;
             }
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"mask_ignored", "07.4", "the mask is not used",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"mask_loses_advantage", "07.4", "A is lost at a masked slot",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             if (mask[i] == 0) {
               after = 0;
               continue;
             }
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"mask_returns", "07.4", "masked slots must come back as 0",
     [](Impl& m) {
       m.gae = [](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                  const GaeOptions& options) -> Gae {
         const int64_t rows = rewards.size(0), steps = rewards.size(1), count = rows * steps;
         const auto r = rewards.to_vector(), v = values.to_vector(), last = next_values.to_vector();
         const auto mask = numbers(options.mask, count, 1), final_values = numbers(options.final_values, count, 0);
         const auto terminated = numbers(options.terminated, count, 0),
                    truncated = numbers(options.truncated, count, 0);
         std::vector<double> advantages(r.size()), returns(r.size());
         for (int64_t b = 0; b < rows; ++b) {
           double next = last[static_cast<size_t>(b)], after = 0;
           for (int64_t t = steps - 1; t >= 0; --t) {
             const size_t i = static_cast<size_t>(b * steps + t);
             returns[i] = v[i];
             if (mask[i] == 0) continue;
             if (truncated[i] != 0) next = final_values[i], after = 0;
             if (terminated[i] != 0) next = after = 0;
             advantages[i] = after = r[i] + options.gamma * next - v[i] + options.gamma * options.lambda * after;
             returns[i] = advantages[i] + v[i];
             next = v[i];
           }
         }
         const auto tensor = [&](const std::vector<double>& x) {
           return Tensor::from(x, rewards.shape()).to(rewards.dtype());
         };
         return {tensor(advantages), tensor(returns)};
       };
     }},
    {"value_bounded_alone", "07.6", "the clipped error alone",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error * 0.5;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
         return bounded;
       };
     }},
    {"value_masked_late", "07.6", "mask the errors before",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = v - target, loss = error * error * 0.5;
           return mask.defined() ? where(mask, loss, zero) : loss;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
         return where(ge(free, bounded), free, bounded);
       };
     }},
    {"value_minimum", "07.6", "the minimum in place of the maximum",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error * 0.5;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
         return where(le(free, bounded), free, bounded);
       };
     }},
    {"value_no_clip", "07.6", "clip and old_values are not used",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, [[maybe_unused]] const Tensor& old_values,
                         [[maybe_unused]] double clip, const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error * 0.5;
         };
         const Tensor free = half_square(values);
         return free;
       };
     }},
    {"value_no_half", "07.6", "the factor 1/2 is missing",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
         return where(ge(free, bounded), free, bounded);
       };
     }},
    {"value_old_not_detached", "07.6", "flows into what is a constant",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns.detach(), zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error * 0.5;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values, bounded = half_square(old + clamp(values - old, -clip, clip));
         return where(ge(free, bounded), free, bounded);
       };
     }},
    {"value_returns_not_detached", "07.6", "flows into what is a constant",
     [](Impl& m) {
       m.value_loss = [](const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                         const Tensor& mask) -> Tensor {
         const Tensor target = returns, zero = Tensor::scalar(0, values.dtype());
         const auto half_square = [&](const Tensor& v) {
           const Tensor error = mask.defined() ? where(mask, v - target, zero) : v - target;
           return error * error * 0.5;
         };
         const Tensor free = half_square(values);
         if (clip == 0) return free;
         const Tensor old = old_values.detach(), bounded = half_square(old + clamp(values - old, -clip, clip));
         return where(ge(free, bounded), free, bounded);
       };
     }},
};

}  // namespace pg::lesson07
