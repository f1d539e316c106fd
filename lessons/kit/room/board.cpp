// What the room takes, keeps and shows.
#include "lessons/kit/room/board.h"

#include <algorithm>
#include <cctype>
#include <ctime>
#include <filesystem>
#include <random>

#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

// Whether the texts are equal, in a time that does not tell how much of them is.
bool same_secret(const std::string& a, const std::string& b) {
  unsigned char differs = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i) differs |= static_cast<unsigned char>(a[i] ^ b[i % b.size()]);
  return differs == 0;
}

int64_t written_at(const std::string& path) {
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(path);
  return std::time(nullptr) - std::chrono::duration_cast<std::chrono::seconds>(age).count();
}

}  // namespace

std::string random_code() {
  const std::string consonants = "bdfgkmnprstvwz", vowels = "aeiu";  // no l and o, which look like 1 and 0
  std::random_device random;
  const auto one_of = [&](const std::string& letters) {
    return letters[std::uniform_int_distribution<size_t>(0, letters.size() - 1)(random)];
  };
  std::string code;
  for (int i = 0; i < 4; ++i) {
    code += one_of(consonants);
    code += one_of(vowels);
  }
  return code;
}

Board::Board(const std::string& dir, const std::string& code, Course course, size_t most_names)
    : dir_(dir), code_(code), course_(std::move(course)), most_names_(most_names) {
  const bool plain = std::all_of(code.begin(), code.end(),
                                 [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0; });
  check(plain && code.size() >= 4 && code.size() <= 32,
        "room: a code word has 4 to 32 lower-case letters and digits, got \"{}\"", code);
  make_folder(dir);
  for (const Laptop& laptop : read_room(dir).laptops) {
    const std::string file = fmt::format("{}/{}/progress.json", dir, laptop.folder);
    if (fs::exists(file)) show(laptop.folder, laptop.progress, written_at(file));
  }
}

HttpResponse Board::answer(const HttpRequest& request) { return answer_at(request, std::time(nullptr)); }

HttpResponse Board::answer_at(const HttpRequest& request, int64_t now) {
  if (request.method == "POST") return take(request, now);
  if (request.path != "/") return {404, "The table is at /.\n"};
  Room room;
  for (const auto& [name, laptop] : laptops_) room.laptops.push_back(laptop);
  return {200, live_html(room, course_, now), "text/html; charset=utf-8"};
}

HttpResponse Board::take(const HttpRequest& request, int64_t now) {
  if (!same_secret(request.path.substr(1), code_)) return {403, "The code word is wrong: ask whoever teaches.\n"};
  Progress progress;
  try {
    progress = read_record(request.body);
  } catch (const std::exception&) {
    return {400, "This is not a record of this course.\n"};
  }
  const std::string name = folder_name(progress.learner);
  if (name.empty()) return {400, "The record has no name: export POLICYGRAD_NAME=...\n"};
  const auto owner = address_of_.find(name);
  if (owner != address_of_.end() && owner->second != request.from) {
    return {409, fmt::format("Another laptop is called {}: export POLICYGRAD_NAME=... and check again.\n", name)};
  }
  if (!laptops_.contains(name) && laptops_.size() >= most_names_) {
    return {403, fmt::format("The room is full: it has {} names.\n", laptops_.size())};
  }
  make_folder(dir_ + "/" + name);
  write_file_atomically(fmt::format("{}/{}/progress.json", dir_, name), request.body);
  address_of_[name] = request.from;
  show(name, std::move(progress), now);
  return {200, fmt::format("the table has your record as {}\n", name)};
}

void Board::show(const std::string& name, Progress progress, int64_t received) {
  int64_t last = 0;  // by the laptop's clock, at about the time when it was received
  for (auto& [number, lesson] : progress.lessons) {
    const auto known = course_.find(number);
    // A record cannot add columns to the page.
    std::erase_if(lesson.checks, [&](const auto& check) {
      return known == course_.end() || !known->second.minutes.contains(check.first);
    });
    for (const auto& [id, history] : lesson.history) last = std::max(last, history.checked);
  }
  laptops_[name] = {name, name, std::move(progress), last > 0 ? last - received : 0};
}

}  // namespace pg::kit
