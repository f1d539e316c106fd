#pragma once
// What a demonstration prints, kept for --report and sent for --events: a page shows its plots as curves instead of
// characters.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lessons/kit/demo.h"
#include "lessons/kit/drawing.h"
#include "lessons/kit/plot.h"

namespace pg::kit {

// While one exists, the functions of kit/plot.h and drawn() keep the data of what they return, so that block() can find
// it again.
class DemoRecord {
 public:
  // `sink`, if there is one, gets each item as a JSON object as soon as it is there, and each status. A block that goes
  // on is several items.
  using Sink = std::function<void(const std::string& item)>;
  explicit DemoRecord(Sink sink = {});
  ~DemoRecord();
  DemoRecord(const DemoRecord&) = delete;

  void heading(const std::string& text);
  void text(const std::string& text);
  // A block of lines. Where it contains the text of a plot or drawing that was made before, the record has that.
  void block(const std::string& text);
  void claim(const Claim& claim);
  void status(const std::string& text);  // sent, not kept

  // The items in their order, as the page of tools/report/lesson.js takes them: a JSON array.
  std::string items() const;

 private:
  struct Items;
  std::unique_ptr<Items> items_;
};

// Called by kit/plot.cpp with the text of each plot.
void keep_line_plot(const std::string& text, const std::vector<Series>& series, const PlotOptions& options);
void keep_bars(const std::string& text, const std::vector<Bar>& bars, double full);
void keep_heat_map(const std::string& text, const std::vector<std::vector<double>>& rows, const HeatOptions& options);
// Called by drawn() with a drawing.
void keep_drawing(const Drawing& drawing);

}  // namespace pg::kit
