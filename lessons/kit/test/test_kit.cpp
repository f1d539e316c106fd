// Tests of terminal text, finding functions, recorded progress, and checks in separate processes.
#include <csignal>
#include <filesystem>
#include <fstream>

#include "lessons/kit/commands.h"
#include "lessons/kit/plot.h"
#include "lessons/kit/source.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;
namespace fs = std::filesystem;

namespace {

// Restores the style at the end of a test.
struct WithStyle {
  explicit WithStyle(Style s) : before(style()) { set_style(s); }
  ~WithStyle() { set_style(before); }
  Style before;
};

struct TemporaryFile {
  std::string path = (fs::temp_directory_path() / ("policygrad_kit_test_" + std::to_string(getpid()))).string();
  explicit TemporaryFile(const std::string& text = "") {
    if (!text.empty()) std::ofstream(path) << text;
  }
  ~TemporaryFile() { fs::remove(path); }
};

bool ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

int widest(const std::string& text) {
  std::istringstream lines(text);
  int width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, text_width(line));
  return width;
}

}  // namespace

TEST_CASE("plots keep to ASCII and to the width where they must", "[kit]") {
  std::vector<double> y, low, high;
  for (int i = 0; i < 50; ++i) {
    y.push_back(std::exp(-0.1 * i));
    low.push_back(0.9 * y.back());
    high.push_back(1.2 * y.back());
  }
  const auto all = [&] {
    return line_plot({{.name = "loss", .y = y, .low = low, .high = high}, {.name = "other", .y = high}},
                     {.title = "t", .x_label = "step", .width = 200, .log_y = true}) +
           bars({{"a", 1, "one"}, {"bb", 3, "three"}}) + heat_map({{0, 1, 2}, {3, 4, 5}}, {.marks = {"o  ", "  x"}}) +
           sparkline(y) + "\n";
  };
  {
    WithStyle plain({});
    CHECK(ascii(all()));
    CHECK(widest(all()) <= 100);
    CHECK(all().find("loss: first 1, lowest") != std::string::npos);
    CHECK(bars({{"a", 1, "x"}, {"b", 2, "y"}}, 0, 10) == "a  #####       x\nb  ##########  y\n");
  }
  WithStyle rich({.color = false, .unicode = true, .live = true, .width = 100});
  CHECK(!ascii(all()));
  CHECK(widest(all()) <= 100);
}

TEST_CASE("a line plot puts large values above small ones", "[kit]") {
  WithStyle plain({});
  const std::string text = line_plot({{.name = "up", .y = {0, 1}}}, {.width = 40, .height = 5});
  std::istringstream lines(text);
  std::string first, line, last;
  std::getline(lines, first);
  for (int i = 0; i < 4; ++i) std::getline(lines, last);
  INFO(text);
  CHECK(first.find("1 |") != std::string::npos);
  CHECK(first.back() == 'a');
  CHECK(last.find("0 |a") != std::string::npos);
  CHECK(line_plot({{.name = "nothing", .y = {}}}) == "(nothing to plot)\n");
}

TEST_CASE("wrapped keeps to the width and indents", "[kit]") {
  WithStyle narrow({.width = 20});
  CHECK(wrapped("aaaa bbbb cccc dddd eeee", 2) == "  aaaa bbbb cccc\n  dddd eeee\n");
  CHECK(wrapped("aaaa bbbb cccc dddd", 1, "got  ") == " got  aaaa bbbb cccc\n      dddd\n");
}

TEST_CASE("symbols become ASCII where there is no Unicode", "[kit]") {
  WithStyle plain({});
  CHECK(readable("a·b = x² ≤ 1") == "a*b = x^2 <= 1");
  CHECK(wrapped("dc·bᵀ") == "dc*b^T\n");
  set_style({.unicode = true});
  CHECK(readable("a·b") == "a·b");
}

