// lesson_collect DIR [--lesson N]: prints the tables of a workshop and writes DIR/collect.csv and DIR/collect.html.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>

#include "lessons/kit/collect/collect.h"
#include "tensor/base/atomic_file.h"

int main(int argc, char** argv) {
  using namespace pg::kit;
  CLI::App app{"The tables of a workshop. Usually started by: make collect DIR=FOLDER LESSON=N"};
  std::string dir, number;
  app.add_option("dir", dir, "A folder with a folder for each laptop");
  app.add_option("--lesson", number, "Only this lesson, but in the CSV file");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 64;
  }
  try {
    pg::check(!dir.empty(), "type: make collect DIR=FOLDER, with a folder for each laptop in it");
    const Room room = read_room(dir);
    const Course course = read_course(repository_root());
    const Room shown = app.count("--lesson") > 0 ? only_lesson(room, course, number) : room;
    const int64_t now = std::time(nullptr);
    fmt::print("{}", room_text(shown, now));
    pg::write_file_atomically(dir + "/collect.csv", room_csv(room, now));
    pg::write_file_atomically(dir + "/collect.html", room_html(shown, course, now));
    fmt::print("{0}/collect.csv\n{0}/collect.html\n", dir);
    return 0;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", error.what());
    return 64;
  }
}
