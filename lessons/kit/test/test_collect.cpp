// The table of a workshop: what it counts, and what hostile folders can do.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "lessons/kit/collect/collect.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;
using testing::contains;
using testing::TempDir;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kNow = 1700000000;

Progress record(const std::string& learner, State first, int64_t minutes, const std::string& diagnosis) {
  Progress progress;
  progress.learner = learner;
  LessonState& lesson = progress.lessons["1"];
  lesson.checks = {{"01.1", first}, {"01.2", State::todo}};
  lesson.history["01.1"] = {kNow, minutes > 0 ? kNow - 60 * minutes - 30 : 0, diagnosis};
  return progress;
}

void save(const fs::path& folder, const Progress& progress) {
  fs::create_directories(folder);
  save_progress((folder / ".progress.json").string(), progress);
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

}  // namespace

TEST_CASE("a workshop's table has the states and the commonest diagnosis and the minutes", "[kit]") {
  const TempDir dir;
  const fs::path root(dir.path);
  save(root / "a", record("Ada", State::wrong, 12, "a sign"));
  save(root / "b", record("", State::wrong, 3, "a factor, or \"two\""));
  save(root / "c", record("c", State::todo, 40, "a factor, or \"two\""));
  Progress remarked = record("d", State::ok, 0, "");
  remarked.lessons["1"].history["01.1"].remark = "only calls the engine's own add";
  save(root / "d", remarked);
  const Room room = read_room(dir.path);
  CHECK(room.skipped.empty());
  REQUIRE(room.laptops.size() == 4);
  CHECK(room.laptops[0].name == "a (Ada)");
  CHECK(room.laptops[1].name == "b");

  const auto sums = summaries(room, kNow);
  REQUIRE(sums.size() == 2);
  CHECK(sums[0].id == "01.1");
  CHECK(sums[0].ok == 1);
  CHECK(sums[0].wrong == 2);
  CHECK(sums[0].todo == 1);
  CHECK(sums[0].diagnosis == "a factor, or \"two\"");  // two of three
  CHECK(sums[0].longest_stuck == 40);
  CHECK(sums[1].todo == 4);
  CHECK(sums[1].longest_stuck == 0);

  const std::string text = room_text(room, kNow);
  CHECK(contains(text, "a (Ada)  W 12   .    \n"));
  CHECK(contains(text, "c        t 40   .    \n"));
  CHECK(contains(text, "d        ok*    .    \n"));
  CHECK(contains(text, "01.1  1 ok  2 WRONG  1 TODO  stuck for up to 40 minutes\n"));
  const std::string csv = room_csv(room, kNow);
  CHECK(contains(csv, "a (Ada),01.1,WRONG,12,2023-11-14T22:13:20Z,0,a sign,,0,\n"));
  CHECK(contains(csv, "b,01.1,WRONG,3,2023-11-14T22:13:20Z,0,\"a factor, or \"\"two\"\"\",,0,\n"));
  CHECK(contains(csv, "d,01.1,ok,0,2023-11-14T22:13:20Z,0,,only calls the engine's own add,0,\n"));
  CHECK(contains(csv, "d,01.2,TODO,0,,0,,,0,\n"));
  const std::string html = room_html(room, {}, kNow);
  CHECK(contains(html, "<td class=\"ok\">ok*</td>"));
  CHECK(contains(html, "<td class=\"wrong\">WRONG</td><td>TODO</td>"));
  CHECK(contains(html, "<li>d, 01.1: only calls the engine&#39;s own add</li>"));
}

