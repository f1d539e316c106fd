#pragma once
// A small training whose bits are compared: on ranks, with ZeRO, resumed.
#include <functional>
#include <string>
#include <vector>

#include "nn/train/trainer.h"
#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"

namespace pg::testing {

struct Case {
  DType dtype = f32;
  double dropout = 0.1;
  bool checkpoint_blocks = false;
  int64_t micro_batches = 1, steps = 20;
  int zero = 0;
  bool tied = true;
};

inline TransformerConfig tiny(const Case& c) {
  TransformerConfig config;
  config.vocab_size = 40;
  config.block_size = 8;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 96;
  config.dropout = c.dropout;
  config.dtype = c.dtype;
  config.tied = c.tied;
  return config;
}

// Micro-batches of unequal numbers of targets: some are ignored.
inline TokenBatch some_batch(Generator& g) {
  std::vector<int32_t> ids(16), targets(16);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = static_cast<int32_t>(g.integer(40));
    targets[i] = g.integer(3) == 0 ? -100 : static_cast<int32_t>(g.integer(40));
  }
  targets[3] = 7;
  return {Tensor::from(ids, {2, 8}), Tensor::from(targets, {2, 8})};
}

inline TrainConfig config_of(const Case& c) {
  TrainConfig config;
  config.max_steps = c.steps;
  config.micro_batches = c.micro_batches;
  config.schedule = {.kind = Schedule::Kind::cosine, .lr = 3e-3, .min_lr = 1e-4, .warmup_steps = 3, .decay_steps = 20};
  config.max_grad_norm = 0.7;    // below the norm of most steps
  config.bucket_bytes = 100000;  // several buckets
  config.zero = c.zero;
  return config;
}

// What a run leaves behind: the bits of its weights, losses and norms, as text that can be compared and written.
inline std::string bytes_of_run(Transformer& model, Trainer& trainer, int64_t steps) {
  std::string bytes;
  const auto add = [&](const void* at, size_t n) { bytes.append(static_cast<const char*>(at), n); };
  while (trainer.steps() < steps) {
    const StepReport report = trainer.step();
    add(&report.loss, sizeof report.loss);
    add(&report.grad_norm, sizeof report.grad_norm);
    add(&report.tokens, sizeof report.tokens);
  }
  const double loss = trainer.evaluate(some_batch, 5);
  add(&loss, sizeof loss);
  trainer.with_all_weights([&] {
    for (const auto& [name, p] : named_parameters(model)) {
      const std::vector<double> values = p.to_vector();
      add(values.data(), values.size() * sizeof(double));
    }
  });
  return bytes;
}

inline std::string train(const Case& c, Comm* comm) {
  Generator init(5);
  Transformer model(tiny(c), init);
  model.checkpoint_blocks = c.checkpoint_blocks;
  Trainer trainer(model, config_of(c), some_batch, comm);
  return bytes_of_run(model, trainer, c.steps);
}

// Runs `work` on ranks; every rank must return the text that one rank returns here.
inline void require_same_as_one_rank(int ranks, const std::function<std::string(Comm*)>& work) {
  const std::string expected = work(nullptr);
  std::string sentences;
  const int status = run_ranks(
      ranks,
      [&](Comm& comm) {
        check(work(&comm) == expected, "the bits of rank {} differ from those of one rank", comm.rank());
        return 0;
      },
      {}, &sentences);
  INFO(ranks << " ranks\n" << sentences);
  REQUIRE(status == 0);
}

}  // namespace pg::testing
