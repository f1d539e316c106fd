// The report of launches: transactions, conflicts, faults.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "tensor/sim/recorder.h"
#include "tensor/sim/sim.h"
#include "tensor/sim/symbols.h"

namespace pg::sim {

namespace {

Report::Data* innermost = nullptr;

// A share such as 4 of 32 sectors as "12 %".
std::string percent(uint64_t part, uint64_t whole) {
  return whole ? fmt::format("{:.0f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole)) : "-";
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 10000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

Report::Data* report_data() { return innermost; }

Report::Report() : data_(new Data) {
  data_->outer = innermost;
  innermost = data_;
}

Report::~Report() {
  innermost = data_->outer;
  delete data_;
}

const std::map<std::string, KernelStats>& Report::kernels() const { return data_->kernels; }

std::vector<LineStats> Report::lines() const {
  std::vector<const void*> pcs;
  for (const auto& [key, stats] : data_->instructions) pcs.push_back(key.second);
  const auto where = source_lines(pcs);
  // Several instructions of one line (an unrolled loop, say) are one entry.
  std::map<std::tuple<std::string, std::string, int>, InstructionStats> by_line;
  size_t i = 0;
  for (const auto& [key, stats] : data_->instructions) {
    const SourceLine& source = where[i++];
    const std::string file = source.file.empty() ? to_string(source, key.second) : source.file;
    by_line[{key.first, file, source.line}].add(stats);
  }
  std::vector<LineStats> out;
  for (const auto& [key, s] : by_line) {
    out.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), s.accesses, s.narrow, s.bytes, s.sectors,
                   s.ideal_sectors, s.shared_accesses, s.wavefronts, s.ideal_wavefronts, s.worst_ways});
  }
  return out;
}

std::string Report::table() const {
  std::string out;
  if (!sees_accesses()) out += "This build has a sanitizer, so the report counts barriers only, no memory accesses.\n";
  const auto all = lines();
  for (const auto& [name, k] : kernels()) {
    out += fmt::format(
        "{}: {} launches, {} blocks, {} threads; {} requested, {} moved ({} used); {} shared accesses, {} barriers\n",
        name, k.launches, k.blocks, k.threads, bytes_text(k.bytes_requested), bytes_text(k.bytes_moved),
        percent(k.bytes_requested, k.bytes_moved), k.shared_accesses, k.barriers);
    size_t width = 4;
    for (const LineStats& s : all) {
      if (s.kernel == name) width = std::max(width, fmt::format("{}:{}", s.file, s.line).size());
    }
    out += fmt::format("  {:{}} {:>10} {:>10} {:>10} {:>10} {:>6}   {:>10} {:>10} {:>6}\n", "line", width, "global",
                       "narrow", "sectors", "ideal", "", "shared", "passes", "ways");
    for (const LineStats& s : all) {
      if (s.kernel != name) continue;
      out += fmt::format("  {:{}}", fmt::format("{}:{}", s.file, s.line), width);
      if (s.accesses) {
        out += fmt::format(" {:>10} {:>10} {:>10} {:>10} {:>6}  ", s.accesses, s.narrow, s.sectors, s.ideal_sectors,
                           percent(s.ideal_sectors, s.sectors));
      } else {
        out += fmt::format(" {:>10} {:>10} {:>10} {:>10} {:>6}  ", "", "", "", "", "");
      }
      if (s.shared_accesses) out += fmt::format(" {:>10} {:>10} {:>6}", s.shared_accesses, s.wavefronts, s.worst_ways);
      out += '\n';
    }
  }
  return out;
}

void Report::print() const { std::fputs(table().c_str(), stdout); }

}  // namespace pg::sim
