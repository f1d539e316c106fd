// Log-probabilities of responses under a policy; models with a scalar output.
#include "rl/text/models.h"

#include <algorithm>
#include <cmath>

#include "rl/methods/batch.h"
#include "rl/methods/kl.h"
#include "rl/methods/statistics.h"
#include "rl/text/references.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

Tensor at_indices(const Tensor& hidden, const TokenRows& rows) {
  return index_select(reshape(hidden, {-1, hidden.size(2)}), 0, rows.indices.to(hidden.device()));
}

}  // namespace

Tensor at_temperature(const Tensor& logits, double temperature) {
  return temperature == 1 ? logits : logits / temperature;
}

Tensor spread(const Tensor& values, const TokenRows& rows) {
  const Tensor flat = Tensor::zeros({rows.ids.numel()}, values.dtype(), values.device());
  return reshape(scatter_add(flat, 0, rows.indices.to(values.device()), values), rows.ids.shape());
}

int64_t logit_rows(int64_t vocab_size) { return std::max<int64_t>(1, (int64_t{1} << 25) / vocab_size); }

LogitsAt logits_at(const Transformer& model, const TokenRows& rows, double temperature) {
  NoGrad no_grad;
  return [&model, temperature, hidden = at_indices(model.hidden(rows.packed), rows)](int64_t begin, int64_t end) {
    NoGrad inner;
    return at_temperature(model.head(hidden.view_slice(0, begin, end)), temperature);
  };
}

double probability_sum_error(const LogitsAt& logits, int64_t count, int64_t most_rows) {
  NoGrad no_grad;
  std::vector<Tensor> errors;  // of each chunk, the largest
  in_chunks(count, most_rows, [&](int64_t begin, int64_t end) {
    const Tensor rows = logits(begin, end);
    const Tensor total = sum(exp(log_softmax(rows.to(sum_type(rows.dtype())))), {-1});
    errors.push_back(amax(abs(total - 1)));
  });
  double worst = 0;
  for (const Tensor& error : read_back(errors)) worst = max_with_nan(worst, error.item());
  return worst;
}

TokenScores score_tokens(const Transformer& policy, const TokenRows& rows, double temperature,
                         const Reference* full_kl_to) {
  return score_hidden(policy, policy.hidden(rows.packed), rows, temperature, full_kl_to);
}

TokenScores score_hidden(const Transformer& policy, const Tensor& hidden, const TokenRows& rows, double temperature,
                         const Reference* full_kl_to, int64_t most_rows) {
  const Tensor picked = at_indices(hidden, rows), tokens = rows.tokens.to(hidden.device());
  const LogitsAt reference = full_kl_to ? full_kl_to->logits(rows, temperature) : LogitsAt{};
  const int64_t count = picked.size(0);
  // Log-probability, entropy and KL at the indices begin … end - 1 of rows.indices, each [end - begin].
  const auto score = [&policy, tokens, temperature, reference](const Tensor& states, int64_t begin, int64_t end) {
    const Tensor logits = at_temperature(policy.head(states), temperature);
    const auto [log_prob, entropy] = token_log_prob(logits, slice(tokens, 0, begin, end));
    std::vector<Tensor> all = {log_prob, entropy};
    if (reference) {
      const DType dtype = log_prob.dtype();
      all.push_back(full_kl(cast(logits, dtype), reference(begin, end).to(logits.device()).to(dtype)));
    }
    return all;
  };
  // The full KL holds several tensors of the logits' size.
  if (most_rows == 0) most_rows = logit_rows(policy.config.vocab_size);
  const int64_t size = std::max<int64_t>(1, most_rows / (reference ? 4 : 1));
  std::vector<Tensor> all;
  if (count <= size) {
    all = score(picked, 0, count);
  } else {
    std::vector<Tensor> pieces;  // [2 or 3, rows of the chunk]
    in_chunks(count, size, [&](int64_t begin, int64_t end) {
      pieces.push_back(
          checkpoint([score, begin, end](const Tensor& states) { return stack(score(states, begin, end)); },
                     slice(picked, 0, begin, end)));
    });
    const Tensor joined = cat(pieces, 1);
    for (int64_t i = 0; i < joined.size(0); ++i) all.push_back(select(joined, 0, i));
  }
  TokenScores scores{spread(all[0], rows), spread(all[1], rows), {}};
  if (reference) scores.full_kl = spread(all[2], rows);
  return scores;
}

void check_finite(const Module& model, std::string_view what) {
  for (const auto& [name, parameter] : named_parameters(const_cast<Module&>(model))) {  // only read here
    const std::vector<double> values = parameter.detach().to_vector();
    const auto bad = std::find_if(values.begin(), values.end(), [](double x) { return !std::isfinite(x); });
    check(bad == values.end(), "{} holds {} in its weight '{}'", what, bad == values.end() ? 0 : *bad, name);
  }
}

Tensor scalar_at_positions(const Linear& head, const Tensor& hidden) {
  const DType dtype = sum_type(hidden.dtype());
  const Tensor all = linear(cast(hidden, dtype), cast(head.weight, dtype), cast(head.bias, dtype));
  return reshape(all, {hidden.size(0), hidden.size(1)});
}

ScalarModel::ScalarModel(Transformer& model, double head_std, Generator& generator)
    : trunk(model.config, generator), head(model.config.n_embd, 1, true, Init::zeros(model.config.trained_dtype())) {
  load_state_dict(trunk, state_dict(model));
  if (head_std > 0) {
    head.weight.detach().copy_from(Tensor::normal(head.weight.shape(), 0, head_std, generator, head.weight.dtype()));
  }
  to(model.device());
}

Tensor ScalarModel::operator()(const Tensor& ids) const { return scalar_at_positions(head, trunk.hidden(ids)); }

Tensor ScalarModel::operator()(const PackedBatch& rows) const { return scalar_at_positions(head, trunk.hidden(rows)); }

void ScalarModel::visit(Visitor& visitor) {
  visitor("trunk", trunk);
  visitor("head", head);
}

}  // namespace pg::rl
