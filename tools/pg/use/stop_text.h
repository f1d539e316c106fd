#pragma once
// Finds stop texts, which end a sample, while the sample is generated chunk by chunk.
#include <string>
#include <string_view>
#include <vector>

namespace pg::tools {

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
