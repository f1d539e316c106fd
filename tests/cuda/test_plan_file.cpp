// The file of selected algorithms: it is kept between processes, and its contents are never trusted.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tensor/cuda/gemm/plan_file.h"
#include "tests/catch.h"
#include "tests/stderr_text.h"

using pg::cuda::PlanFile;
using pg::testing::read_bytes;
using pg::testing::stderr_of;
using pg::testing::write_bytes;

namespace {

const PlanFile::Key kKey = {1, -2, INT64_MAX}, kOther = {7};
const PlanFile::Algorithm kAlgorithm = {1, UINT64_MAX, 3, 4, 5, 6, 7, 8};

}  // namespace

TEST_CASE("stored plans are found again only on the same machine", "[cuda][blas]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("cache/plans.txt");
  PlanFile first(path, "card A");
  CHECK(first.find(kKey) == nullptr);
  CHECK(first.add(kKey, kAlgorithm) == kAlgorithm);
  PlanFile second(path, "card A");
  REQUIRE(second.find(kKey));
  CHECK(*second.find(kKey) == kAlgorithm);
  CHECK(second.find(kOther) == nullptr);
  stderr_of([&] { CHECK(PlanFile(path, "card B").find(kKey) == nullptr); });
  CHECK(pg::cuda::plan_path("card A") != pg::cuda::plan_path("card B"));
}

TEST_CASE("plans that several processes add at the same time are all kept and the first for a key stays",
          "[cuda][blas]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  PlanFile first(path, "card"), second(path, "card");
  first.add(kKey, kAlgorithm);
  CHECK(second.add(kKey, {}) == kAlgorithm);
  second.add(kOther, {});
  CHECK(*second.find(kKey) == kAlgorithm);
  REQUIRE(first.find(kOther));  // added after first was made
  PlanFile third(path, "card");
  REQUIRE((third.find(kKey) && third.find(kOther)));
  CHECK(*third.find(kKey) == kAlgorithm);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("processes that add plans at once agree on every algorithm", "[cuda][blas]") {
  constexpr int kProcesses = 4, kKeys = 200;
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      PlanFile plans(path, "card");
      std::ofstream mine(folder.file(std::to_string(process)));
      for (int key = 0; key < kKeys; ++key) mine << plans.add({key}, {static_cast<uint64_t>(process)})[0] << ' ';
      mine.flush();
      _exit(mine ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  const std::string agreed = read_bytes(folder.file("0"));
  for (int process = 1; process < kProcesses; ++process)
    CHECK(read_bytes(folder.file(std::to_string(process))) == agreed);
  const std::string text = read_bytes(path);
  CHECK(std::count(text.begin(), text.end(), '\n') == kKeys + 1);  // one line per key, and the title
  std::string found;
  PlanFile plans(path, "card");
  for (int key = 0; key < kKeys; ++key) {
    const PlanFile::Algorithm* algorithm = plans.find({key});
    found += algorithm ? std::to_string((*algorithm)[0]) + ' ' : "missing ";
  }
  CHECK(found == agreed);
}

TEST_CASE("an entry that is damaged is not found and the rest of the file is used", "[cuda][blas]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  PlanFile(path, "card").add(kKey, kAlgorithm);
  const std::string whole = read_bytes(path);
  const size_t title = whole.find('\n');
  stderr_of([&] {
    for (size_t i = title; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = changed[i] == '9' ? '8' : '9';
      write_bytes(path, changed);
      REQUIRE(PlanFile(path, "card").find(kKey) == nullptr);
      write_bytes(path, whole.substr(0, i));
      REQUIRE(PlanFile(path, "card").find(kKey) == nullptr);
      // What is added later is found, also after a line that was cut off.
      PlanFile(path, "card").add(kOther, kAlgorithm);
      REQUIRE(PlanFile(path, "card").find(kOther));
    }
  });
  write_bytes(path, "rubbish\n" + whole.substr(title + 1) + "3 1 2\n\n");
  std::string warning = stderr_of([&] {
    PlanFile plans(path, "card");
    REQUIRE(plans.find(kKey));
    CHECK(*plans.find(kKey) == kAlgorithm);
    plans.find(kOther);
  });
  INFO(warning);
  CHECK(warning.starts_with("warning: " + path + ": damaged lines are ignored"));
  CHECK(std::count(warning.begin(), warning.end(), '\n') == 1);
  write_bytes(path, whole);
  CHECK(stderr_of([&] { PlanFile(path, "card").add(kOther, kAlgorithm); }).empty());
}

TEST_CASE("a plan file that was removed is written again", "[cuda][blas]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  PlanFile plans(path, "card");
  plans.add(kKey, kAlgorithm);
  std::filesystem::remove(path);
  plans.add(kOther, kAlgorithm);
  CHECK(PlanFile(path, "card").find(kOther));
  CHECK(plans.find(kKey));  // this process keeps it
}

TEST_CASE("a plan file that cannot be written is no error", "[cuda][blas]") {
  for (const char* path : {"", "/dev/null/plans.txt", "/proc/plans.txt", "/dev/null", "/dev/zero"}) {
    PlanFile plans(path, "card");
    CHECK(plans.add(kKey, kAlgorithm) == kAlgorithm);
    CHECK(*plans.find(kKey) == kAlgorithm);
  }
}
