// The training loop: resuming, gradient accumulation, errors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "autograd/ops.h"
#include "nn/files/checkpoint.h"
#include "nn/train/trainer.h"
#include "tensor/measure/profile.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::error_of;
using pg::testing::TempDir;
using pg::testing::Threads;
using pg::testing::values_of;

namespace {

TransformerConfig tiny(double dropout = 0, DType dtype = f32) {
  return {.vocab_size = 13,
          .block_size = 16,
          .n_layer = 2,
          .n_head = 2,
          .n_embd = 16,
          .dropout = dropout,
          .bias = true,
          .dtype = dtype};
}

// A motif of four random tokens, repeated: the model can learn it by attending to earlier tokens.
TokenBatch repeating(Generator& g, int64_t rows, int64_t length) {
  Tensor ids = Tensor::empty({rows, length}, i32), targets = Tensor::empty({rows, length}, i32);
  for (int64_t row = 0; row < rows; ++row) {
    int32_t motif[4];
    for (int32_t& id : motif) id = static_cast<int32_t>(g.integer(13));
    for (int64_t t = 0; t < length; ++t) {
      ids.data<int32_t>()[row * length + t] = motif[t % 4];
      targets.data<int32_t>()[row * length + t] = motif[(t + 1) % 4];
    }
  }
  return {ids, targets};
}
// Each token has three possible successors, equally likely.
TokenBatch chain(Generator& g, int64_t rows, int64_t length) {
  Tensor ids = Tensor::empty({rows, length}, i32), targets = Tensor::empty({rows, length}, i32);
  for (int64_t row = 0; row < rows; ++row) {
    auto id = static_cast<int32_t>(g.integer(13));
    for (int64_t t = 0; t < length; ++t) {
      ids.data<int32_t>()[row * length + t] = id;
      id = static_cast<int32_t>((5 * id + 1 + g.integer(3)) % 13);
      targets.data<int32_t>()[row * length + t] = id;
    }
  }
  return {ids, targets};
}
NextBatch batches(int64_t rows, int64_t length = 16) {
  return [=](Generator& g) { return repeating(g, rows, length); };
}

TrainConfig config(int64_t steps) {
  TrainConfig c;
  c.max_steps = steps;
  c.schedule = {.kind = Schedule::Kind::cosine, .lr = 1e-2, .min_lr = 1e-3, .warmup_steps = 3, .decay_steps = steps};
  return c;
}

Transformer seeded(const TransformerConfig& c, uint64_t seed = 1) {
  Generator g(seed);
  return Transformer(c, g);
}

}  // namespace

TEST_CASE("trainer: a small GPT learns to repeat and the loss on fresh batches falls", "[nn][trainer]") {
  Transformer model = seeded(tiny());
  Trainer trainer(model, config(500), batches(16));
  const double before = trainer.evaluate(batches(16), 4);
  CHECK(before == Approx(std::log(13.0)).epsilon(0.02));
  CHECK(before == trainer.evaluate(batches(16), 4));
  std::vector<StepReport> reports;
  CHECK(trainer.run({.on_step = [&](const StepReport& r) { reports.push_back(r); }}));
  REQUIRE(reports.size() == 500);
  CHECK(reports[0].loss == Approx(std::log(13.0)).epsilon(0.03));
  CHECK(reports[0].step == 1);
  CHECK(reports[0].tokens == 256);
  CHECK(reports[0].lr == Approx(1e-2 / 4));
  CHECK(reports[0].grad_norm > 0);
  // Three of the sixteen targets are random, ln 13 nats each; all others are predictable.
  const double floor = 3 * std::log(13.0) / 16, after = trainer.evaluate(batches(16), 20);
  CHECK(after < floor + 0.1);
  CHECK(after > floor - 0.01);
}

TEST_CASE("trainer: ten steps on the plain backend are those on the CPU, to rounding", "[nn][trainer][plain]") {
  const auto trained = [](Device device) {
    Transformer model = seeded(tiny(0.1, f64));
    model.to(device);
    Trainer trainer(model, config(10), batches(3));
    std::vector<double> values;
    while (trainer.steps() < 10) values.push_back(trainer.step().loss);
    const std::vector<double> weights = values_of(named_parameters(model));
    values.insert(values.end(), weights.begin(), weights.end());
    return values;
  };
  const std::vector<double> cpu = trained({}), plain = trained({Device::Kind::plain});
  REQUIRE(cpu.size() == plain.size());
  for (size_t i = 0; i < cpu.size(); ++i) {
    INFO(i);
    CHECK(std::abs(cpu[i] - plain[i]) < 1e-10);
  }
}

