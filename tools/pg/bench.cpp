// pg bench: how fast is every op and a whole step, and which share of this machine's ceilings is that?
#include <nlohmann/json.hpp>

#include "autograd/tape.h"
#include "nn/generate.h"
#include "nn/trainer.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tests/op_samples.h"
#include "tools/pg/ceilings.h"
#include "tools/pg/commands.h"

namespace pg::tools {

namespace {

struct Entry {
  std::string name, label, what;  // "matmul", "large aᵀ·b", "forward"
  double seconds = 0;
  double flops = 0, bytes = 0;  // of one call
  double tokens = 0;            // of a step
};

double bytes_of(const std::vector<Tensor>& tensors) {
  double bytes = 0;
  for (const Tensor& t : tensors) bytes += static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
  return bytes;
}

// Forward alone, then forward and backward, in f32.
void bench_op(const OpSample& sample, int repeat, std::vector<Entry>& out) {
  Generator generator(1);
  std::vector<Tensor> inputs = sample.inputs(generator, f32);
  Entry forward{name_of(sample.op), sample.label, "forward"};
  {
    const NoGrad no_grad;
    const double bytes = bytes_of(inputs) + bytes_of(sample.call(inputs));
    if (sample.flops > 0)
      forward.flops = sample.flops;
    else
      forward.bytes = bytes;
    forward.seconds = time_of([&] { sample.call(inputs); }, repeat);
  }
  out.push_back(forward);

  bool differentiable = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool constant = inputs[i].dtype() != f32;
    for (int c : sample.constant) constant |= static_cast<size_t>(c) == i;
    if (!constant) inputs[i].set_requires_grad();
    differentiable |= !constant;
  }
  if (!differentiable) return;
  Tensor cotangent;
  Entry both{forward.name, forward.label, "with backward"};
  both.flops = 3 * forward.flops;  // two products of the forward's size
  both.bytes = 0;
  both.seconds = time_of(
      [&] {
        for (const Tensor& x : inputs) {
          if (x.requires_grad()) x.zero_grad();
        }
        const Tensor y = sample.call(inputs)[0];
        if (!cotangent.defined()) cotangent = Tensor::ones(y.shape(), y.dtype());
        backward(y, cotangent);
      },
      repeat);
  out.push_back(both);
}

// What the tape itself costs: forward, backward and free of multiplies so small that the arithmetic is nothing.
Entry bench_tape(int repeat) {
  constexpr int length = 1000;
  const int threads = num_threads();
  set_num_threads(1);
  Tensor x = Tensor::ones({16});
  const Tensor w = Tensor::ones({16}), cotangent = Tensor::ones({16});
  x.set_requires_grad();
  Entry entry{"tape", "16-element multiply", "per op"};
  entry.seconds = time_of(
                      [&] {
                        x.zero_grad();
                        Tensor y = x;
                        for (int i = 0; i < length; ++i) y = mul(y, w);
                        backward(y, cotangent);
                      },
                      repeat) /
                  length;
  set_num_threads(threads);
  return entry;
}

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

void bench_step(const std::string& label, const Gpt2Config& config, int64_t rows, int repeat, std::vector<Entry>& out) {
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
  out.push_back(entry);
}

void bench_generation(const Gpt2Config& config, int64_t rows, int repeat, std::vector<Entry>& out) {
  Generator init(1);
  Gpt2 model(config, init);
  model.eval();
  GenerateOptions options;
  options.max_new_tokens = config.block_size - 1;
  Entry entry{"generate", fmt::format("{} rows", rows), "with KV cache"};
  entry.tokens = static_cast<double>(rows * options.max_new_tokens);
  const std::vector<std::vector<int32_t>> prompts(static_cast<size_t>(rows), {0});
  entry.seconds = time_of([&] { generate(model, prompts, options); }, repeat);
  out.push_back(entry);
}

std::string format_time(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

void print_entry(const Entry& e, const Ceilings& ceilings) {
  std::string rate;
  if (e.flops > 0) {
    rate =
        fmt::format("{:8.2f} GFLOP/s {:4.0f} %", e.flops / e.seconds / 1e9, 100 * e.flops / e.seconds / ceilings.flops);
  } else if (e.bytes > 0) {
    rate = fmt::format("{:8.2f} GB/s    {:4.0f} %", e.bytes / e.seconds / 1e9,
                       100 * e.bytes / e.seconds / ceilings.read_bytes);
  }
  if (e.tokens > 0) rate += fmt::format("  {:.0f} tokens/s", e.tokens / e.seconds);
  fmt::print("{:<15} {:<34} {:<14} {:>10}  {}\n", e.name, e.label, e.what, format_time(e.seconds), rate);
  std::fflush(stdout);
}

nlohmann::ordered_json to_json(const std::vector<Entry>& entries, const Ceilings& ceilings) {
  nlohmann::ordered_json all = {{"threads", num_threads()},
                                {"ceilings",
                                 {{"gflops_one_thread", ceilings.flops_one_thread / 1e9},
                                  {"gflops", ceilings.flops / 1e9},
                                  {"read_gb_per_s", ceilings.read_bytes / 1e9}}}};
  for (const Entry& e : entries) {
    nlohmann::ordered_json one = {{"name", e.name}, {"label", e.label}, {"what", e.what}, {"seconds", e.seconds}};
    if (e.flops > 0) one["gflops"] = e.flops / e.seconds / 1e9;
    if (e.bytes > 0) one["gb_per_s"] = e.bytes / e.seconds / 1e9;
    if (e.tokens > 0) one["tokens_per_s"] = e.tokens / e.seconds;
    all["entries"].push_back(one);
  }
  return all;
}

}  // namespace

int bench(const BenchOptions& o) {
  if (o.threads > 0) set_num_threads(o.threads);
  const Ceilings ceilings = measure_ceilings(o.repeat);
  std::vector<Entry> entries;
  if (!o.json)
    fmt::print(
        "This machine, {} threads: {:.1f} GFLOP/s in f32 ({:.1f} with one thread), {:.1f} GB/s read from memory.\n"
        "Percent are of these; data that stays in the caches can pass 100.\n\n",
        num_threads(), ceilings.flops / 1e9, ceilings.flops_one_thread / 1e9, ceilings.read_bytes / 1e9);
  const auto wanted = [&](const std::string& name, const std::string& label) {
    return (name + " " + label).find(o.filter) != std::string::npos;
  };
  size_t shown = 0;
  const auto show_new = [&] {
    for (; shown < entries.size(); ++shown) {
      if (!o.json) print_entry(entries[shown], ceilings);
    }
  };

  if (wanted("tape", "16-element multiply")) entries.push_back(bench_tape(o.repeat));
  show_new();
  for (const OpSample& sample : op_samples()) {
    if (!sample.large || !wanted(name_of(sample.op), sample.label)) continue;
    bench_op(sample, o.repeat, entries);
    show_new();
  }
  const Gpt2Config lesson4 = {.vocab_size = 65, .block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128};
  const Gpt2Config larger = {.vocab_size = 65, .block_size = 256, .n_layer = 6, .n_head = 6, .n_embd = 384};
  if (wanted("train", "lesson 4")) bench_step("lesson 4", lesson4, 12, o.repeat, entries);
  show_new();
  if (wanted("train", "6 layers 384 wide")) bench_step("6 layers 384 wide", larger, 4, o.repeat, entries);
  show_new();
  for (int64_t rows : {1, 32}) {
    if (wanted("generate", fmt::format("{} rows", rows))) bench_generation(lesson4, rows, o.repeat, entries);
    show_new();
  }
  if (o.json) fmt::print("{}\n", to_json(entries, ceilings).dump());
  check(!entries.empty(), "bench: nothing matches --filter '{}'", o.filter);
  return 0;
}

}  // namespace pg::tools
