#pragma once
// A drawing of boxes and arrows. The terminal prints its text; the page of a report and of the course draws its frames
// (tools/report/figure.js).
#include <string>
#include <vector>

namespace pg::kit {

// Coordinates are in pixels at the size of a phone, from the top left; a letter is about 7 wide, a line 15 high.
struct DrawnBox {
  double x, y, width, height;        // of width 0: words alone, with x in their middle
  std::vector<std::string> lines{};  // in the middle of the box
  bool strong = false;               // what a frame is about
  bool at_top = false;               // the lines are at the top, because the box holds others
};
struct DrawnArrow {
  double from_x, from_y, to_x, to_y;
  std::string label{};  // beside the middle
  bool strong = false;
};
struct DrawnFrame {
  std::string caption;  // what this frame shows, a sentence or two
  std::vector<DrawnBox> boxes{};
  std::vector<DrawnArrow> arrows{};
};
struct Drawing {
  std::string title;               // what is drawn, for a reader who cannot see it
  double width, height;            // the width is at most kDrawingWidth
  std::vector<DrawnFrame> frames;  // a reader goes through them one by one
  std::string text;                // what a terminal prints: lines with the same numbers
};
inline constexpr double kDrawingWidth = 360;  // what a phone shows without making it smaller

// Returns the text, to be given to Demo::show, and keeps the frames for its record. Error if there is no frame or no
// text, or if a box or an arrow is outside of the drawing.
std::string drawn(const Drawing& drawing);

}  // namespace pg::kit
