#pragma once
// Plots for the terminal. Each returns lines; Unicode and colour follow style(), and the ASCII form reads as well.
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pg::kit {

// One character per value, bottom to top.
std::string sparkline(std::span<const double> values);

struct Series {
  std::string name;
  std::vector<double> y;
  std::vector<double> x{};            // default 0, 1, 2, …
  std::vector<double> low{}, high{};  // a band behind the line, e.g. min and max over ten seeds; as long as y
};
struct PlotOptions {
  std::string title{}, x_label{}, y_label{};
  int width = 80, height = 16;  // characters, labels included in the width
  bool log_y = false;
};
// Lines and bands over common axes, with a legend that gives first, lowest and last value of each.
std::string line_plot(const std::vector<Series>& series, const PlotOptions& options = {});

struct Bar {
  std::string label;
  double value;
  std::string text;  // printed behind the bar
};
// Horizontal bars; `full` is the value of a whole one (default: the largest).
std::string bars(const std::vector<Bar>& bars, double full = 0, int width = 40);

struct HeatOptions {
  double low = 0, high = 0;  // values of the lightest and the darkest cell; equal: of the data
  bool diverging = false;    // two colours away from the middle, for signed values
  std::vector<std::string> row_labels{}, column_labels{};
  std::vector<std::string> marks{};  // per row: one character per cell, ' ' for none, drawn over the cell
};
// rows × columns, top row first; two characters per cell when that fits the width, else one.
std::string heat_map(const std::vector<std::vector<double>>& rows, const HeatOptions& options = {});

}  // namespace pg::kit
