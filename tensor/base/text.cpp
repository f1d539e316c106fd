// Suggestions for misspelt names, excerpts, UTF-8, and a depth limit for JSON.
#include "tensor/base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "tensor/base/error.h"

namespace pg {
namespace {

// The number of insertions, deletions, substitutions and swaps of neighbours that transform `a` into `b` (optimal
// string alignment).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  constexpr size_t longest = 64;  // no name is longer
  if (given.size() > longest) return "";
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(1, given.size() / 3) + 1;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(given, name);
    if (distance >= least || distance >= name.size()) continue;
    best = &name;
    least = distance;
  }
  if (!best && given.size() > 1) {  // the beginning of one name only
    const auto begins = [&](const std::string& name) { return name.starts_with(given); };
    const auto first = std::find_if(known.begin(), known.end(), begins);
    if (std::count_if(known.begin(), known.end(), begins) == 1) best = &*first;
  }
  return best ? fmt::format(" (did you mean {}?)", *best) : "";
}

std::string_view shallow_json(std::string_view text, std::string_view what) {
  constexpr int deepest = 64;
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      check(++depth <= deepest, "{}: the JSON nests more than {} deep", what, deepest);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return text;
}

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xc2 || lead > 0xf4) return {};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (text.size() < length) return {};
  char32_t character = lead & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    const auto byte = static_cast<uint8_t>(text[k]);
    if ((byte & 0xc0) != 0x80) return {};
    character = (character << 6) | (byte & 0x3f);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character <= 0xdfff;
  if (character < smallest[length] || character > 0x10ffff || surrogate) return {};
  return {character, length};
}

bool is_utf8(std::string_view text) {
  for (size_t length = 0; !text.empty(); text.remove_prefix(length)) {
    length = first_character(text).length;
    if (length == 0) return false;
  }
  return true;
}

std::string excerpt(std::string_view text, size_t longest) {
  std::string shown(text.substr(0, longest));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text.size() > longest ? shown + "..." : shown;
}

uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace pg
