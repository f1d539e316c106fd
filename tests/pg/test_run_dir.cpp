// Run folders: lock, logs, TensorBoard, progress.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "tensor/base/error.h"
#include "tests/catch.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/tensorboard.h"

using namespace pg;
using pg::testing::read_bytes;
using pg::testing::TempDir;
namespace fs = std::filesystem;

namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The payloads of a record file. Stops at a truncated record.
std::vector<std::string> read_records(const std::string& bytes) {
  std::vector<std::string> payloads;
  for (size_t at = 0; bytes.size() - at >= 16;) {
    uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, 8);
    if (bytes.size() - at - 16 < length) break;
    payloads.push_back(bytes.substr(at + 12, length));
    CHECK(bytes.substr(at, length + 16) == tensorboard_record(payloads.back()));
    at += length + 16;
  }
  return payloads;
}

std::vector<std::string> event_files(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().rfind("events.out.tfevents.", 0) == 0) files.push_back(entry.path().string());
  }
  return files;
}

}  // namespace

TEST_CASE("a name of a run is a part of the name of a folder", "[pg]") {
  for (const char* name : {"", "a b", "x # y: [z", "..", "Gr\xc3\xbc"})
    CHECK(testing::error_of([&] { check_run_name(name); }).empty());
  for (const std::string& name : {std::string("a/b"), std::string("../../evil"), std::string("a\nb: c"),
                                  std::string("\x1b[31m"), std::string("a\0b", 3), std::string(201, 'x')}) {
    const std::string error = testing::error_of([&] { check_run_name(name); });
    INFO(error);
    CHECK(error.find("must have at most 200 bytes, and no / and no control character") != std::string::npos);
    CHECK(std::none_of(error.begin(), error.end(), [](unsigned char c) { return c < 0x20; }));
  }
}

// These bytes were decoded with protoc --decode_raw.
TEST_CASE("TensorBoard records are right byte for byte", "[run]") {
  CHECK(hex(tensorboard_record(tensorboard_version_event(1.0))) ==
        "1800000000000000a37f4b2209000000000000f03f1a0d627261696e2e4576656e743a3286bf577a");
  CHECK(hex(tensorboard_record(tensorboard_scalar_event(2.0, 7, "loss", 0.5f))) ==
        "1a00000000000000129bd82d09000000000000004010072a0d0a0b0a046c6f7373150000003fc33fc24a");
  // A step whose varint has three bytes: 2000000 = 0b1111010_0001001_0000000.
  CHECK(hex(tensorboard_scalar_event(2.0, 2000000, "x", 1.0f)).substr(18, 8) == "1080897a");
}

