#pragma once
// Finds the answer in the text of a response. What stands around it is the model's working.
#include <optional>
#include <string_view>

namespace pg {

// The content of the last \boxed{…} or \fbox{…} whose braces are balanced; escaped braces do not count. Nothing if the
// last one is not balanced or has no braces.
std::optional<std::string_view> last_boxed(std::string_view text);

// The content of the last <TAG>…</TAG>. Nothing if the last <TAG> has no end, or if text that is not white space
// follows the end.
std::optional<std::string_view> last_tagged(std::string_view text, std::string_view tag);

// An answer and where it was found.
struct FoundAnswer {
  enum class Where { boxed, tagged, phrase, nowhere } where;
  std::string_view text = {};  // part of the text that was searched
};
// The last \boxed{…} or \fbox{…}; without one the last <answer>…</answer>; without one what follows the last "answer
// is" (any case; a colon may follow) up to the end of its sentence or line. A box whose braces are not balanced is
// nowhere: the response is cut.
FoundAnswer find_answer(std::string_view text);

// Without white space (ASCII) at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace pg
