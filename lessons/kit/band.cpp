// Reads, makes and writes bands of curves.
#include "lessons/kit/band.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "lessons/kit/state.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"

namespace pg::kit {
namespace {

constexpr const char* kHeader = "curve,x,low,high";

double number(const std::string& text, const std::string& where) {
  double x = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  check(error == std::errc{} && end == text.data() + text.size() && std::isfinite(x),
        "{}: expected a number, got \"{}\"", where, text);
  return x;
}

std::vector<double> x_of(const Series& curve) {
  if (!curve.x.empty()) return curve.x;
  std::vector<double> x;
  for (size_t i = 0; i < curve.y.size(); ++i) x.push_back(static_cast<double>(i));
  return x;
}

}  // namespace

Bands read_bands(const std::string& path) {
  Bands bands;
  if (!std::filesystem::exists(path)) return bands;
  std::istringstream lines(read_file(path));
  std::string line;
  std::getline(lines, line);
  check(line == kHeader, "{}: expected the first line {}, got \"{}\"", path, kHeader, line);
  for (int n = 2; std::getline(lines, line); ++n) {
    const std::string where = fmt::format("{}:{}", path, n);
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    check(cells.size() == 4, "{}: expected curve,x,low,high, got \"{}\"", where, line);
    Band& band = bands[cells[0]];
    band.x.push_back(number(cells[1], where));
    band.low.push_back(number(cells[2], where));
    band.high.push_back(number(cells[3], where));
    check(band.low.back() <= band.high.back(), "{}: low is above high", where);
  }
  return bands;
}

void write_bands(const std::string& path, const Bands& bands) {
  std::string text = std::string(kHeader) + "\n";
  for (const auto& [name, band] : bands) {
    for (size_t i = 0; i < band.x.size(); ++i) {
      text += fmt::format("{},{},{:.6g},{:.6g}\n", name, band.x[i], band.low[i], band.high[i]);
    }
  }
  write_file_atomically(path, text);
}

void widen(Bands& bands, const Series& curve) {
  check(curve.name.find_first_of(",\n") == std::string::npos, "band: the name \"{}\" has a comma or a line break",
        curve.name);
  const std::vector<double> x = x_of(curve);
  const auto [entry, first] = bands.try_emplace(curve.name, Band{x, curve.y, curve.y});
  Band& band = entry->second;
  check(first || band.x == x, "band: the points of \"{}\" are elsewhere with another seed", curve.name);
  for (size_t i = 0; i < x.size(); ++i) {
    band.low[i] = std::min(band.low[i], curve.y[i]);
    band.high[i] = std::max(band.high[i], curve.y[i]);
  }
}

bool has_band(const Bands& bands, const Series& curve) {
  const auto found = bands.find(curve.name);
  return found != bands.end() && found->second.x == x_of(curve);
}

OnBand put_on_band(const Bands& bands, Series& curve) {
  const auto found = bands.find(curve.name);
  check(has_band(bands, curve),
        "the lesson's band.csv has no curve \"{}\" with these {} points; the lesson's command band writes it anew",
        curve.name, curve.y.size());
  curve.low = found->second.low;
  curve.high = found->second.high;
  double inside = 0;
  for (size_t i = 0; i < curve.y.size(); ++i) {
    const double rounding = 1e-5 * std::max(std::abs(curve.low[i]), std::abs(curve.high[i]));  // six digits are written
    inside += curve.y[i] >= curve.low[i] - rounding && curve.y[i] <= curve.high[i] + rounding;
  }
  return {curve.name, curve.y.empty() ? 1 : inside / static_cast<double>(curve.y.size())};
}

}  // namespace pg::kit