TEST_CASE("a run folder holds the config and metrics in both formats", "[run]") {
  const TempDir folder;
  RunDir run = RunDir::create(folder.path.string(), "tiny");
  CHECK(fs::path(run.path()).filename().string().substr(15) == "_tiny");
  run.save_config("steps: 3\n");
  run.log(0, {{"loss", 4.25}, {"lr", 0.001}});
  run.log(10, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
  CHECK(read_bytes(run.file("config.yaml")) == "steps: 3\n");
  CHECK(read_bytes(run.file("metrics.jsonl")) ==
        "{\"step\":0,\"loss\":4.25,\"lr\":0.001}\n{\"step\":10,\"loss\":null}\n");

  const auto files = event_files(run.path());
  REQUIRE(files.size() == 1);
  const auto records = read_records(read_bytes(files[0]));
  REQUIRE(records.size() == 4);
  CHECK(records[0].substr(9) == tensorboard_version_event(0).substr(9));
  CHECK(records[1].substr(9) == tensorboard_scalar_event(0, 0, "loss", 4.25f).substr(9));
  CHECK(records[2].substr(9) == tensorboard_scalar_event(0, 0, "lr", 0.001f).substr(9));
}

TEST_CASE("two runs of one second get two folders", "[run]") {
  const TempDir folder;
  const RunDir a = RunDir::create(folder.path.string(), "x"), b = RunDir::create(folder.path.string(), "x");
  CHECK(a.path() != b.path());
}

TEST_CASE("a resumed run drops what comes again and a cut line", "[run]") {
  const TempDir folder;
  std::string path;
  {
    RunDir run = RunDir::create(folder.path.string(), "x");
    path = run.path();
    for (int step : {0, 10, 20, 30}) run.log(step, {{"loss", 1.0 / (step + 1)}});
  }
  std::ofstream(path + "/metrics.jsonl", std::ios::app) << "{\"step\":40,\"lo";
  RunDir run = RunDir::open(path);
  run.rewind(20);
  run.log(20, {{"loss", 0.5}});
  const std::string metrics = read_bytes(path + "/metrics.jsonl");
  CHECK(metrics ==
        "{\"step\":0,\"loss\":1.0}\n{\"step\":10,\"loss\":0.09090909090909091}\n{\"step\":20,\"loss\":0.5}\n");
  CHECK_THROWS_AS(RunDir::open(path + "/none"), Error);
}

TEST_CASE("a resumed run leaves the user's files as they are", "[run]") {
  const TempDir folder;
  std::string path;
  {
    RunDir run = RunDir::create(folder.path.string(), "x");
    path = run.path();
    for (int step : {0, 10, 20, 30}) run.log(step, {{"loss", 1.0}});
    run.append("samples.jsonl", {"{\"step\":30}"});
  }
  const std::vector<std::string> names = {
      "my_chats.jsonl",
      "right.jsonl",
      "steps.jsonl",
      "audit.jsonl",
      "results.jsonl",
      "train.metrics.jsonl",
      "metrics.jsonl.old",
      "metrics.jsonl.bak",
      "metrics.jsonl~",
      "metrics.jsonl.tmp",
      "metrics.jsonl.1.tmp",
      "metrics.jsonl.1-0",
      "metrics.jsonl.-0.tmp",
      "metrics.jsonl.1-.tmp",
      "metrics.jsonl1-0.tmp",
      "notes.tmp",
      "important.7-0.tmp",
      "7-0.tmp",
      ".7-0.tmp",
      "checkpoint.tmp",
      "checkpoint-old.safetensors",
      "checkpoint-step1.safetensors.1-0.tmp",
      "checkpoint-step1-00001-of-00002.safetensors.bak",
      "my-checkpoint-step1-00001-of-00002.safetensors.1-0.tmp",
      "config.yaml.orig",
      "events.out.tfevents.1700000000.host.1234",
      "events.out.tfevents.1700000000.host.1234.0",
      "tfevents.policygrad",
      "notes \n line.jsonl",
      "ä.jsonl",
  };
  const std::string text = "{\"question\":\"2+2\"}\n{\"step\":40,\"loss\":1}\nno json";
  for (const std::string& name : names) std::ofstream(path + "/" + name) << text;
  std::filesystem::create_directory(path + "/empty.tmp");
  std::filesystem::create_directory(path + "/prompts.jsonl");
  RunDir run = RunDir::open(path);
  run.rewind(20);
  run.log(20, {{"loss", 0.5}});
  for (const std::string& name : names) {
    INFO(name);
    CHECK(read_bytes(path + "/" + name) == text);
  }
  CHECK(std::filesystem::is_directory(path + "/empty.tmp"));
  CHECK(std::filesystem::is_directory(path + "/prompts.jsonl"));
  CHECK(read_bytes(path + "/samples.jsonl").empty());
  CHECK(testing::error_of([&] { run.append("other.jsonl", {"{}"}); }).find("expected one of metrics.jsonl") !=
        std::string::npos);
}

TEST_CASE("a resumed run removes what a killed process left of its own files", "[run]") {
  const TempDir folder;
  const std::string path = RunDir::create(folder.path.string(), "x").path();
  const std::string left[] = {"metrics.jsonl.7-0.tmp",    "checkpoint.safetensors.7-12.tmp",
                              "best.safetensors.7-0.tmp", "checkpoint-step30-00002-of-00004.safetensors.99-1.tmp",
                              "config.yaml.1-0.tmp",      "events.out.tfevents.1700000000.host.12.policygrad.3-0.tmp"};
  for (const std::string& name : left) std::ofstream(path + "/" + name) << "cut";
  RunDir::open(path);
  for (const std::string& name : left) CHECK_FALSE(std::filesystem::exists(path + "/" + name));
}

TEST_CASE("durations read well", "[run]") {
  CHECK(format_duration(7.6) == "8 s");
  CHECK(format_duration(59.6) == "1 min 00 s");
  CHECK(format_duration(125) == "2 min 05 s");
  CHECK(format_duration(3725) == "1 h 02 min");
  CHECK(format_duration(-1) == "0 s");
}

TEST_CASE("progress without a terminal is a line every tenth", "[run]") {
  const TempDir folder;
  const std::string path = (folder.path / "out").string();
  std::FILE* out = std::fopen(path.c_str(), "w");
  {
    Progress progress(0, 200, out);
    for (int step = 1; step <= 200; ++step) progress.update(step, "loss 1.5");
    progress.print("done");
  }
  std::fclose(out);
  std::istringstream lines(read_bytes(path));
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  REQUIRE(all.size() == 12);  // the first step, ten tenths, "done"
  CHECK(all[1].substr(0, 30) == " 10%  step 20/200  loss 1.5  0");
  CHECK(all[10].substr(0, 29) == "100%  step 200/200  loss 1.5 ");
  CHECK(all[11] == "done");
}

TEST_CASE("progress on a terminal rewrites its line", "[run]") {
  const TempDir folder;
  const std::string path = (folder.path / "out").string();
  std::FILE* out = std::fopen(path.c_str(), "w");
  {
    Progress progress(5, 6, out, /*columns=*/80);
    progress.update(5, "a");
    progress.print("hello");
    progress.update(6, "b");
  }
  std::fclose(out);
  CHECK(read_bytes(path) == " 83%  step 5/6  a\r\x1b[Khello\n100%  step 6/6  b  took 0 s\n");
}

TEST_CASE("an interrupt sets a flag", "[run]") {
  catch_interrupt();
  CHECK(!interrupted());
  std::raise(SIGINT);
  CHECK(interrupted());
}
