#pragma once
// Where a long text can be cut, so that its parts are split or encoded one by one.
#include <cstddef>
#include <string_view>

#include "tasks/bpe/regex.h"

namespace pg {

// Whether "\r\n" ends a line too. A text that is cut there must be encoded with LF in its place (unix_text).
enum class LineEnds { lf, lf_or_crlf };

// The first place after byte `from` that follows a line end between a character that is no white space and a letter or
// digit; the size of the text if there is none. Every row of split_patterns() splits the text there
// (Pretokenizer::splits_at_line_cuts).
size_t line_cut(std::string_view text, size_t from, RegexScratch& scratch, LineEnds ends = LineEnds::lf);

}  // namespace pg
