#pragma once
// The normalizer of a tokenizer.json: what is done to a text before it is split.
#include <string>
#include <string_view>

namespace pg {

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
