#pragma once
// The subcommands of pg. main.cpp fills these options from the command line and a YAML file. This header does not
// depend on CLI11.
#include <cstdint>
#include <string>
#include <vector>

namespace pg::tools {

// Each command returns the exit status and throws Error if it fails.

struct TrainOptions {
  std::string data = "tinyshakespeare", device = "cpu", out = "runs", name = "gpt";
  std::string resume;    // the folder of a run to continue
  std::string init;      // a run or checkpoint whose model is the starting point
  std::string val;       // the validation text; "": the last tenth of data
  double minutes = 0;    // limit on the training time, which ends it like Ctrl-C; 0: none
  bool json = false;     // prints a JSON object at the end, and nothing else, on standard output
  std::string config;    // every option in effect, as YAML, stored in the run's folder
  bool profile = false;  // prints a table of the time per operation at the end
  int threads = 0;       // 0: one per core
  uint64_t seed = 1337;
  int64_t layers = 4, heads = 4, width = 128, context = 64;
  double in_proj_std = 0;
  std::string dtype = "f32";
  bool checkpoint_blocks = false, exact = false, stochastic_rounding = false;
  double dropout = 0;
  int64_t batch = 12, accumulate = 1, steps = 2000, eval_every = 250, eval_batches = 20, save_every = 250,
          sample_every = 250;
  std::string schedule = "cosine";
  double lr = 1e-3, min_lr = 1e-4;
  int64_t warmup = 100;
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0.1, clip = 1;
};
int train(const TrainOptions& options);

struct SampleCommandOptions {
  std::string run;     // a run's folder or a checkpoint
  bool best = false;   // use the checkpoint of the lowest validation loss
  std::string prompt;  // "-": standard input; "": the run's default prompt
  std::string prompt_file;
  bool interactive = false;        // each line of standard input is a prompt
  std::vector<std::string> stops;  // texts that end a sample; they are not shown
  bool json = false;               // one object per sample
  std::string device = "cpu";
  int threads = 0;
  uint64_t seed = 1;
  int64_t tokens = 500, count = 1, top_k = 0;
  double temperature = 0.8, top_p = 1, min_p = 0;
  bool greedy = false, exact = false;
};
int sample(const SampleCommandOptions& options);

struct FetchOptions {
  std::vector<std::string> names;  // of data files; empty: all
  bool list = false;
};
int fetch(const FetchOptions& options);

// `json`: one object instead of lines.
int doctor(bool json = false);
// For example "0.1.0".
std::string version();

// Checks every backward or, if `op` is given, that of one op sample by sample. `json`: one object instead of a table.
int run_gradcheck(const std::string& op, bool json = false);

struct BenchOptions {
  std::string filter;   // text that "name label" must contain
  std::string weights;  // a safetensors file with the models' initial weights and their batch
  bool json = false;
  bool large = false;  // also run the slow ones
  int threads = 0, repeat = 5;
  std::string dtype = "f32", device = "cpu";
};
int bench(const BenchOptions& options);

}  // namespace pg::tools
