// What a demonstration keeps for --report.
#include <cmath>

#include "lessons/kit/record.h"
#include "tensor/base/json.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

TEST_CASE("a record has the items of a demonstration in their order", "[kit]") {
  DemoRecord record;
  Demo demo(false, &record);
  demo.heading("A title <b>");
  demo.say("Two {} words", "\x1b[31mred\x1b[0m");
  demo.line("first line");
  demo.line("second line");
  demo.claim("speed", 2.5, "x", at_least(3));
  const Json items = Json::parse(record.items());
  REQUIRE(items.size() == 4);
  CHECK(items[0] == Json({{"type", "heading"}, {"text", "A title <b>"}}));
  CHECK(items[1] == Json({{"type", "text"}, {"text", "Two red words"}}));
  CHECK(items[2] == Json({{"type", "block"}, {"text", "first line\nsecond line"}}));
  CHECK(items[3]["pass"] == false);
  CHECK(items[3]["value"] == 2.5);
  CHECK(items[3]["bound"] == ">= 3");
}

TEST_CASE("a record sends each item as soon as it is there, and keeps no status", "[kit]") {
  std::vector<std::string> sent;
  DemoRecord record([&](const std::string& item) { sent.push_back(item); });
  Demo demo(false, &record, {.quiet = true});
  demo.heading("A title");
  demo.status("step 1");
  demo.line("first line");
  demo.line("second line");
  REQUIRE(sent.size() == 4);
  CHECK(Json::parse(sent[1]) == Json({{"type", "status"}, {"text", "step 1"}}));
  CHECK(Json::parse(sent[2]) == Json({{"type", "block"}, {"text", "first line"}}));
  CHECK(Json::parse(sent[3]) == Json({{"type", "block"}, {"text", "second line"}}));
  CHECK(Json::parse(record.items()).size() == 2);
}

TEST_CASE("a record has the data of plots that are shown", "[kit]") {
  DemoRecord record;
  Demo demo(false, &record);
  line_plot({{.name = "not shown", .y = {7, 8}}});
  const std::vector<Series> series = {{.name = "loss", .y = {3, NAN, 1}, .low = {2, 2, 0}, .high = {4, 4, 2}}};
  demo.show("before\n" + line_plot(series, {.title = "t", .x_label = "step", .log_y = true}) + "after\n");
  demo.show(bars({{"a", 1, "one"}, {"b", 2, "two"}}, 4));
  demo.show(heat_map({{0, 0.5}, {1, -1}}, {.diverging = true}));
  const Json items = Json::parse(record.items());
  REQUIRE(items.size() == 5);
  CHECK(items[0]["text"] == "before\n");
  CHECK(items[1]["type"] == "plot");
  CHECK(items[1]["log"] == true);
  CHECK(items[1]["xLabel"] == "step");
  const Json line = items[1]["lines"][0];
  CHECK(line["x"] == Json({0, 1, 2}));
  CHECK(line["mean"] == Json({3.0, nullptr, 1.0}));
  CHECK(line["low"] == Json({2.0, 2.0, 0.0}));
  CHECK(items[2]["text"] == "after\n");
  CHECK(items[3]["full"] == 4.0);
  CHECK(items[3]["bars"][1]["text"] == "two");
  CHECK(items[4]["rows"] == Json({{0.0, 0.5}, {1.0, -1.0}}));
}

TEST_CASE("a record has the frames of a drawing that is shown", "[kit]") {
  DemoRecord record;
  Demo demo(false, &record);
  const Drawing one{"two boxes", 200, 100, {{"First."}, {"Then."}}, "a -> b\n"};
  Drawing drawing = one;
  drawing.frames[0].boxes = {{0, 0, 80, 40, {"a", "1.5"}}, {120, 0, 80, 40, {"b"}, true, true}};
  drawing.frames[1].arrows = {{80, 20, 120, 20, "sends", true}};
  demo.show(drawn(drawing));
  const Json items = Json::parse(record.items());
  REQUIRE(items.size() == 1);
  CHECK(items[0]["type"] == "drawing");
  CHECK(items[0]["title"] == "two boxes");
  const Json first = items[0]["frames"][0], then = items[0]["frames"][1];
  CHECK(first["caption"] == "First.");
  CHECK(first["boxes"][0]["lines"] == Json({"a", "1.5"}));
  CHECK(first["boxes"][0]["strong"] == false);
  CHECK(first["boxes"][1]["atTop"] == true);
  CHECK(then["arrows"][0] ==
        Json({{"from", {80.0, 20.0}}, {"to", {120.0, 20.0}}, {"label", "sends"}, {"strong", true}}));

  const auto said = [](const std::function<void()>& draw) { return pg::testing::error_of(draw); };
  drawing.frames[1].arrows[0].to_x = 201;
  CHECK(said([&] { drawn(drawing); }).find("it has something at 201, 20") != std::string::npos);
  CHECK(said([&] { drawn({"none", 200, 100, {}, "text"}); }).find("has 0 frames") != std::string::npos);
  CHECK(said([&] { drawn({"wide", 400, 100, one.frames, "text"}); }).find("at most 360") != std::string::npos);
}

TEST_CASE("without a record nothing is kept", "[kit]") {
  { DemoRecord ended; }
  const std::string plot = line_plot({{.name = "a", .y = {1, 2}}});
  DemoRecord record;
  record.block(plot);
  CHECK(Json::parse(record.items())[0]["type"] == "block");
}
