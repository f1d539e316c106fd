#pragma once
// The benchmarks of `pg bench`, in groups. bench.cpp selects and prints them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "nn/files/safetensors.h"
#include "nn/transformer.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

struct Entry {
  std::string name, label, what;  // "matmul", "large aᵀ·b", "forward"
  Timing timing = {};
  double flops = 0, bytes = 0;     // of one call
  double flops_causal = 0;         // of a training step, with only the half of attention that a causal model needs
  double tokens = 0;               // of a step
  double items = 0;                // of a call that are counted otherwise, such as verdicts
  std::string how = {};            // the algorithm that computed it, where one is chosen
  std::vector<double> check = {};  // first losses, logits or log-probabilities, for comparison with another engine
};

// Weights and a batch from a file (--weights), so that another engine can run exactly the same steps; or null.
using GivenWeights = std::shared_ptr<const SafetensorsFile>;
struct BenchSettings {
  GivenWeights given;
  DType dtype = f32;  // of matrix products, models and generation
  Device device = {};
  std::string model;  // path of a pretrained model, of which alone steps are then measured; empty: GPT-2's sizes
};
void take_weights(Module& model, const GivenWeights& given);

// Builds the model of a benchmark, when the benchmark runs.
using BenchModel = std::function<Transformer()>;
BenchModel random_model(const TransformerConfig& config, const GivenWeights& given);  // `given` replaces the weights
BenchModel pretrained_model(const BenchSettings& settings);

// One or more lines of the table. Nothing is allocated before `run`, which gets the number of samples.
struct Benchmark {
  std::string name, label;
  std::function<std::vector<Entry>(int repeat)> run;
  bool large = false;  // takes minutes or gigabytes: only with --large
};
using Benchmarks = std::vector<Benchmark>;

void add_grade_benchmarks(Benchmarks& all);   // verdicts on answers in mathematics
void add_op_benchmarks(Benchmarks& all);      // the tape, and every op sample marked large
void add_vector_benchmarks(Benchmarks& all);  // exp, gelu, softmax, …, each with a copy of the same bytes
void add_gemm_benchmarks(Benchmarks& all, const BenchSettings& settings);        // matrix products of GPT-2's shapes
void add_model_benchmarks(Benchmarks& all, const BenchSettings& settings);       // training steps, optimizer
void add_generation_benchmarks(Benchmarks& all, const BenchSettings& settings);  // prefill and decoding

// The benchmarks of a CUDA device, at the sizes of training GPT-2 124M and of decoding with it.
void add_cuda_gemm_benchmarks(Benchmarks& all, const BenchSettings& settings);
void add_cuda_memory_benchmarks(Benchmarks& all, const BenchSettings& settings);     // memory-bound kernels
void add_cuda_attention_benchmarks(Benchmarks& all, const BenchSettings& settings);  // for training and decoding

}  // namespace pg::tools
