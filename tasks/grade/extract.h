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

// The content of the last <answer> before the first </answer>, if </think> and white space precede it; `strict`:
// exactly one space. Nothing after that </answer> is read. A content with a \boxed{…} whose braces are balanced
// gives what is in them, any other one the whole content.
std::optional<std::string_view> answer_after_thought(std::string_view text, bool strict);

// The last number in a text, as GSM8K's answers are read: digits with a sign, with commas between thousands and with
// decimals. A full stop that ends a sentence is no part of it.
std::optional<std::string_view> last_number(std::string_view text);

// The number that a response ends with: the last one on the line of the first "####" that is no heading, as GSM8K's
// answers are written; without one the last of the text. What a model writes after its answer, another question for
// example, then changes nothing.
std::optional<std::string_view> final_number(std::string_view text);

// The option that an answer to a question of multiple choice states, 'A' to 'D': behind the last "answer is" or
// "answer:" (any case), or at the beginning of a text that does not say that. The letter may have brackets, and is no
// word or part of one. None if the text states none.
std::optional<std::string_view> stated_choice(std::string_view text);

// An answer and where it was found.
struct FoundAnswer {
  enum class Where { boxed, tagged, marked, phrase, nowhere } where;
  std::string_view text = {};  // part of the text that was searched
};
// The first that the text has: the last \boxed{…} or \fbox{…}; the last <answer>…</answer>; the line of the first
// "####" that is no heading; what follows the last "answer is", "answer:" or heading "final answer" (any case, also in
// bold letters) up to the end of its sentence, line, formula or bold letters. A box whose braces are not balanced is
// nowhere: the response is cut.
FoundAnswer find_answer(std::string_view text);

// Without white space (ASCII) at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace pg
