// The timeline of a step.
#include <thread>

#include "tensor/base/error.h"
#include "tensor/measure/timeline.h"
#include "tests/catch.h"

using namespace pg;
using Lane = Timeline::Lane;

namespace {
void pause(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
}  // namespace

TEST_CASE("timeline: spans of a step and how much of the sending they hide", "[tensor]") {
  { const TimelineSpan nobody(Lane::computing, "forward"); }
  Timeline timeline;
  CHECK(Timeline::current() == &timeline);
  CHECK(testing::contains(testing::error_of([] { Timeline second; }), "one exists"));
  { const TimelineSpan early(Lane::sending, "all_gather"); }
  CHECK(timeline.spans().empty());  // outside of a step
  CHECK(timeline.text().empty());

  timeline.begin_step();
  std::thread sender;
  {
    const TimelineSpan backward(Lane::computing, "backward");
    sender = std::thread([] {
      const TimelineSpan send(Lane::sending, "reduce_scatter");
      pause(60);
    });
    pause(30);
  }
  sender.join();
  { const TimelineSpan send(Lane::sending, "all_gather"); }
  timeline.end_step();
  { const TimelineSpan late(Lane::computing, "update"); }

  const auto spans = timeline.spans();
  REQUIRE(spans.size() == 3);
  for (const auto& span : spans) CHECK((span.begin >= 0 && span.end >= span.begin));
  const Timeline::Overlap overlap = timeline.overlap();
  CHECK(overlap.sending >= 0.06);
  CHECK(overlap.hidden > 0);
  CHECK(overlap.hidden < overlap.sending);
  const std::string text = timeline.text(40);
  for (const char* part : {"b backward", "r reduce_scatter", "G all_gather", "computes |b", "% of it"}) {
    INFO(text);
    CHECK(testing::contains(text, part));
  }
  timeline.begin_step();
  CHECK(timeline.spans().empty());
}
