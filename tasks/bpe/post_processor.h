#pragma once
// The post-processor of a tokenizer.json: the special tokens that are put around every text.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

struct PostProcessor {
  std::string json = "null";
  std::vector<int32_t> before, after;  // ids put before and after the ids of a text
};

// `json` is the value of "post_processor": null, a ByteLevel (which changes no ids), a TemplateProcessing for one text,
// or a Sequence of these. Error naming another type, and for a template without the text or with it twice. The ids are
// not compared with a vocabulary.
PostProcessor post_processor(std::string_view json);

// A TemplateProcessing that puts these tokens around a text.
PostProcessor surrounding(const std::vector<std::pair<int32_t, std::string>>& before,
                          const std::vector<std::pair<int32_t, std::string>>& after);

}  // namespace pg
