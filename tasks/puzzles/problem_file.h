#pragma once
// What the readers of files of problems share.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/fields.h"
#include "tensor/base/json.h"

namespace pg {

// Calls f(object, where) for each line of a JSONL file that is not empty, or for each element of a file that is one
// JSON array; `where` is "FILE:LINE" or "FILE[INDEX]" for messages. Error with that for what is no JSON object, and for
// a file without any.
void each_problem(const std::string& path, const std::function<void(const Json&, const std::string&)>& f);
// Two notes for the user, each a sentence or empty, as one text.
std::string both_notes(const std::string& a, const std::string& b);
// The text of that key. Error if there is none.
std::string text_at(const Json& object, const char* key, const std::string& where);

// The keys of the question and of the answer. Empty: the first usual name that the object has, such as problem,
// question or prompt, and answer, ground_truth or solution; a key whose value is null does not count. "a.b" is the key
// b of the object a.
struct ProblemColumns {
  std::string question = {}, answer = {};
};
std::vector<Field> fields(ProblemColumns& columns);

// A problem of a file. No text is empty or has white space at its ends.
struct ProblemText {
  std::string question;
  std::string answer;   // the last \boxed{…} of the working, else what follows its last ####, else all of it
  std::string working;  // the text at the answer's key
};
// The question may be a list with one message {"role": "user", "content": …}, the answer a number, true, false, or a
// list with one of them. A key "solution" that is not named by `columns` must have a \boxed{…}. Error with `where` for
// anything else; for missing keys it lists those that are there.
ProblemText problem_text(const Json& object, const ProblemColumns& columns, const std::string& where);

// The text in ASCII without '=', for models of characters: usual quotes and dashes as the keys of a keyboard, anything
// else as '~'.
std::string ascii_of(std::string_view text);

}  // namespace pg
