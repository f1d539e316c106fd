// The transformer as a masked denoiser: bidirectional attention, what refuses it, training.
#include "autograd/ops.h"
#include "nn/decode/generate.h"
#include "nn/decode/kv_cache.h"
#include "nn/files/checkpoint.h"
#include "nn/files/pretrained.h"
#include "nn/train/trainer.h"
#include "tests/nn/denoiser_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

TokenBatch batch_of(const MaskedTokens& tokens) {
  TokenBatch batch{tokens.ids, tokens.targets};
  batch.weights = tokens.weights;
  return batch;
}

// Sequences of 8 tokens that count up from a random token, of 11.
NextBatch counting(int64_t rows, MaskedTokens (*mask)(const Tensor&, int32_t, Generator&) = mask_tokens) {
  return [rows, mask](Generator& g) {
    const Tensor ids = Tensor::empty({rows, 8}, i32);
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t first = g.integer(11);
      for (int64_t i = 0; i < 8; ++i) ids.data<int32_t>()[row * 8 + i] = static_cast<int32_t>((first + i) % 11);
    }
    return batch_of(mask(ids, 11, g));
  };
}

TrainConfig recipe(int64_t steps) {
  TrainConfig c;
  c.max_steps = steps;
  c.schedule = {.kind = Schedule::Kind::cosine, .lr = 1e-2, .min_lr = 1e-3, .warmup_steps = 3, .decay_steps = steps};
  return c;
}

}  // namespace

TEST_CASE("denoiser: every position sees all tokens", "[nn][denoiser]") {
  const Transformer model = small_denoiser();
  Tensor ids = integers({1, 8}, 4, 11);
  const std::vector<double> before = model(ids).to_vector();
  ids.data<int32_t>()[7] = (ids.data<int32_t>()[7] + 1) % 11;
  const std::vector<double> after = model(ids).to_vector();
  for (size_t i = 0; i < 8; ++i) {
    CHECK(!std::equal(before.begin() + 12 * i, before.begin() + 12 * (i + 1), after.begin() + 12 * i));
  }
}

TEST_CASE("denoiser: only what reads all tokens at once takes a bidirectional model", "[nn][denoiser]") {
  Transformer model = small_denoiser(),
              causal(TransformerConfig{.vocab_size = 12, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16});
  const Tensor ids = integers({1, 8}, 4, 11);
  const auto bidirectional = [](const std::function<void()>& f) {
    return contains(error_of(f), "the model's attention is bidirectional");
  };
  CHECK(bidirectional([&] { generate(model, {{1, 2}}, {}); }));
  CHECK(bidirectional([&] { model.new_cache(1); }));
  const KvCache cache = causal.new_cache(1);
  CHECK(bidirectional([&] {
    NoGrad no_grad;
    model.hidden(ids, &cache);
  }));
  CHECK(bidirectional([&] { model.hidden(PackedBatch{1, 8, ids, ids, ids, ids}); }));
  CHECK(bidirectional([&] {
    TempDir dir;
    save_pretrained(model, dir.file("folder"));
  }));
  const NextBatch next_token = [&](Generator&) { return TokenBatch{ids, ids}; };
  CHECK(bidirectional([&] { Trainer(model, recipe(1), next_token).step(); }));
  CHECK(contains(error_of([&] { masked_denoiser(causal); }), "attention is causal"));
  CHECK(contains(error_of([&] { Trainer(causal, recipe(1), counting(2)).step(); }), "attention is causal"));
  const CausalSelfAttention layer({.n_head = 1, .n_embd = 16, .causal = false});
  CHECK(contains(error_of([&] { layer(Tensor::zeros({1, 16}), PackedBatch{}); }), "packed rows need causal"));
  CHECK(contains(error_of([&] { layer(Tensor::zeros({1, 1, 16}), KvSlot{}); }), "KV cache needs causal"));
}

