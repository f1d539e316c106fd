// Writes asciicast v2 (docs.asciinema.org/manual/asciicast/v2).
#include "lessons/kit/cast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "tensor/base/json.h"

namespace pg::kit {
namespace {

constexpr double kSecondsPerWord = 0.25, kSecondsPerLine = 0.1, kPrompt = 1.5;
constexpr int kColumns = 80, kRows = 40;

}  // namespace

void Cast::text(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c == '\n' ? std::string("\r\n") : std::string(1, c);
  events_.push_back({now_, shown});
  int64_t words = 0;
  std::istringstream all(text);
  for (std::string word; all >> word;)
    words += std::any_of(word.begin(), word.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
  now_ += kSecondsPerWord * static_cast<double>(words) +
          kSecondsPerLine * static_cast<double>(std::count(text.begin(), text.end(), '\n'));
}

void Cast::prompt(const std::string& text) {
  events_.push_back({now_, text});
  now_ += kPrompt;
  events_.push_back({now_, "\r\x1b[K"});
}

std::string Cast::file(const std::string& title, double most) const {
  const double scale = now_ > most ? most / now_ : 1;
  std::string file = Json({{"version", 2}, {"width", kColumns}, {"height", kRows}, {"title", title}}).dump() + "\n";
  for (const Event& event : events_) {
    file += fmt::format("[{:.3f}, \"o\", {}]\n", scale * event.at, Json(event.text).dump(-1, Json::Utf8::replace));
  }
  return file;
}

}  // namespace pg::kit
