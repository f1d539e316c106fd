// The demonstration of lesson 12, second part: four ranks have the gradient of one.
#include <cmath>
#include <cstring>

#include "autograd/tape.h"
#include "lessons/12_data_parallel/demo.h"
#include "nn/transformer.h"
#include "tasks/data/stories.h"
#include "tasks/data/tokenizer.h"
#include "tensor/comm/launch.h"

namespace pg::lesson12 {
namespace {

constexpr int kRanks = 4;
constexpr int64_t kRows = 2, kLength = 32;
// The sentences of rank r end after so many characters; the rest of a row is padding.
constexpr int64_t kLengths[kRanks] = {32, 24, 16, 8};

struct Quarter {
  Tensor ids, targets;
  int64_t tokens;
};
Quarter quarter_of(const std::vector<int32_t>& text, int rank) {
  const int64_t used = kLengths[rank];
  std::vector<int32_t> ids, targets;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto at = static_cast<size_t>((rank * kRows + row) * 1000);
    for (size_t i = 0; i < static_cast<size_t>(kLength); ++i) {
      ids.push_back(text[at + i]);
      targets.push_back(static_cast<int64_t>(i) < used ? text[at + i + 1] : -100);
    }
  }
  return {Tensor::from(ids, {kRows, kLength}), Tensor::from(targets, {kRows, kLength}), kRows * used};
}

Transformer new_model(int64_t vocab_size) {
  Generator init(12);
  return Transformer({.vocab_size = vocab_size,
                      .block_size = kLength,
                      .n_layer = 2,
                      .n_head = 2,
                      .n_embd = 32,
                      .in_proj_std = 1 / std::sqrt(32.0)},
                     init);
}

// The gradient of the mean loss of these rows.
Tensor gradient_of(const Transformer& model, const ParamSlab& slab, const Tensor& ids, const Tensor& targets) {
  slab.zero_grad();
  backward(model.loss(ids, targets));
  slab.fill_missing_grads();
  return slab.grads();
}

int64_t different_bits(const Tensor& a, std::span<const float> b) {
  const auto x = a.data<const float>();
  int64_t count = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    uint32_t p = 0, q = 0;
    std::memcpy(&p, &x[i], 4);
    std::memcpy(&q, &b[i], 4);
    count += __builtin_popcount(p ^ q);
  }
  return count;
}

// |a - b| / |b|
double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double difference = 0, norm = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    norm += y[i] * y[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

void show_gradients(kit::Demo& demo, const Impl& impl) {
  demo.heading("A mean of means is no mean");
  const std::string text = generate_stories(20'000);
  const CharTokenizer tokenizer(text);
  const std::vector<int32_t> ids = tokenizer.encode(text);

  Transformer model = new_model(tokenizer.vocab_size());
  const ParamSlab slab(model);
  // Four processes, each with one quarter of the batch.
  const SharedNumbers shared(static_cast<size_t>(slab.size()));
  std::string sentences;
  const int status = run_ranks(
      kRanks,
      [&](Comm& comm) {
        const Quarter own = quarter_of(ids, comm.rank());
        const Tensor gradient = gradient_of(model, slab, own.ids, own.targets);
        all_reduce_token_mean(comm, gradient, own.tokens);
        const auto values = gradient.data<const float>();
        if (comm.rank() == 0) std::copy(values.begin(), values.end(), shared.all().begin());
        return 0;
      },
      {}, &sentences);
  check(status == 0, "lesson 12: the ranks failed: {}", sentences);

  // One process, the quarters one after the other.
  std::vector<Tensor> means, losses, all_ids, all_targets;
  std::vector<int64_t> tokens;
  for (int r = 0; r < kRanks; ++r) {
    const Quarter quarter = quarter_of(ids, r);
    means.push_back(gradient_of(model, slab, quarter.ids, quarter.targets).clone());
    losses.push_back(model.loss(quarter.ids, quarter.targets).detach());
    all_ids.push_back(quarter.ids);
    all_targets.push_back(quarter.targets);
    tokens.push_back(quarter.tokens);
  }
  const Tensor one = impl.token_weighted_mean(means, tokens);
  const Tensor naive = impl.token_weighted_mean(means, std::vector<int64_t>(kRanks, 1));
  const Tensor whole = gradient_of(model, slab, cat(all_ids, 0), cat(all_targets, 0)).clone();

  demo.say(
      "A GPT of {} parameters, the same on four ranks. Each rank has a quarter of the batch: two rows, and its "
      "sentences "
      "are shorter than those of the rank before, the rest is padding. Each computes the mean loss of its own "
      "characters, and its gradient.",
      slab.size());
  demo.line("rank   characters   mean loss");
  for (size_t r = 0; r < kRanks; ++r) demo.line("{:4}   {:10}   {:9.4f}", r, tokens[r], losses[r].item());
  demo.gap();
  const double right = impl.token_weighted_mean(losses, tokens).item();
  const double wrong = impl.token_weighted_mean(losses, std::vector<int64_t>(kRanks, 1)).item();
  demo.say(
      "The loss of the batch is {:.4f}; the mean of the four means is {:.4f}. With the right weights four processes "
      "have the gradient of one process that computes the quarters one after the other and adds them up. Both add in "
      "the order of the ranks, so not even the rounding differs.",
      right, wrong);
  demo.claim("bits that differ between 4 ranks and 1 rank", static_cast<double>(different_bits(one, shared.all())),
             "bits", kit::equals(0));
  demo.claim("error against the batch at once", distance(one, whole), "", kit::at_most(1e-5));
  demo.claim("the mean of means: error of the gradient", 100 * distance(naive, whole), "%", kit::at_least(2));
  demo.gap();
  demo.say(
      "The whole batch at once adds in another order and differs by rounding. The mean of means differs because it is "
      "another formula: a character of the last rank counts {:.0f} times as much as one of the first.",
      static_cast<double>(tokens[0]) / static_cast<double>(tokens[kRanks - 1]));
}

}  // namespace pg::lesson12
