// make my_ring, the end of track C: four processes train one GPT, with the learner's ring, shards, buckets and mean.
#include <cmath>
#include <cstring>

#include "lessons/12_data_parallel/demo.h"
#include "lessons/kit/milestone.h"
#include "lessons/kit/plot.h"
#include "lessons/milestones/process_ring.h"
#include "nn/optim.h"
#include "nn/transformer.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"
#include "tensor/comm/launch.h"

namespace pg::milestones {
namespace {

using lesson12::Impl, lesson12::SharedNumbers;

constexpr int kRanks = 4;
constexpr int64_t kSteps = 200, kRows = 8, kLength = 32, kBucketBytes = 16384;

struct Rows {
  Tensor ids, targets;
  int64_t tokens = 0;
};
// The rows of one rank in one step. Later rows have shorter texts, so the ranks have different numbers of tokens.
Rows rows_of(const Impl& impl, std::span<const int32_t> text, int64_t step, int rank) {
  Generator g(1000 + static_cast<uint64_t>(step));
  const Windows all = random_batch(text, kRows, kLength, g);
  const Shard own = impl.shard_of(kRows, rank, kRanks, 1);
  Rows rows;
  std::vector<int32_t> ids, targets;
  for (int64_t row = own.begin; row < own.end; ++row) {
    const int64_t used = kLength - 3 * row;
    rows.tokens += used;
    for (int64_t t = 0; t < kLength; ++t) {
      const auto at = static_cast<size_t>(row * kLength + t);
      ids.push_back(all.x[at]);
      targets.push_back(t < used ? all.y[at] : -100);
    }
  }
  rows.ids = Tensor::from(ids, {own.size(), kLength});
  rows.targets = Tensor::from(targets, {own.size(), kLength});
  return rows;
}

Transformer new_model(int64_t vocab_size) {
  Generator init(12);
  return Transformer({.vocab_size = vocab_size,
                      .block_size = kLength,
                      .n_layer = 1,
                      .n_head = 2,
                      .n_embd = 32,
                      .in_proj_std = 1 / std::sqrt(32.0)},
                     init);
}

// The loss of these rows; their gradient is in the slab.
double gradient_of(const Transformer& model, const ParamSlab& slab, const Rows& rows) {
  slab.zero_grad();
  const Tensor loss = model.loss(rows.ids, rows.targets);
  backward(loss);
  slab.fill_missing_grads();
  return loss.item();
}

// x becomes the sum of all ranks' x, bucket by bucket.
void all_reduce(const Impl& impl, Ring& ring, const std::vector<Shard>& buckets, std::span<float> x) {
  for (const Shard& bucket : buckets) {
    const auto part = x.subspan(static_cast<size_t>(bucket.begin), static_cast<size_t>(bucket.size()));
    for (int step = 0; step < ring.size() - 1; ++step) impl.ring_reduce_step(ring, part, step);
    for (int step = 0; step < ring.size() - 1; ++step) impl.ring_gather_step(ring, part, step);
  }
}

// What the ranks report: a loss for each rank and step, the weights of each rank, the elements that each has sent.
struct Report {
  SharedNumbers losses{kRanks * kSteps}, weights, sent{kRanks};
  explicit Report(size_t n) : weights(kRanks * n) {}
};

// One rank's training. The sum of gradients, each weighted by its share of the tokens, is the gradient of the batch.
void train_rank(const Impl& impl, const RingLinks& links, int rank, std::span<const int32_t> text, int64_t vocab_size,
                const Report& report) {
  Transformer model = new_model(vocab_size);
  ParamSlab slab(model);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  ProcessRing ring(links, rank);
  const std::vector<Shard> buckets = impl.gradient_buckets(slab.segments(), kBucketBytes, sizeof(float));
  const std::span<float> gradient = slab.grads().data<float>();
  for (int64_t step = 0; step < kSteps; ++step) {
    const Rows own = rows_of(impl, text, step, rank);
    report.losses.all()[static_cast<size_t>(rank * kSteps + step)] = static_cast<float>(gradient_of(model, slab, own));
    float all_tokens = 0;
    for (int r = 0; r < kRanks; ++r) all_tokens += static_cast<float>(rows_of(impl, text, step, r).tokens);
    for (float& x : gradient) x *= static_cast<float>(own.tokens) / all_tokens;
    all_reduce(impl, ring, buckets, gradient);
    optimizer.step(5e-3);
  }
  const auto weights = slab.params().data<const float>();
  std::copy(weights.begin(), weights.end(),
            report.weights.all().begin() + static_cast<ptrdiff_t>(static_cast<size_t>(rank) * weights.size()));
  report.sent.all()[static_cast<size_t>(rank)] = static_cast<float>(ring.sent) / static_cast<float>(kSteps);
}

// The same training in one process, which computes the quarters one after the other. Returns the loss of each step.
std::vector<double> train_alone(const Impl& impl, Transformer& model, std::span<const int32_t> text) {
  ParamSlab slab(model);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  std::vector<double> curve;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<Tensor> means, losses;
    std::vector<int64_t> tokens;
    for (int rank = 0; rank < kRanks; ++rank) {
      const Rows rows = rows_of(impl, text, step, rank);
      losses.push_back(Tensor::scalar(gradient_of(model, slab, rows), f64));
      means.push_back(slab.grads().clone());
      tokens.push_back(rows.tokens);
    }
    slab.grads().copy_from(impl.token_weighted_mean(means, tokens));
    optimizer.step(5e-3);
    curve.push_back(impl.token_weighted_mean(losses, tokens).item());
  }
  return curve;
}

// The loss of the whole batch at each step, of the losses of the ranks.
std::vector<double> batch_losses(const Impl& impl, const Report& report, std::span<const int32_t> text) {
  std::vector<double> curve;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::vector<Tensor> losses;
    std::vector<int64_t> tokens;
    for (int rank = 0; rank < kRanks; ++rank) {
      losses.push_back(Tensor::scalar(report.losses.all()[static_cast<size_t>(rank * kSteps + step)], f64));
      tokens.push_back(rows_of(impl, text, step, rank).tokens);
    }
    curve.push_back(impl.token_weighted_mean(losses, tokens).item());
  }
  return curve;
}

