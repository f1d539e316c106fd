// pg scale --measure: the model checked on this machine.
#include "tools/pg/scale_here.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "nn/trainer.h"
#include "tensor/base/cores.h"
#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/scale_model.h"

namespace pg::tools {
namespace {

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// The median seconds of f over `times` calls after one that is not counted. All ranks begin each call together, and the
// slowest counts.
double seconds_of(Comm& comm, int times, const std::function<void()>& f) {
  std::vector<double> all;
  for (int i = 0; i <= times; ++i) {
    comm.barrier();
    const auto begin = std::chrono::steady_clock::now();
    f();
    comm.barrier();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (i > 0) all.push_back(seconds);
  }
  // Rank 0's clock counts, so that all ranks know the same numbers.
  const Tensor of_first = Tensor::full({1}, median(all), f64);
  comm.broadcast(of_first, 0);
  return of_first.item();
}

// Bytes per second that each rank copies while all copy: read and written once.
double copy_speed(Comm& comm, int64_t bytes) {
  const Tensor from = Tensor::ones({bytes / 4}), to = Tensor::ones({bytes / 4});
  return static_cast<double>(bytes) /
         seconds_of(comm, 5, [&] { std::memcpy(to.view().data, from.view().data, static_cast<size_t>(bytes)); });
}

// Prints a line for each size, and fits α to the shortest message and β to the longest.
LinkModel measure_link(Comm& comm, double copied) {
  const auto n = static_cast<double>(comm.size());
  LinkModel link;
  if (comm.rank() == 0) {
    fmt::print("{:>14} {:>12} {:>12} {:>12}   {}\n", "bytes", "all_reduce", "reduce_scat", "all_gather",
               "all_reduce as a share of copying the bytes once");
  }
  for (const int64_t bytes : {4, 4096, 65536, 1 << 20, 8 << 20, 64 << 20, 500'000'000}) {
    const Tensor x = Tensor::zeros({bytes / 4});
    const int times = bytes > 8 << 20 ? 7 : 41;
    const double reduce = seconds_of(comm, times, [&] { comm.all_reduce(x); });
    const double scatter = seconds_of(comm, times, [&] { comm.reduce_scatter(x); });
    const double gather = seconds_of(comm, times, [&] { comm.all_gather(x); });
    if (bytes == 4) link.alpha = reduce / (2 * (n - 1));
    link.beta = 2 * (n - 1) / n * static_cast<double>(bytes) / reduce;
    if (comm.rank() != 0) continue;
    const auto ms = [](double s) { return fmt::format("{:.3f} ms", 1e3 * s); };
    fmt::print("{:>14} {:>12} {:>12} {:>12}   {:.0f} %\n", bytes, ms(reduce), ms(scatter), ms(gather),
               100 * static_cast<double>(bytes) / copied / reduce);
  }
  return link;
}

class Steps {
 public:
  Steps(const ScaleHereOptions& o, const ScaledModel& m) : options_(o) {
    config_.n_layer = std::max<int64_t>(1, std::llround(m.layers));
    config_.n_head = 1;
    config_.n_embd = std::max<int64_t>(8, std::llround(m.width / 8) * 8);
    config_.block_size = o.context;
    const double blocks = static_cast<double>(12 * config_.n_layer * config_.n_embd * config_.n_embd);
    config_.vocab_size =
        std::max<int64_t>(16, std::llround((m.parameters - blocks) / static_cast<double>(config_.n_embd)));
  }
  // The model that is trained, which is near the one asked for.
  ScaledModel model() const {
    Generator init(1);
    Transformer model(config_, init);
    return {static_cast<double>(count_parameters(model)), static_cast<double>(config_.n_layer),
            static_cast<double>(config_.n_embd), static_cast<double>(config_.vocab_size)};
  }
  // Seconds of a step in which each rank has one batch. With `alone`, every rank is a group of its own; all compute at
  // the same time.
  double seconds(Comm& comm, int zero, bool alone) const {
    Generator init(1);
    Transformer model(config_, init);
    TrainConfig train;
    train.zero = zero;
    train.micro_batches = alone ? 1 : comm.size();
    const auto batch = [&](Generator& g) {
      std::vector<int32_t> ids(static_cast<size_t>(options_.rows * options_.context));
      for (int32_t& id : ids) id = static_cast<int32_t>(g.integer(static_cast<uint64_t>(config_.vocab_size)));
      const Tensor tokens = Tensor::from(ids, {options_.rows, options_.context});
      return TokenBatch{tokens, tokens};
    };
    Trainer trainer(model, train, batch, alone ? nullptr : &comm);
    trainer.step();
    return seconds_of(comm, options_.steps, [&] { trainer.step(); });
  }

 private:
  ScaleHereOptions options_;
  TransformerConfig config_;
};

}  // namespace

int measure_scale(const ScaleHereOptions& o, Comm& comm) {
  check(comm.size() > 1, "scale: --measure needs several ranks; add --ranks 2");
  start_threads(o.threads, comm);
  const bool first = comm.rank() == 0;
  const double copied = copy_speed(comm, 500'000'000);
  if (first) {
    fmt::print("{} ranks by {}, {} thread{} each. Every rank copies {:.1f} GB/s while all do.\n\n", comm.size(),
               comm.name(), num_threads(), num_threads() == 1 ? "" : "s", copied / 1e9);
  }
  const LinkModel link = measure_link(comm, copied);

  const Steps steps(o, ScaledModel::of(o.parameters));
  Plan plan;
  plan.model = steps.model();
  plan.gpus = comm.size();
  plan.rows = o.rows;
  plan.context = o.context;
  plan.bytes = {4, 4, 8};  // f32
  // Ranks that use all cores compute more slowly while they send.
  plan.overlap = usable_cores() >= 2 * comm.size() * num_threads();
  Cluster cluster;
  cluster.per_node = comm.size();
  cluster.inside = link;
  cluster.memory_bandwidth = 2 * copied;
  cluster.memory = 1e18;
  const double alone = steps.seconds(comm, 0, true);
  const double update = 30 * plan.model.parameters / cluster.memory_bandwidth;
  cluster.flops = 6 * plan.model.parameters * static_cast<double>(o.rows * o.context) / (alone - update);
  if (first) {
    fmt::print(
        "\nα {:.1f} µs, β {:.2f} GB/s. A GPT of {:.1f}M parameters, {} sequences of {} tokens for each rank: {:.1f} ms "
        "a "
        "step without\nthe others, which is {:.1f} GFLOP/s and {:.1f} ms of AdamW. The model then says of all ranks "
        "together{}:\n\n{:>6} {:>12} {:>12} {:>12}\n",
        1e6 * link.alpha, link.beta / 1e9, plan.model.parameters / 1e6, o.rows, o.context, 1e3 * alone,
        cluster.flops / 1e9, 1e3 * update, plan.overlap ? "" : ", whose cores cannot send and compute at once", "ZeRO",
        "model, ms", "measured, ms", "difference");
  }
  for (int zero = 0; zero <= 3; ++zero) {
    plan.zero = zero;
    const double model = step_model(plan, cluster).seconds(), measured = steps.seconds(comm, zero, false);
    if (first) {
      fmt::print("{:>6} {:>12.1f} {:>12.1f} {:>10.0f} %\n", zero, 1e3 * model, 1e3 * measured,
                 100 * (measured / model - 1));
    }
  }
  return 0;
}

}  // namespace pg::tools
