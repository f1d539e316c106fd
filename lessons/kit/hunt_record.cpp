// Makes hunt.csv, the pictures of a lesson's mistakes, and checks it.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lessons/kit/commands.h"
#include "lessons/kit/hunt.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

// The picture of a lesson's training for the seeds 1 to `seeds`, made in a process of its own. No curves if it fails,
// or lasts longer than two minutes.
Bands picture_of(const LessonEntry& lesson, uint64_t seeds) {
  const std::string file = fmt::format("{}.{}", hunt_file(lesson), getpid());
  std::fflush(nullptr);
  const pid_t child = fork();
  check(child >= 0, "hunt: no process can be started");
  if (child == 0) {
    constexpr unsigned kSeconds = 120;
    alarm(kSeconds);
    try {
      Bands curves;
      std::vector<std::string> texts;
      for (uint64_t seed = 1; seed <= seeds; ++seed)
        add_training(lesson.train, Settings(lesson.settings), seed, curves, texts);
      write_bands(file, in_parts(curves));
    } catch (...) {
    }
    _exit(0);
  }
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const Bands picture = read_bands(file);
  fs::remove(file);
  return picture;
}

// A mistake that a training can show: no right answer, and none that only some builds judge.
bool can_show(const MutantRow& row) { return !row.right() && row.needs.empty(); }

}  // namespace

int record_hunt(const LessonEntry& lesson, const MistakenLessons& mistaken) {
  const Bands engine = in_parts(read_bands(band_file(lesson)));
  const Bands right = picture_of(lesson, 1);
  Pictures pictures;
  for (const auto& [row, wrong] : mistaken) {
    if (!can_show(row)) continue;
    const Bands one = picture_of(wrong, 1);
    std::string what = one.empty() ? "no picture" : "no effect";
    if (!one.empty() && difference(one, right, engine).gap > 0) {
      const Bands picture = picture_of(wrong, kPictureSeeds);
      const Difference from = picture.empty() ? Difference{} : difference(picture, engine, engine);
      what = fmt::format("{} {}: {:.2f}", from.seen ? "seen in" : "not seen in", from.curve, from.gap);
      check(!from.seen || !pictures.contains(row.name), "hunt: two mistakes have the name {}", row.name);
      if (from.seen) pictures[row.name] = picture;
    }
    fmt::print("{:<32}{}\n", row.name, what);
    std::fflush(stdout);
  }
  write_pictures(hunt_file(lesson), pictures);
  fmt::print("{} pictures in {}/hunt.csv\n", pictures.size(), lesson.folder);
  return 0;
}

int verify_hunt(const LessonEntry& lesson, const MistakenLessons& mistaken, int count) {
  const Bands engine = in_parts(read_bands(band_file(lesson)));
  const Pictures pictures = read_pictures(hunt_file(lesson));
  Causes causes(mistaken);
  int wrong = 0;
  const auto expect = [&](bool ok, const std::string& what) {
    if (!ok) fmt::print("{}\n", what);
    wrong += !ok;
  };
  for (const auto& [name, picture] : pictures) {
    expect(can_show(causes.at(name).first), name + " is no mistake that a training can show");
    expect(difference(picture, engine, engine).seen, name + " looks like the engine");
  }
  std::set<std::string> asked;
  for (uint64_t seed = 1; seed <= pictures.size(); ++seed) {
    const HuntQuestion q = hunt_question(pictures, engine, seed, [&](const std::string& m) { return causes.words(m); });
    asked.insert(q.mistake);
    expect(std::find(q.choices.begin(), q.choices.end(), q.mistake) != q.choices.end(),
           fmt::format("question {} does not offer its cause", seed));
  }
  expect(asked.size() == pictures.size(), "a mistake is asked for twice before each has come");
  size_t number = 0;
  const size_t every = std::max<size_t>(1, pictures.size() / static_cast<size_t>(count));
  for (const auto& [name, picture] : pictures) {
    if (number++ % every != 0) continue;
    const Bands again = picture_of(causes.at(name).second, 1);
    expect(!again.empty() && !difference(again, picture, engine).seen, name + " does not look as recorded");
  }
  fmt::print("{} pictures, {} wrong\n", pictures.size(), wrong);
  return wrong ? 1 : 0;
}

}  // namespace pg::kit
