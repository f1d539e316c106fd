// Looks whether a drawing is one, and keeps it for the record.
#include "lessons/kit/drawing.h"

#include "lessons/kit/record.h"
#include "tensor/base/error.h"

namespace pg::kit {

std::string drawn(const Drawing& drawing) {
  const std::string& title = drawing.title;
  const double width = drawing.width, height = drawing.height;
  check(!drawing.frames.empty() && !drawing.text.empty(),
        "drawing: \"{}\" has {} frames and a text of {} bytes, expected one or more", title, drawing.frames.size(),
        drawing.text.size());
  check(width > 0 && width <= kDrawingWidth && height > 0, "drawing: \"{}\" is {} x {}, expected a width of at most {}",
        title, width, height, kDrawingWidth);
  const auto inside = [&](double x, double y) {
    check(x >= 0 && x <= width && y >= 0 && y <= height, "drawing: \"{}\" is {} x {}, but it has something at {}, {}",
          title, width, height, x, y);
  };
  for (const DrawnFrame& frame : drawing.frames) {
    for (const DrawnBox& box : frame.boxes) {
      inside(box.x, box.y);
      inside(box.x + box.width, box.y + box.height);
    }
    for (const DrawnArrow& arrow : frame.arrows) {
      inside(arrow.from_x, arrow.from_y);
      inside(arrow.to_x, arrow.to_y);
    }
  }
  keep_drawing(drawing);
  return drawing.text;
}

}  // namespace pg::kit