TEST_CASE("find_function finds definitions and their end", "[kit]") {
  const std::string text =
      "int f(int);\n"  // a declaration does not match
      "// a brace: {\n"
      "int f(int x) {\n"
      "  const char* s = \"}\"; // }\n"
      "  if (x == '}') { return 1; }\n"
      "  return 0;\n"
      "}\n"
      "int g() { return 2; }\n";
  const Range range = find_function(text, "int f(int");
  CHECK(range.first == 3);
  CHECK(range.last == 7);
  CHECK(find_function(text, "int g()").last == 8);
  CHECK(find_function(text, "int h()").first == 0);
  const std::string rows = "// f(x)\nONE(f, g(x),\n    h(y))\nONE(g, 1)\n";
  CHECK(find_function(rows, "ONE(f,").text == "ONE(f, g(x),\n    h(y))");
  CHECK(find_function(rows, "ONE(g,").first == 4);
}

TEST_CASE("marked_functions finds every function with a mark and leaves the marks out", "[kit]") {
  const std::string text =
      "#include \"x.h\"\n"
      "namespace a {\n\n"
      "// Adds.\n"
      "int f(int x,\n"
      "      int y) {\n"
      "  int z = x;\n\n"
      "  // [answer 01.1 f]\n"
      "  if (y) {\n"
      "  }\n"
      "  return z;\n"
      "  // [end]\n"
      "}\n"
      "int g() {\n"
      "  // [answer 01.1 g]\n"
      "  return 2;\n"
      "  // [end]\n"
      "}\n"
      "int h() {\n"
      "  // [answer 01.10 h]\n"
      "  return 3;\n"
      "  // [end]\n"
      "}\n\n"
      "}  // namespace a\n";
  CHECK(marked_functions(text, "01.1") ==
        "int f(int x,\n      int y) {\n  int z = x;\n\n  if (y) {\n  }\n  return z;\n}\n"
        "\nint g() {\n  return 2;\n}\n");
  CHECK(marked_functions(text, "01.10") == "int h() {\n  return 3;\n}\n");
  CHECK(marked_functions(text, "01.2").empty());
}

TEST_CASE("minutes are read from the item of a README", "[kit]") {
  const auto minutes = minutes_in(
      "- **Time:** 15 minutes to read; to write: 01.1 10 minutes, 01.2 15, 01.3 10,\n  01.4 30.\n- **Words:** 01.5 "
      "7\n");
  CHECK(minutes == std::map<std::string, int>{{"01.1", 10}, {"01.2", 15}, {"01.3", 10}, {"01.4", 30}});
  CHECK(minutes_in("No such item. 01.1 10").empty());
}

TEST_CASE("a body that only calls the engine's function of the same name is found", "[kit]") {
  CHECK(engine_call("Tensor mul(const Tensor& a) { return pg::mul(a); }", "mul") == "pg::mul");
  CHECK(engine_call("// mul(x) is a product.\nTensor mul(T a) {\n  // the product\n  return pg::mul(a, {1});\n}\n",
                    "mul") == "pg::mul");
  CHECK(engine_call("Tensor matmul(T a) { return pg::matmul(a); }\nTensor mul(T a) { return a * a; }", "mul").empty());
  CHECK(engine_call("Tensor mul(T a) { return pg::add(a, a); }", "mul").empty());
  CHECK(engine_call("Tensor mul(T a) { const T b = a; return pg::mul(a, b); }", "mul").empty());
  CHECK(engine_call("Tensor mul(T a) { TODO(\"01.1 mul\"); }", "mul").empty());
  CHECK(engine_call("Tensor mul(T a);", "mul").empty());
}

TEST_CASE("markdown headings, anchors and commands", "[kit]") {
  const std::string text = "# A b\n```sh\n./x y\n# no heading\n```\n## Why we subtract?\n```\nother\n```\n";
  CHECK(headings(text) == std::vector<std::string>{"A b", "Why we subtract?"});
  CHECK(anchor("Why we subtract?") == "why-we-subtract");
  CHECK(fenced_lines(text, "sh") == std::vector<std::string>{"./x y", "# no heading"});
}