TEST_CASE("trainer: one batch is memorised", "[nn][trainer]") {
  Transformer model = seeded(tiny());
  Generator g(3);
  TokenBatch batch = repeating(g, 4, 16);
  for (int32_t& id : batch.targets.data<int32_t>()) id = static_cast<int32_t>(g.integer(13));  // can only be memorized
  Trainer trainer(model, config(300), [&](Generator&) { return batch; });
  double loss = 0;
  trainer.run({.on_step = [&](const StepReport& r) { loss = r.loss; }});
  CHECK(loss < 0.05);
}

TEST_CASE("trainer: the same bits for any number of threads", "[nn][trainer]") {
  std::vector<double> reference;
  for (int threads : {1, 2, 3}) {
    const Threads guard(threads);
    Transformer model = seeded(tiny(0.1));
    Trainer trainer(model, config(6), batches(7));
    trainer.run({});
    if (threads == 1) reference = values_of(named_parameters(model));
    CHECK(values_of(named_parameters(model)) == reference);
  }
}

TEST_CASE("trainer: bf16 learns as f32 does", "[nn][trainer][bf16]") {
  std::vector<double> losses[2];
  for (int i = 0; i < 2; ++i) {
    Transformer model = seeded(tiny(0, i == 0 ? f32 : bf16));
    Trainer trainer(model, config(300), [](Generator& g) { return chain(g, 16, 16); });
    double sum = 0;
    trainer.run({.on_step = [&](const StepReport& r) {
      sum += r.loss / 20;
      if (r.step % 20 == 0) losses[i].push_back(std::exchange(sum, 0));
    }});
  }
  for (size_t k = 0; k < losses[0].size(); ++k) {
    INFO("steps " << 20 * k << " to " << 20 * k + 19);
    CHECK(losses[1][k] == Approx(losses[0][k]).margin(0.01));
  }
  CHECK(losses[1].back() == Approx(std::log(3.0)).margin(0.02));
}

TEST_CASE("trainer: a resumed run has the bits of one that never stopped", "[nn][trainer]") {
  const DType dtype = GENERATE(f32, bf16);
  const bool stochastic = GENERATE(false, true);
  TrainConfig recipe = config(12);
  recipe.adamw.stochastic_rounding = stochastic;
  TempDir dir;
  const std::string path = dir.file("checkpoint.safetensors");
  Transformer whole = seeded(tiny(0.2, dtype));
  Trainer uninterrupted(whole, recipe, batches(4));
  uninterrupted.run({});

  {
    Transformer model = seeded(tiny(0.2, dtype));
    Trainer trainer(model, recipe, batches(4));
    CHECK_FALSE(trainer.run({.should_stop = [&] { return trainer.steps() == 5; }}));
    trainer.save(path, {{"config", "anything: 1\n"}, {"tokenizer", "{}"}});
  }
  manual_seed(999);
  const Checkpoint checkpoint = load_checkpoint(path);
  CHECK(checkpoint.state.step == 5);
  CHECK(checkpoint.text("config") == "anything: 1\n");
  Transformer model = seeded(transformer_config_from_json(checkpoint.text("model")), 77);
  Trainer trainer(model, recipe, batches(4));
  trainer.resume(checkpoint);
  CHECK(trainer.steps() == 5);
  trainer.evaluate(batches(4), 3);  // has no effect on training
  CHECK(trainer.run({}));
  CHECK(values_of(named_parameters(model)) == values_of(named_parameters(whole)));

  TransformerConfig other = tiny(0, dtype);
  other.n_layer = 1;
  Transformer small = seeded(other);
  Trainer wrong(small, recipe, batches(4));
  CHECK(error_of([&] { wrong.resume(checkpoint); }).find("of another model: it has n-layer 2, not 1") !=
        std::string::npos);
}

