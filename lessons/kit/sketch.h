#pragma once
// Small drawings of things that move, for the terminal: a few frames side by side.
#include <array>
#include <string>
#include <vector>

namespace pg::kit {

struct Sketch {
  std::string caption;                         // under the frame; as wide as the frame at most
  std::vector<std::array<double, 4>> lines;    // x0, y0, x1, y1
  std::vector<std::array<double, 2>> crosses;  // x, y; drawn as +
};
// The part of the plane that a frame shows, and its size in characters. A character is twice as high as wide.
struct SketchOptions {
  double left, right, bottom, top;
  int columns = 18, rows = 7;
};
// Lines of text: as many frames as fit the width side by side, the others below, each over its caption.
std::string sketches(const std::vector<Sketch>& frames, const SketchOptions& options);

}  // namespace pg::kit
