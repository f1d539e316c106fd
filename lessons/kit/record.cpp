// Keeps what a demonstration prints, and the data of its plots.
#include "lessons/kit/record.h"

#include <algorithm>
#include <cmath>

#include "tensor/base/json.h"

namespace pg::kit {
namespace {

struct KeptPlot {
  std::string text;
  Json item;
};
std::vector<KeptPlot> kept_plots;
int records = 0;

void keep(const std::string& text, Json item) {
  if (records == 0 || text.empty()) return;
  constexpr size_t kMost = 200;  // a demonstration may make more than it shows
  if (kept_plots.size() == kMost) kept_plots.erase(kept_plots.begin());
  kept_plots.push_back({text, std::move(item)});
}

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
Json numbers(const std::vector<double>& values) {
  Json all = Json::array();
  for (const double x : values) all.push_back(number(x));
  return all;
}

// The text without the colours of the terminal.
std::string without_colors(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      i = std::min(text.find('m', i), text.size());
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

struct DemoRecord::Items {
  Sink sink;
  Json all = Json::array();

  void send(const Json& item) const {
    if (sink) sink(item.dump(-1, Json::Utf8::replace));
  }
  void push(Json item) {
    send(item);
    all.push_back(std::move(item));
  }
};

DemoRecord::DemoRecord(Sink sink) : items_(std::make_unique<Items>(Items{std::move(sink)})) { ++records; }
DemoRecord::~DemoRecord() {
  if (--records == 0) kept_plots.clear();
}

void DemoRecord::heading(const std::string& text) {
  items_->push({{"type", "heading"}, {"text", without_colors(text)}});
}
void DemoRecord::text(const std::string& text) { items_->push({{"type", "text"}, {"text", without_colors(text)}}); }

void DemoRecord::block(const std::string& text) {
  // The last plot that was made is looked for first.
  for (auto plot = kept_plots.rbegin(); plot != kept_plots.rend(); ++plot) {
    const size_t at = text.find(plot->text);
    if (at == std::string::npos) continue;
    const Json item = plot->item;
    const std::string before = text.substr(0, at), after = text.substr(at + plot->text.size());
    if (!before.empty()) block(before);
    items_->push(item);
    if (!after.empty()) block(after);
    return;
  }
  const std::string plain = without_colors(text);
  // Neighbouring lines are one block.
  const Json item = {{"type", "block"}, {"text", plain}};
  if (items_->all.empty() || items_->all.back()["type"] != "block") return items_->push(item);
  items_->send(item);
  Json& last = items_->all.back()["text"];
  last = last.get<std::string>() + "\n" + plain;
}

void DemoRecord::status(const std::string& text) { items_->send({{"type", "status"}, {"text", without_colors(text)}}); }

void DemoRecord::claim(const Claim& claim) {
  items_->push({{"type", "claim"},
                {"name", claim.name},
                {"value", number(claim.value)},
                {"unit", claim.unit},
                {"bound", claim.bound.text()},
                {"judged", claim.judged},
                {"pass", claim.holds()}});
}

std::string DemoRecord::items() const { return items_->all.dump(-1, Json::Utf8::replace); }

void keep_line_plot(const std::string& text, const std::vector<Series>& series, const PlotOptions& options) {
  if (records == 0) return;
  Json lines = Json::array();
  for (const Series& s : series) {
    Json line = {{"name", s.name}, {"x", numbers(s.x)}, {"mean", numbers(s.y)}};
    for (size_t i = 0; s.x.empty() && i < s.y.size(); ++i) line["x"].push_back(i);
    if (!s.low.empty() && !s.high.empty()) {
      line["low"] = numbers(s.low);
      line["high"] = numbers(s.high);
    }
    lines.push_back(std::move(line));
  }
  keep(text, {{"type", "plot"},
              {"title", options.title},
              {"xLabel", options.x_label},
              {"yLabel", options.y_label},
              {"log", options.log_y},
              {"lines", std::move(lines)}});
}

void keep_bars(const std::string& text, const std::vector<Bar>& bars, double full) {
  if (records == 0) return;
  Json rows = Json::array();
  for (const Bar& bar : bars) {
    rows.push_back({{"label", bar.label}, {"value", number(bar.value)}, {"text", without_colors(bar.text)}});
  }
  keep(text, {{"type", "bars"}, {"full", number(full)}, {"bars", std::move(rows)}});
}

void keep_heat_map(const std::string& text, const std::vector<std::vector<double>>& rows, const HeatOptions& options) {
  if (records == 0) return;
  Json cells = Json::array();
  for (const std::vector<double>& row : rows) cells.push_back(numbers(row));
  keep(text, {{"type", "heat"},
              {"low", number(options.low)},
              {"high", number(options.high)},
              {"diverging", options.diverging},
              {"labels", options.row_labels},
              {"columns", options.column_labels},
              {"marks", options.marks},
              {"rows", std::move(cells)}});
}

void keep_drawing(const Drawing& drawing) {
  if (records == 0) return;
  Json frames = Json::array();
  for (const DrawnFrame& frame : drawing.frames) {
    Json boxes = Json::array(), arrows = Json::array();
    for (const auto& [x, y, width, height, lines, strong, at_top] : frame.boxes) {
      boxes.push_back({{"x", x},
                       {"y", y},
                       {"width", width},
                       {"height", height},
                       {"lines", lines},
                       {"strong", strong},
                       {"atTop", at_top}});
    }
    for (const auto& [x, y, to_x, to_y, label, strong] : frame.arrows) {
      arrows.push_back({{"from", {x, y}}, {"to", {to_x, to_y}}, {"label", label}, {"strong", strong}});
    }
    frames.push_back({{"caption", frame.caption}, {"boxes", std::move(boxes)}, {"arrows", std::move(arrows)}});
  }
  keep(drawing.text, {{"type", "drawing"},
                      {"title", drawing.title},
                      {"width", drawing.width},
                      {"height", drawing.height},
                      {"frames", std::move(frames)}});
}

}  // namespace pg::kit
