#pragma once
// The tokens that begin, end and fill texts, as transformers reads them from a folder: without them generate() goes on
// after the end of a turn.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensor/base/json.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {

struct TokenIds {
  std::vector<int32_t> eos;  // any of them ends a text; the first is the tokenizer's
  std::optional<int32_t> bos, pad;
  Json generation;  // the object of the source's generation_config.json, else an empty one
};

// Those of the Hugging Face folder or GGUF file that `run` names, as far as it states them. The end of a turn of the
// model's chat template, if that can be run, is the first of `eos`, and the tokenizer's end is among them; `pad` is the
// first of `eos` unless the source has another. Error for a config.json whose ids are no tokens.
TokenIds token_ids_of(const std::string& run, const RunModel& model);

// Writes generation_config.json, and adds the ids to the folder's config.json.
void write_token_ids(const TokenIds& ids, const std::string& folder);

}  // namespace pg::tools
