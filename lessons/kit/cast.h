#pragma once
// A demonstration as a recording for asciinema (asciicast v2), at the speed of a reader.
#include <string>
#include <vector>

namespace pg::kit {

class Cast {
 public:
  // The text is shown now, and then read: a pause follows that grows with its words and lines.
  void text(const std::string& text);
  // The prompt of --step is shown for a moment and erased.
  void prompt(const std::string& text);
  // The file: a header and an event per line, 80 columns wide. Longer recordings than `most` seconds are sped up.
  std::string file(const std::string& title, double most) const;

 private:
  struct Event {
    double at;
    std::string text;
  };
  double now_ = 0;
  std::vector<Event> events_;
};

}  // namespace pg::kit
