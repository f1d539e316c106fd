#pragma once
// What a tokenizer.json does to a text before it is split, and the special tokens that it puts around every text.
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

// Unicode's normal form C of the valid UTF-8 in `text`; bytes that belong to no character stay as they are.
std::string nfc(std::string_view text);

class Normalizer {
 public:
  // `json` is the value of "normalizer": null, {"type": "NFC"}, or a "Sequence" of these. Error naming another type.
  explicit Normalizer(std::string_view json = "null");

  bool changes_text() const { return nfc_; }
  std::string operator()(std::string_view text) const { return nfc_ ? nfc(text) : std::string(text); }
  const std::string& json() const { return json_; }

 private:
  std::string json_;
  bool nfc_ = false;
};

}  // namespace pg
