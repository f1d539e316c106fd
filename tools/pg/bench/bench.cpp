// pg bench: measures the speed of every op and of whole steps, also as a share of this machine's ceilings.
#include "tools/pg/bench/bench.h"

#include <algorithm>

#include "nn/files/pretrained.h"
#include "nn/files/safetensors.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/parallel.h"
#include "tensor/kernels.h"
#include "tools/pg/bench/ceilings.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"

namespace pg::tools {

namespace {

std::string format_time(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.1f} µs", seconds * 1e6);
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string format_flops(double rate) {
  return rate < 1e13 ? fmt::format("{:8.2f} GFLOP/s", rate / 1e9) : fmt::format("{:8.1f} TFLOP/s", rate / 1e12);
}

void print_entry(const Entry& e, const Ceilings& ceilings) {
  const double seconds = e.timing.median;
  std::string rate;
  if (e.flops > 0) {
    rate = fmt::format("{} {:4.0f} %", format_flops(e.flops / seconds), 100 * e.flops / seconds / ceilings.flops);
    if (e.flops_causal > 0) rate += fmt::format(" ({:.0f} %)", 100 * e.flops_causal / seconds / ceilings.flops);
  } else if (e.bytes > 0) {
    rate = fmt::format("{:8.2f} GB/s    {:4.0f} %", e.bytes / seconds / 1e9, 100 * e.bytes / seconds / ceilings.bytes);
  }
  if (e.items > 0) rate += fmt::format("  {:.0f}/s", e.items / seconds);
  if (e.tokens > 0) rate += fmt::format("  {:.0f} tokens/s", e.tokens / seconds);
  fmt::print("{:<15} {:<34} {:<22} {:>10}  {}\n", e.name, e.label, e.what, format_time(seconds), rate);
  if (!e.how.empty()) fmt::print("{:<15} {}\n", "", e.how);
  std::fflush(stdout);
}

Json to_json(const std::vector<Entry>& entries, const Ceilings& ceilings, Device device) {
  Json all;
  if (device.on_host()) {
    all["threads"] = num_threads();
    all["ceilings"] = {{"gflops_one_thread", ceilings.flops_one_thread / 1e9},
                       {"gflops", ceilings.flops / 1e9},
                       {"read_gb_per_s", ceilings.bytes / 1e9}};
  } else {
    all["device"] = backend(device).device_info(device.index).name;
    all["ceilings"] = {{"gflops", ceilings.flops / 1e9}, {"copy_gb_per_s", ceilings.bytes / 1e9}};
  }
  for (const Entry& e : entries) {
    Json one = {{"name", e.name},
                {"label", e.label},
                {"what", e.what},
                {"seconds", e.timing.median},
                {"fastest", e.timing.fastest}};
    if (e.flops > 0) one["gflops"] = e.flops / e.timing.median / 1e9;
    if (e.flops_causal > 0) one["gflops_causal"] = e.flops_causal / e.timing.median / 1e9;
    if (e.bytes > 0) one["gb_per_s"] = e.bytes / e.timing.median / 1e9;
    if (e.items > 0) one["items_per_s"] = e.items / e.timing.median;
    if (e.tokens > 0) one["tokens_per_s"] = e.tokens / e.timing.median;
    if (!e.how.empty()) one["how"] = e.how;
    if (!e.check.empty()) one["check"] = e.check;
    all["entries"].push_back(one);
  }
  return all;
}

// Median and worst share of the peak, for a group of similar entries.
void print_summary(const std::string& name, const std::vector<Entry>& entries, const Ceilings& ceilings) {
  std::vector<double> shares;
  for (const Entry& e : entries) {
    if (e.name == name) shares.push_back(100 * e.flops / e.timing.median / ceilings.flops);
  }
  if (shares.size() < 2) return;
  std::sort(shares.begin(), shares.end());
  fmt::print("{}: median {:.1f} %, worst {:.1f} % of the peak\n", name, shares[shares.size() / 2], shares[0]);
}

void print_ceilings(const Ceilings& c, Device device, const std::string& dtype) {
  if (device.on_host()) {
    fmt::print(
        "This machine, {} threads: {:.1f} GFLOP/s in {} ({:.1f} with one thread), {:.1f} GB/s read from memory.\n"
        "Percent are of these; data that stays in the caches can pass 100.\n\n",
        num_threads(), c.flops / 1e9, dtype, c.flops_one_thread / 1e9, c.bytes / 1e9);
  } else {
    fmt::print(
        "{}: {:.1f} TFLOP/s in a matrix product of {} (8192 x 8192 x 8192), {:.0f} GB/s copied, read and written.\n"
        "Percent are of these. Kernels are timed with nothing of theirs in the second-level cache. In parentheses: "
        "counting only\nthe half of attention that a causal model needs.\n\n",
        backend(device).device_info(device.index).name, c.flops / 1e12, dtype, c.bytes / 1e9);
  }
}

Benchmarks all_benchmarks(const BenchSettings& settings) {
  Benchmarks all;
  const bool on_host = settings.device.on_host();
  if (settings.model.empty() && on_host) {
    add_op_benchmarks(all);
    add_grade_benchmarks(all);
    add_vector_benchmarks(all);
    add_gemm_benchmarks(all, settings);
  } else if (settings.model.empty()) {
    add_cuda_gemm_benchmarks(all, settings);
    add_cuda_memory_benchmarks(all, settings);
    add_cuda_attention_benchmarks(all, settings);
  }
  add_model_benchmarks(all, settings);
  add_generation_benchmarks(all, settings);
  return all;
}

struct BenchOptions {
  std::string filter;   // text that "name label" must contain
  std::string weights;  // a safetensors file with the models' initial weights and their batch
  std::string model;    // path of a pretrained model
  bool json = false;
  bool large = false;  // also run the slow ones
  int threads = 0, repeat = 5;
  DType dtype = f32;
  std::string device = "cpu";
};

std::vector<Field> fields(BenchOptions& o) {
  return {{"filter", &o.filter, "only what has this text in its name"},
          {"weights", &o.weights,
           "weights and batch of the one model that --filter leaves: a file of tools/compare/compare_torch.py"},
          {"model", &o.model, "steps of this model only: a Hugging Face folder or a GGUF file"},
          flag("large", o.large, "also what takes minutes and gigabytes: GPT-2 124M"),
          {"dtype", float_type(o.dtype), "type of products, models and generation"},
          json_field(o.json, "one JSON object instead of a table"),
          device_field(o.device),
          threads_field(o.threads),
          {"repeat", &o.repeat, "samples; the result is their median", whole_from(1, 1000000)}};
}

int bench(const BenchOptions& o) {
  start_threads(o.threads);
  BenchSettings settings{nullptr, o.dtype, parse_device(o.device), o.model};
  const bool on_cpu = settings.device.on_host();
  check(on_cpu || !backend(settings.device).device_info(settings.device.index).simulated,
        "bench: the CUDA of this build is the simulator, which says nothing about time; make CUDA=1 builds for a GPU");
  if (!o.weights.empty()) settings.given = std::make_shared<const SafetensorsFile>(load_safetensors(o.weights));
  if (!o.model.empty()) pretrained_config(o.model, open_tensors(o.model));  // one Error, not one per benchmark
  Benchmarks all = all_benchmarks(settings);
  std::erase_if(all, [&](const Benchmark& b) {
    return (b.large && !o.large) || (b.name + " " + b.label).find(o.filter) == std::string::npos;
  });
  check(!all.empty(), "bench: nothing matches --filter '{}'{}", o.filter,
        o.large ? "" : " (the long ones need --large)");

  const Ceilings ceilings = on_cpu ? measure_ceilings(settings.dtype, o.repeat)
                                   : measure_cuda_ceilings(settings.device, settings.dtype, o.repeat);
  if (!o.json) print_ceilings(ceilings, settings.device, name_of(o.dtype));
  std::vector<Entry> entries;
  bool failed = false;
  for (const Benchmark& benchmark : all) {
    try {
      for (const Entry& entry : benchmark.run(o.repeat)) {
        if (!o.json) print_entry(entry, ceilings);
        entries.push_back(entry);
      }
    } catch (const Error& e) {  // for example out of memory: the others can still be measured
      fmt::print(stderr, "{} {}: {}\n", benchmark.name, benchmark.label, e.what());
      failed = true;
    }
  }
  if (o.json) {
    fmt::print("{}\n", to_json(entries, ceilings, settings.device).dump());
  } else {
    print_summary("gemm", entries, ceilings);
  }
  return failed ? 1 : 0;
}

}  // namespace

Command bench_command() {
  const auto o = std::make_shared<BenchOptions>();
  return {"bench", "the speed of every op and of whole steps", fields(*o), [o](Given&) { return bench(*o); }};
}

}  // namespace pg::tools
