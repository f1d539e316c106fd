#pragma once
// The options of pg train.
#include <string>

#include "nn/gpt2.h"
#include "nn/trainer.h"
#include "tools/pg/options.h"

namespace pg::tools {

struct TrainOptions {
  RunOptions run = {.name = "gpt"};
  std::string data = "tinyshakespeare", device = "cpu";
  std::string val;   // the validation text; "": the last tenth of data
  std::string init;  // a run or checkpoint whose model is the starting point
  Gpt2Config model = {.block_size = 64, .n_layer = 4, .n_head = 4, .n_embd = 128, .in_proj_std = 0};
  TrainConfig train = {.schedule = {.warmup_steps = 100}};
  bool exact = false, checkpoint_blocks = false;
  int64_t batch = 12, eval_batches = 20, sample_every = 250;
  double minutes = 0;    // limit on the training time, which ends it like Ctrl-C; 0: none
  bool json = false;     // prints a JSON object at the end, and nothing else, on standard output
  bool profile = false;  // prints a table of the time per operation at the end
};
std::vector<Field> fields(TrainOptions& options);

}  // namespace pg::tools
