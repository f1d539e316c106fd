// The file of selected algorithms: it is kept between processes, and its contents are never trusted.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tensor/cuda/gemm/plan_file.h"
#include "tests/catch.h"

using pg::cuda::PlanFile;

namespace {

const PlanFile::Key kKey = {1, -2, INT64_MAX}, kOther = {7};
const PlanFile::Algorithm kAlgorithm = {1, UINT64_MAX, 3, 4, 5, 6, 7, 8};

std::string read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("stored plans are found again only on the same machine", "[cuda]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("cache/plans.txt");
  PlanFile first(path, "card A");
  CHECK(first.find(kKey) == nullptr);
  first.add(kKey, kAlgorithm);
  PlanFile second(path, "card A");
  REQUIRE(second.find(kKey));
  CHECK(*second.find(kKey) == kAlgorithm);
  CHECK(second.find(kOther) == nullptr);
  CHECK(PlanFile(path, "card B").find(kKey) == nullptr);
}

TEST_CASE("plans that several processes add at the same time are all kept; the first for a key stays", "[cuda]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  PlanFile first(path, "card"), second(path, "card");
  first.add(kKey, kAlgorithm);
  second.add(kKey, {});
  second.add(kOther, {});
  CHECK(*second.find(kKey) == kAlgorithm);
  PlanFile third(path, "card");
  REQUIRE((third.find(kKey) && third.find(kOther)));
  CHECK(*third.find(kKey) == kAlgorithm);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // no temporary file is left
}

TEST_CASE("a damaged file of plans counts as empty", "[cuda]") {
  const pg::testing::TempDir folder;
  const std::string path = folder.file("plans.txt");
  PlanFile(path, "card").add(kKey, kAlgorithm);
  const std::string whole = read(path);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = changed[i] == '9' ? '8' : '9';
    std::ofstream(path) << changed;
    REQUIRE(PlanFile(path, "card").find(kKey) == nullptr);
    std::ofstream(path) << whole.substr(0, i);
    REQUIRE(PlanFile(path, "card").find(kKey) == nullptr);
  }
}

TEST_CASE("a plan file that cannot be written is no error", "[cuda]") {
  for (const char* path : {"", "/dev/null/plans.txt", "/proc/plans.txt"}) {
    PlanFile plans(path, "card");
    plans.add(kKey, kAlgorithm);
    CHECK(*plans.find(kKey) == kAlgorithm);
  }
}
