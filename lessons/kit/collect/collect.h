#pragma once
// What the laptops of a workshop have recorded (.progress.json), as one table for whoever teaches.
#include <string>
#include <vector>

#include "lessons/kit/state.h"

namespace pg::kit {

struct Laptop {
  std::string name;  // of its folder, and the learner's if it is another
  Progress progress;
};
struct Room {
  std::vector<Laptop> laptops;       // by name
  std::vector<std::string> skipped;  // a sentence for each file that was not read
};

// A check over all laptops.
struct CheckSummary {
  std::string id;
  int ok = 0, wrong = 0, todo = 0;
  std::string diagnosis;      // the commonest one of those who are not ok; the first by alphabet of equals; "" if none
  int64_t longest_stuck = 0;  // minutes
};

// Reads DIR/LAPTOP/*progress.json. Files over 1 MB, symbolic links, and what is no record are skipped. Throws Error if
// `dir` is not a folder.
Room read_room(const std::string& dir);

// The minutes since the first WRONG of a check that is not ok yet; 0 if there is none. `now`: seconds since 1970.
int64_t minutes_stuck(const LessonState& lesson, const std::string& check, int64_t now);
std::vector<CheckSummary> summaries(const Room& room, int64_t now);

// A table laptop × check for each lesson, then each check's commonest diagnosis, then what was skipped.
std::string room_text(const Room& room, int64_t now);
// One row per laptop and check. A cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string room_csv(const Room& room, int64_t now);
// One page without scripts and without network.
std::string room_html(const Room& room, int64_t now);

}  // namespace pg::kit