TEST_CASE("progress survives a round trip and refuses other files", "[kit]") {
  TemporaryFile file;
  CHECK(load_progress(file.path).lessons.empty());
  Progress progress;
  progress.learner = "Ada";
  progress.lessons["3"] = {.hash = "abc",
                           .when = "2025-01-02 03:04",
                           .checks = {{"03.1", State::ok}, {"03.2", State::wrong}},
                           .history = {{"03.2", {1700000060, 1700000000, "a sign \xff", "", 1700000030, 4, true}}},
                           .hints = {{"03.2", 2}},
                           .solution_asked = {"03.2"},
                           .begun = 1600000000};
  const LessonState& saved = progress.lessons["3"];
  save_progress(file.path, progress);
  const LessonState back = load_progress(file.path).lessons.at("3");
  CHECK(back.checks == saved.checks);
  CHECK(back.hints == saved.hints);
  CHECK(back.solution_asked == saved.solution_asked);
  CHECK(back.when == saved.when);
  CHECK(load_progress(file.path).learner == "Ada");
  CHECK(back.history.at("03.2").checked == 1700000060);
  CHECK(back.history.at("03.2").wrong_since == 1700000000);
  CHECK(back.history.at("03.2").solved == 1700000030);
  CHECK(back.history.at("03.2").attempts == 4);
  CHECK(back.history.at("03.2").crashed);
  CHECK(back.begun == 1600000000);
  CHECK(back.history.at("03.2").diagnosis == "a sign \xef\xbf\xbd");  // what is no UTF-8 is replaced
  for (const char* hostile :
       {"{", "[]", "{\"lessons\": {\"x\": {}}}", "{\"lessons\": {\"1\": {\"checks\": {\"a\": \"?\"}}}}"}) {
    std::ofstream(file.path) << hostile;
    CHECK_THROWS_AS(load_progress(file.path), Error);
  }
}

TEST_CASE("records of older versions have no learner and no times", "[kit]") {
  TemporaryFile file(
      R"({"lessons": {"1": {"checks": {"01.1": "WRONG"}, "hash": "a", "hints": {}, "solution_asked": [], "when": "b"}}})");
  const Progress old = load_progress(file.path);
  CHECK(old.learner.empty());
  CHECK(old.lessons.at("1").checks.at("01.1") == State::wrong);
  CHECK(old.lessons.at("1").history.empty());
}

TEST_CASE("the first WRONG since the last ok is kept", "[kit]") {
  CheckHistory history;
  Outcome outcome;
  outcome.state = State::wrong;
  outcome.diagnosis = "a sign";
  note_outcome(history, outcome, 100);
  outcome.diagnosis = "a factor";
  note_outcome(history, outcome, 200);
  CHECK(history.wrong_since == 100);
  CHECK(history.checked == 200);
  CHECK(history.diagnosis == "a factor");
  outcome.state = State::todo;  // after a reset
  note_outcome(history, outcome, 300);
  CHECK(history.wrong_since == 100);
  outcome.state = State::ok;
  note_outcome(history, outcome, 400, "slow");
  CHECK(history.remark == "slow");
  CHECK(history.wrong_since == 0);
  CHECK(history.diagnosis.empty());
  outcome.state = State::wrong;
  note_outcome(history, outcome, 500);
  CHECK(history.remark.empty());
  CHECK(history.wrong_since == 500);
  CHECK(history.solved == 400);  // the first ok
  CHECK(history.attempts == 3);  // two WRONG and that ok
}