TEST_CASE("hostile folders of a workshop are named and skipped", "[kit]") {
  const TempDir dir;
  const fs::path root(dir.path);
  Progress script = record("<script>alert(1)</script>", State::wrong, 1, "=1+1 <img src=x>\x1b[2J\nnext");
  save(root / "=2+2", script);
  write(root / "broken" / ".progress.json", "{\"lessons\": {");
  write(root / "deep" / ".progress.json", std::string(900000, '['));
  write(root / "large" / ".progress.json", std::string(10 << 20, ' '));
  write(root / "id" / ".progress.json",
        R"({"lessons": {"1": {"checks": {"<b>": "ok"}, "hints": {}, "solution_asked": []}}})");
  write(root / "time" / ".progress.json",
        R"({"lessons": {"1": {"checks": {"01.1": "WRONG"}, "hints": {}, "solution_asked": [],
            "history": {"01.1": {"checked": -9223372036854775808, "wrong_since": 18446744073709551615}}}}})");
  write(root / "kind" / ".progress.json",
        R"({"lessons": {"1": {"checks": {"01.1": "WRONG"}, "hints": {}, "solution_asked": [],
            "history": {"01.1": {"checked": "x", "wrong_since": 1e300}}}}})");
  fs::create_directories(root / "empty");
  fs::create_directories(root / "link");
  fs::create_symlink("/etc/passwd", root / "link" / ".progress.json");
  fs::create_directory_symlink("/etc", root / "outside");
  fs::create_directories(root / "pipe");
  REQUIRE(mkfifo((root / "pipe" / ".progress.json").c_str(), 0600) == 0);
  fs::create_directories(root / "folder" / ".progress.json");
  write(root / "notes.txt", "no folder");

  const Room room = read_room(dir.path);
  REQUIRE(room.laptops.size() == 2);
  CHECK(room.laptops[0].name == "=2+2 (<script>alert(1)</script>)");
  CHECK(room.laptops[1].name == "time");
  std::string skipped;
  for (const std::string& sentence : room.skipped) skipped += sentence + "\n";
  CHECK(skipped ==
        "broken/.progress.json was skipped: it is not a record of this course.\n"
        "deep/.progress.json was skipped: it is not a record of this course.\n"
        "empty was skipped: it has no .progress.json.\n"
        "folder/.progress.json was skipped: it is not a file.\n"
        "id/.progress.json was skipped: it has a check \"<b>\".\n"
        "kind/.progress.json was skipped: checked is no time.\n"
        "large/.progress.json was skipped: it is larger than 1 MB.\n"
        "link/.progress.json was skipped: it is a symbolic link.\n"
        "outside was skipped: it is a symbolic link.\n"
        "pipe/.progress.json was skipped: it is not a file.\n");

  const std::string text = room_text(room, kNow), csv = room_csv(room, kNow), html = room_html(room, {}, kNow);
  for (const std::string& output : {text, csv, html}) CHECK_FALSE(contains(output, "\x1b"));
  CHECK_FALSE(contains(html, "<script"));
  CHECK_FALSE(contains(html, "<img"));
  CHECK(contains(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  CHECK(contains(csv, "'=2+2 (<script>"));
  CHECK(contains(csv, ",'=1+1 <img src=x>?[2J?next,,0,\n"));
  CHECK(room_csv(read_room(dir.path), kNow) == csv);
  CHECK_THROWS_AS(read_room(dir.file("notes.txt")), Error);
  CHECK_THROWS_AS(read_room(dir.file("none")), Error);
}

TEST_CASE("an empty workshop says that there is no record", "[kit]") {
  const TempDir dir;
  const Room room = read_room(dir.path);
  CHECK(contains(room_text(room, kNow), "There is no record of a laptop yet."));
  CHECK(room_csv(room, kNow) == "laptop,check,state,minutes_stuck,checked,hints,diagnosis,remark,attempts,minutes\n");
}

TEST_CASE("the minutes of a check are those since the ok before", "[kit]") {
  LessonState lesson;
  lesson.begun = 6000;
  lesson.history["01.1"].solved = 6600;
  lesson.history["01.2"].solved = 7800;  // together with 01.4: ten minutes each
  lesson.history["01.4"].solved = 7800;
  lesson.history["01.3"].solved = 0;
  CHECK(minutes_taken(lesson, "01.1") == 10.0);
  CHECK(minutes_taken(lesson, "01.2") == 10.0);
  CHECK(minutes_taken(lesson, "01.4") == 10.0);
  CHECK_FALSE(minutes_taken(lesson, "01.3"));
  CHECK_FALSE(minutes_taken(lesson, "01.5"));
  lesson.begun = 6600;  // solved before the first check
  CHECK_FALSE(minutes_taken(lesson, "01.1"));
  lesson.begun = 0;  // a record of an older version
  CHECK_FALSE(minutes_taken(lesson, "01.1"));
  CHECK(minutes_taken(lesson, "01.2") == 10.0);
}

TEST_CASE("a page has a table per lesson with medians and means and hints", "[kit]") {
  const Course course = {{"1", {"Lesson 1: tensors", {{"01.1", 15}}}}, {"2", {"Lesson 2: the tape", {{"02.1", 10}}}}};
  Room room;
  for (const int minutes : {4, 30, 7, 9}) {  // the median of all: 8; 02.1 is done by two
    Progress progress;
    LessonState& lesson = progress.lessons["1"];
    lesson.checks = {{"01.1", State::ok}};
    lesson.begun = kNow - 6000;
    lesson.history["01.1"] = {.checked = kNow - 60, .solved = lesson.begun + 60 * minutes, .attempts = minutes};
    if (minutes < 9) lesson.hints["01.1"] = 2;
    if (minutes < 9) progress.lessons["2"].checks = {{"02.1", State::wrong}};
    room.laptops.push_back({fmt::format("l{}", minutes), fmt::format("l{}", minutes), progress});
  }
  room.laptops[0].progress.lessons["2"].checks["02.2"] = State::ok;
  const std::string page = room_html(room, course, kNow);
  const size_t first = page.find("<h2>Lesson 1: tensors</h2>"), second = page.find("<h2>Lesson 2: the tape</h2>");
  CHECK(first < second);  // as many results in each
  CHECK(contains(page,
                 "<th scope=\"row\">01.1</th><td class=\"number\">4</td><td class=\"number\">0</td>"
                 "<td class=\"number\">0</td><td class=\"number\">12.5</td><td class=\"number\">2</td>"
                 "<td class=\"number\">8</td><td class=\"number\">15</td>"));
  room.laptops[1].progress.lessons["2"].checks = {{"02.1", State::ok}, {"02.2", State::ok}};
  const std::string other = room_html(room, course, kNow);
  CHECK(other.find("<h2>Lesson 2") < other.find("<h2>Lesson 1"));
  const std::string one = room_html(only_lesson(room, course, "2"), course, kNow);
  CHECK(contains(one, "<h2>Lesson 2"));
  CHECK_FALSE(contains(one, "<h2>Lesson 1"));
  CHECK(testing::error_of([&] { only_lesson(room, course, "3b"); }) ==
        "collect: there is no lesson 3b; there are: 1 2");
  CHECK(contains(room_text(room, kNow), "01.1  4 ok  0 WRONG  0 TODO  8 minutes (median)\n"));
  room.laptops[0].name = "Benedetta Fernández-Rodríguez";
  CHECK(contains(room_text(room, kNow), "Benedetta Fernández-Rod~  ok   \n"));
}

TEST_CASE("a part of a lesson has checks with the lesson's number", "[kit]") {
  const auto record = [](const char* number, const char* id) {
    return fmt::format(R"({{"lessons": {{"{}": {{"checks": {{"{}": "ok"}}, "hints": {{}}, "solution_asked": []}}}}}})",
                       number, id);
  };
  Room room;
  room.laptops.push_back({"old", "old", read_record(record("7", "07.5"))});  // of a version without parts
  room.laptops.push_back({"part", "part", read_record(record("7b", "07.5"))});
  room.laptops.push_back({"first", "first", read_record(record("7", "07.1"))});
  for (const char* number : {"8", "8b", "7B", "07", "b"}) {
    CHECK_THROWS_AS(read_record(record(number, "07.5")), std::exception);
  }
  CHECK(contains(room_text(room, kNow),
                 "laptop   07.1   07.5 \nold             ok   \npart            ok   \nfirst    ok"));
  const Course course = {{"7", {"Lesson 7: one", {{"07.1", 15}}}}, {"7b", {"Lesson 7b: two", {{"07.5", 10}}}}};
  const std::string page = room_html(only_lesson(room, course, "7b"), course, kNow);
  CHECK(contains(page, "<h2>Lesson 7b: two</h2>"));
  CHECK_FALSE(contains(page, "<h2>Lesson 7: one</h2>"));
  CHECK_FALSE(contains(page, "07.1"));
}
