// The settings of the matrix product: none changes a bit, and the file that keeps them is never trusted.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "tensor/base/atomic_file.h"
#include "tensor/base/parallel.h"
#include "tensor/cpu/gemm/tuning.h"
#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tests/catch.h"
#include "tests/stderr_text.h"

using namespace pg;
using cpu::GemmChoice;
using cpu::GemmTuning;
using pg::testing::contains;
using pg::testing::stderr_of;
using pg::testing::write_bytes;

namespace {

// Puts the setting and the number of threads back.
struct Restore {
  GemmTuning tuning = cpu::gemm_tuning();
  int threads = num_threads();
  ~Restore() {
    cpu::set_gemm_tuning(tuning);
    set_num_threads(threads);
  }
};

// Every setting that differs from `from` in one choice, the least value of each, and the greatest of each.
std::vector<GemmTuning> settings(const GemmTuning& from) {
  std::vector<GemmTuning> all;
  GemmTuning least = from, greatest = from;
  for (const GemmChoice& choice : cpu::gemm_choices()) {
    for (const int64_t value : choice.values) {
      all.push_back(from);
      all.back().*choice.value = value;
    }
    const auto [low, high] = std::minmax_element(choice.values.begin(), choice.values.end());
    least.*choice.value = *low;
    greatest.*choice.value = *high;
  }
  all.push_back(least);
  all.push_back(greatest);
  return all;
}

struct Case {
  int64_t m, n, k;
  bool transposed_a, transposed_b;
  DType dtype;
  float beta;
};

Tensor operand(int64_t rows, int64_t columns, bool transposed, DType dtype, uint64_t seed) {
  Generator g(seed);
  if (!transposed) return Tensor::normal({rows, columns}, 0, 1, g, dtype);
  return Tensor::normal({columns, rows}, 0, 1, g, dtype).view_transpose(0, 1);
}

// The products of a case: the same operands each time, and a new c.
struct Product {
  explicit Product(const Case& p)
      : one(p), a(operand(p.m, p.k, p.transposed_a, p.dtype, 1)), b(operand(p.k, p.n, p.transposed_b, p.dtype, 2)) {}
  Tensor operator()() const {
    const Tensor c = Tensor::full({one.m, one.n}, 0.75, one.dtype);
    MatmulArgs args;
    args.beta = one.beta;
    cpu_kernels().matmul(c, a, b, args);
    return c;
  }
  Case one;
  Tensor a, b;
};

const std::string kProcessor = "a processor";
const GemmTuning kRules = cpu::gemm_tuning_of_caches(32 << 10, 1 << 20);
GemmTuning another() {
  GemmTuning tuning = kRules;
  for (const GemmChoice& choice : cpu::gemm_choices()) {
    tuning.*choice.value = choice.values.front() == kRules.*choice.value ? choice.values.back() : choice.values.front();
  }
  return tuning;
}

}  // namespace

TEST_CASE("gemm tuning: no setting changes a bit of a product", "[gemm]") {
  const Restore restore;
  std::vector<Case> cases;
  for (const DType dtype : {f32, bf16, f64}) {
    for (const auto& [a, b] : {std::pair(false, false), {false, true}, {true, false}}) {
      // Few rows whose weights do not fit into L1, batches, few columns, and several blocks of K.
      for (const int64_t m : {1, 3, 8, 17, 60, 130, 250}) cases.push_back({m, 300, 1602, a, b, dtype, 0});
      cases.push_back({700, 384, 800, a, b, dtype, 1});
      cases.push_back({300, 130, 1601, a, b, dtype, 0.5f});
    }
  }
  for (const Case& one : cases) {
    set_num_threads(1);
    cpu::set_gemm_tuning(cpu::gemm_tuning_of_caches(32 << 10, 512 << 10));
    const Product product(one);
    const Tensor expected = product();
    const auto bytes = static_cast<size_t>(expected.numel()) * size_of(one.dtype);
    REQUIRE(std::isfinite(expected.to_vector().back()));
    for (const GemmTuning& tuning : settings(restore.tuning)) {
      cpu::set_gemm_tuning(tuning);
      set_num_threads(one.m % 2 ? 3 : 2);
      INFO(one.m << " x " << one.n << " x " << one.k << ": " << cpu::gemm_tuning_text(tuning, "settings"));
      REQUIRE(std::memcmp(product().view().data, expected.view().data, bytes) == 0);
    }
  }
}

TEST_CASE("gemm tuning: the sizes of caches set values that can be kept", "[gemm]") {
  constexpr int64_t KB = 1024;
  for (const int64_t l1 : {int64_t{0}, 32 * KB, 48 * KB, 128 * KB}) {
    for (const int64_t l2 : {int64_t{0}, 256 * KB, 512 * KB, 1024 * KB, 1280 * KB, 2048 * KB, 16384 * KB}) {
      const GemmTuning rules = cpu::gemm_tuning_of_caches(l1, l2);
      for (const GemmChoice& choice : cpu::gemm_choices()) {
        const auto [low, high] = std::minmax_element(choice.values.begin(), choice.values.end());
        INFO(choice.name << ", L1 " << l1 << ", L2 " << l2);
        CHECK(rules.*choice.value >= *low);
        CHECK(rules.*choice.value <= *high);
      }
      const testing::TempDir folder;
      write_bytes(folder.file("kept"), cpu::gemm_tuning_text(rules, kProcessor));
      GemmTuning read = rules;
      CHECK(cpu::read_gemm_tuning(folder.file("kept"), kProcessor, read));
      CHECK(read == rules);
    }
  }
}

