// Benchmarks of whole steps: training, the optimizer, generation.
#include "nn/generate.h"
#include "nn/trainer.h"
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
  for (int64_t rows : {1, 32}) {
    const std::string label = fmt::format("lesson 4, {} rows", rows);
    all.push_back({"generate", label, [=](int repeat) { return bench_generation(label, lesson4, rows, repeat); }});
  }
}

}  // namespace pg::tools