TEST_CASE("trainer: a stop waited for the end of the step", "[nn][trainer]") {
  TrainConfig recipe = config(3);
  recipe.micro_batches = 6;
  Transformer whole = seeded(tiny(0.2));
  Trainer uninterrupted(whole, recipe, batches(2));
  uninterrupted.run({});
  TempDir dir;
  const std::string path = dir.file("checkpoint.safetensors");
  // A step asks six times: before it, and before each micro-batch but the first.
  for (const int stop_at : {2, 6, 7, 9, 18}) {
    INFO("stopped by question " << stop_at);
    Transformer model = seeded(tiny(0.2));
    Trainer trainer(model, recipe, batches(2));
    int asked = 0, steps = 0;
    TrainHooks hooks;
    hooks.on_step = [&](const StepReport&) { ++steps; };
    hooks.should_stop = [&] { return ++asked == stop_at; };
    CHECK_FALSE(trainer.run(hooks));
    CHECK(asked == stop_at);
    CHECK(steps == (stop_at - 1) / 6);
    CHECK(trainer.steps() == steps);
    trainer.save(path);
    CHECK(trainer.run({}));  // goes on
    CHECK(values_of(named_parameters(model)) == values_of(named_parameters(whole)));

    Transformer other = seeded(tiny(0.2), 77);
    Trainer resumed(other, recipe, batches(2));
    resumed.resume(load_checkpoint(path));
    CHECK(resumed.run({}));
    CHECK(values_of(named_parameters(other)) == values_of(named_parameters(whole)));
  }
}

