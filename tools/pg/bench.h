#pragma once
// What `pg bench` times, in groups; bench.cpp chooses, times and prints.
#include <functional>
#include <string>
#include <vector>

namespace pg::tools {

struct Entry {
  std::string name, label, what;  // "matmul", "large aᵀ·b", "forward"
  double seconds = 0;
  double flops = 0, bytes = 0;  // of one call
  double tokens = 0;            // of a step
};

// One line or a few of the table. Nothing is allocated before `run`, which is given the number of samples.
struct Benchmark {
  std::string name, label;
  std::function<std::vector<Entry>(int repeat)> run;
  bool large = false;  // takes minutes or gigabytes: only with --large
};
using Benchmarks = std::vector<Benchmark>;

void add_op_benchmarks(Benchmarks& all);     // the tape, every op sample marked large
void add_gemm_benchmarks(Benchmarks& all);   // matrix products of GPT-2's shapes
void add_model_benchmarks(Benchmarks& all);  // training steps, optimizer, generation

}  // namespace pg::tools
