#pragma once
// The beginning and the end of a sample: the prompt that the options of a command give, and texts that end a sample.
#include <string>
#include <string_view>
#include <vector>

namespace pg::tools {

// The prompt of --prompt TEXT ("-": all of standard input) or of --prompt-file FILE; only one of them may be non-empty.
// A file's and standard input's line ends become newlines, which a remark on standard error states, and one newline at
// the end is left out. Error if the file cannot be read.
std::string given_prompt(const std::string& prompt, const std::string& file);

class StopText {
 public:
  // Throws Error for an empty stop text.
  explicit StopText(std::vector<std::string> stops);
  // Takes the next chunk of the text. Returns the part to show: without the first stop text and what follows it, and
  // without an end that may be the beginning of a stop text.
  std::string take(std::string_view piece);
  bool stopped() const { return stopped_; }
  // The text held back so far, for a text that ends without a stop text.
  std::string rest();

 private:
  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace pg::tools
