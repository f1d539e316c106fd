// Normalizers: none, and Unicode's normal form C by utf8proc.
#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "tasks/bpe/post_processor.h"
#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"

namespace pg {
namespace {

struct NormalizerType {
  const char* name;
  bool (*is_nfc)(const Json&);
};
bool is_nfc(const Json& normalizer);

const std::vector<NormalizerType>& normalizer_types() {
  static const std::vector<NormalizerType> types = {
      {"NFC", [](const Json&) { return true; }},
      {"Sequence",
       [](const Json& sequence) {
         check(sequence["normalizers"].is_array(), "tokenizer: the normalizer Sequence needs a list \"normalizers\"");
         bool any = false;
         for (const Json& part : sequence["normalizers"]) any = is_nfc(part) || any;
         return any;
       }},
  };
  return types;
}

bool is_nfc(const Json& normalizer) {
  if (normalizer.is_null()) return false;
  check(normalizer["type"].is_string(), "tokenizer: expected a normalizer with a \"type\", or null");
  const std::string& type = normalizer["type"].text();
  return find_row(normalizer_types(), "tokenizer: type of a normalizer", type).is_nfc(normalizer);
}

// Characters below U+0300 neither combine with one before them nor have another normal form.
bool may_change(std::string_view text) {
  for (const char c : text) {
    if (static_cast<uint8_t>(c) >= 0xcc) return true;
  }
  return false;
}

void append_nfc(std::string& out, std::string_view text) {
  if (!may_change(text)) {
    out += text;
    return;
  }
  utf8proc_uint8_t* mapped = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                          static_cast<utf8proc_ssize_t>(text.size()), &mapped, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, std::free);
  check(n >= 0, "tokenizer: NFC of a text of {} bytes: {}", text.size(), n < 0 ? utf8proc_errmsg(n) : "");
  out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(n));
}

}  // namespace

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = valid_prefix(text);
    append_nfc(out, text.substr(0, good));
    text.remove_prefix(good);
    if (text.empty()) break;
    const size_t bad = first_unit(text).bytes;
    out += text.substr(0, bad);
    text.remove_prefix(bad);
  }
  return out;
}

Normalizer::Normalizer(std::string_view json) {
  const Json parsed = sorted_by_key(Json::try_parse(json));
  json_ = parsed.dump();
  nfc_ = is_nfc(parsed);
}

}  // namespace pg
