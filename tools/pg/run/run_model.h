#pragma once
// The model of a run of any kind, with the vocabulary that its tokens stand for.
#include <memory>
#include <string>

#include "nn/checkpoint.h"
#include "nn/gpt2.h"
#include "tasks/text_task.h"

namespace pg::tools {

// What a run is: a command of pg ("train", "sft", "rl", …). Checkpoints carry it as text "kind"; older ones are told by
// what else they carry, and are "" when that does not tell.
std::string kind_of(const Checkpoint& checkpoint);

// The tokenizer in the checkpoint; for checkpoints of older versions that of the task they name, with the options of
// the config.yaml beside them. Error when the run writes no text, or when the vocabulary and the model differ in size.
std::unique_ptr<Tokenizer> tokenizer_of(const Checkpoint& checkpoint);

struct RunModel {
  RunState state;
  std::string path, kind;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Gpt2> model;  // in eval mode
  std::string prompt;           // what to begin with when the user names nothing
};
RunModel load_run_model(const std::string& run, const Device& device, bool best = false);

// "\n" if the vocabulary has it, else the end of a text, else the first token.
std::string default_prompt(const Tokenizer& tokenizer);

// A problem of the task.
std::string example_prompt(const TextTask& task);

// Error naming characters or tokens when `text` has some that the tokenizer of `owner` lacks.
void check_vocabulary(const Tokenizer& tokenizer, std::string_view text, const std::string& owner);

}  // namespace pg::tools