TEST_CASE("a line of progress has at most 80 columns", "[kit]") {
  LessonEntry lesson{"10", "", "rewards that can be verified", "", {}, {}, {}};
  LessonState state;
  std::map<std::string, int> minutes;
  for (int i = 1; i <= 8; ++i) {
    lesson.checks.push_back({});
    lesson.checks.back().id = fmt::format("10.{}", i);
    minutes[lesson.checks.back().id] = 15;
  }
  WithStyle plain({});
  CHECK(progress_line(lesson, state, minutes, false) ==
        " 10 rewards that can be verified  ........  not started, 120 min: ./lesson10");
  for (const auto& check : lesson.checks) state.checks[check.id] = State::wrong;
  CHECK(text_width(progress_line(lesson, state, minutes, true)) <= 80);
  state.checks["10.1"] = state.checks["10.3"] = State::ok;
  state.checks["10.4"] = State::todo;
  CHECK(progress_line(lesson, state, minutes, true) ==
        " 10 rewards that can be verified  #x#.xxxx  2 of 8 ok, 5 WRONG, 90 min, edited");
  set_style({.unicode = true});
  CHECK(text_width(progress_line(lesson, state, minutes, true)) <= 80);
  for (const auto& check : lesson.checks) state.checks[check.id] = State::ok;
  CHECK(progress_line(lesson, state, minutes, false) == " 10 rewards that can be verified  ████████  8 of 8 ok");
}

TEST_CASE("reset keeps the learner's file and makes the stub again", "[kit]") {
  const fs::path folder = fs::path(repository_root()) / "build-kit-test";
  fs::create_directories(folder);
  std::ofstream(folder / "answers.h") << "int f() {\n  // [answer 01.1 f]\n  return 1;\n"
                                         "  // [end]\n}\n";
  std::ofstream(folder / "exercise.cpp") << "mine\n";
  LessonEntry lesson{"99", "build-kit-test", "test", "exercise.cpp", {}, {}, {}};
  CHECK(reset_command(lesson) == 0);
  CHECK(read_file((folder / "exercise.cpp").string()) ==
        "int f() {\n  // Yours, in place of the next line.\n  TODO(\"01.1 f\");\n}\n");
  int backups = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().string().find(".bak-") == std::string::npos) continue;
    ++backups;
    CHECK(read_file(entry.path().string()) == "mine\n");
  }
  CHECK(backups == 1);
  fs::remove_all(folder);
}

TEST_CASE("checks are selected by id, number or piece", "[kit]") {
  LessonEntry lesson{"2", "", "", "", {}, {}, {}};
  for (const char* id : {"02.1", "02.2"}) {
    CheckEntry check;
    check.id = id;
    check.piece = id == std::string("02.1") ? "mul" : "tanh";
    lesson.checks.push_back(check);
  }
  CHECK(select(lesson, {}).size() == 2);
  CHECK(select(lesson, {"2"}).front()->id == "02.2");
  CHECK(select(lesson, {"mul"}).front()->id == "02.1");
  CHECK(select(lesson, {"2.2"}).front()->id == "02.2");
  CHECK_THROWS_AS(select(lesson, {"9"}), Error);
  CHECK_THROWS_AS(select(lesson, {"2.1", "9"}), Error);
  lesson.renamed = {{"02.9", "01.2"}};
  CHECK(testing::error_of([&] { select(lesson, {"1.1"}); }) ==
        "01.1 is a check of lesson 1: make lesson1 && ./lesson1 check 01.1");
  CHECK(testing::error_of([&] { select(lesson, {"02.9"}); }) ==
        "02.9 is called 01.2 now, and is a check of lesson 1: make lesson1 && ./lesson1 check 01.2");
}

TEST_CASE("lessons are in the order of the course, a part behind its lesson", "[kit]") {
  for (const char* number : {"1", "13", "7b"}) CHECK(is_lesson_number(number));
  for (const char* other : {"", "0", "01", "b", "7bb", "7B", "123", "7b ", "1\n"}) CHECK_FALSE(is_lesson_number(other));
  CHECK(lesson_number_of("07b_ppo") == "7b");
  CHECK(lesson_number_of("13_positions") == "13");
  for (const char* other : {"kit", "INSTRUCTOR.md", "07b", "007_x", "_"}) CHECK(lesson_number_of(other).empty());
  Progress progress;
  for (const char* number : {"10", "7b", "13", "8", "7", "13b"}) progress.lessons[number] = {};
  std::string order;
  for (const auto& [number, state] : parse_progress(text_of(progress)).lessons) order += number + " ";
  CHECK(order == "7 7b 8 10 13 13b ");
}
