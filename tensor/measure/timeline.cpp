// Spans of a step, their overlap, and their picture in characters.
#include "tensor/measure/timeline.h"

#include <algorithm>
#include <string_view>

#include "tensor/base/error.h"

namespace pg {
namespace {

std::atomic<Timeline*> alive{nullptr};

// G for all_gather, b for backward.
char letter_of(std::string_view what) {
  return what.starts_with("all_") ? static_cast<char>(what[4] - 'a' + 'A') : what[0];
}

}  // namespace

Timeline::Timeline() {
  Timeline* none = nullptr;
  check(alive.compare_exchange_strong(none, this), "Timeline: one exists already");
}
Timeline::~Timeline() { alive = nullptr; }
Timeline* Timeline::current() { return alive.load(std::memory_order_relaxed); }

void Timeline::begin_step() {
  const std::lock_guard lock(mutex_);
  spans_.clear();
  start_ = wall_seconds();
  recording_ = true;
}

void Timeline::end_step() {
  const std::lock_guard lock(mutex_);
  recording_ = false;
}

void Timeline::add(Lane lane, const char* what, double begin) {
  const std::lock_guard lock(mutex_);
  if (!recording_ || begin < start_) return;
  spans_.push_back({lane, what, begin - start_, wall_seconds() - start_});
}

std::vector<Timeline::Span> Timeline::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_;
}

Timeline::Overlap Timeline::overlap() const {
  Overlap result;
  const std::vector<Span> all = spans();
  for (const Span& sent : all) {
    if (sent.lane != Lane::sending) continue;
    result.sending += sent.end - sent.begin;
    for (const Span& computed : all) {  // these do not overlap one another
      if (computed.lane != Lane::computing) continue;
      result.hidden += std::max(0.0, std::min(sent.end, computed.end) - std::max(sent.begin, computed.begin));
    }
  }
  return result;
}

std::string Timeline::text(int columns) const {
  const std::vector<Span> all = spans();
  double end = 0;
  for (const Span& span : all) end = std::max(end, span.end);
  const auto sends = [](const Span& span) { return span.lane == Lane::sending; };
  if (std::none_of(all.begin(), all.end(), sends)) return "";
  std::vector<const char*> names;
  const auto line = [&](bool sending) {
    std::string cells(static_cast<size_t>(columns), ' ');
    for (const Span& span : all) {
      if (sends(span) != sending) continue;
      if (std::find(names.begin(), names.end(), span.what) == names.end()) names.push_back(span.what);
      const auto column = [&](double t) { return std::min(columns - 1, static_cast<int>(t / end * columns)); };
      for (int i = column(span.begin); i <= column(span.end); ++i) cells[static_cast<size_t>(i)] = letter_of(span.what);
    }
    return cells;
  };
  const std::string computed = line(false), sent = line(true);
  std::string legend;
  for (const char* name : names) legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", letter_of(name), name);
  const Overlap o = overlap();
  return fmt::format(
      "the last step, {:.1f} ms: {}\n  computes |{}|\n  sends    |{}|\n"
      "{:.1f} ms of collectives with their waiting, {:.0f} % of it while this rank computes\n",
      1e3 * end, legend, computed, sent, 1e3 * o.sending, 100 * o.hidden / o.sending);
}

}  // namespace pg
