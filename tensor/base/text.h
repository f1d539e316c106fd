#pragma once
// Text from outside: names that people type, JSON from files, and what a message may show of them.
#include <string>
#include <string_view>
#include <vector>

namespace pg {

// " (did you mean steps?)" with the known name that differs least from the given one, in at most a third of its
// letters; empty when there is none. For the message of an Error.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

// Gives back the text of a JSON value that nests at most 64 deep; Error naming `what` for a deeper one. Every JSON text
// that comes from a file passes through here before it is parsed, because printing and copying a value recurse.
std::string_view shallow_json(std::string_view text, std::string_view what);

// The first `longest` bytes of a text without control characters, for messages.
std::string excerpt(std::string_view text, size_t longest = 80);

}  // namespace pg
