// pg scale: what a model of links and memory expects of training on many GPUs.
#include <fmt/ranges.h>

#include <memory>

#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/scale_here.h"
#include "tools/pg/scale_model.h"

namespace pg::tools {
namespace {

struct ScaleOptions {
  std::string params = "124M,1.5B,7B", gpus = "8..1024", zero = "auto";
  Plan plan;
  Cluster cluster;
  bool measure = false;
  RankOptions ranks;
  ScaleHereOptions here;
  // In the units of the options.
  double tflops = 400, inside = 370, between = 48, inside_latency = 5, between_latency = 10, memory = 80;
};

std::vector<Field> fields(ScaleOptions& o) {
  return {{"params", &o.params, "numbers of parameters: 124M,1.5B"},
          {"gpus", &o.gpus, "numbers of GPUs: 8,64, or 8..1024 in powers of two"},
          {"zero", one_of(o.zero, {"auto", "0", "1", "2", "3"}), "ZeRO stage; auto: the lowest that fits"},
          {"batch", &o.plan.rows, "sequences in a micro-batch of one GPU", whole_from(1, 1000000)},
          {"context", &o.plan.context, "tokens of a sequence", whole_from(1, 1000000)},
          {"accumulate", &o.plan.accumulate, "micro-batches of one GPU in a step", whole_from(1, 1000000)},
          {"overlap", &o.plan.overlap, "gradients are sent while backward computes"},
          {"checkpoint-blocks", &o.plan.checkpoint, "activations of blocks are computed again in backward"},
          {"per-node", &o.cluster.per_node, "GPUs of a node", whole_from(1, 1024)},
          {"tflops", &o.tflops, "10^12 operations per second that a GPU reaches in training", kPositive},
          {"memory", &o.memory, "GB of a GPU", kPositive},
          {"node-bandwidth", &o.inside, "GB/s of a GPU inside its node, as NCCL's rings reach it", kPositive},
          {"node-latency", &o.inside_latency, "µs of a message there", kNotNegative},
          {"network-bandwidth", &o.between, "GB/s of a GPU between nodes", kPositive},
          {"network-latency", &o.between_latency, "µs of a message there", kNotNegative},
          flag("measure", o.measure,
               "measure ranks of this machine beside the model: collectives, and steps of training of the first of "
               "--params, 10M unless given"),
          ranks_field(o.ranks),
          threads_field(o.here.threads)};
}

int scale(ScaleOptions& o) {
  o.cluster.flops = o.tflops * 1e12;
  o.cluster.memory = o.memory * 1e9;
  o.cluster.inside = {o.inside_latency * 1e-6, o.inside * 1e9};
  o.cluster.between = {o.between_latency * 1e-6, o.between * 1e9};
  const std::vector<int64_t> counts = parse_counts(o.gpus);
  std::vector<std::pair<std::string, ScaledModel>> models;
  for (std::string rest = o.params;;) {
    const size_t comma = rest.find(',');
    models.emplace_back(rest.substr(0, comma), ScaledModel::of(parse_parameters(rest.substr(0, comma))));
    if (comma == std::string::npos) break;
    rest = rest.substr(comma + 1);
  }
  fmt::print(
      "A model, not a measurement: {:g} TFLOP/s and {:g} GB a GPU, {:g} GB/s in a node of {}, {:g} GB/s between "
      "nodes.\n"
      "A step of a GPU: {} micro-batch{} of {} sequences of {} tokens{}.\n"
      "Waits: for gradients and weights, beside no computing. Efficiency: the share of the step that computes.\n\n",
      o.tflops, o.memory, o.inside, o.cluster.per_node, o.between, o.plan.accumulate,
      o.plan.accumulate == 1 ? "" : "es", o.plan.rows, o.plan.context,
      o.plan.overlap ? "; gradients are sent during backward" : "");
  fmt::print("{:>8} {:>6} {:>5} {:>12} {:>11} {:>9} {:>9} {:>10} {:>11}\n", "params", "GPUs", "ZeRO", "tokens/s",
             "step, ms", "waits, ms", "GB a GPU", "efficiency", "bound by");
  for (const auto& [name, model] : models) {
    Plan plan = o.plan;
    plan.model = model;
    for (const int64_t gpus : counts) {
      plan.gpus = gpus;
      plan.zero = o.zero == "auto" ? 0 : std::stoi(o.zero);
      StepModel step = step_model(plan, o.cluster);
      while (o.zero == "auto" && step.bound == "memory" && plan.zero < 3) {
        ++plan.zero;
        step = step_model(plan, o.cluster);
      }
      fmt::print("{:>8} {:>6} {:>5} {:>12.0f} {:>11.1f} {:>9.1f} {:>9.1f} {:>8.1f} % {:>11}\n", name, gpus, plan.zero,
                 step.tokens_per_second, 1e3 * step.seconds(), 1e3 * step.exposed,
                 (step.state + step.activations) / 1e9, 100 * step.efficiency(), step.bound);
    }
  }
  return 0;
}

}  // namespace

Command scale_command() {
  const auto o = std::make_shared<ScaleOptions>();
  const auto run = [o](Given& given) {
    if (!o->measure) {
      check(o->ranks.ranks == 1, "scale: --ranks belongs to --measure; the model takes --gpus");
      return scale(*o);
    }
    if (given.has("params")) o->here.parameters = parse_parameters(o->params.substr(0, o->params.find(',')));
    if (given.has("batch")) o->here.rows = o->plan.rows;
    if (given.has("context")) o->here.context = o->plan.context;
    RunOptions none;
    return run_on_ranks(o->ranks, "cpu", none, [&](Comm& comm) { return measure_scale(o->here, comm); });
  };
  return {"scale", "what a model of links and memory expects of training on many GPUs", fields(*o), run};
}

}  // namespace pg::tools
