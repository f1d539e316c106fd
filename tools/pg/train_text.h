#pragma once
// Training data of pg train: texts, their vocabulary, and the checkpoint the weights come from.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nn/checkpoint.h"
#include "tasks/text_data.h"
#include "tasks/tokenizer.h"
#include "tools/pg/train.h"

namespace pg::tools {

struct TrainText {
  std::string name;  // of the training text
  std::unique_ptr<Tokenizer> tokenizer;
  TextData tokens;
  std::map<std::string, std::string> texts;  // checkpoint metadata: the tokenizer, names and checksums of the texts
};

// Reads --data and --val; without --val it splits off a part of --data. The tokenizer is that of `source`, the
// checkpoint of this run (`resumed`) or of --init. Without `source` it has all characters of the texts. Notes are
// written to standard error. Throws Error if a text is too short for --context, differs from the text of a resumed run,
// or has characters that the tokenizer lacks.
TrainText load_train_text(const TrainOptions& options, const Checkpoint* source, bool resumed);

}  // namespace pg::tools
