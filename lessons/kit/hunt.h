#pragma once
// The parts of the command hunt: its record of pictures, for authors.
#include <string>

#include "lessons/kit/lesson.h"
#include "lessons/kit/picture.h"

namespace pg::kit {

std::string hunt_file(const LessonEntry& lesson);  // the path of its hunt.csv

// Trains with each mistake, each in a process of its own, and writes hunt.csv: the pictures of those that an eye can
// tell from the engine's band. A mistake whose training ends with an error or lasts longer than two minutes has none.
int record_hunt(const LessonEntry& lesson, const MistakenLessons& mistaken);
// Whether hunt.csv has mistakes of the lesson only, each with a picture outside of the engine's band, and a question
// for each, with five causes in different words, the true one among them; and whether `count` mistakes, trained again,
// have that picture. Prints what does not hold. Returns 0 or 1.
int verify_hunt(const LessonEntry& lesson, const MistakenLessons& mistaken, int count);

// The mistakes by name, and what to say of each: the piece, and the diagnosis of the check that finds it.
class Causes {
 public:
  explicit Causes(const MistakenLessons& mistaken) : mistaken_(mistaken) {}
  // Throws Error if there is no such mistake.
  const std::pair<MutantRow, LessonEntry>& at(const std::string& mistake) const;
  const CheckEntry& check_of(const std::string& mistake) const;
  const Outcome& outcome_of(const std::string& mistake);  // of that check, which runs once
  std::string words(const std::string& mistake);

 private:
  const MistakenLessons& mistaken_;
  std::map<std::string, Outcome> outcomes_;
};

}  // namespace pg::kit