TEST_CASE("trainer: accumulated micro-batches equal one big batch", "[nn][trainer]") {
  // The same eight rows, as one batch and as four micro-batches of two rows. Some targets are ignored, and their number
  // differs between the micro-batches.
  Generator g(4);
  TokenBatch all = repeating(g, 8, 16);
  for (int i = 0; i < 20; ++i) all.targets.data<int32_t>()[static_cast<size_t>(g.integer(64))] = -100;
  const auto run = [&](int64_t parts, Transformer& model) {
    TrainConfig c = config(1);
    c.micro_batches = parts;
    int64_t next = 0;
    const int64_t rows = 8 / parts;
    Trainer trainer(model, c, [&](Generator&) {
      const int64_t begin = rows * next++;
      return TokenBatch{all.ids.view_slice(0, begin, begin + rows), all.targets.view_slice(0, begin, begin + rows)};
    });
    const StepReport report = trainer.step();
    std::vector<std::pair<std::string, Tensor>> gradients;
    for (const auto& [name, parameter] : named_parameters(model))
      gradients.emplace_back(name, parameter.grad().clone());
    return std::pair(report, gradients);
  };
  Transformer a = seeded(tiny()), b = seeded(tiny());
  const auto [big, big_gradients] = run(1, a);
  const auto [small, small_gradients] = run(4, b);
  CHECK(small.tokens == big.tokens);
  CHECK(small.loss == Approx(big.loss).epsilon(1e-6));
  CHECK(small.grad_norm == Approx(big.grad_norm).epsilon(1e-6));
  for (size_t i = 0; i < big_gradients.size(); ++i) {
    const auto& [name, want] = big_gradients[i];
    const auto x = want.to_vector(), y = small_gradients[i].second.to_vector();
    INFO(name);
    double difference = 0, size = 0;
    for (size_t j = 0; j < x.size(); ++j) difference += (x[j] - y[j]) * (x[j] - y[j]), size += x[j] * x[j];
    CHECK(std::sqrt(difference) <= 1e-6 * std::sqrt(size));
  }

  // To the bit, the sum of the gradients of the micro-batches in their order.
  Transformer model = seeded(tiny());
  model.train();
  std::vector<std::vector<float>> sums(small_gradients.size());
  const Tensor per_token = Tensor::scalar(1 / static_cast<double>(small.tokens), f32);
  for (int64_t row = 0; row < 8; row += 2) {
    for (const auto& [name, parameter] : named_parameters(model)) parameter.zero_grad();
    CrossEntropyOptions options;
    options.reduction = Reduction::sum;
    options.ignore_index = -100;
    backward(
        cross_entropy(model(all.ids.view_slice(0, row, row + 2)), all.targets.view_slice(0, row, row + 2), options),
        per_token);
    size_t i = 0;
    for (const auto& [name, parameter] : named_parameters(model)) {
      const Tensor gradient = parameter.grad().contiguous_copy();
      const auto g_i = gradient.data<const float>();
      if (row == 0) sums[i].assign(g_i.begin(), g_i.end());
      for (size_t j = 0; row > 0 && j < g_i.size(); ++j) sums[i][j] += g_i[j];
      ++i;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    INFO(small_gradients[i].first);
    CHECK(small_gradients[i].second.to_vector() == std::vector<double>(sums[i].begin(), sums[i].end()));
  }
}

TEST_CASE("trainer: hooks are called at their intervals", "[nn][trainer]") {
  TrainConfig c = config(7);
  c.eval_interval = 3;
  c.checkpoint_interval = 2;
  std::string order;
  const TrainHooks hooks{.on_step = [&](const StepReport& r) { order += fmt::format("s{} ", r.step); },
                         .on_eval = [&](int64_t step) { order += fmt::format("e{} ", step); },
                         .on_checkpoint = [&](int64_t step) { order += fmt::format("c{} ", step); },
                         .should_stop = {}};
  Transformer model = seeded(tiny());
  Trainer trainer(model, c, batches(1, 4));
  CHECK(trainer.run(hooks));
  CHECK(order == "e0 s1 s2 c2 s3 e3 s4 c4 s5 s6 e6 c6 s7 e7 c7 ");
}

TEST_CASE("trainer: invalid batches are errors", "[nn][trainer]") {
  Transformer model = seeded(tiny());
  Trainer ignored(model, config(1), [](Generator&) {
    return TokenBatch{Tensor::zeros({1, 4}, i32), Tensor::full({1, 4}, -100, i32)};
  });
  CHECK(error_of([&] { ignored.step(); }) == "Trainer: the batch of step 1 has no target");
  Transformer other = seeded(tiny());
  Trainer uneven(other, config(1), [](Generator&) {
    return TokenBatch{Tensor::zeros({1, 4}, i32), Tensor::zeros({1, 5}, i32)};
  });
  CHECK(error_of([&] { uneven.step(); }).find("must have one shape, got [1, 4] and [1, 5]") != std::string::npos);
}

TEST_CASE("trainer: checkpointed blocks give the same bits in less memory", "[nn][trainer]") {
  const DType dtype = GENERATE(f32, bf16);
  std::vector<double> parameters[2];
  StepMemory memory[2];
  for (int i = 0; i < 2; ++i) {
    TransformerConfig c = tiny(0.1, dtype);
    c.n_layer = 6;
    Transformer model = seeded(c);
    model.checkpoint_blocks = i == 1;
    Trainer trainer(model, config(3), batches(16));
    trainer.run({});
    parameters[i] = values_of(named_parameters(model));
    memory[i] = trainer.memory();
  }
  CHECK(parameters[0] == parameters[1]);
  CHECK(memory[0].weights == memory[1].weights);
  CHECK(memory[0].optimizer == 2 * 4 * parameters[0].size());  // mean and mean square, in f32 even for bf16 weights
  CHECK(2 * memory[1].activations < memory[0].activations);
}

TEST_CASE("trainer: logits and their gradient share one block of memory", "[nn][trainer]") {
  constexpr int64_t vocabulary = 20000, tokens = 16;
  TransformerConfig c = tiny();
  c.vocab_size = vocabulary;
  Transformer model = seeded(c);
  Trainer trainer(model, config(2), [](Generator& g) { return repeating(g, 1, tokens); });
  trainer.run({});
  const size_t logits = 4 * vocabulary * tokens;
  CHECK(trainer.memory().activations > logits);
  CHECK(trainer.memory().activations < logits + logits / 4);
}

// That the bits are those of a separate backward pass is part of the test of accumulated micro-batches.
TEST_CASE("trainer: the forward pass writes the gradient of the logits over them", "[nn][trainer]") {
  TrainConfig c = config(3);
  c.micro_batches = 2;
  Transformer model = seeded(tiny());
  Trainer trainer(model, c, batches(2));
  const Profile profile;
  trainer.run({});
  std::map<std::string, int64_t> calls;
  for (const ProfileEntry& entry : profile.entries()) calls[entry.kernel] = entry.calls;
  CHECK(calls["cross_entropy_with_gradient"] == 6);
  CHECK(calls["cross_entropy"] == 0);
  CHECK(calls["cross_entropy_backward"] == 0);
  trainer.evaluate(batches(2), 1);
  for (const ProfileEntry& entry : profile.entries()) calls[entry.kernel] = entry.calls;
  CHECK(calls["cross_entropy_with_gradient"] == 6);
  CHECK(calls["cross_entropy"] == 1);
}
