#pragma once
// Regular expressions of tokenizers, matched by PCRE2 (compiled to machine code where PCRE2 can).
#include <memory>
#include <string>
#include <string_view>

struct pcre2_real_code_8;  // of pcre2.h

namespace pg {

// What one thread needs to match any Regex. Not for two threads at a time.
class RegexScratch {
 public:
  RegexScratch();
  ~RegexScratch();
  RegexScratch(const RegexScratch&) = delete;
  RegexScratch& operator=(const RegexScratch&) = delete;

 private:
  friend class Regex;
  struct State;
  std::unique_ptr<State> state_;
};

class Regex {
 public:
  // `pattern` has the syntax of tokenizer.json, which is Oniguruma's; classes such as \s and \p{L} are Unicode's. Error
  // naming the part that is not known or would mean something else in PCRE2 (^, $, {1,3}+, inline flags other than
  // (?i:…), nested classes), and for a pattern that matches the empty text.
  explicit Regex(std::string_view pattern);

  const std::string& pattern() const { return pattern_; }

  struct Match {
    size_t begin, end;  // begin == end: none
  };
  // The first match in `text`, valid UTF-8, that begins at or after byte `from`. Error if the expression needs too much
  // time or memory for this text: a limit on PCRE2's steps, proportional to the length of the text.
  Match find(std::string_view text, size_t from, RegexScratch& scratch) const;

 private:
  std::string pattern_;
  std::shared_ptr<pcre2_real_code_8> code_;
  bool compiled_ = false;  // to machine code
};

// A pattern that matches this text and nothing else.
std::string regex_of_text(std::string_view text);

}  // namespace pg
