#pragma once
// What the laptops of a workshop have recorded (.progress.json), as tables for whoever teaches.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lessons/kit/state.h"

namespace pg::kit {

struct Laptop {
  std::string folder;
  std::string name;  // of its folder, and the learner's if it is another
  Progress progress;
  int64_t clock_ahead = 0;  // seconds by which its clock is ahead of this machine's, where that is known
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
  int hinted = 0;             // laptops that were shown a hint
  double attempts = 0;        // the mean over the laptops that have one
  std::optional<double> minutes;  // the median of minutes_taken(); nullopt if no laptop has it
};

// A lesson of this tree.
struct CourseLesson {
  std::string heading;                 // of its README: "Lesson 2: the tape"
  std::map<std::string, int> minutes;  // of each check
};
using Course = std::map<std::string, CourseLesson, InCourseOrder>;  // by number
Course read_course(const std::string& root);

constexpr size_t kLargestRecord = 1000000;  // bytes
// The record in `text`, with texts that are short and have no control characters. Throws an exception if it is none of
// this course: each check is of its lesson, "02.1" of lesson 2 or of a part of it, such as 2b, and a lesson has at most
// 20.
Progress read_record(const std::string& text);
// `learner` as the name of a folder: letters, digits, @ - and _, and "_" for every other character; at most 40.
std::string folder_name(const std::string& learner);

// The room without all lessons but one. Throws Error if the course has no such lesson.
Room only_lesson(Room room, const Course& course, const std::string& number);

// Reads DIR/LAPTOP/*progress.json. Files over 1 MB, symbolic links, and what is no record are skipped. Throws Error if
// `dir` is not a folder.
Room read_room(const std::string& dir);

// The minutes since the first WRONG of a check that is not ok yet; 0 if there is none. `now`: seconds since 1970.
int64_t minutes_stuck(const LessonState& lesson, const std::string& check, int64_t now);
// The minutes from the ok before this check's first ok, or from the begin of the lesson, to that ok, pauses included;
// checks that became ok at the same time have equal parts. nullopt if the check never was ok, or at the lesson's begin.
std::optional<double> minutes_taken(const LessonState& lesson, const std::string& check);
std::vector<CheckSummary> summaries(const Room& room, int64_t now);

// A table laptop × check for each lesson, then each check's commonest diagnosis, then what was skipped.
std::string room_text(const Room& room, int64_t now);
// One row per laptop and check. A cell that a spreadsheet would take for a formula begins with an apostrophe.
std::string room_csv(const Room& room, int64_t now);
// One page without scripts and without network: for each lesson the tables laptop × check and per check, and the
// remarks; the lesson with most results first.
std::string room_html(const Room& room, const Course& course, int64_t now);

// The table laptop × check of each lesson, that first in which most laptops had their last check, as a page that is
// loaded again every five seconds.
std::string live_html(const Room& room, const Course& course, int64_t now);
// A laptop's name, "12 checks <b>", as text in HTML.
std::string html_text(const std::string& text);

}  // namespace pg::kit