TEST_CASE("denoiser: rotary positions and shared heads are bidirectional too", "[nn][denoiser]") {
  Generator g(1);
  const Transformer model({.vocab_size = 12,
                           .block_size = 8,
                           .n_layer = 1,
                           .n_head = 2,
                           .n_embd = 16,
                           .n_kv_head = 1,
                           .positions = Positions::rope,
                           .causal = false},
                          g);
  Tensor ids = integers({1, 8}, 4, 11);
  const std::vector<double> before = model(ids).to_vector();
  ids.data<int32_t>()[7] = (ids.data<int32_t>()[7] + 1) % 11;
  CHECK(!std::equal(before.begin(), before.begin() + 12, model(ids).to_vector().begin()));
}

TEST_CASE("denoiser: the configuration names the attention only where it is bidirectional", "[nn][denoiser]") {
  TransformerConfig config;
  CHECK(!contains(to_json(config), "causal"));
  config.causal = false;
  CHECK(contains(to_json(config), "\"causal\":false"));
  CHECK(transformer_config_from_json(to_json(config)) == config);
}

TEST_CASE("denoiser: training lowers the bound", "[nn][denoiser][trainer]") {
  Generator g(1);
  Transformer model({.vocab_size = 12,
                     .block_size = 8,
                     .n_layer = 2,
                     .n_head = 2,
                     .n_embd = 32,
                     .in_proj_std = 0.18,
                     .causal = false},
                    g);
  Trainer trainer(model, recipe(600), counting(32));
  const double before = trainer.evaluate(counting(32, mask_counts), 20);
  CHECK(before == Approx(std::log(11.0)).epsilon(0.05));
  StepReport last;
  trainer.run({.on_step = [&](const StepReport& report) { last = report; }});
  CHECK(last.tokens == 32 * 8);
  // One visible token determines the others. So the best model loses ln 11 nats for each token where all eight are
  // masked, which is one row in eight of each batch, and nothing elsewhere. That is the entropy: ln 11 in eight tokens.
  const double entropy = std::log(11.0) / 8, after = trainer.evaluate(counting(32, mask_counts), 20);
  CHECK(after < entropy + 0.1);
  CHECK(after > entropy - 0.05);
}

TEST_CASE("denoiser: a resumed run has the bits of one that never stopped", "[nn][denoiser][trainer]") {
  TempDir dir;
  const auto parameters = [](Module& model) { return values_of(named_parameters(model)); };
  std::vector<double> whole;
  for (const int threads : {1, 2, 3}) {
    const Threads guard(threads);
    Transformer model = small_denoiser(f32, 0.2);
    Trainer trainer(model, recipe(6), counting(5));
    for (int i = 0; i < 6; ++i) {
      if (i == 3) trainer.save(dir.file("checkpoint.safetensors"));
      trainer.step();
    }
    if (threads == 1) whole = parameters(model);
    CHECK(parameters(model) == whole);
  }
  Transformer model = small_denoiser(f32, 0.2, 2);
  Trainer trainer(model, recipe(6), counting(5));
  trainer.resume(load_checkpoint(dir.file("checkpoint.safetensors")));
  trainer.run({});
  CHECK(parameters(model) == whole);
  // A causal model of the same sizes is another model.
  TransformerConfig config = model.config;
  config.causal = true;
  Transformer causal(config);
  Trainer other(causal, recipe(6), counting(5));
  CHECK(contains(error_of([&] { other.resume(load_checkpoint(dir.file("checkpoint.safetensors"))); }),
                 "of another model"));
}

TEST_CASE("denoiser: recomputed blocks give the same gradients", "[nn][denoiser]") {
  Transformer model = small_denoiser();
  Generator g(9);
  const MaskedTokens tokens = mask_tokens(integers({3, 8}, 8, 11), 11, g);
  std::vector<std::vector<double>> gradients[2];
  for (const bool recompute : {false, true}) {
    model.checkpoint_blocks = recompute;
    backward(summed_denoising_loss(masked_denoiser(model), tokens));
    for (const auto& [name, parameter] : named_parameters(model)) {
      gradients[recompute].push_back(parameter.grad().to_vector());
      parameter.zero_grad();
    }
  }
  CHECK(gradients[0] == gradients[1]);
}
