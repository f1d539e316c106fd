// Compares a lesson's program with the learner's file, and rebuilds it if they differ.
#include "lessons/kit/built.h"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "lessons/kit/state.h"
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

std::optional<Built>& registered() {
  static std::optional<Built> one;
  return one;
}

fs::path program_path() {
#ifdef __APPLE__
  char path[4096];
  uint32_t size = sizeof path;
  return _NSGetExecutablePath(path, &size) == 0 ? fs::canonical(path) : fs::path();
#else
  std::error_code no_such_file;
  const fs::path path = fs::read_symlink("/proc/self/exe", no_such_file);
  return no_such_file ? fs::path(built()->folder) / built()->target : path;
#endif
}
// Evaluated once, before the program is built again, because the path then names another file.
const fs::path& this_program() {
  static const fs::path path = program_path();
  return path;
}

std::string path_of(const std::string& exercise) { return built()->root + "/" + exercise; }

bool other_text(const std::string& exercise) { return read_file(path_of(exercise)) != built()->exercise; }

// The last write time of the lesson's sources: the learner may have other sources next to the exercise, or the course
// may have been updated.
fs::file_time_type newest_source(const std::string& exercise) {
  auto newest = fs::file_time_type::min();
  for (const auto& entry : fs::directory_iterator(fs::path(path_of(exercise)).parent_path())) {
    const std::string kind = entry.path().extension().string();
    const bool source = kind == ".h" || kind == ".cpp" || kind == ".cu" || kind == ".cuh";
    if (source) newest = std::max(newest, entry.last_write_time());
  }
  return newest;
}

}  // namespace

RegisterBuilt::RegisterBuilt(const char* root, const char* folder, const char* target, const char* file,
                             std::string_view exercise) {
  registered() = Built{root, folder, target, file, std::string(exercise)};
}

const Built* built() { return registered() ? &*registered() : nullptr; }

void refuse_elsewhere() {
  if (!built()) return;
  std::error_code no_such_folder;
  if (fs::equivalent(this_program().parent_path(), built()->folder, no_such_folder)) return;
  throw Refused(
      fmt::format("This program was built in {} and was copied or moved from there: type make {} in this tree.",
                  built()->folder, built()->target));
}

bool succeeds(const std::string& folder, const std::vector<std::string>& command) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    if (chdir(folder.c_str()) != 0) _exit(127);
    std::vector<char*> words;
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool edited_since_build(const std::string& exercise) {
  return built() && (other_text(exercise) || newest_source(exercise) > fs::last_write_time(this_program()));
}

void rebuild_if_edited(const std::string& exercise, char** argv, bool rebuilt, bool apart) {
  if (!edited_since_build(exercise)) return;
  const Built& from = *built();
  const bool other = other_text(exercise);
  if (rebuilt && !other) {  // the newer source is not part of the program
    std::error_code only_asked_again;
    fs::last_write_time(this_program(), newest_source(exercise), only_asked_again);
    return;
  }
  if (rebuilt) throw Refused(fmt::format("{} was changed while it was built: type the command again.", exercise));
  fmt::print(apart ? stderr : stdout, "{} has changed since this program was built: building {}.\n",
             other ? exercise : "The lesson", from.target);
  std::error_code none_there;
  if (other) fs::remove(from.file, none_there);  // an older file that was restored has an old modification time
  build_and_become(
      from.target, argv, "--rebuilt", apart,
      fmt::format("{} was not built, so nothing is graded: fix what the compiler names first.", from.target));
}

void build_and_become(const std::string& target, char** argv, const std::string& flag, bool apart,
                      const std::string& otherwise) {
  const Built& from = *built();
  std::fflush(stdout);
  const int output = apart ? dup(STDOUT_FILENO) : -1;
  if (output >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::string jobs = std::to_string(std::max(1u, std::thread::hardware_concurrency()));
  if (!succeeds(from.root, {"sh", "scripts/build.sh", from.folder, jobs, target})) throw Refused(otherwise);
  std::vector<char*> words;
  for (char** word = argv; *word; ++word) words.push_back(*word);
  std::string last = flag;
  if (!last.empty()) words.push_back(last.data());
  words.push_back(nullptr);
  std::fflush(nullptr);
  if (output >= 0) {
    dup2(output, STDOUT_FILENO);
    close(output);
  }
  const std::string program = from.folder + "/" + target;
  execv(program.c_str(), words.data());
  throw Refused(fmt::format("{} cannot be run: {}.", program, std::strerror(errno)));
}

}  // namespace pg::kit
