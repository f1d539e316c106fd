#pragma once
// Plots for the terminal. Each returns lines. Unicode and colour follow style(); the ASCII form is equally readable.
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pg::kit {

// One character per value, bottom to top.
std::string sparkline(std::span<const double> values);
// Means of `count` equal parts of the values, or the values if there are no more.
std::vector<double> thinned(std::span<const double> values, size_t count);

struct Series {
  std::string name;
  std::vector<double> y;
  std::vector<double> x{};            // default 0, 1, 2, …
  std::vector<double> low{}, high{};  // a band behind the line, e.g. min and max over ten seeds; as long as y
};
struct PlotOptions {
  std::string title{}, x_label{}, y_label{};
  int width = 80, height = 16;  // characters; the width includes the labels
  bool log_y = false;
};
// Lines and bands over common axes, with a legend that gives the first, lowest and last value of each.
std::string line_plot(const std::vector<Series>& series, const PlotOptions& options = {});

struct Bar {
  std::string label;
  double value;
  std::string text;  // printed after the bar
};
// Horizontal bars. `full` is the value of a bar of full width (default: the largest value).
std::string bars(const std::vector<Bar>& bars, double full = 0, int width = 40);

struct HeatOptions {
  double low = 0, high = 0;  // values of the lightest and the darkest cell; equal: the data's range
  bool diverging = false;    // two colours with a neutral middle, for signed values
  std::vector<std::string> row_labels{}, column_labels{};
  std::vector<std::string> marks{};  // per row: one character per cell, ' ' for none, drawn over the cell
};
// A heat map of rows × columns, top row first. A cell is two characters wide if that fits the width, otherwise one.
std::string heat_map(const std::vector<std::vector<double>>& rows, const HeatOptions& options = {});

}  // namespace pg::kit
