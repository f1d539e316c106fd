// Launches of kernels and waits of the host in training steps, counted by the simulator.
#include <cmath>
#include <map>
#include <string>

#include "nn/optim.h"
#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "rl/text/preferences.h"
#include "rl/text/trainer.h"
#include "tasks/text/text_task.h"
#include "tensor/sim/sim.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

uint64_t launches_of(const sim::Report& report, const std::string& kernel) {
  uint64_t launches = 0;
  for (const auto& [name, stats] : report.kernels()) launches += name.find(kernel) != name.npos ? stats.launches : 0;
  return launches;
}

Transformer model_of(const TransformerConfig& config) {
  Generator init(3);
  Transformer model(config, init);
  model.to(device());
  return model;
}

// Copies to the host in the second step of RlTrainer.
uint64_t reads_of_step(const std::string& algorithm, const rl::BatchShape& batch) {
  const auto task = imitate_task({.length = 3, .context = 3});
  Transformer policy = model_of({.vocab_size = task->vocab_size(),
                                 .block_size = rl::block_size_for(*task),
                                 .n_layer = 1,
                                 .n_head = 2,
                                 .n_embd = 16});
  rl::RlConfig config;
  config.algorithm = rl::algorithm(algorithm);
  config.batch = batch;
  rl::RlTrainer trainer(policy, *task, config);
  trainer.step();
  const uint64_t before = sim::copies_to_host();
  trainer.step();
  return sim::copies_to_host() - before;
}

}  // namespace

// As the difference between two layers and one. Forward: two norms that also add, the products of c_attn, attn.c_proj,
// c_fc and mlp.c_proj, attention: 7; in f32 also GELU, which is part of c_fc's product in bf16. Backward: two products
// for each of the four, with the sums of the biases; three kernels of attention; for each norm its kernel, the sum of
// the parts of its weight and bias, and a copy of each of the two to its gradient: 8 + 3 + 2 * 4 = 19; in f32 also
// GELU.
TEST_CASE("a layer of GPT-2 in training on CUDA is 26 launches, none of them a sum", "[cuda][transformer]") {
  if (!sim::sees_accesses()) return;
  for (const DType dtype : {f32, bf16}) {
    const int64_t gelu = dtype == f32 ? 1 : 0;
    std::map<std::string, int64_t> forward, step;
    for (const int64_t layers : {1, 2}) {
      Transformer model =
          model_of({.vocab_size = 29, .block_size = 8, .n_layer = layers, .n_head = 2, .n_embd = 32, .dtype = dtype});
      const Tensor ids = Tensor::arange(8, i32).view_reshape({1, 8}).to(device());
      for (int i = 0; i < 4; ++i) backward(model.loss(ids, ids));  // cuBLASLt's algorithms are selected
      for (const auto& [name, parameter] : named_parameters(model)) parameter.zero_grad();
      const auto add = [&](std::map<std::string, int64_t>& counts, const sim::Report& report) {
        for (const auto& [name, stats] : report.kernels()) {
          const auto launches = static_cast<int64_t>(stats.launches);
          for (const std::string& key : {name, std::string("all")}) counts[key] += layers == 2 ? launches : -launches;
        }
      };
      const sim::Report report;
      const Tensor loss = model.loss(ids, ids);
      add(forward, report);
      backward(loss);
      add(step, report);
    }
    std::string all;
    for (const auto& [name, launches] : step) {
      if (launches != 0) all += fmt::format("{} {}\n", launches, name);
    }
    INFO(name_of(dtype) << "\n" << all);
    CHECK(forward["all"] == 7 + gelu);
    CHECK(step["all"] == 26 + 2 * gelu);
    for (const auto& [name, launches] : step) {
      if (name.find("add_functor") != name.npos) CHECK(launches == 0);
    }
  }
}

// Forward, their sum, and the comparison of the gradient that arrives with the one that was expected.
TEST_CASE("the loss of a training step on CUDA is three launches", "[cuda][transformer]") {
  if (!sim::sees_accesses()) return;
  for (const DType dtype : {f32, bf16}) {
    Transformer model =
        model_of({.vocab_size = 29, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 32, .dtype = dtype});
    const Tensor ids = Tensor::arange(8, i32).view_reshape({1, 8});
    Trainer trainer(model, {}, [&](Generator&) { return TokenBatch{ids, ids}; });
    for (int step = 0; step < 5; ++step) {  // from the fourth on a graph
      const sim::Report report;
      trainer.step();
      CHECK(launches_of(report, "with_gradient_kernel") == 1);
      CHECK(launches_of(report, "rescale_rows_kernel") == 1);
      CHECK(launches_of(report, "cross_entropy_kernel") == 0);
      CHECK(launches_of(report, "cross_entropy_backward_kernel") == 0);
    }
  }
}