void show(kit::Demo& demo, const Impl& impl) {
  const std::string stories = generate_stories(200'000);
  const CharTokenizer tokenizer(stories);
  const TextData text = split_text(tokenizer.encode(stories));
  Transformer alone = new_model(tokenizer.vocab_size());
  const auto n = static_cast<size_t>(ParamSlab(alone).size());

  demo.heading("Four processes, one model");
  const Report report(n);
  const RingLinks links(kRanks);
  std::string sentences;
  const int status = run_ranks(
      kRanks,
      [&](Comm& comm) {
        train_rank(impl, links, comm.rank(), text.train, tokenizer.vocab_size(), report);
        return 0;
      },
      {}, &sentences);
  check(status == 0, "my_ring: the ranks failed: {}", sentences);
  const std::vector<double> together = batch_losses(impl, report, text.train),
                            one = train_alone(impl, alone, text.train);
  demo.say(
      "{} steps of a GPT of {} parameters on the built-in stories. Each of {} processes has the rows of your shard_of, "
      "and the rows differ in length. Your ring adds up the gradients, in your buckets of at least {} bytes. Then one "
      "process does the same with your token_weighted_mean.",
      kSteps, n, kRanks, kBucketBytes);
  demo.show(kit::line_plot({{.name = "four processes", .y = kit::thinned(together, 70)},
                            {.name = "one process", .y = kit::thinned(one, 70)}},
                           {.x_label = "part of the training", .y_label = "nats per character", .height = 10}));
  demo.gap();
  int64_t differ = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t r = 1; r < kRanks; ++r) {
      differ += std::memcmp(&report.weights.all()[i], &report.weights.all()[r * n + i], sizeof(float)) != 0;
    }
  }
  double apart = 0, most = 0;
  for (size_t step = 0; step < 20; ++step) apart = std::max(apart, std::abs(together[step] - one[step]));
  for (const float sent : report.sent.all()) most = std::max(most, static_cast<double>(sent));
  const double formula = 2.0 * (kRanks - 1) / kRanks * static_cast<double>(n);
  demo.claim("weights that differ between the processes", static_cast<double>(differ), "", kit::equals(0));
  demo.claim("loss of four from that of one, worst of 20 steps", apart, "nats", kit::at_most(1e-3));
  demo.claim("elements that one sends in a step, over 2(n-1)/n of all", most / formula, "x", kit::at_most(1.01));
  demo.claim("loss of the batch at the end", together.back(), "nats", kit::at_most(2.5));
}

}  // namespace
}  // namespace pg::milestones

int main() {
  using namespace pg;
  const kit::Lesson<lesson12::Impl> lesson{"12", "lessons/12_data_parallel", "", lesson12::reference(),
                                           {},   lesson12::checks(),         {}};
  const lesson12::Impl impl = kit::own_pieces(lesson);
  return kit::run_milestone({"my_ring",
                             {kit::entry_of(lesson, lesson.learner)},
                             [&](kit::Demo& demo) { milestones::show(demo, impl); },
                             "the GPT, its gradients, AdamW, processes and sockets"});
}
