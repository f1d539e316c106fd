// Benchmarks of whole steps: training, the optimizer.
#include "autograd/tape.h"
#include "nn/files/pretrained.h"
#include "nn/optim.h"
#include "nn/train/trainer.h"
#include "tensor/base/parallel.h"
#include "tools/pg/bench/bench.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

namespace {

TokenBatch random_tokens(Generator& g, int64_t rows, int64_t length, int64_t vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(rows * length)), targets(ids.size());
  for (auto& id : ids) id = static_cast<int32_t>(g.integer(vocab));
  for (auto& id : targets) id = static_cast<int32_t>(g.integer(vocab));
  return {Tensor::from(ids, {rows, length}), Tensor::from(targets, {rows, length})};
}

// FLOPs of forward and backward. Weight matrices: 6 per parameter and token. Attention products: 12·L·C·T per token, as
// nanoGPT counts, or half of it. llm.c counts that half, and also 6 for each position embedding.
void count_flops(Entry& entry, Transformer& model, int64_t length) {
  const TransformerConfig& c = model.config;
  const double positions = c.positions == Positions::learned ? static_cast<double>(c.block_size * c.n_embd) : 0;
  const double products = 6 * static_cast<double>(count_parameters(model));
  const double attention = 12 * static_cast<double>(c.n_layer * c.n_head * c.head_width() * length);
  entry.flops = entry.tokens * (products - 6 * positions + attention);
  entry.flops_causal = entry.tokens * (products + attention / 2);
}

constexpr int kChecked = 3;  // steps whose losses are compared with another engine

std::vector<Entry> bench_step(const std::string& label, const BenchModel& make, int64_t rows, int64_t length,
                              const BenchSettings& settings, int repeat) {
  const GivenWeights& given = settings.given;
  Transformer model = make();
  model.to(settings.device);
  Generator random(1);
  TrainConfig recipe;
  recipe.schedule.kind = Schedule::Kind::constant;
  if (!settings.model.empty()) recipe.schedule.lr = 1e-5;  // of fine-tuning: 1e-3 would amplify rounding
  const TokenBatch batch = given ? TokenBatch{given->at("ids"), given->at("targets")}
                                 : random_tokens(random, rows, length, model.config.vocab_size);
  Trainer trainer(model, recipe, [&](Generator&) { return batch; });
  Entry entry{"train", label, "step"};
  if (given) {
    for (int i = 0; i < kChecked; ++i) entry.check.push_back(trainer.step().loss);
  }
  trainer.step();  // fills the memory pool
  entry.tokens = static_cast<double>(rows * length);
  count_flops(entry, model, length);
  entry.timing = time_steps(
      settings.device, [&] { trainer.step(); }, repeat);
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

std::vector<Entry> bench_mlp(const GivenWeights& given, int repeat) {
  Generator g(1);
  Mlp model(g);
  take_weights(model, given);
  ParamSlab slab(model);
  AdamW adam(slab, {.weight_decay = 0});
  std::vector<int32_t> actions(32);
  for (auto& action : actions) action = static_cast<int32_t>(g.integer(2));
  const Tensor x = given ? given->at("x") : Tensor::normal({32, 4}, 0, 1, g);
  const Tensor targets = given ? given->at("targets") : Tensor::from(actions, {32});
  const Tensor one = slice(x, 0, 0, 1);
  Entry update{"mlp", "4-64-64-2, 32 rows", "update"}, act{"mlp", "4-64-64-2, 1 row", "logits"};
  {
    const NoGrad no_grad;
    act.check = model(one).to_vector();
    act.timing = time_of([&] { model(one); }, repeat);
  }
  const auto step = [&] {
    slab.zero_grad();
    const Tensor loss = cross_entropy(model(x), targets);
    backward(loss);
    adam.step(1e-3);
    return loss;
  };
  for (int i = 0; i < kChecked; ++i) update.check.push_back(step().item());
  update.timing = time_of(step, repeat);
  return {update, act};
}

// AdamW at the size of GPT-2 124M, and a probe with the same memory traffic without AdamW's arithmetic: reads of p, g,
// m, v, writes of p, m, v.
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
  entry.timing = time_of([&] { adam.step(1e-3); }, repeat);
  const Tensor p = slab.params(), g = slab.grads(), m = slab.zeros(), v = slab.zeros();
  probe.timing = time_of(
      [&] {
        parallel_for(n, 1 << 16, [&](int64_t begin, int64_t end) {
          read_modify_write(p.view().as<float>(), g.view().as<float>(), m.view().as<float>(), v.view().as<float>(),
                            begin, end);
        });
      },
      repeat);
  return {entry, probe};
}

}  // namespace

void take_weights(Module& model, const GivenWeights& given) {
  if (!given) return;
  NamedTensors weights;
  for (const auto& [name, parameter] : named_parameters(model)) weights.emplace_back(name, given->at(name));
  load_state_dict(model, weights);
}

BenchModel random_model(const TransformerConfig& config, const GivenWeights& given) {
  return [=] {
    Generator init(1);
    Transformer model(config, init);
    take_weights(model, given);
    return model;
  };
}

BenchModel pretrained_model(const BenchSettings& settings) {
  return [path = settings.model, dtype = settings.dtype] { return load_pretrained(path, dtype); };
}

void add_model_benchmarks(Benchmarks& all, const BenchSettings& settings) {
  if (!settings.model.empty()) {
    const std::string label = settings.model + ", 4 x 256";
    const BenchModel make = pretrained_model(settings);
    all.push_back({"train", label, [=](int repeat) { return bench_step(label, make, 4, 256, settings, repeat); }});
    return;
  }
  const auto step = [&](const std::string& label, TransformerConfig config, int64_t rows, bool large = false) {
    config.dtype = settings.dtype;
    all.push_back({"train", label,
                   [=, make = random_model(config, settings.given)](int repeat) {
                     return bench_step(label, make, rows, config.block_size, settings, repeat);
                   },
                   large});
  };
  if (!settings.device.on_host()) {
    for (int64_t rows : {64, 32, 16}) step(fmt::format("124M, {} x 1024", rows), {.vocab_size = 50304}, rows);
    step("124M, vocabulary 50257, 16 x 1024", {}, 16);
    return;
  }
  const GivenWeights given = settings.given;
  const TransformerConfig lesson4 = {.vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128};
  const TransformerConfig larger = {.vocab_size = 65, .block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384};
  step("lesson 4", lesson4, 12);
  step("6 layers 384 wide, 4 x 256", larger, 4);
  step("6 layers 384 wide, 16 x 256", larger, 16, true);
  for (int64_t length : {64, 256, 1024}) {
    TransformerConfig config;  // GPT-2 124M
    config.block_size = length;
    step(fmt::format("124M, 4 x {}", length), config, 4, true);
  }
  all.push_back({"mlp", "4-64-64-2", [=](int repeat) { return bench_mlp(given, repeat); }});
  all.push_back({"adamw", "124M parameters", bench_adamw, true});
}

}  // namespace pg::tools
