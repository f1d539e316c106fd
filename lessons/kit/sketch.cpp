// Draws lines in braille dots, or in | / - and \\.
#include "lessons/kit/sketch.h"

#include <algorithm>
#include <cmath>

#include "lessons/kit/canvas.h"
#include "lessons/kit/terminal.h"

namespace pg::kit {
namespace {

Canvas drawn(const Sketch& sketch, const SketchOptions& o) {
  const bool braille = style().unicode;
  Canvas canvas(o.columns, o.rows, braille);
  const auto column = [&](double x) { return (x - o.left) / (o.right - o.left) * (canvas.width() - 1); };
  const auto row = [&](double y) { return (o.top - y) / (o.top - o.bottom) * (canvas.height() - 1); };
  for (size_t n = 0; n < sketch.lines.size(); ++n) {
    const auto& [left, bottom, right, top] = sketch.lines[n];
    const double x0 = column(left), y0 = row(bottom), x1 = column(right), y1 = row(top);
    const double wide = std::abs(x1 - x0), high = std::abs(y1 - y0) * (braille ? 1 : 2);
    const char glyph = high > 2 * wide ? '|' : wide > 2 * high ? '-' : (x1 - x0) * (y1 - y0) < 0 ? '/' : '\\';
    const int steps = std::max(1, static_cast<int>(std::ceil(std::max(wide, std::abs(y1 - y0)))));
    for (int i = 0; i <= steps; ++i) {
      const double part = static_cast<double>(i) / steps;
      const int x = static_cast<int>(std::lround(x0 + part * (x1 - x0)));
      const int y = static_cast<int>(std::lround(y0 + part * (y1 - y0)));
      if (braille) {
        canvas.dot(x, y, static_cast<int>(n), false);
      } else {
        canvas.put(x, y, static_cast<int>(n), glyph);
      }
    }
  }
  for (const auto& [x, y] : sketch.crosses) {
    canvas.put(static_cast<int>(std::lround(column(x))), static_cast<int>(std::lround(row(y))),
               static_cast<int>(sketch.lines.size()), '+');
  }
  return canvas;
}

}  // namespace

std::string sketches(const std::vector<Sketch>& frames, const SketchOptions& options) {
  constexpr int kIndent = 2, kGap = 2;  // of what a demonstration shows; between frames
  const int fit = std::max(1, (style().width - kIndent + kGap) / (options.columns + kGap));
  std::string text;
  for (size_t first = 0; first < frames.size(); first += static_cast<size_t>(fit)) {
    const size_t last = std::min(frames.size(), first + static_cast<size_t>(fit));
    std::vector<Canvas> canvases;
    for (size_t n = first; n < last; ++n) canvases.push_back(drawn(frames[n], options));
    for (int r = 0; r < options.rows; ++r) {
      std::string line;
      for (size_t n = 0; n < canvases.size(); ++n) {
        if (n) line.append(kGap, ' ');
        line += canvases[n].row(r);
      }
      text += line + "\n";
    }
    for (size_t n = first; n < last; ++n) {
      if (n > first) text.append(kGap, ' ');
      text += padded(frames[n].caption, options.columns);
    }
    text += "\n";
  }
  return text;
}

}  // namespace pg::kit
