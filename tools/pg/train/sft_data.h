#pragma once
// pg sft --data: supervised fine-tuning of a pretrained model on a JSONL file.
#include <functional>
#include <string>

#include "nn/train/trainer.h"
#include "nn/variants/lora.h"
#include "tensor/comm/comm.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {

struct SftDataOptions {
  std::string file;          // JSONL (tasks/chat/chat_data.h)
  double epochs = 1;         // passes over the file; --steps wins
  double val_share = 0.05;   // of the texts
  int64_t max_length = 512;  // tokens of a text; longer ones are left out
  int64_t unique = 0;        // keep the lines of the first N distinct prompts; 0: all
};
std::vector<Field> fields(SftDataOptions& options);

struct SftDataRun {
  RunOptions run;
  std::string init, adapter;
  std::optional<DType> dtype = {};
  LoraConfig lora;
  TrainConfig train;
  int64_t batch = 8;
  bool profile = false;
  bool steps_given = false;                               // else they follow from the epochs
  std::function<std::string(const TrainConfig&)> config;  // every option in effect, as YAML
  std::string chat_template = {};                         // in place of the model's; empty: the model's
  ChatTaskOptions chat = {};                              // its prompt is the style of the texts
  const TextRlOptions* evaluation = nullptr;              // a task whose held-out problems are answered; null: none
  int64_t eval_problems = 0;                              // of that task
};
// Returns the exit status. On several ranks each calls it (tools/pg/run/ranks.h).
int sft_on_data(const SftDataOptions& options, SftDataRun run, Comm& comm);

}  // namespace pg::tools
