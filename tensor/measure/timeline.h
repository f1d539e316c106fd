#pragma once
// When the parts of a step ran: what the caller's thread computed, and which collectives ran beside it. While a
// Timeline is alive, this process records spans; otherwise a TimelineSpan costs a comparison.
#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "tensor/base/clock.h"

namespace pg {

class Timeline {
 public:
  enum class Lane : uint8_t { computing, waiting, sending };
  struct Span {
    Lane lane;
    const char* what;   // a literal
    double begin, end;  // seconds since the step began
  };

  Timeline();  // Error when one is alive already
  ~Timeline();
  Timeline(const Timeline&) = delete;

  // The spans of the last step, in the order in which they ended.
  std::vector<Span> spans() const;
  // Seconds in which something was sent, and of these the ones in which the caller computed.
  struct Overlap {
    double sending = 0, hidden = 0;
  };
  Overlap overlap() const;
  // Two lines of `columns` characters, which are letters of what ran, a legend, and the overlap. "" if nothing was
  // sent.
  std::string text(int columns = 100) const;

  // The one that is alive, or null.
  static Timeline* current();
  // Spans are recorded between these two; the ones of the step before are forgotten.
  void begin_step();
  void end_step();

 private:
  friend class TimelineSpan;
  void add(Lane lane, const char* what, double begin);  // at wall_seconds()

  mutable std::mutex mutex_;
  double start_ = wall_seconds();
  bool recording_ = false;
  std::vector<Span> spans_;
};

// Records the time from its construction to its end.
class TimelineSpan {
 public:
  TimelineSpan(Timeline::Lane lane, const char* what) : lane_(lane), what_(Timeline::current() ? what : nullptr) {
    if (what_) begin_ = wall_seconds();
  }
  ~TimelineSpan() {
    Timeline* timeline = what_ ? Timeline::current() : nullptr;
    if (timeline) timeline->add(lane_, what_, begin_);
  }
  TimelineSpan(const TimelineSpan&) = delete;

 private:
  Timeline::Lane lane_;
  const char* what_;
  double begin_ = 0;
};

}  // namespace pg
