// Benchmarks of whole steps: training, the optimizer, generation.
#include "autograd/tape.h"
#include "nn/generate.h"
#include "nn/optim.h"
#include "nn/trainer.h"
#include "tensor/parallel.h"
#include "tools/pg/bench.h"
#include "tools/pg/ceilings.h"

namespace pg::tools {

namespace {

TokenBatch random_tokens(Generator& g, int64_t rows, int64_t length, int64_t vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(rows * length)), targets(ids.size());
  for (auto& id : ids) id = static_cast<int32_t>(g.integer(vocab));
  for (auto& id : targets) id = static_cast<int32_t>(g.integer(vocab));
  return {Tensor::from(ids, {rows, length}), Tensor::from(targets, {rows, length})};
}

// Forward and backward of every weight matrix: 6 per parameter and token; of the attention products: 12·L·C·T.
double step_flops(const Gpt2Config& c, int64_t parameters, double tokens) {
  return tokens * (6 * static_cast<double>(parameters - c.block_size * c.n_embd) +
                   12 * static_cast<double>(c.n_layer * c.n_embd * c.block_size));
}

std::vector<Entry> bench_step(const std::string& label, const Gpt2Config& config, int64_t rows, int repeat) {
  Generator init(1);
  Gpt2 model(config, init);
  const int64_t parameters = count_parameters(model);
  Trainer trainer(model, {},
                  [&](Generator& g) { return random_tokens(g, rows, config.block_size, config.vocab_size); });
  trainer.step();  // fills the memory pool
  Entry entry{"train", label, "step"};
  entry.tokens = static_cast<double>(rows * config.block_size);
  entry.flops = step_flops(config, parameters, entry.tokens);
  entry.seconds = time_of([&] { trainer.step(); }, repeat);
  return {entry};
}

std::vector<Entry> bench_generation(const std::string& label, const Gpt2Config& config, int64_t rows, int repeat) {
  Generator init(1);
  Gpt2 model(config, init);
  model.eval();
  GenerateOptions options;
  options.max_new_tokens = config.block_size - 1;
  Entry entry{"generate", label, "with KV cache"};
  entry.tokens = static_cast<double>(rows * options.max_new_tokens);
  const std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(rows), {0});
  entry.seconds = time_of([&] { generate(model, prompts, options); }, repeat);
  return {entry};
}

// CartPole's policy: 4 observations, two layers of 64 units, 2 actions.
struct Mlp : Module {
  Linear fc1, fc2, out;
  explicit Mlp(Generator& g) : fc1(4, 64, true, {g}), fc2(64, 64, true, {g}), out(64, 2, true, {g}) {}
  Tensor operator()(const Tensor& x) const { return out(tanh(fc2(tanh(fc1(x))))); }
  void visit(Visitor& visitor) override {
    visitor("fc1", fc1);
    visitor("fc2", fc2);
    visitor("out", out);
  }
};

std::vector<Entry> bench_mlp(int repeat) {
  Generator g(1);
  Mlp model(g);
  ParamSlab slab(model);
  AdamW adam(slab, {.weight_decay = 0});
  const Tensor x = Tensor::normal({32, 4}, 0, 1, g), one = Tensor::normal({1, 4}, 0, 1, g);
  std::vector<int32_t> actions(32);
  for (auto& action : actions) action = static_cast<int32_t>(g.integer(2));
  const Tensor targets = Tensor::from(actions, {32});
  Entry update{"mlp", "4-64-64-2, 32 rows", "update"}, act{"mlp", "4-64-64-2, 1 row", "logits"};
  update.seconds = time_of(
      [&] {
        slab.zero_grad();
        backward(cross_entropy(model(x), targets));
        adam.step(1e-3);
      },
      repeat);
  const NoGrad no_grad;
  act.seconds = time_of([&] { model(one); }, repeat);
  return {update, act};
}

