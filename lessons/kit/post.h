#pragma once
// Sends a learner's record to the room, the server of lessons/kit/room on the teacher's machine.
#include <string>

namespace pg::kit {

// Posts `record` to `room`, which is "http://10.0.0.5:8000/CODE" with an address in numbers: looking up a name may take
// long. Returns the sentence that the room answers, or one that says why there is none. Takes at most `seconds`.
std::string post_record(const std::string& room, const std::string& record, double seconds = 1);

}  // namespace pg::kit