TEST_CASE("gemm tuning: what a file keeps is read again", "[gemm]") {
  const testing::TempDir folder;
  const std::string path = folder.file("kept"), text = cpu::gemm_tuning_text(another(), kProcessor);
  REQUIRE(another() != kRules);
  GemmTuning read = kRules;
  CHECK(stderr_of([&] { CHECK_FALSE(cpu::read_gemm_tuning(path, kProcessor, read)); }).empty());
  CHECK(stderr_of([&] { CHECK_FALSE(cpu::read_gemm_tuning("", kProcessor, read)); }).empty());
  CHECK(read == kRules);
  write_bytes(path, text);
  CHECK(stderr_of([&] { CHECK(cpu::read_gemm_tuning(path, kProcessor, read)); }).empty());
  CHECK(read == another());
  // A line that is not there leaves its choice as it was.
  write_bytes(path, text.substr(0, text.find('\n') + 1));
  read = kRules;
  CHECK(cpu::read_gemm_tuning(path, kProcessor, read));
  CHECK(read == kRules);
}

TEST_CASE("gemm tuning: a file that is damaged or of another processor is ignored with one warning", "[gemm]") {
  const testing::TempDir folder;
  const std::string path = folder.file("kept"), text = cpu::gemm_tuning_text(another(), kProcessor);
  const size_t title = text.find('\n') + 1;
  const std::string first = text.substr(0, title);
  std::vector<std::string> damaged = {"",
                                      "\n",
                                      "rubbish\n",
                                      std::string(100000, 'x'),
                                      std::string(5000, '\n'),
                                      text.substr(title),
                                      text + "block_depth\n",
                                      first + "block_depth \n",
                                      first + "block_depth 0\n",
                                      first + "block_depth -1536\n",
                                      first + "block_depth 1536x\n",
                                      first + "block_depth  1536\n",
                                      first + "block_depth 99999999999999999999\n",
                                      first + "block_depths 1536\n",
                                      first + "shared_rows 2\n",
                                      first + "\n",
                                      first + std::string("shared_rows 1\0\n", 15),
                                      "\xff\xfe" + text};
  for (size_t cut = 1; cut < text.size(); ++cut) {
    if (text[cut - 1] != '\n') damaged.push_back(text.substr(0, cut));
  }
  for (const std::string& one : damaged) {
    write_bytes(path, one);
    GemmTuning read = kRules;
    const std::string warning = stderr_of([&] { CHECK_FALSE(cpu::read_gemm_tuning(path, kProcessor, read)); });
    INFO(one.substr(0, 200) << "\n" << warning);
    CHECK(read == kRules);
    CHECK(warning.starts_with("warning: " + path + " is ignored: "));
    CHECK(std::count(warning.begin(), warning.end(), '\n') == 1);
  }
  write_bytes(path, text);
  GemmTuning read = kRules;
  const std::string warning = stderr_of([&] { CHECK_FALSE(cpu::read_gemm_tuning(path, "another processor", read)); });
  CHECK(contains(warning, "its title does not name this processor"));
  CHECK(read == kRules);
}

TEST_CASE("gemm tuning: what is no file is ignored and waits for nobody", "[gemm]") {
  const testing::TempDir folder;
  const std::string pipe = folder.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, folder.path.string(), std::string("/dev/zero")}) {
    GemmTuning read = kRules;
    CHECK(contains(stderr_of([&] { CHECK_FALSE(cpu::read_gemm_tuning(path, kProcessor, read)); }), "it is no file"));
    CHECK(read == kRules);
  }
}

TEST_CASE("gemm tuning: each processor has a file in the cache's folder", "[gemm]") {
  CHECK_FALSE(contains(cpu::processor_name(), "\n"));
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  const std::string cache = value("POLICYGRAD_CACHE"), xdg = value("XDG_CACHE_HOME");
  setenv("POLICYGRAD_CACHE", "/one", 1);
  const std::string path = machine_file("kind", "a");
  CHECK(path.starts_with("/one/kind-"));
  CHECK(path != machine_file("kind", "b"));
  CHECK(path != machine_file("other", "a"));
  CHECK(cpu::gemm_tuning_path().starts_with("/one/cpu-products-"));
  unsetenv("POLICYGRAD_CACHE");
  setenv("XDG_CACHE_HOME", "/two", 1);
  CHECK(machine_file("kind", "a").starts_with("/two/policygrad/kind-"));
  cache.empty() ? unsetenv("POLICYGRAD_CACHE") : setenv("POLICYGRAD_CACHE", cache.c_str(), 1);
  xdg.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", xdg.c_str(), 1);
}
