// Benchmarks of generation: prefill and decoding.
#include "nn/decode/generate.h"

#include <algorithm>

#include "nn/variants/int8.h"
#include "tensor/base/clock.h"
#include "tensor/base/parallel.h"
#include "tools/pg/bench/bench.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

namespace {

// Tokens after the first. A GPU decodes one in less than a millisecond.
constexpr int64_t kDecoded = 32, kDecodedOnGpu = 128;

std::vector<std::vector<int32_t>> random_prompts(int64_t rows, int64_t length, int64_t vocab,
                                                 const GivenWeights& given) {
  std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(rows),
                                            std::vector<int32_t>(static_cast<size_t>(length)));
  if (given) {
    const Tensor& ids = given->at("ids");
    check(ids.dtype() == i32 && ids.shape() == Shape{rows, length}, "bench: ids {} {}, expected i32 [{}, {}]",
          ids.dtype(), ids.shape(), rows, length);
    auto from = ids.data<int32_t>().begin();
    for (auto& prompt : prompts) {
      for (auto& id : prompt) id = *from++;
    }
    return prompts;
  }
  Generator g(2);
  for (auto& prompt : prompts) {
    for (auto& id : prompt) id = static_cast<int32_t>(g.integer(vocab));
  }
  return prompts;
}

struct Timed {
  Timing first, rest;  // time until every row has its first token; then the time per token of all rows, to the last
  std::vector<double> log_probs;  // of the first tokens, mean over the rows
};

// Times `repeat` runs. The run before them is greedy and gives the log-probabilities; if the others sample, another run
// comes in between: on a GPU a run with these options records the graphs that the later ones launch.
Timed time_generation(Transformer& model, const std::vector<std::vector<int32_t>>& prompts, int64_t tokens, int repeat,
                      bool greedy = true) {
  Timed timed;
  std::vector<double> first_samples, rest_samples;
  GenerateOptions options;
  options.max_new_tokens = tokens;
  const int warm_up = greedy ? 1 : 2;
  Sampler sampler(model);
  for (int run = 0; run < warm_up + repeat; ++run) {
    options.greedy = greedy || run == 0;
    const size_t all_tokens = prompts.size() * static_cast<size_t>(tokens);
    size_t made = 0;
    const Timer timer;
    double first = 0, last = 0;
    options.on_token = [&](int64_t, int32_t) {
      ++made;
      if (made == prompts.size()) first = timer.seconds();
      if (made == all_tokens) last = timer.seconds();
    };
    const std::vector<Generated> all = sampler.generate(prompts, options);
    check(made == all_tokens, "bench: {} tokens were generated instead of {}", made, all_tokens);
    if (run >= warm_up) {
      first_samples.push_back(first);
      if (tokens > 1) rest_samples.push_back((last - first) / static_cast<double>(tokens - 1));
    }
    if (run > 0) continue;
    timed.log_probs.resize(static_cast<size_t>(std::min<int64_t>(tokens, 3)));
    for (const Generated& row : all) {
      for (size_t i = 0; i < timed.log_probs.size(); ++i) {
        timed.log_probs[i] += row.log_probs[i] / static_cast<double>(all.size());
      }
    }
  }
  timed.first = timing_of(first_samples);
  timed.rest = timing_of(rest_samples);
  return timed;
}

std::vector<Entry> bench_generation(const std::string& label, const BenchModel& make, int64_t rows, int repeat) {
  Transformer model = make();
  model.eval();
  GenerateOptions options;
  options.max_new_tokens = model.config.block_size - 1;
  Entry entry{"generate", label, "with KV cache"};
  entry.tokens = static_cast<double>(rows * options.max_new_tokens);
  const std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(rows), {0});
  Sampler sampler(model);
  entry.timing = time_of([&] { sampler.generate(prompts, options); }, repeat);
  return {entry};
}

// A matrix-vector product over the bytes of the weights: decoding one row cannot be faster than reading them.
Timing time_reading(int64_t rows, int64_t width, DType dtype, int repeat) {
  const Tensor weights = Tensor::ones({rows, width}, dtype), x = Tensor::ones({width});
  const Tensor y = Tensor::empty({rows});
  const auto run = [&]<class S>(const S* from) {
    parallel_for(rows, 256, [&](int64_t begin, int64_t end) {
      dot_rows(y.view().as<float>(), from, x.view().as<float>(), begin, end, width);
    });
  };
  return time_of(
      [&] { dtype == bf16 ? run(weights.view().as<const BFloat16>()) : run(weights.view().as<const float>()); },
      repeat);
}

// Parameters of the blocks and their norms.
int64_t block_parameters(Transformer& model) {
  int64_t count = count_parameters(model) - model.wte.weight.numel();
  if (model.wpe.weight.defined()) count -= model.wpe.weight.numel();
  return model.lm_head ? count - model.lm_head->weight.numel() : count;
}

// One token of every row per call. With one row the time is bound by reading the weights, with many by arithmetic.
// Bytes of 8-bit weights are those of the integers, and the probe reads as many bytes of bf16.
std::vector<Entry> bench_decode(const std::string& label, const BenchModel& make, int64_t rows, bool int8,
                                const GivenWeights& given, int repeat) {
  constexpr int64_t context = 64;
  Transformer model = make();
  const TransformerConfig& config = model.config;
  const auto prompts = random_prompts(rows, context, config.vocab_size, given);
  const auto parameters = static_cast<double>(block_parameters(model) + config.vocab_size * config.n_embd);
  if (int8) quantize_weights(model);
  const Timed timed = time_generation(model, prompts, 1 + kDecoded, repeat);
  Entry entry{"decode", label, "token"};
  entry.timing = timed.rest;
  entry.check = timed.log_probs;
  entry.tokens = static_cast<double>(rows);
  if (rows > 1) {
    entry.flops = 2 * parameters * static_cast<double>(rows);
    return {entry};
  }
  Entry probe{"decode", label, "probe"};
  entry.bytes = probe.bytes = (int8 ? 1 : static_cast<double>(size_of(config.dtype))) * parameters;
  const DType read = int8 ? bf16 : config.dtype;
  const auto elements = static_cast<int64_t>(entry.bytes) / static_cast<int64_t>(size_of(read));
  probe.timing = time_reading(elements / config.n_embd, config.n_embd, read, repeat);
  return {entry, probe};
}

