// Reads the records of many laptops, and sums them up per check.
#include "lessons/kit/collect/collect.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "lessons/kit/source.h"
#include "lessons/kit/terminal.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

// Without control characters, and no longer than `longest` code points.
std::string clean(const std::string& text, int longest) {
  std::string result;
  int length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80 && ++length > longest) break;
    result += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return result;
}

// Whether the id is like 01.2, as all of the course are.
bool is_id(const std::string& id) {
  const auto digit = [&](size_t i) { return i < id.size() && std::isdigit(static_cast<unsigned char>(id[i])); };
  return (id.size() == 4 || (id.size() == 5 && digit(4))) && digit(0) && digit(1) && id[2] == '.' && digit(3);
}

Progress read_record_file(const fs::path& path) {
  const fs::file_status status = fs::symlink_status(path);
  check(!fs::is_symlink(status), "it is a symbolic link");
  check(fs::is_regular_file(status), "it is not a file");
  check(fs::file_size(path) <= kLargestRecord, "it is larger than 1 MB");
  return read_record(read_file(path.string()));
}

}  // namespace

Course read_course(const std::string& root) {
  Course course;
  for (const fs::directory_entry& folder : fs::directory_iterator(root + "/lessons")) {
    const std::string name = folder.path().filename().string(), readme = folder.path().string() + "/README.md";
    const std::string number = lesson_number_of(name);
    if (number.empty() || !fs::exists(readme)) continue;
    const std::string text = read_file(readme);
    const std::vector<std::string> all = headings(text);
    course[number] = {all.empty() ? name : all[0], minutes_in(text)};
  }
  return course;
}

std::string folder_name(const std::string& learner) {
  // What is no letter: C1 controls, and the punctuation from U+2000 to U+207F, which has marks that change directions.
  static const std::string kLatin = "\xc2", kPunctuation = "\xe2\x80", kMore = "\xe2\x81";
  std::string name;
  int length = 0;
  for (size_t i = 0; i < learner.size() && length < 40; ++length) {
    size_t end = i + 1;
    while (end < learner.size() && (learner[end] & 0xc0) == 0x80) ++end;
    const std::string one = learner.substr(i, end - i);
    const bool ascii = one.size() == 1 && (std::isalnum(static_cast<unsigned char>(one[0])) ||
                                           std::string("@-_").find(one[0]) != std::string::npos);
    const bool letter =
        one.size() > 1 && !one.starts_with(kLatin) && !one.starts_with(kPunctuation) && !one.starts_with(kMore);
    name += ascii || letter ? one : "_";
    i = end;
  }
  return name;
}

Progress read_record(const std::string& text) {
  Progress progress = parse_progress(text);
  progress.learner = clean(progress.learner, 40);
  for (auto& [number, lesson] : progress.lessons) {
    for (const auto& [id, state] : lesson.checks) {
      check(is_id(id) && std::stoi(id) == std::stoi(number), "it has a check \"{}\"", id);
    }
    check(lesson.checks.size() <= 20, "its lesson {} has {} checks", number, lesson.checks.size());
    for (auto& [id, history] : lesson.history) {
      for (std::string* text : {&history.diagnosis, &history.remark}) *text = clean(*text, 200);
    }
  }
  return progress;
}

