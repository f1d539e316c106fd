#pragma once
// What pg train learns from: texts, their vocabulary, and where the weights come from.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nn/checkpoint.h"
#include "tasks/text_data.h"
#include "tasks/tokenizer.h"
#include "tools/pg/commands.h"

namespace pg::tools {

struct TrainText {
  std::string name;  // of the text to learn
  std::unique_ptr<Tokenizer> tokenizer;
  TextData tokens;
  std::map<std::string, std::string> texts;  // for the checkpoint: the tokenizer, names and checksums of the texts
};

// Reads --data and --val, splitting the former without the latter. The tokenizer is that of `source`, the checkpoint of
// this run (`resumed`) or of --init, else, without one, that of all characters of the texts. Notes go to standard
// error. Error when a text is too short for --context, is not the one of a resumed run, or has characters that the
// tokenizer lacks.
TrainText load_train_text(const TrainOptions& options, const Checkpoint* source, bool resumed);

}  // namespace pg::tools
