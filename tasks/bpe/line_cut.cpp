// Finds a line end at which a text can be cut.
#include "tasks/bpe/line_cut.h"

#include <algorithm>

#include "tasks/data/utf8.h"

namespace pg {
namespace {

// The character that ends at byte `end`; empty if the bytes there are no character.
std::string_view character_before(std::string_view text, size_t end) {
  for (size_t size = 1; size <= std::min<size_t>(4, end); ++size) {
    const std::string_view last = text.substr(end - size, size);
    if (valid_prefix(last) == size) return last;
  }
  return {};
}

bool matches(const Regex& regex, std::string_view character, RegexScratch& scratch) {
  if (character.empty() || valid_prefix(character) != character.size()) return false;
  const Regex::Match match = regex.find(character, 0, scratch);
  return match.begin == 0 && match.end == character.size();
}

}  // namespace

size_t line_cut(std::string_view text, size_t from, RegexScratch& scratch, LineEnds ends) {
  static const Regex no_space("\\S"), letter_or_digit("[\\p{L}\\p{N}]");
  for (size_t i = text.find('\n', from); i < text.size() && i + 1 < text.size(); i = text.find('\n', i + 1)) {
    const bool crlf = ends == LineEnds::lf_or_crlf && i > 0 && text[i - 1] == '\r';
    const std::string_view rest = text.substr(i + 1);
    if (matches(no_space, character_before(text, crlf ? i - 1 : i), scratch) &&
        matches(letter_or_digit, rest.substr(0, first_unit(rest).bytes), scratch)) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace pg
