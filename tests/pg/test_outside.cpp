// External input: mistyped names, deeply nested JSON, damaged checkpoints, other processes, signals.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>

#include "nn/files/checkpoint.h"
#include "nn/transformer.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tests/catch.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/golden/ops.h"
#include "tools/pg/run/run_dir.h"

using namespace pg;
using pg::testing::error_of;
using pg::testing::read_bytes;
using pg::testing::TempDir;

namespace {

std::string nested(size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// The payloads of a TensorBoard file, split by their length fields.
std::vector<std::string> payloads(const std::string& bytes) {
  std::vector<std::string> all;
  for (size_t at = 0; at + 16 <= bytes.size();) {
    const auto length = static_cast<size_t>(static_cast<uint8_t>(bytes[at])) +
                        (static_cast<size_t>(static_cast<uint8_t>(bytes[at + 1])) << 8);
    all.push_back(bytes.substr(at + 12, length));
    at += length + 16;
  }
  return all;
}

}  // namespace

TEST_CASE("an unknown name gets the nearest known one, if it is near", "[outside]") {
  const std::vector<std::string> known = {"steps", "eval-every", "layers", "lr", "seed"};
  CHECK(did_you_mean("stepz", known) == " (did you mean steps?)");
  CHECK(did_you_mean("setps", known) == " (did you mean steps?)");  // two swapped neighbours count as one mistake
  CHECK(did_you_mean("eval_every", known) == " (did you mean eval-every?)");
  CHECK(did_you_mean("layer", known) == " (did you mean layers?)");
  CHECK(did_you_mean("sed", known) == " (did you mean seed?)");
  CHECK(did_you_mean("warm", {"warmup", "width", "name"}) == " (did you mean warmup?)");  // it begins so
  CHECK(did_you_mean("te", {"temperature", "tokens", "text"}) == "");                     // two do
  CHECK(did_you_mean("learning-rate", known) == "");
  CHECK(did_you_mean("xx", known) == "");  // no character of `lr` matches
  CHECK(did_you_mean("", known) == "");
  CHECK(did_you_mean(std::string(1 << 20, 's'), known) == "");
  CHECK(did_you_mean("steps", {}) == "");
}

TEST_CASE("JSON that nests deep is refused before it is parsed", "[outside]") {
  CHECK(shallow_json(nested(64), "here") == nested(64));
  CHECK(error_of([] { shallow_json(nested(65), "here"); }) == "here: the JSON nests more than 64 deep");
  const std::string brackets_in_text = "{\"a\": \"" + std::string(100, '[') + "\\\"" + std::string(100, '{') + "\"}";
  CHECK(shallow_json(brackets_in_text, "here") == brackets_in_text);
  CHECK(shallow_json("]]]]\"\\", "here") == "]]]]\"\\");  // not JSON: left to the parser to report

  const std::string deep = "{\"n_head\": " + nested(200000) + "}";
  CHECK(error_of([&] { transformer_config_from_json(deep); }).find("nests more than 64 deep") != std::string::npos);
  CHECK(error_of([&] { tools::GoldenAttributes("add", deep); }).find("nests more than 64 deep") != std::string::npos);
}

TEST_CASE("a message never shows a long value whole", "[outside]") {
  CHECK(excerpt("a\nb\x1b[2Jc") == "a?b?[2Jc");
  CHECK(excerpt(std::string(81, 'x')) == std::string(80, 'x') + "...");
  std::string wide = "[0";
  for (int i = 0; i < 100000; ++i) wide += ",0";
  wide += "]";
  CHECK(error_of([&] { transformer_config_from_json("{\"n_head\": " + wide + "}"); }).size() < 200);
  CHECK(error_of([&] { transformer_config_from_json("{\"n_head\": \"\xff\"}"); }).find("n_head") != std::string::npos);
  CHECK(error_of([&] { tools::GoldenAttributes("add", "{\"a\": [" + wide + "]}"); }).size() < 300);
}

TEST_CASE("a checkpoint that claims a larger model than it holds is refused before the model is built", "[outside]") {
  const TempDir dir;
  const std::string path = dir.file("a.safetensors");
  Generator g(1);
  const TransformerConfig config = {.vocab_size = 5, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 8};
  Transformer model(config, g);
  // Counted by hand: two embeddings, then 4 matrices of 3, 1, 4 and 4 squares. Biases and norms are not counted.
  CHECK(least_parameters(config) == 5 * 8 + 4 * 8 + 12 * 8 * 8);
  const auto claim = [&](TransformerConfig claimed) {
    save_checkpoint(path, model, nullptr, {0, {}, {{"model", to_json(claimed)}}});
    return error_of([&] { load_checkpoint(path).model_config(); });
  };
  CHECK(claim(config).empty());
  TransformerConfig many = config, wide = config;
  many.n_layer = 1000000000;
  wide.n_embd = INT32_MAX;
  CHECK(claim(many).find("1000000000 blocks of width 8") != std::string::npos);
  CHECK(claim(wide).find("2147483647") != std::string::npos);
}

TEST_CASE("two writers of one file do not take each other's temporary file", "[outside]") {
  const TempDir dir;
  const std::string path = dir.file("a");
  {
    AtomicFile first(path), second(path);
    first.write("one", 3);
    second.write("two", 3);
    first.commit();
    CHECK(read_bytes(path) == "one");
    second.commit();
  }
  CHECK(read_bytes(path) == "two");
  CHECK(std::distance(std::filesystem::directory_iterator(dir.path), {}) == 1);
}

TEST_CASE("the temporary file of a killed writer is removed by the next one", "[outside]") {
  const TempDir dir;
  const std::string path = dir.file("a");
  std::ofstream(dir.file("a.7-0.tmp")) << "cut";
  std::ofstream(dir.file("ab.7-0.tmp")) << "of another file";
  std::ofstream(dir.file("a.mine.tmp")) << "of a user";
  write_file_atomically(path, "new");
  CHECK(read_bytes(path) == "new");
  CHECK(!std::filesystem::exists(dir.file("a.7-0.tmp")));
  CHECK(std::filesystem::exists(dir.file("ab.7-0.tmp")));
  CHECK(std::filesystem::exists(dir.file("a.mine.tmp")));
}

TEST_CASE("memory that runs out where nothing may be thrown ends the process with a sentence", "[outside]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    tools::run_process([] {
      const auto destroy = [](const std::function<void()>& f) noexcept { f(); };
      destroy([] { throw std::bad_alloc(); });
      return 0;
    });
    ::_exit(2);
  }
  ::close(ends[1]);
  std::string text;  // it may come in pieces
  char piece[200];
  for (ssize_t n = 0; (n = ::read(ends[0], piece, sizeof piece)) > 0;) text.append(piece, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  CHECK(text.starts_with("pg: out of memory"));
}

