// Regular expressions: from Oniguruma's syntax to PCRE2's, and matching.
#include "tasks/bpe/regex.h"

#include "tasks/data/utf8.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cctype>

namespace pg {
namespace {

// The translation of a pattern. Both languages agree on most of the syntax; what differs is replaced or refused.
class Translation {
 public:
  explicit Translation(std::string_view pattern) : pattern_(pattern), rest_(pattern) {}

  std::string run() {
    while (!rest_.empty()) {
      const char c = rest_[0];
      if (c == '\\') {
        escape();
      } else if (in_class_) {
        class_character(c);
      } else if (c == '[') {
        open_class();
      } else if (c == '(') {
        group();
      } else if (c == '{') {
        interval();
      } else {
        if (c == '^' || c == '$') refuse(rest_.substr(0, 1));
        take(1);
      }
    }
    if (in_class_) fail("regex {}: a '[' is not closed", excerpt(pattern_));
    return std::move(out_);
  }

 private:
  void take(size_t n) {
    out_ += rest_.substr(0, n);
    rest_.remove_prefix(n);
  }
  void replace(size_t n, std::string_view text) {
    out_ += text;
    rest_.remove_prefix(n);
  }
  [[noreturn]] void refuse(std::string_view part) const {
    fail("regex {}: '{}' at byte {} is not supported", excerpt(pattern_), excerpt(part),
         pattern_.size() - rest_.size());
  }

  void escape() {
    if (rest_.size() < 2) refuse(rest_);
    const char c = rest_[1];
    constexpr std::string_view word = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    if (c == 's') return replace(2, "\\p{White_Space}");  // PCRE2's \s has U+180E in addition
    if (c == 'S') return replace(2, "\\P{White_Space}");
    if (c == 'd') return replace(2, "\\p{Nd}");
    if (c == 'D') return replace(2, "\\P{Nd}");
    if (c == 'w') return replace(2, in_class_ ? std::string(word) : fmt::format("[{}]", word));
    if (c == 'W' && !in_class_) return replace(2, fmt::format("[^{}]", word));
    if (c == 'v') return replace(2, "\\x{0b}");
    if (c == 'A' && !in_class_) return take(2);
    if (c == 'z' && !in_class_) return take(2);
    if (c == 'u') return replace(6, fmt::format("\\x{{{}}}", hexadecimal(2, 4)));
    if (c == 'x' && rest_.size() > 2 && rest_[2] != '{') return replace(4, fmt::format("\\x{{{}}}", hexadecimal(2, 2)));
    const bool braces = c == 'p' || c == 'P' || c == 'x';
    if (braces) {
      const size_t end = rest_.find('}');
      if (rest_.size() < 3 || rest_[2] != '{' || end == std::string_view::npos) refuse(rest_.substr(0, 8));
      return take(end + 1);
    }
    const bool plain = std::string_view("nrtfae").find(c) != std::string_view::npos;
    if (!plain && (std::isalnum(static_cast<unsigned char>(c)) || c == '_')) refuse(rest_.substr(0, 2));
    take(1);
    take(first_unit(rest_).bytes);
  }

  std::string_view hexadecimal(size_t at, size_t digits) const {
    const std::string_view text = rest_.substr(at, digits);
    const bool ok = text.size() == digits &&
                    std::all_of(text.begin(), text.end(), [](unsigned char d) { return std::isxdigit(d); });
    if (!ok) refuse(rest_.substr(0, at + digits));
    return text;
  }

  void open_class() {
    in_class_ = true;
    take(rest_.starts_with("[^") ? 2 : 1);
    if (rest_.starts_with(']')) refuse("[]");
  }
  void class_character(char c) {
    if (c == '[' || rest_.starts_with("&&")) refuse(rest_.substr(0, 2));
    if (c == ']') in_class_ = false;
    take(1);
  }

  void group() {
    if (rest_.starts_with("(*")) refuse(rest_.substr(0, 8));
    if (!rest_.starts_with("(?")) return take(1);
    for (const std::string_view known : {"(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>", "(?i:", "(?-i:"}) {
      if (rest_.starts_with(known)) return take(known.size());
    }
    refuse(rest_.substr(0, 4));
  }

  // {1,3}: Oniguruma repeats it for a '+' that follows; PCRE2 makes it possessive.
  void interval() {
    const size_t end = rest_.find('}');
    const bool counts = end != std::string_view::npos && end > 1 &&
                        rest_.substr(1, end - 1).find_first_not_of("0123456789,") == std::string_view::npos;
    if (!counts || rest_[1] == ',') refuse(rest_.substr(0, 8));
    if (rest_.substr(end + 1).starts_with('+')) refuse(rest_.substr(0, end + 2));
    take(end + 1);
  }

  std::string_view pattern_, rest_;
  std::string out_;
  bool in_class_ = false;
};

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

constexpr size_t kLongestPattern = 1 << 16;
constexpr size_t kJitStack = size_t{8} << 20;
constexpr uint32_t kLeastSteps = 1'000'000, kStepsPerByte = 64;

}  // namespace

struct RegexScratch::State {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(size_t{32} << 10, kJitStack, nullptr);
  uint32_t limit = 0;

  State() {
    check(data && context, "regex: out of memory");
    pcre2_set_heap_limit(context, 64 << 10);  // KiB
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  ~State() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
};

RegexScratch::RegexScratch() : state_(std::make_unique<State>()) {}
RegexScratch::~RegexScratch() = default;

Regex::Regex(std::string_view pattern) : pattern_(pattern) {
  check(pattern.size() <= kLongestPattern, "regex: expected at most {} bytes, got {}", kLongestPattern, pattern.size());
  check(valid_prefix(pattern) == pattern.size(), "regex {}: the expression is not valid UTF-8", excerpt(pattern));
  const std::string translated = Translation(pattern).run();
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
  check(context != nullptr, "regex: out of memory");
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);  // what '.' does not match
  int error = 0;
  PCRE2_SIZE at = 0;
  code_.reset(pcre2_compile(units(translated), translated.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                            &error, &at, context.get()),
              pcre2_code_free);
  check(code_ != nullptr, "regex {}: {}", excerpt(pattern), message_of(error));
  uint32_t matches_empty = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_MATCHEMPTY, &matches_empty);
  check(matches_empty == 0, "regex {}: the expression matches the empty text", excerpt(pattern));
  compiled_ = pcre2_jit_compile(code_.get(), PCRE2_JIT_COMPLETE) == 0;
}

Regex::Match Regex::find(std::string_view text, size_t from, RegexScratch& scratch) const {
  RegexScratch::State& s = *scratch.state_;
  const auto limit = static_cast<uint32_t>(
      std::min<uint64_t>(kLeastSteps + kStepsPerByte * uint64_t{text.size()}, std::numeric_limits<uint32_t>::max()));
  if (limit != s.limit) {
    s.limit = limit;
    pcre2_set_match_limit(s.context, limit);
  }
  const int count =
      compiled_ ? pcre2_jit_match(code_.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK, s.data, s.context)
                : pcre2_match(code_.get(), units(text), text.size(), from, PCRE2_NO_UTF_CHECK, s.data, s.context);
  if (count == PCRE2_ERROR_NOMATCH) return {text.size(), text.size()};
  if (count < 0) {
    fail("regex {}: it cannot be matched to a text of {} bytes: {}", excerpt(pattern_), text.size(), message_of(count));
  }
  const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(s.data);
  return {ends[0], ends[1]};
}

std::string regex_of_text(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    if (std::ispunct(static_cast<unsigned char>(c))) pattern.push_back('\\');
    pattern.push_back(c);
  }
  return pattern;
}

}  // namespace pg
