// The settings of the matrix product, and the file that keeps them.
#include "tensor/cpu/gemm/tuning.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "tensor/base/atomic_file.h"
#include "tensor/base/text.h"
#include "tensor/cpu/gemm/panel_block.h"

namespace pg::cpu {
namespace {

constexpr int64_t KB = 1024, kAll = KB * KB * KB;
constexpr std::string_view kTitle = "# policygrad matrix products on a CPU, 1: ";

// The first `most` bytes of a regular file. errno says why there is none: 0 if the path is of something else.
std::optional<std::string> first_bytes(const char* path, size_t most) {
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat status;
  std::string text(most, '\0');
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  errno = 0;
  const ssize_t got = regular ? read(file, text.data(), most) : -1;
  const int error = errno;
  close(file);
  errno = error;
  if (got < 0) return std::nullopt;
  text.resize(static_cast<size_t>(got));
  return text;
}

// "model name", "cpu family", … of the first processor that Linux lists.
std::string listed_processor() {
  const std::string text = first_bytes("/proc/cpuinfo", 4096).value_or("");
  std::string name;
  for (const char* key : {"model name", "cpu family", "model", "stepping", "CPU implementer", "CPU part"}) {
    const size_t at = ("\n" + text).find(fmt::format("\n{}\t", key));
    if (at == std::string::npos) continue;
    const size_t from = text.find(':', at), end = text.find('\n', at);
    if (from == std::string::npos || end == std::string::npos || from + 2 > end) continue;
    const std::string value = text.substr(from + 2, end - from - 2);
    name += name.empty() ? value : fmt::format(", {} {}", key, value);
  }
  return name.empty() ? "unknown processor" : name;
}

// What is wrong with the text of a file; "" if it has been taken into `tuning`.
std::string take(std::string_view text, std::string_view processor, GemmTuning& tuning) {
  GemmTuning read = tuning;
  bool titled = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return "its last line is not complete";
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (!titled) {
      if (line != fmt::format("{}{}", kTitle, processor)) return "its title does not name this processor";
      titled = true;
      continue;
    }
    const auto choice = std::find_if(gemm_choices().begin(), gemm_choices().end(), [&](const GemmChoice& one) {
      return line.starts_with(fmt::format("{} ", one.name));
    });
    if (choice == gemm_choices().end()) return fmt::format("'{}' is not known", excerpt(line));
    int64_t value = 0;
    const char* const last = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + std::strlen(choice->name) + 1, last, value);
    const bool allowed = std::count(choice->values.begin(), choice->values.end(), value) > 0;
    if (error != std::errc() || stop != last || (!allowed && value != tuning.*choice->value))
      return fmt::format("'{}' is none of the values {}", excerpt(line), fmt::join(choice->values, ", "));
    read.*choice->value = value;
  }
  if (!titled) return "it is empty";
  tuning = read;
  return "";
}

GemmTuning& current() {
  static GemmTuning tuning = [] {
    GemmTuning of_file = gemm_tuning_of_caches(l1_bytes(), l2_bytes());
    if (const std::string path = gemm_tuning_path(); !path.empty()) read_gemm_tuning(path, processor_name(), of_file);
    return of_file;
  }();
  return tuning;
}

}  // namespace

const std::vector<GemmChoice>& gemm_choices() {
  static const std::vector<GemmChoice> choices = {
      {"tile_rows",
       &GemmTuning::tile_rows,
       {2 * kMaxRows / 3, 5 * kMaxRows / 6, kMaxRows},
       "rows of a tile of c in registers"},
      {"block_depth",
       &GemmTuning::block_depth,
       {kBytesK, 3 * kBytesK / 2, 2 * kBytesK},
       "bytes of a row of a in a block of K"},
      {"shared_rows", &GemmTuning::shared_rows, {0, 1}, "1: threads share panels of rows; 0: each takes columns"},
      {"prefetch_l1",
       &GemmTuning::prefetch_l1,
       {0, 12 * KB, 24 * KB, kAll},
       "bytes up to which few rows prefetch into L1; more go into L2"},
      {"prefetch_between",
       &GemmTuning::prefetch_between,
       {0, 1},
       "1: they prefetch into L2 between multiply-adds; 0: before loads"},
      {"transposed_rows",
       &GemmTuning::transposed_rows,
       {48, 96, 160, 256},
       "most rows of a product that is computed transposed"},
  };
  return choices;
}

// L1 takes 12 KB of 32 (Zen 4), all that few rows prefetch if it has 48 before an L2 of 1 MB (Zen 5), and nothing
// before an L2 of 2 MB (Emerald Rapids).
GemmTuning gemm_tuning_of_caches(int64_t l1, int64_t l2) {
  const bool large_l1 = l1 > 32 * KB, large_l2 = l2 >= 2048 * KB;
  return {.tile_rows = kMaxRows,
          .block_depth = block_depth_of_l2<float>(l2),
          .shared_rows = large_l2,
          .prefetch_l1 = !large_l1  ? 12 * KB
                         : large_l2 ? 0
                                    : kAll,
          .prefetch_between = large_l1 && large_l2,
          .transposed_rows = large_l2 ? 96 : 256};
}

const GemmTuning& gemm_tuning() { return current(); }
void set_gemm_tuning(const GemmTuning& tuning) { current() = tuning; }

const std::string& processor_name() {
  static const std::string name = fmt::format("{}, L1 {} KB, L2 {} KB, vectors of {} floats", listed_processor(),
                                              l1_bytes() / KB, l2_bytes() / KB, simd::Vec<float>::size);
  return name;
}

std::string gemm_tuning_path() { return machine_file("cpu-products", fmt::format("{}{}", kTitle, processor_name())); }

std::string gemm_tuning_text(const GemmTuning& tuning, std::string_view processor) {
  std::string text = fmt::format("{}{}\n", kTitle, processor);
  for (const GemmChoice& choice : gemm_choices()) text += fmt::format("{} {}\n", choice.name, tuning.*choice.value);
  return text;
}

bool read_gemm_tuning(const std::string& path, std::string_view processor, GemmTuning& tuning) {
  constexpr size_t most = 4096;
  const auto text = first_bytes(path.c_str(), most);
  if (!text && (errno == ENOENT || errno == ENOTDIR)) return false;
  const std::string wrong = !text ? errno ? std::strerror(errno) : "it is no file" : take(*text, processor, tuning);
  if (wrong.empty()) return true;
  fmt::print(stderr, "warning: {} is ignored: {}; `pg tune` writes it anew\n", path, wrong);
  return false;
}

}  // namespace pg::cpu