TEST_CASE("a run folder has one holder at a time", "[outside]") {
  const TempDir dir;
  std::string path;
  {
    const RunDir run = RunDir::create(dir.path.string(), "x");
    path = run.path();
    CHECK(error_of([&] { RunDir::open(path); }).find("another process is training in it") != std::string::npos);
  }
  std::ofstream(path + "/checkpoint.safetensors.7-0.tmp") << "cut";
  RunDir::open(path);
  CHECK(!std::filesystem::exists(path + "/checkpoint.safetensors.7-0.tmp"));
}

TEST_CASE("the reason for a run folder that cannot be made is the system's first", "[outside]") {
  const TempDir dir;
  std::ofstream(dir.file("file")) << "text";
  CHECK(error_of([&] { RunDir::create(dir.file("file") + "/runs", "x"); }).find("Not a directory") !=
        std::string::npos);
}

TEST_CASE("TensorBoard does not get the steps of a resumed run twice", "[outside]") {
  const TempDir dir;
  std::string path;
  {
    RunDir run = RunDir::create(dir.path.string(), "x");
    path = run.path();
    for (int step : {0, 100, 200, 300}) run.log(step, {{"loss", 1.0}});
  }
  RunDir run = RunDir::open(path);
  run.rewind(200);
  run.log(200, {{"loss", 2.0}});
  std::vector<std::string> events;  // events of both files
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().filename().string().find("tfevents") == std::string::npos) continue;
    for (const std::string& event : payloads(read_bytes(entry.path().string()))) events.push_back(event);
  }
  // Skips the wall time. Compares field 2, the step as a varint (200 = 0xc8 0x01), and the tag of the summary.
  const auto count = [&](const std::string& step) {
    return std::count_if(events.begin(), events.end(),
                         [&](const std::string& e) { return e.substr(9, step.size()) == step; });
  };
  CHECK(count(std::string("\x10\x00\x2a", 3)) == 1);
  CHECK(count("\x10\x64\x2a") == 1);
  CHECK(count("\x10\xc8\x01\x2a") == 1);
  CHECK(count("\x10\xac\x02\x2a") == 0);  // step 300
}

TEST_CASE("a progress line never wraps", "[outside]") {
  const TempDir dir;
  const std::string path = dir.file("out");
  std::FILE* out = std::fopen(path.c_str(), "w");
  {
    Progress progress(0, 2, out, /*columns=*/20);
    progress.update(1, "loss 1.0 \u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9");
  }
  std::fclose(out);
  CHECK(read_bytes(path) == " 50%  step 1/2  los\n");
  out = std::fopen(path.c_str(), "w");
  {
    Progress progress(0, 2, out, /*columns=*/20);
    progress.update(1, "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9");
  }
  std::fclose(out);
  CHECK(read_bytes(path) == " 50%  step 1/2  \u00e9\u00e9\u00e9\n");
}

TEST_CASE("progress that cannot be written is lost and nothing else", "[outside]") {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (!full) SKIP_TEST("there is no /dev/full");
  Progress progress(0, 100, full);
  for (int step = 1; step <= 100; ++step) progress.update(step, "loss 1.5");
  progress.print("done");
  remark(full, "{} times\n", 3);
  std::fclose(full);
}

TEST_CASE("every signal that asks to stop sets the flag, once", "[outside]") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = fork();  // a child process, because the flag stays set
    if (child == 0) {
      std::signal(SIGHUP, SIG_DFL);
      catch_interrupt();
      std::raise(number);
      if (interrupted() && interrupt_status() == 128 + number) std::raise(number);  // the second signal ends it
      _exit(1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == number);
  }
}
