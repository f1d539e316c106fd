// Responses with their values per token, and the tensors made from them.
#include "rl/text/experience.h"

#include <algorithm>
#include <map>

#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// Number of positions of the longest row: its last token is only a target.
int64_t positions(std::span<const Response* const> responses) {
  size_t longest = 0;
  for (const Response* r : responses) longest = std::max(longest, r->prompt.size() + r->tokens.size());
  check(longest >= 2, "token_rows: no response has a token");
  return static_cast<int64_t>(longest) - 1;
}

int64_t longest_response(const std::vector<Response>& responses) {
  size_t longest = 0;
  for (const Response& r : responses) longest = std::max(longest, r.tokens.size());
  return static_cast<int64_t>(longest);
}

PackedRows pack(std::span<const Response* const> responses, int64_t t) {
  std::vector<int32_t> ids, positions, places, from;
  std::map<std::vector<int32_t>, size_t> first;  // prompt → flat index at which its first row begins
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = *responses[b];
    const size_t begin = b * static_cast<size_t>(t), prompt = r.prompt.size();
    const auto [known, is_new] = first.try_emplace(r.prompt, begin);
    const size_t length = prompt + r.tokens.size() - 1;  // the last token is only a target
    for (size_t i = 0; i < static_cast<size_t>(t); ++i) {
      if (i >= length) {
        from.push_back(from[begin]);
      } else if (i < prompt && !is_new) {
        from.push_back(from[known->second + i]);
      } else {
        from.push_back(static_cast<int32_t>(ids.size()));
        ids.push_back(i < prompt ? r.prompt[i] : r.tokens[i - prompt]);
        positions.push_back(static_cast<int32_t>(i));
        places.push_back(static_cast<int32_t>(begin + i));
      }
    }
  }
  const auto tensor = [](const std::vector<int32_t>& x) { return Tensor::from(x, {std::ssize(x)}); };
  return {std::ssize(responses), t, tensor(ids), tensor(positions), tensor(places), tensor(from)};
}

}  // namespace

int64_t Response::length() const { return std::count(chosen.begin(), chosen.end(), uint8_t{1}); }

size_t last_chosen(const Response& r) {
  const auto last = std::find(r.chosen.rbegin(), r.chosen.rend(), uint8_t{1});
  check(last != r.chosen.rend(), "last_chosen: the policy chose no token of this response");
  return static_cast<size_t>(r.chosen.rend() - last) - 1;
}

void set_rewards(Response& r) {
  if (!r.score.per_token.empty()) {
    check(r.score.per_token.size() == r.tokens.size(), "set_rewards: {} tokens were scored of a response of {}",
          r.score.per_token.size(), r.tokens.size());
    r.rewards = r.score.per_token;
    return;
  }
  r.rewards.assign(r.tokens.size(), 0);
  r.rewards[last_chosen(r)] = r.score.reward;
}

TokenRows token_rows(std::span<const Response* const> responses) {
  const auto rows = static_cast<int64_t>(responses.size()), t = positions(responses);
  TokenRows result{
      Tensor::zeros({rows, t}, i32), Tensor::zeros({rows, t}, i32), Tensor::zeros({rows, t}, u8), {}, {}, {}};
  std::vector<int32_t> places, tokens;
  for (size_t b = 0; b < responses.size(); ++b) {
    const Response& r = *responses[b];
    check(!r.prompt.empty() && !r.tokens.empty() && r.chosen.size() == r.tokens.size(),
          "token_rows: response {} is malformed", b);
    std::vector<int32_t> all = r.prompt;
    all.insert(all.end(), r.tokens.begin(), r.tokens.end());
    const size_t begin = b * static_cast<size_t>(t);
    std::copy(all.begin(), all.end() - 1, result.ids.data<int32_t>().begin() + static_cast<int64_t>(begin));
    std::copy(all.begin() + 1, all.end(), result.targets.data<int32_t>().begin() + static_cast<int64_t>(begin));
    for (size_t i = 0; i < r.tokens.size(); ++i) {
      const size_t place = begin + r.prompt.size() - 1 + i;
      if (!r.chosen[i]) continue;
      result.mask.data<uint8_t>()[place] = 1;
      places.push_back(static_cast<int32_t>(place));
      tokens.push_back(r.tokens[i]);
    }
  }
  result.packed = pack(responses, t);
  result.places = Tensor::from(places, {static_cast<int64_t>(places.size())});
  result.tokens = Tensor::from(tokens, {static_cast<int64_t>(tokens.size())});
  return result;
}

Tensor token_values(std::span<const Response* const> responses, std::vector<double> Response::*member, DType dtype) {
  const int64_t t = positions(responses);
  const Tensor result = Tensor::zeros({static_cast<int64_t>(responses.size()), t}, f64);
  for (size_t b = 0; b < responses.size(); ++b) {
    const std::vector<double>& values = responses[b]->*member;
    check(values.size() == responses[b]->tokens.size(), "token_values: response {} has {} tokens and {} values", b,
          responses[b]->tokens.size(), values.size());
    const size_t begin = b * static_cast<size_t>(t) + responses[b]->prompt.size() - 1;
    std::copy(values.begin(), values.end(), result.data<double>().begin() + static_cast<int64_t>(begin));
  }
  return result.to(dtype);
}

void set_token_values(std::span<Response* const> responses, std::vector<double> Response::*member,
                      const Tensor& values) {
  const std::vector<double> all = values.to_vector();
  const auto t = static_cast<size_t>(values.size(1));
  for (size_t b = 0; b < responses.size(); ++b) {
    Response& r = *responses[b];
    (r.*member).assign(r.tokens.size(), 0);
    for (size_t i = 0; i < r.tokens.size(); ++i) {
      if (r.chosen[i]) (r.*member)[i] = all[b * t + r.prompt.size() - 1 + i];
    }
  }
}

Tensor response_values(const std::vector<Response>& responses, std::vector<double> Response::*member) {
  const int64_t longest = longest_response(responses);
  const Tensor result = Tensor::zeros({static_cast<int64_t>(responses.size()), longest}, f64);
  for (size_t b = 0; b < responses.size(); ++b) {
    const std::vector<double>& values = responses[b].*member;
    std::copy(values.begin(), values.end(), result.data<double>().begin() + static_cast<int64_t>(b) * longest);
  }
  return result;
}

Tensor response_mask(const std::vector<Response>& responses) {
  const int64_t longest = longest_response(responses);
  const Tensor result = Tensor::zeros({static_cast<int64_t>(responses.size()), longest}, u8);
  for (size_t b = 0; b < responses.size(); ++b) {
    const auto& chosen = responses[b].chosen;
    std::copy(chosen.begin(), chosen.end(), result.data<uint8_t>().begin() + static_cast<int64_t>(b) * longest);
  }
  return result;
}

}  // namespace pg::rl
