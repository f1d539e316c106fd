#pragma once
// What `pg bench` times, in groups; bench.cpp chooses, times and prints.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/module.h"
#include "tools/pg/ceilings.h"

namespace pg::tools {

struct Entry {
  std::string name, label, what;  // "matmul", "large aᵀ·b", "forward"
  Timing timing = {};
  double flops = 0, bytes = 0;     // of one call
  double tokens = 0;               // of a step
  std::vector<double> check = {};  // first losses, logits or log-probabilities, to compare with another engine's
};

// Weights and a batch made elsewhere (--weights), so that another engine can run the very same steps; or null.
using GivenWeights = std::shared_ptr<const SafetensorsFile>;
struct BenchSettings {
  GivenWeights given;
  DType dtype = f32;  // of products, models and generation
};
void take_weights(Module& model, const GivenWeights& given);

// One line or a few of the table. Nothing is allocated before `run`, which is given the number of samples.
struct Benchmark {
  std::string name, label;
  std::function<std::vector<Entry>(int repeat)> run;
  bool large = false;  // takes minutes or gigabytes: only with --large
};
using Benchmarks = std::vector<Benchmark>;

void add_op_benchmarks(Benchmarks& all);      // the tape, every op sample marked large
void add_vector_benchmarks(Benchmarks& all);  // exp, gelu, softmax, … beside a copy of the same bytes
void add_gemm_benchmarks(Benchmarks& all, const BenchSettings& settings);        // matrix products of GPT-2's shapes
void add_model_benchmarks(Benchmarks& all, const BenchSettings& settings);       // training steps, optimizer
void add_generation_benchmarks(Benchmarks& all, const BenchSettings& settings);  // prompts read, tokens decoded

}  // namespace pg::tools
