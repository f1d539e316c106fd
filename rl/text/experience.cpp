// Responses, and the tensors made from them.
#include "rl/text/experience.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// Writes the values of each token of response b to row b of `to` [B, T].
void set_response(const Tensor& to, const TokenRows& rows, size_t b, const std::vector<double>& values) {
  const auto begin = static_cast<int64_t>(b) * to.size(1) + rows.prompts[b] - 1;
  std::copy(values.begin(), values.end(), to.data<double>().begin() + begin);
}

// groups_with_signal() of one number of each response.
template <class F>
Tensor signal_of(const Experience& experience, F number) {
  std::vector<double> values;
  for (const Response& r : experience.responses) values.push_back(number(r));
  return groups_with_signal(Tensor::from(values, {std::ssize(values) / experience.samples, experience.samples}));
}

}  // namespace

int64_t Response::length() const { return std::count(action_mask.begin(), action_mask.end(), uint8_t{1}); }

size_t last_chosen(const Response& r) {
  const auto last = std::find(r.action_mask.rbegin(), r.action_mask.rend(), uint8_t{1});
  check(last != r.action_mask.rend(), "last_chosen: the policy sampled no token of this response");
  return static_cast<size_t>(r.action_mask.rend() - last) - 1;
}

void set_problem(Response& response, const Problem& problem) {
  response.prompt = problem.prompt;
  response.puzzle = problem.puzzle;
  response.answer_length = problem.action_mask.empty()
                               ? std::ssize(problem.answer)
                               : std::count(problem.action_mask.begin(), problem.action_mask.end(), uint8_t{1});
}

std::vector<std::pair<std::string, Tensor>> parts_with_signal(const Experience& experience) {
  std::vector<std::pair<std::string, Tensor>> all;
  if (experience.responses.empty()) return all;
  const auto& parts = experience.responses[0].score.parts;
  for (size_t k = 0; k < parts.size(); ++k) {
    all.emplace_back(parts[k].first, signal_of(experience, [k](const Response& r) {
                       return k < r.score.parts.size() ? r.score.parts[k].second : 0.0;
                     }));
  }
  return all;
}

Tensor groups_with_signal(const Experience& experience) {
  return signal_of(experience, [](const Response& r) { return r.score.reward; });
}

Tensor groups_with_signal(const Experience& experience, const Algorithm& algorithm) {
  if (!algorithm.baseline.needs.parts) return groups_with_signal(experience);
  const auto parts = parts_with_signal(experience);
  std::vector<std::string> names;
  for (const auto& [name, signal] : parts) names.push_back(name);
  const std::vector<double> weights = part_weights(algorithm, names);
  const Tensor any = Tensor::zeros({std::ssize(experience.responses) / experience.samples}, u8);
  for (size_t k = 0; k < parts.size(); ++k) {
    const auto signal = parts[k].second.data<const uint8_t>();
    for (size_t p = 0; p < signal.size(); ++p) any.data<uint8_t>()[p] |= weights[k] != 0 && signal[p] != 0;
  }
  return any;
}

std::vector<const Response*> pointers(const std::vector<Response>& responses) {
  std::vector<const Response*> all;
  for (const Response& r : responses) all.push_back(&r);
  return all;
}

TokenRows token_rows(std::span<const Response* const> responses) {
  std::vector<Sequence> sequences;
  for (const Response* r : responses) sequences.push_back({r->prompt, r->tokens, r->action_mask});
  return token_rows(sequences);
}

Batch make_batch(const Experience& experience, const Algorithm& algorithm) {
  const auto& responses = experience.responses;
  const auto rows = std::ssize(responses);
  Batch batch;
  static_cast<TokenRows&>(batch) = token_rows(pointers(responses));
  batch.samples = experience.samples;
  batch.sampler_log_prob = Tensor::zeros(batch.mask.shape(), f64);
  const Tensor score = Tensor::zeros({rows, 1}, f64);
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = responses[b];
    check(r.sampler_log_probs.empty() || r.sampler_log_probs.size() == r.tokens.size(),
          "make_batch: response {} has {} tokens and {} log-probabilities", b, r.tokens.size(),
          r.sampler_log_probs.size());
    set_response(batch.sampler_log_prob, batch, b, r.sampler_log_probs);
    score.data<double>()[b] = r.score.reward;
  }
  batch.reward = algorithm.place_reward(score, batch.mask);
  for (size_t b = 0; b < responses.size(); ++b) {
    const std::vector<double>& per_token = responses[b].score.per_token;
    if (per_token.empty()) continue;
    check(per_token.size() == responses[b].tokens.size(), "make_batch: {} tokens were scored of a response of {}",
          per_token.size(), responses[b].tokens.size());
    set_response(batch.reward, batch, b, per_token);
  }
  for (size_t k = 0; !responses.empty() && k < responses[0].score.parts.size(); ++k) {
    const Tensor part = Tensor::zeros({rows, 1}, f64);
    for (size_t b = 0; b < responses.size(); ++b) {
      const auto& parts = responses[b].score.parts;
      check(parts.size() == responses[0].score.parts.size(), "make_batch: response {} has {} reward parts, others {}",
            b, parts.size(), responses[0].score.parts.size());
      part.data<double>()[b] = parts[k].second;
    }
    batch.parts.push_back(part);
    batch.part_names.push_back(responses[0].score.parts[k].first);
  }
  if (!experience.greedy.empty()) batch.greedy = Tensor::from(experience.greedy, {std::ssize(experience.greedy), 1});
  return batch;
}

std::vector<double> of_response(const Tensor& x, const Batch& batch, size_t b) {
  const auto begin = batch.prompts[b] - 1, end = batch.lengths[b];
  return x.view_slice(0, static_cast<int64_t>(b), static_cast<int64_t>(b) + 1).view_slice(1, begin, end).to_vector();
}

}  // namespace pg::rl
