// The record of a learner's progress, .progress.json.
#include "lessons/kit/state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lessons/kit/built.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

State state_from(const std::string& name) {
  check(name == "ok" || name == "WRONG" || name == "TODO", "unknown state \"{}\"", name);
  return name == "ok" ? State::ok : name == "WRONG" ? State::wrong : State::todo;
}

int64_t time_from(const Json& json, const char* name) {
  const Json& time = json.at(name);
  check(time.is_number_integer(), "{} is no time", name);
  constexpr int64_t kYear9999 = 253402300799;
  return time.is_integer_in(0, kYear9999) ? time.get<int64_t>() : 0;
}

int64_t time_or_never(const Json& json, const char* name) { return json.contains(name) ? time_from(json, name) : 0; }
HuntScore hunt_from(const Json& json) {
  const auto count = [&](const char* name) {
    const Json& n = json.at(name);
    check(n.is_integer_in(0, std::numeric_limits<int64_t>::max()), "{} of the hunt is no count", name);
    return n.get<int64_t>();
  };
  return {count("answered"), count("right"), count("streak"), count("best")};
}

LessonState lesson_from(const Json& json) {
  LessonState lesson;
  lesson.hash = json.value("hash", "");
  lesson.when = json.value("when", "");
  for (const auto& [id, state] : json.at("checks").items()) lesson.checks[id] = state_from(state.get<std::string>());
  for (const auto& [id, level] : json.at("hints").items()) lesson.hints[id] = std::clamp(level.get<int>(), 0, 3);
  const Json history = json.value("history", Json::object());
  for (const auto& [id, check] : history.items()) {
    lesson.history[id] = {time_from(check, "checked"),    time_from(check, "wrong_since"),
                          check.value("diagnosis", ""),   check.value("remark", ""),
                          time_or_never(check, "solved"), std::clamp(check.value("attempts", 0), 0, 9999),
                          check.value("crashed", false)};
  }
  lesson.begun = time_or_never(json, "begun");
  for (const auto& id : json.at("solution_asked")) lesson.solution_asked.insert(id.get<std::string>());
  if (json.contains("hunt")) lesson.hunt = hunt_from(json.at("hunt"));
  return lesson;
}

Json to_json(const LessonState& lesson) {
  Json checks = Json::object();
  for (const auto& [id, state] : lesson.checks) checks[id] = name_of(state);
  Json history = Json::object();
  for (const auto& [id, check] : lesson.history) {
    history[id] = {{"checked", check.checked}, {"wrong_since", check.wrong_since}, {"diagnosis", check.diagnosis},
                   {"remark", check.remark},   {"solved", check.solved},           {"attempts", check.attempts},
                   {"crashed", check.crashed}};
  }
  Json all = {{"hash", lesson.hash},  {"when", lesson.when},   {"checks", checks},
              {"history", history},   {"hints", lesson.hints}, {"solution_asked", lesson.solution_asked},
              {"begun", lesson.begun}};
  const HuntScore& hunt = lesson.hunt;
  if (hunt.answered > 0) {
    all["hunt"] = {{"answered", hunt.answered}, {"right", hunt.right}, {"streak", hunt.streak}, {"best", hunt.best}};
  }
  return all;
}

void write_atomically(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp";
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  check(file >= 0, "{}: cannot be written: {}", temporary, std::strerror(errno));
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  ::close(file);
  check(written, "{}: writing failed: {}", temporary, std::strerror(errno));
  fs::rename(temporary, path);
}

}  // namespace

void note_outcome(CheckHistory& history, const Outcome& outcome, int64_t time, const std::string& remark) {
  history.checked = time;
  history.remark = remark;
  history.crashed = outcome.crashed;
  if (outcome.state != State::todo && history.solved == 0) ++history.attempts;
  if (outcome.state == State::ok) {
    history.wrong_since = 0;
    history.diagnosis.clear();
    if (history.solved == 0) history.solved = time;
  } else if (outcome.state == State::wrong) {
    if (history.wrong_since == 0) history.wrong_since = time;
    history.diagnosis = outcome.diagnosis;
  }
}

bool is_lesson_number(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const bool letter = digits + 1 == text.size() && text.back() >= 'a' && text.back() <= 'z';
  return (digits == 1 || digits == 2) && text[0] != '0' && (digits == text.size() || letter);
}

std::string lesson_number_of(const std::string& folder) {
  const std::string number = folder.substr(folder.starts_with('0'), folder.find('_') - folder.starts_with('0'));
  return folder.find('_') != std::string::npos && is_lesson_number(number) ? number : "";
}

bool InCourseOrder::operator()(const std::string& a, const std::string& b) const {
  return std::pair(std::atoi(a.c_str()), a) < std::pair(std::atoi(b.c_str()), b);
}

std::string learner_name(const std::string& known) {
  if (const char* given = std::getenv("POLICYGRAD_NAME"); given && *given) return given;
  if (!known.empty()) return known;
  char machine[256] = "";
  gethostname(machine, sizeof machine - 1);
  const char* user = std::getenv("USER");
  return user && *user ? fmt::format("{}@{}", user, machine) : machine;
}

Progress parse_progress(const std::string& text) {
  const Json json = Json::parse(text);
  Progress progress;
  progress.learner = json.value("learner", "");
  for (const auto& [number, lesson] : json.at("lessons").items()) {
    check(is_lesson_number(number), "\"{}\" is no lesson", number);
    progress.lessons[number] = lesson_from(lesson);
  }
  return progress;
}

Progress load_progress(const std::string& path) {
  if (!fs::exists(path)) return {};
  try {
    return parse_progress(read_file(path));
  } catch (const std::exception& error) {
    fail("{}: not a record of this course ({}); delete it to begin a new one", path, error.what());
  }
}

std::string text_of(const Progress& progress) {
  Json lessons = Json::object();
  for (const auto& [number, lesson] : progress.lessons) lessons[number] = to_json(lesson);
  const Json json = {{"learner", progress.learner}, {"lessons", lessons}};
  return sorted_by_key(json).dump(1, Json::Utf8::replace) + "\n";
}

void save_progress(const std::string& path, const Progress& progress) { write_atomically(path, text_of(progress)); }

std::string repository_root() {
  if (built()) return built()->root;
  const char* other = std::getenv("POLICYGRAD_LESSONS_ROOT");  // for tests of lessonN_mutants
  return other ? other : POLICYGRAD_ROOT;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "{}: cannot be read", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string hash_of(const std::string& text) { return fmt::format("{:016x}", checksum(text)); }

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  char text[20];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", std::localtime(&now));
  return text;
}

const char* name_of(State state) { return state == State::ok ? "ok" : state == State::wrong ? "WRONG" : "TODO"; }

}  // namespace pg::kit
