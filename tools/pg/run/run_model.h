#pragma once
// Loads the model of a run of any kind, with the vocabulary of its tokens.
#include <memory>
#include <optional>
#include <string>

#include "nn/files/checkpoint.h"
#include "nn/files/tensor_source.h"
#include "nn/transformer.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/chat/chat.h"
#include "tasks/text/text_task.h"

namespace pg::tools {

// The kind of a run: a command of pg ("train", "sft", "rl", …). Checkpoints store it as metadata "kind". For older
// checkpoints it is inferred from their other metadata, or "" if that is not possible.
std::string kind_of(const Checkpoint& checkpoint);

// The tokenizer stored in the checkpoint. For checkpoints of older versions: that of the task they name, with the
// options from config.yaml in the same folder. Throws Error if the run generates no text, or if the vocabulary sizes of
// tokenizer and model differ. A masked denoiser (nn/variants/denoiser.h) is an Error too, unless the caller says that
// it takes `denoisers`: everything else generates from left to right.
std::unique_ptr<Tokenizer> tokenizer_of(const Checkpoint& checkpoint, bool denoisers = false);

struct RunModel {
  RunState state;
  std::string path, kind;
  std::unique_ptr<Tokenizer> tokenizer;
  std::unique_ptr<Transformer> model;  // in eval mode
  std::string prompt;                  // default prompt if the user gives none; empty for a denoiser
  ChatTemplate chat_template;          // with the variables that the model states; none: it has none
};
struct LoadOptions {
  bool best = false;                // of a run's folder: the checkpoint of the lowest validation loss
  std::optional<DType> dtype = {};  // of the weights; none: f32 for a pretrained model, its own for a checkpoint
  bool denoisers = false;           // as for tokenizer_of
  std::string adapter = {};  // a folder of PEFT whose adapters the model gets, and its chat template; empty: none
};
// `run` is a run's folder, a checkpoint, a Hugging Face folder, a GGUF file, or "smollm2" (smollm2_path).
RunModel load_run_model(const std::string& run, const Device& device, const LoadOptions& options = {});
// quantize_weights() (nn/variants/int8.h), and a line on standard error: what it changes on the last tokens of `text`
// (of m.prompt if that is empty), which the model continues before the change if they are few. Error for a denoiser.
void hold_int8(RunModel& m, const std::string& text = {});
// load_peft() for the model that `run` names in messages; nothing if `folder` is empty.
void load_adapter(Transformer& model, const std::string& run, const std::string& folder);
// Whether a path leads to a Hugging Face folder or a GGUF file.
bool is_pretrained(const std::string& path);
// The path of the Hugging Face folder or GGUF file that `run` names, "smollm2" included; empty if it names none.
std::string pretrained_path(const std::string& run);
// The chat template of a GGUF file or, for a Hugging Face folder, of chat_template.jinja or tokenizer_config.json, with
// the special tokens that these files name ("bos_token", "eos_token", …) as variables. It is none, but may have
// variables, if they have no template. If tokenizer_config.json has several, it is the one named "default".
// `source` is the model at `path`.
ChatTemplate chat_template_of(const std::string& path, const TensorSource& source);

// What a chat model reads: its tokenizer and template.
struct ChatFormat {
  std::shared_ptr<const BpeTokenizer> tokenizer;
  ChatTemplate format;  // none: the model has none
  int64_t context = 0;  // tokens that the model reads at once
};
// That of `run`, as in load_run_model(), without its weights; nothing if the model does not read text by a byte-level
// tokenizer.
std::optional<ChatFormat> chat_format_of(const std::string& run);

// Published models may have more rows of embeddings than their tokenizer has tokens (check_sizes). The model without
// the rows that are no token, so that it cannot sample one: its first `tokens` rows. To be called before the model
// generates, is quantized, or is given to an optimizer.
std::unique_ptr<Transformer> without_unused_rows(std::unique_ptr<Transformer> model, int64_t tokens);

// "\n" if it is in the vocabulary, otherwise the end-of-text token, otherwise the first token.
std::string default_prompt(const Tokenizer& tokenizer);

// The prompt of a problem of the task.
std::string example_prompt(const TextTask& task);

// Throws Error, naming characters or tokens, if `text` has some that the tokenizer of `owner` lacks.
void check_vocabulary(const Tokenizer& tokenizer, std::string_view text, const std::string& owner);

}  // namespace pg::tools
