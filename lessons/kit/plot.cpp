// Line plots, bars, heat maps and sparklines as text.
#include "lessons/kit/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lessons/kit/canvas.h"
#include "lessons/kit/record.h"
#include "lessons/kit/terminal.h"

namespace pg::kit {
namespace {

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void include(double x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  bool empty() const { return low > high; }
  double part(double x) const { return high > low ? (x - low) / (high - low) : 0.5; }
};

// The level 0 … levels-1 of a value within a range.
int level(const Range& range, double x, int levels) {
  if (!std::isfinite(x)) return 0;
  return std::clamp(static_cast<int>(range.part(x) * levels), 0, levels - 1);
}

constexpr int kIndent = 2;  // of what a demonstration shows

std::string number(double x) { return fmt::format("{:.4g}", x); }

std::string legend(const Series& series, const std::string& marker) {
  if (series.y.empty()) return "";
  const double lowest = *std::min_element(series.y.begin(), series.y.end());
  const std::string numbers = fmt::format("first {}, lowest {}, last {}{}", number(series.y.front()), number(lowest),
                                          number(series.y.back()), series.low.empty() ? "" : "; dots: the band");
  const bool fits = kIndent + 4 + text_width(series.name) + text_width(numbers) <= style().width;
  return fmt::format("{} {}:{}{}\n", marker, series.name, fits ? " " : "\n    ", numbers);
}

}  // namespace

std::string sparkline(std::span<const double> values) {
  Range range;
  for (double x : values) range.include(x);
  std::string text;
  for (double x : values) {
    if (style().unicode)
      append_utf8(text, 0x2581 + level(range, x, 8));
    else
      text += "_.-~=+*#"[level(range, x, 8)];
  }
  return text;
}

std::vector<double> thinned(std::span<const double> values, size_t count) {
  if (values.size() <= count) return {values.begin(), values.end()};
  std::vector<double> result;
  for (size_t part = 0; part < count; ++part) {
    const size_t begin = part * values.size() / count, end = (part + 1) * values.size() / count;
    result.push_back(std::accumulate(values.begin() + static_cast<ptrdiff_t>(begin),
                                     values.begin() + static_cast<ptrdiff_t>(end), 0.0) /
                     static_cast<double>(end - begin));
  }
  return result;
}

std::string line_plot(const std::vector<Series>& series, const PlotOptions& options) {
  const auto scale = [&](double y) { return options.log_y ? std::log10(y) : y; };
  Range xs, ys;
  for (const Series& s : series) {
    for (size_t i = 0; i < s.y.size(); ++i) {
      xs.include(s.x.empty() ? static_cast<double>(i) : s.x[i]);
      ys.include(scale(s.y[i]));
      if (!s.low.empty()) ys.include(scale(s.low[i]));
      if (!s.high.empty()) ys.include(scale(s.high[i]));
    }
  }
  if (ys.empty()) return "(nothing to plot)\n";

  // Series that are distinguished only by colour are drawn as letters if there is no colour.
  const bool braille = style().unicode && (series.size() == 1 || style().color);
  constexpr int kLabels = 11;  // a number such as 1.649e-09, and the border
  Canvas canvas(std::max(20, std::min(options.width, style().width - kIndent) - kLabels), options.height, braille);
  const auto column = [&](double x) { return static_cast<int>(std::lround(xs.part(x) * (canvas.width() - 1))); };
  const auto row = [&](double y) {
    return static_cast<int>(std::lround((1 - ys.part(scale(y))) * (canvas.height() - 1)));
  };
  for (size_t n = 0; n < series.size(); ++n) {
    const Series& s = series[n];
    const int owner = static_cast<int>(n);
    const auto x_of = [&](size_t i) { return column(s.x.empty() ? static_cast<double>(i) : s.x[i]); };
    for (size_t i = 0; i < s.y.size() && !s.low.empty() && !s.high.empty(); ++i) {
      if (!std::isfinite(scale(s.low[i])) || !std::isfinite(scale(s.high[i]))) continue;
      for (int y = row(s.high[i]); y <= row(s.low[i]); ++y) {
        if (!braille || (x_of(i) + 2 * y) % 4 == 0) canvas.dot(x_of(i), y, owner, true);
      }
    }
    for (size_t i = 0; i < s.y.size(); ++i) {
      if (!std::isfinite(scale(s.y[i]))) continue;
      const bool joined = i > 0 && std::isfinite(scale(s.y[i - 1]));
      const int x1 = x_of(i), y1 = row(s.y[i]), x0 = joined ? x_of(i - 1) : x1, y0 = joined ? row(s.y[i - 1]) : y1;
      const int steps = std::max({1, std::abs(x1 - x0), std::abs(y1 - y0)});
      for (int k = 0; k <= steps; ++k) canvas.dot(x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps, owner, false);
    }
  }

  const auto value_at = [&](double part) {
    const double y = ys.low + part * (ys.high - ys.low);
    return number(options.log_y ? std::pow(10.0, y) : y);
  };
  std::string text = options.title.empty() ? "" : paint(Color::bold, options.title) + "\n";
  if (!options.y_label.empty()) text += options.y_label + "\n";
  const char* border = style().unicode ? "│" : "|";
  for (int r = 0; r < options.height; ++r) {
    std::string label;
    if (r == 0) label = value_at(1);
    if (r == options.height / 2) label = value_at(1 - r / (options.height - 1.0));
    if (r == options.height - 1) label = value_at(0);
    text += fmt::format("{:>{}} {}{}\n", label, kLabels - 2, border, canvas.row(r));
  }
  const std::string left = number(xs.low), right = number(xs.high);
  const int columns = canvas.width() / (braille ? 2 : 1);
  const int room = std::max(0, columns - text_width(left) - text_width(right) - text_width(options.x_label));
  text += std::string(kLabels, ' ') + left + std::string(room / 2, ' ') + options.x_label +
          std::string(room - room / 2, ' ') + right + "\n";
  for (size_t n = 0; n < series.size(); ++n) text += legend(series[n], canvas.marker(static_cast<int>(n)));
  keep_line_plot(text, series, options);
  return text;
}

std::string bars(const std::vector<Bar>& bars, double full, int width) {
  int label_width = 0, text_space = 0;
  double largest = full;
  for (const Bar& bar : bars) {
    label_width = std::max(label_width, text_width(bar.label));
    text_space = std::max(text_space, text_width(bar.text));
    if (full <= 0) largest = std::max(largest, bar.value);
  }
  width = std::max(10, std::min(width, style().width - kIndent - label_width - text_space - 4));
  std::string text;
  for (const Bar& bar : bars) {
    const double part = largest > 0 && std::isfinite(bar.value) ? std::clamp(bar.value / largest, 0.0, 1.0) : 0;
    const int eighths = static_cast<int>(std::lround(part * width * 8));
    std::string drawn;
    if (style().unicode) {
      for (int i = 0; i < eighths / 8; ++i) drawn += "█";
      if (eighths % 8) append_utf8(drawn, 0x2590 - eighths % 8);
    } else {
      drawn = std::string((eighths + 4) / 8, '#');
    }
    text += padded(bar.label, label_width) + "  " + paint(Color::cyan, padded(drawn, width)) + "  " + bar.text + "\n";
  }
  keep_bars(text, bars, full);
  return text;
}

std::string heat_map(const std::vector<std::vector<double>>& rows, const HeatOptions& options) {
  Range range;
  size_t columns = 0;
  for (const auto& row : rows) {
    columns = std::max(columns, row.size());
    for (double x : row) range.include(x);
  }
  if (options.low < options.high) range = {options.low, options.high};
  if (range.empty()) return "(nothing to plot)\n";
  int label_width = 0;
  for (const auto& label : options.row_labels) label_width = std::max(label_width, text_width(label));
  const int cell = label_width + 2 * static_cast<int>(columns) + 3 <= style().width ? 2 : 1;

  std::string text;
  if (!options.column_labels.empty()) {
    text += std::string(label_width ? label_width + 1 : 0, ' ');
    for (const auto& label : options.column_labels) text += padded(label, cell);
    text += "\n";
  }
  for (size_t r = 0; r < rows.size(); ++r) {
    if (label_width) text += padded(r < options.row_labels.size() ? options.row_labels[r] : "", label_width) + " ";
    int painted = -1;  // the shade of the previous cell
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const bool marked = r < options.marks.size() && c < options.marks[r].size() && options.marks[r][c] != ' ';
      const double x = rows[r][c];
      if (style().color) {
        // The 256-colour palette: blue - white - red, pale enough for black marks, or greys.
        constexpr int kDiverging[] = {69, 75, 111, 153, 189, 255, 224, 217, 210, 203, 167};
        const int shade = options.diverging ? kDiverging[level(range, x, 11)] : 234 + level(range, x, 21);
        const int ink = options.diverging || shade > 244 ? 16 : 231;
        if (shade != painted) text += fmt::format("\x1b[48;5;{};38;5;{}m", painted = shade, ink);
        text += padded(marked ? std::string(1, options.marks[r][c]) : " ", cell);
        continue;
      }
      std::string glyph;
      if (style().unicode) {
        constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
        glyph = kShades[level(range, x, 5)];
      } else {
        glyph = std::string(1, " .:-=+*#%@"[level(range, x, 10)]);
      }
      std::string doubled = glyph;
      for (int i = 1; i < cell; ++i) doubled += glyph;
      text += marked ? options.marks[r][c] + (cell == 2 ? glyph : "") : doubled;
    }
    text += painted >= 0 ? "\x1b[0m\n" : "\n";
  }
  keep_heat_map(text, rows, options);
  return text;
}

}  // namespace pg::kit
