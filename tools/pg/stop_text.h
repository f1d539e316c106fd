#pragma once
// Texts that end a sample, found while it is written piece by piece.
#include <string>
#include <string_view>
#include <vector>

namespace pg::tools {

class StopText {
 public:
  // Error for an empty stop text.
  explicit StopText(std::vector<std::string> stops);
  // The next piece of the text. Returns what may be shown: not the first stop text nor what follows it, and not yet
  // what may turn out to be the beginning of one.
  std::string take(std::string_view piece);
  bool stopped() const { return stopped_; }
  // What was kept back, when the text ends without a stop text.
  std::string rest();

 private:
  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace pg::tools
