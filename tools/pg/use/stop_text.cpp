// StopText: ends generation at a given text.
#include "tools/pg/use/stop_text.h"

#include <algorithm>
#include <utility>

#include "tensor/base/error.h"

namespace pg::tools {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) check(!stop.empty(), "--stop: a stop text must not be empty");
}

std::string StopText::take(std::string_view piece) {
  if (stopped_) return "";
  pending_ += piece;
  size_t at = std::string::npos;
  for (const std::string& stop : stops_) at = std::min(at, pending_.find(stop));
  if (at != std::string::npos) {
    stopped_ = true;
    return std::exchange(pending_, "").substr(0, at);
  }
  size_t keep = 0;  // length of the longest suffix that is a prefix of a stop text
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(stop.size() - 1, pending_.size()); n > keep; --n) {
      if (pending_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  const std::string shown = pending_.substr(0, pending_.size() - keep);
  pending_.erase(0, shown.size());
  return shown;
}

std::string StopText::rest() { return std::exchange(pending_, ""); }

}  // namespace pg::tools
