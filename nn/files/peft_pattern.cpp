// Matching the names of modules to the regular expressions of PEFT's rank_pattern and alpha_pattern.
#include "nn/files/peft_pattern.h"

#include "tensor/base/error.h"
#include "tensor/base/text.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace pg {
namespace {

constexpr size_t kLongestKey = 1000;
constexpr uint32_t kMostSteps = 100'000, kMostMemory = 1024;  // KiB

PCRE2_SPTR units(const std::string& text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

PeftPattern::PeftPattern(const Json& object, std::string what) : what_(std::move(what)) {
  for (const auto& [key, value] : object.items()) {
    check(key.size() <= kLongestKey, "{}: expected keys of at most {} bytes, got {}", what_, kLongestKey, excerpt(key));
    const std::string expression = "(.*\\.)?(" + key + ")$";
    int error = 0;
    PCRE2_SIZE at = 0;
    std::shared_ptr<pcre2_code> code(pcre2_compile(units(expression), expression.size(),
                                                   PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C, &error, &at, nullptr),
                                     pcre2_code_free);
    check(code != nullptr, "{}: the key '{}' is no regular expression: {}", what_, excerpt(key), message_of(error));
    rows_.push_back({key, std::move(code), value.get<double>()});
  }
}

std::optional<double> PeftPattern::value(const std::string& module) const {
  if (rows_.empty()) return std::nullopt;
  const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(pcre2_match_data_create(1, nullptr),
                                                                                 pcre2_match_data_free);
  const std::unique_ptr<pcre2_match_context, decltype(&pcre2_match_context_free)> context(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  check(data && context, "{}: out of memory", what_);
  pcre2_set_match_limit(context.get(), kMostSteps);
  pcre2_set_heap_limit(context.get(), kMostMemory);
  for (const Row& row : rows_) {
    const int count = pcre2_match(row.code.get(), units(module), module.size(), 0, 0, data.get(), context.get());
    if (count >= 0) return row.value;
    check(count == PCRE2_ERROR_NOMATCH, "{}: the key '{}' cannot be matched to '{}': {}", what_, excerpt(row.key),
          module, message_of(count));
  }
  return std::nullopt;
}

}  // namespace pg
