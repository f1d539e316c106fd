// The estimate of a run's memory, beside what the pool of tensors counts.
#include <functional>

#include "nn/decode/kv_cache.h"
#include "nn/train/run_memory.h"
#include "nn/train/trainer.h"
#include "nn/variants/lora.h"
#include "tests/catch.h"

using namespace pg;

namespace {

constexpr int64_t kRows = 8, kColumns = 64;

TransformerConfig gpt2() {
  return {.vocab_size = 1000, .block_size = kColumns, .n_layer = 4, .n_head = 4, .n_embd = 128, .in_proj_std = 0.1};
}

TransformerConfig llama() {
  TransformerConfig c = gpt2();
  c.n_kv_head = 2;
  c.n_hidden = 340;
  c.bias = false;
  c.norm = NormKind::rms;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
  c.tied = false;
  return c;
}

TransformerConfig latent() {
  TransformerConfig c = gpt2();
  c.bias = false;
  c.norm = NormKind::rms;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
  c.kv_latent_size = 32;
  c.q_latent_size = 48;
  c.rope_size = 16;
  return c;
}

TokenBatch some_batch(Generator& g) {
  TokenBatch batch{Tensor::empty({kRows, kColumns}, i32), Tensor::empty({kRows, kColumns}, i32)};
  for (const Tensor& x : {batch.ids, batch.targets}) {
    for (int32_t& id : x.data<int32_t>()) id = static_cast<int32_t>(g.integer(1000));
  }
  return batch;
}

// Between them by this factor, both ways.
void check_within(double factor, double estimate, size_t counted, const char* what) {
  const auto bytes = static_cast<double>(counted);
  INFO(what << ": estimate " << estimate << ", counted " << counted << ", ratio " << estimate / bytes);
  CHECK(estimate < factor * bytes);
  CHECK(bytes < factor * estimate);
}

}  // namespace

TEST_CASE("run memory: the estimate of a training was not what it takes", "[nn][run_memory]") {
  for (const TransformerConfig& family : {gpt2(), llama(), latent()}) {
    for (const DType dtype : {f32, bf16}) {
      for (const int64_t rank : {0, 8}) {
        for (const bool checkpointed : {false, true}) {
          for (const int64_t micro_batches : {1, 2}) {
            if (checkpointed && micro_batches > 1) continue;
            TransformerConfig c = family;
            c.dtype = dtype;
            c.lora.rank = rank;
            INFO(to_json(c) << (checkpointed ? ", checkpointed, " : ", ") << micro_batches << " micro-batches");
            const size_t before = memory_stats().in_use;
            Generator g(3);
            Transformer model(c, g);
            model.checkpoint_blocks = checkpointed;
            TrainConfig config;
            config.micro_batches = micro_batches;
            Trainer trainer(model, config, some_batch);
            trainer.step();
            const StepMemory counted = trainer.memory();
            const RunMemory m = run_memory({.model = c,
                                            .trained = 1,
                                            .rows = kRows,
                                            .columns = kColumns,
                                            .micro_batches = micro_batches,
                                            .checkpoint_blocks = checkpointed});
            check_within(1.05, m.weights, counted.weights, "weights");
            check_within(1.05, m.gradients, static_cast<size_t>(micro_batches) * counted.gradients, "gradients");
            check_within(1.05, m.optimizer, counted.optimizer, "optimizer");
            check_within(1.5, m.activations, counted.activations, "activations");
            check_within(1.3, m.total(), memory_stats().peak - before, "all");
          }
        }
      }
    }
  }
}

TEST_CASE("run memory: the cache of keys and values is that of a KvCache", "[nn][run_memory]") {
  for (const DType dtype : {f32, bf16}) {
    TransformerConfig c = llama();
    c.dtype = dtype;
    const size_t before = memory_stats().in_use;
    const KvCache cache(16, c.n_layer, c.kv_heads(), kColumns, c.head_width(), dtype);
    const size_t counted = memory_stats().in_use - before;
    RunShape shape{.model = c, .cache_rows = 16, .cache_columns = kColumns};
    check_within(1.05, run_memory(shape).cache - 16.0 * 1000 * 4, counted, "cache");
    shape.cache_columns *= 2;
    CHECK(run_memory(shape).cache > 1.8 * static_cast<double>(counted));
  }
}

// A 7-billion model, by hand: 32 blocks of width 4096, 11008 hidden channels, 32000 tokens, bf16.
TEST_CASE("run memory: models, ranks and stages are counted as they are held", "[nn][run_memory]") {
  TransformerConfig c{.vocab_size = 32000, .block_size = 2048, .n_layer = 32, .n_head = 32, .n_embd = 4096};
  c.n_hidden = 11008;
  c.bias = false;
  c.norm = NormKind::rms;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
  c.tied = false;
  c.dtype = bf16;
  const double n = 32.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 11008) + 2 * 32000.0 * 4096;
  CHECK(run_memory({.model = c}).total() == Approx(2 * n).epsilon(0.001));
  CHECK(run_memory({.model = c, .trained = 1}).total() == Approx(18 * n).epsilon(0.001));
  CHECK(run_memory({.model = c, .trained = 1, .micro_batches = 4}).total() == Approx(22 * n).epsilon(0.001));
  CHECK(run_memory({.model = c, .trained = 2, .references = 1}).total() == Approx(38 * n).epsilon(0.001));
  CHECK(run_memory({.model = c, .trained = 1, .ranks = 8, .zero = 1}).total() == Approx(7.5 * n).epsilon(0.001));
  CHECK(run_memory({.model = c, .trained = 1, .ranks = 8, .zero = 3}).total() == Approx(18 * n / 8).epsilon(0.001));
  const RunMemory cache = run_memory({.model = c, .cache_rows = 4, .cache_columns = 2048});
  CHECK(cache.cache == Approx(4 * (2048.0 * 2 * 32 * 4096 * 2 + 32000 * 4)));
  c.lora.rank = 8;
  const RunMemory adapters = run_memory({.model = c, .trained = 1});
  CHECK(adapters.weights == Approx(2 * n).epsilon(0.01));
  CHECK(adapters.optimizer == Approx(8 * lora_parameters(c)));
  CHECK(to_text(run_memory({.model = c})).starts_with("about 13.6 GB: weights 13.6 GB"));
}
