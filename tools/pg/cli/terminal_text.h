#pragma once
// Texts of models and of files on a terminal, which obeys control characters: an escape sequence in such a text could
// set the title or the colours of the terminal, or hide what was printed before.
#include <cstdio>
#include <string>
#include <string_view>

namespace pg::tools {

// A text in UTF-8 with its control characters (U+0000 to U+001F, U+007F to U+009F) in caret notation: ESC as ^[, CR as
// ^M, DEL as ^?, and U+0080 to U+009F, which mean ESC and a letter, as ^[ and that letter. Newlines and tabs stay.
std::string with_carets(std::string_view text);

// with_carets() if `out` is a terminal, otherwise the text as it is.
std::string for_terminal(std::FILE* out, std::string_view text);

// A path or name as a word of a command line that is shown: in single quotes if a shell would not read it as it is.
std::string shell_word(std::string_view text);

}  // namespace pg::tools