// AdamW over the size of GPT-2 124M, beside the same traffic without arithmetic: reads of p, g, m, v, writes of p, m,
// v.
std::vector<Entry> bench_adamw(int repeat) {
  constexpr int64_t n = 124'439'808;
  struct Weights : Module {
    Tensor weight = Tensor::zeros({n}).set_requires_grad();
    void visit(Visitor& visitor) override { visitor("weight", weight); }
  } model;
  ParamSlab slab(model);
  AdamW adam(slab);
  backward(sum(model.weight));  // a missing gradient would be filled with zeros at every step
  Entry entry{"adamw", "124M parameters", "step"}, probe{"adamw", "124M parameters", "probe"};
  entry.bytes = probe.bytes = 28.0 * n;
  entry.seconds = time_of([&] { adam.step(1e-3); }, repeat);
  const Tensor p = slab.params(), g = slab.grads(), m = slab.zeros(), v = slab.zeros();
  probe.seconds = time_of(
      [&] {
        parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
          read_modify_write(p.view().as<float>(), g.view().as<float>(), m.view().as<float>(), v.view().as<float>(),
                            begin, end);
        });
      },
      repeat);
  return {entry, probe};
}

// One token of GPT-2 124M per call, beside a matrix-vector product over the same bytes of weights: reading them is the
// least that decoding can cost.
std::vector<Entry> bench_decode(int repeat) {
  constexpr int64_t context = 64;
  Gpt2Config config;
  config.block_size = 2 * context;
  Generator init(1);
  Gpt2 model(config, init);
  model.eval();
  const std::vector<std::vector<int32_t>> prompt(1, std::vector<int32_t>(context, 11));
  GenerateOptions options;
  const auto seconds_of = [&](int64_t tokens) {
    options.max_new_tokens = tokens;
    return time_of([&] { generate(model, prompt, options); }, repeat);
  };
  Entry entry{"decode", "124M, 1 row", "token"}, probe{"decode", "124M, 1 row", "probe"};
  const int64_t parameters = count_parameters(model) - config.block_size * config.n_embd;
  entry.bytes = probe.bytes = 4.0 * static_cast<double>(parameters);
  entry.seconds = (seconds_of(33) - seconds_of(1)) / 32;
  const int64_t rows = parameters / config.n_embd;
  const Tensor weights = Tensor::ones({rows, config.n_embd}), x = Tensor::ones({config.n_embd});
  Tensor y = Tensor::empty({rows});
  probe.seconds = time_of(
      [&] {
        parallel_for(rows, 256, [&](int64_t begin, int64_t end) {
          dot_rows(y.view().as<float>(), weights.view().as<float>(), x.view().as<float>(), begin, end, config.n_embd);
        });
      },
      repeat);
  return {entry, probe};
}

}  // namespace

void add_model_benchmarks(Benchmarks& all) {
  const Gpt2Config lesson4 = {.vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128};
  const Gpt2Config larger = {.vocab_size = 65, .block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384};
  const auto step = [&all](const std::string& label, Gpt2Config config, int64_t rows, bool large = false) {
    all.push_back({"train", label, [=](int repeat) { return bench_step(label, config, rows, repeat); }, large});
  };
  step("lesson 4", lesson4, 12);
  step("6 layers 384 wide, 4 x 256", larger, 4);
  step("6 layers 384 wide, 16 x 256", larger, 16, true);
  for (int64_t length : {64, 256, 1024}) {
    Gpt2Config config;  // GPT-2 124M
    config.block_size = length;
    step(fmt::format("124M, 4 x {}", length), config, 4, true);
  }
  all.push_back({"mlp", "4-64-64-2", bench_mlp});
  all.push_back({"adamw", "124M parameters", bench_adamw, true});
  all.push_back({"decode", "124M, 1 row", bench_decode, true});
  for (int64_t rows : {1, 32}) {
    const std::string label = fmt::format("lesson 4, {} rows", rows);
    all.push_back({"generate", label, [=](int repeat) { return bench_generation(label, lesson4, rows, repeat); }});
  }
}

}  // namespace pg::tools