TEST_CASE("CUDA cross-entropy with its gradient reads and writes 16 bytes at a time", "[cuda]") {
  if (!sim::sees_accesses()) return;
  for (const DType dtype : {f32, bf16}) {
    const int64_t rows = 16, v = 2048;
    const Tensor x = random({rows, v}, dtype, 1).to(device()), loss = Tensor::empty({rows}, f32, device());
    const Tensor ids = Tensor::full({rows}, 7, i32, device()), one = Tensor::full({rows}, 1, f32, device());
    const uint64_t matrix = static_cast<uint64_t>(rows * v) * size_of(dtype), threads = rows * 256;
    {
      const sim::Report report;
      kernels(device()).cross_entropy_with_gradient(loss, x, one, ids, {});
      uint64_t wide = 0;
      for (const sim::LineStats& line : report.lines()) wide += line.narrow == 0 ? line.bytes : 0;
      // Read once, then written. Each thread reads the target twice, and the gradient.
      CHECK(wide == 2 * matrix);
      CHECK(report.kernels().size() == 1);
      CHECK(report.kernels().begin()->second.bytes_requested == 2 * matrix + threads * 12 + rows * 4);
    }
    const sim::Report report;
    kernels(device()).rescale_rows(x, one, one);
    CHECK(report.kernels().size() == 1);
    CHECK(report.kernels().begin()->second.bytes_requested == threads * 8);
  }
}

TEST_CASE("AdamW on CUDA is one launch, with the bits of a launch per parameter", "[cuda][adamw]") {
  for (const DType dtype : {f32, bf16}) {
    INFO(name_of(dtype));
    Transformer model =
        model_of({.vocab_size = 29, .block_size = 96, .n_layer = 3, .n_head = 2, .n_embd = 20, .dtype = dtype});
    ParamSlab slab(model);
    const AdamWOptions options{.weight_decay = 0.3, .stochastic_rounding = dtype == bf16, .seed = 4};
    AdamW optimizer(slab, options);
    Tensor p = slab.params().clone(), m = slab.zeros(), v = slab.zeros();
    const Tensor rounded = slab.rounded().defined() ? slab.rounded().clone() : Tensor{};
    for (int t = 1; t <= 2; ++t) {
      for (size_t i = 0; i < slab.leaves().size(); ++i) {
        backward(slab.leaves()[i], random(slab.leaves()[i].shape(), dtype, 100 * t + i).to(device()));
      }
      {
        const sim::Report report;
        optimizer.step(0.02, 0.5);
        if (sim::sees_accesses()) CHECK(launches_of(report, "adamw_kernel") == 1);
      }
      const std::vector<double> numbers = {0.02, 1 - std::pow(0.9, t), 1 - std::pow(0.999, t), double(t)};
      const Tensor now = Tensor::from(std::span<const double>(numbers), {4}).to(device());
      for (const auto& segment : slab.segments()) {
        const auto part = [&](const Tensor& x) { return x.view_slice(0, segment.begin, segment.end); };
        AdamWArgs args{.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .grad_scale = 0.5, .now = now};
        args.weight_decay = segment.decay ? 0.3 : 0;
        args.stochastic_rounding = options.stochastic_rounding;
        args.seed = options.seed;
        args.first = segment.begin;
        if (rounded.defined()) args.rounded = part(rounded);
        kernels(device()).adamw(part(p), part(slab.grads()), part(m), part(v), args);
      }
      slab.zero_grad();
      CHECK(same_bits(p, slab.params()));
      if (rounded.defined()) CHECK(same_bits(rounded, slab.rounded()));
    }
  }
}

TEST_CASE("the host's reads of the device in an RL step do not grow with the micro-batches", "[cuda][rl][slow]") {
  for (const char* algorithm : {"grpo", "ppo"}) {
    INFO(algorithm);
    const uint64_t whole = reads_of_step(algorithm, {.prompts = 2, .samples = 4, .mini_batches = 2});
    CHECK(reads_of_step(algorithm, {.prompts = 2, .samples = 4, .mini_batches = 2, .micro_batch = 1}) == whole);
    // An update reads the sums of its losses and the norm of the gradient, and that of the critic.
    const uint64_t of_update = std::string(algorithm) == "ppo" ? 3 : 2;
    const uint64_t updates = 2 * rl::algorithm(algorithm).epochs;  // more with four mini-batches than with two
    CHECK(reads_of_step(algorithm, {.prompts = 2, .samples = 4, .mini_batches = 4}) == whole + updates * of_update);
  }
}

TEST_CASE("the host reads the device once to check that probabilities add up to 1", "[cuda][rl]") {
  const Tensor logits = random({7, 11}, f32, 5).to(device());
  const rl::LogitsAt rows = [&](int64_t begin, int64_t end) { return logits.view_slice(0, begin, end); };
  const double error = amax(abs(sum(exp(log_softmax(logits)), {-1}) - 1)).item();
  CHECK(error > 0);
  CHECK(error < 1e-6);
  for (const int64_t most_rows : {1, 3, 7}) {
    const uint64_t before = sim::copies_to_host();
    CHECK(rl::probability_sum_error(rows, 7, most_rows) == error);
    CHECK(sim::copies_to_host() - before == 1);
  }
}