// bench_decode() on a CUDA device: many rows after a long context, sampled instead of greedy. Bytes are those of the
// weights, once, and of the keys and values of the context, for each row.
std::vector<Entry> bench_cuda_decode(const std::string& label, const BenchModel& make, int64_t rows, int64_t context,
                                     const BenchSettings& settings, int repeat) {
  Transformer model = make();
  const TransformerConfig& config = model.config;
  model.to(settings.device);
  const auto prompts = random_prompts(rows, context, config.vocab_size, settings.given);
  const Timed timed = time_generation(model, prompts, 1 + kDecodedOnGpu, repeat, false);
  const int64_t blocks = block_parameters(model), parameters = blocks + config.vocab_size * config.n_embd;
  const double cached = static_cast<double>(rows * (context + kDecodedOnGpu / 2)) * cache_bytes_per_token(config);
  Entry token{"decode", label, "token"}, prompt{"decode", label, "prompts"};
  token.timing = timed.rest;
  token.check = timed.log_probs;
  token.tokens = static_cast<double>(rows);
  token.bytes = static_cast<double>(size_of(config.dtype)) * static_cast<double>(parameters) + cached;
  prompt.timing = timed.first;
  prompt.tokens = static_cast<double>(rows * context);
  prompt.flops = prompt.tokens * 2 * static_cast<double>(blocks);
  return {token, prompt};
}

// Prefill of a prompt and selection of the first token: logits of the last position only.
std::vector<Entry> bench_prefill(const std::string& label, const BenchModel& make, int64_t length,
                                 const GivenWeights& given, int repeat) {
  Transformer model = make();
  const TransformerConfig& config = model.config;
  const Timed timed = time_generation(model, random_prompts(1, length, config.vocab_size, given), 1, repeat);
  const int64_t attention = 2 * config.n_layer * config.n_head * config.head_width() * length;
  Entry entry{"prefill", label, "prompt"};
  entry.tokens = static_cast<double>(length);
  entry.flops = entry.tokens * static_cast<double>(2 * block_parameters(model) + attention);
  entry.timing = timed.first;
  entry.check = timed.log_probs;
  return {entry};
}

}  // namespace

void add_generation_benchmarks(Benchmarks& all, const BenchSettings& settings) {
  const GivenWeights given = settings.given;
  const DType dtype = settings.dtype;
  const bool of_gpt2 = settings.model.empty();
  const auto decode = [&](const std::string& model, const BenchModel& make, int64_t rows, int64_t context = 0,
                          bool int8 = false) {
    const std::string label =
        context > 0 ? fmt::format("{}, {} x {}", model, rows, context)
                    : fmt::format("{}{}, {} row{}", model, int8 ? " int8" : "", rows, rows == 1 ? "" : "s");
    all.push_back({"decode", label,
                   [=](int repeat) {
                     return context > 0 ? bench_cuda_decode(label, make, rows, context, settings, repeat)
                                        : bench_decode(label, make, rows, int8, given, repeat);
                   },
                   of_gpt2 && context == 0});
  };
  const auto prefill = [&](const std::string& model, const BenchModel& make, int64_t length) {
    const std::string label = fmt::format("{}, 1 x {}", model, length);
    all.push_back(
        {"prefill", label, [=](int repeat) { return bench_prefill(label, make, length, given, repeat); }, of_gpt2});
  };
  const auto of = [&](const TransformerConfig& config) { return random_model(config, given); };
  if (!settings.device.on_host()) {
    const BenchModel model = of_gpt2 ? of({.vocab_size = 50304, .dtype = dtype}) : pretrained_model(settings);
    const std::string name = of_gpt2 ? "124M" : settings.model;
    decode(name, model, 1, 512);
    decode(name, model, 64, 512);
    decode(name, model, 1024, 128);
    return;
  }
  if (!of_gpt2) {
    const BenchModel model = pretrained_model(settings);
    decode(settings.model, model, 1);
    decode(settings.model, model, 32);
    prefill(settings.model, model, 512);
    return;
  }
  const TransformerConfig lesson4 = {
      .vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128, .dtype = dtype};
  const TransformerConfig larger = {
      .vocab_size = 65, .block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384, .dtype = dtype};
  const TransformerConfig gpt2 = {.dtype = dtype};
  for (int64_t rows : {1, 2, 4, 5, 8, 16, 32, 64}) decode("124M", of(gpt2), rows);  // up to 4 read b in place
  for (int64_t rows : {1, 4, 8, 32}) decode("124M", of(gpt2), rows, 0, /*int8=*/true);
  decode("6 layers 384 wide", of(larger), 32);
  decode("6 layers 384 wide", of(larger), 256);
  prefill("124M", of(gpt2), 512);
  for (int64_t rows : {1, 32}) {
    const std::string label = fmt::format("lesson 4, {} rows", rows);
    all.push_back({"generate", label, [=, make = random_model(lesson4, nullptr)](int repeat) {
                     return bench_generation(label, make, rows, repeat);
                   }});
  }
}

}  // namespace pg::tools
