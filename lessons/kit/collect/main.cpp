// lesson_collect DIR: prints the table of a workshop and writes DIR/collect.csv and DIR/collect.html.
#include <cstdio>
#include <ctime>

#include "lessons/kit/collect/collect.h"
#include "tensor/base/atomic_file.h"

int main(int argc, char** argv) {
  using namespace pg::kit;
  try {
    pg::check(argc == 2 && *argv[1], "type: make collect DIR=FOLDER, with a folder for each laptop in it");
    const std::string dir = argv[1];
    const Room room = read_room(dir);
    const int64_t now = std::time(nullptr);
    fmt::print("{}", room_text(room, now));
    pg::write_file_atomically(dir + "/collect.csv", room_csv(room, now));
    pg::write_file_atomically(dir + "/collect.html", room_html(room, now));
    fmt::print("{0}/collect.csv\n{0}/collect.html\n", dir);
    return 0;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", error.what());
    return 64;
  }
}