Room read_room(const std::string& dir) {
  check(fs::is_directory(dir), "collect: {} is not a folder", dir);
  Room room;
  const auto skip = [&](const fs::path& path, const std::string& why) {
    const std::string where = path.lexically_relative(dir).string();
    room.skipped.push_back(fmt::format("{} was skipped: {}.", clean(where, 100), clean(why, 150)));
  };
  for (const fs::directory_entry& laptop : fs::directory_iterator(dir)) {
    if (laptop.is_symlink()) skip(laptop.path(), "it is a symbolic link");
    if (laptop.is_symlink() || !laptop.is_directory()) continue;
    std::error_code unreadable;
    const fs::directory_iterator files(laptop.path(), unreadable);
    if (unreadable) skip(laptop.path(), unreadable.message());
    int records = 0;
    for (const fs::directory_entry& file : files) {
      if (!file.path().filename().string().ends_with("progress.json")) continue;
      ++records;
      const std::string folder = clean(laptop.path().filename().string(), 40);
      try {
        const Progress progress = read_record_file(file.path());
        const bool same =
            progress.learner.empty() || folder == progress.learner || folder == folder_name(progress.learner);
        room.laptops.push_back({laptop.path().filename().string(),
                                same ? folder : fmt::format("{} ({})", folder, progress.learner), progress});
      } catch (const Error& error) {
        const std::string why = error.what();
        skip(file.path(), why.starts_with("[json.") ? "it is not a record of this course" : why);
      } catch (const std::exception&) {
        skip(file.path(), "it is not a record of this course");
      }
    }
    if (records == 0 && !unreadable) skip(laptop.path(), "it has no .progress.json");
  }
  std::sort(room.laptops.begin(), room.laptops.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(room.skipped.begin(), room.skipped.end());
  return room;
}

int64_t minutes_stuck(const LessonState& lesson, const std::string& check, int64_t now) {
  const auto state = lesson.checks.find(check);
  const auto history = lesson.history.find(check);
  if (state == lesson.checks.end() || state->second == State::ok || history == lesson.history.end()) return 0;
  const int64_t since = history->second.wrong_since;
  return since > 0 ? std::max<int64_t>(0, now - since) / 60 : 0;
}

std::optional<double> minutes_taken(const LessonState& lesson, const std::string& check) {
  const auto own = lesson.history.find(check);
  const int64_t solved = own == lesson.history.end() ? 0 : own->second.solved;
  int64_t before = lesson.begun;
  int together = 0;
  for (const auto& [id, history] : lesson.history) {
    together += history.solved == solved;
    if (history.solved < solved) before = std::max(before, history.solved);
  }
  if (before == 0 || before >= solved) return {};
  return static_cast<double>(solved - before) / 60 / together;
}

Room only_lesson(Room room, const Course& course, const std::string& number) {
  std::string known;
  for (const auto& [other, lesson] : course) known += fmt::format(" {}", other);
  check(course.contains(number), "collect: there is no lesson {}; there are:{}", number, known);
  for (Laptop& laptop : room.laptops) {
    std::erase_if(laptop.progress.lessons, [&](const auto& lesson) { return lesson.first != number; });
  }
  return room;
}

namespace {

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

}  // namespace

std::vector<CheckSummary> summaries(const Room& room, int64_t now) {
  std::map<std::string, CheckSummary> by_id;
  std::map<std::string, std::map<std::string, int>> diagnoses;
  std::map<std::string, std::vector<double>> minutes;
  std::map<std::string, int> tried;
  for (const Laptop& laptop : room.laptops) {
    for (const auto& [number, lesson] : laptop.progress.lessons) {
      for (const auto& [id, state] : lesson.checks) {
        CheckSummary& sum = by_id[id];
        ++(state == State::ok ? sum.ok : state == State::wrong ? sum.wrong : sum.todo);
        sum.longest_stuck = std::max(sum.longest_stuck, minutes_stuck(lesson, id, now));
        const auto hint = lesson.hints.find(id);
        sum.hinted += hint != lesson.hints.end() && hint->second > 0;
        if (const auto taken = minutes_taken(lesson, id)) minutes[id].push_back(*taken);
        const auto history = lesson.history.find(id);
        if (history != lesson.history.end() && history->second.attempts > 0) {
          sum.attempts += history->second.attempts;
          ++tried[id];
        }
        if (state == State::ok || history == lesson.history.end() || history->second.diagnosis.empty()) continue;
        ++diagnoses[id][history->second.diagnosis];
      }
    }
  }
  std::vector<CheckSummary> result;
  for (auto& [id, sum] : by_id) {
    sum.id = id;
    sum.minutes = median(minutes[id]);
    sum.attempts /= std::max(1, tried[id]);
    int most = 0;
    for (const auto& [diagnosis, count] : diagnoses[id]) {
      if (count > most) sum.diagnosis = diagnosis;
      most = std::max(most, count);
    }
    result.push_back(sum);
  }
  return result;
}

}  // namespace pg::kit
