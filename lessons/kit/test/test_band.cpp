// Bands of curves over seeds, and sketches.
#include <fstream>

#include "lessons/kit/band.h"
#include "lessons/kit/demo.h"
#include "lessons/kit/sketch.h"
#include "lessons/kit/state.h"
#include "tests/catch.h"

using namespace pg::kit;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::TempDir;

TEST_CASE("bands of several seeds survive a round trip", "[kit]") {
  const TempDir dir;
  Bands bands;
  widen(bands, {.name = "loss", .y = {3, 2, 1}});
  widen(bands, {.name = "loss", .y = {2, 2.5, 1}});
  widen(bands, {.name = "return of a robot", .y = {-1e-9, 1e9}, .x = {0.1, 2048}});
  const std::string path = (dir.path / "band.csv").string();
  write_bands(path, bands);
  CHECK(read_file(path) ==
        "curve,x,low,high\nloss,0,2,3\nloss,1,2,2.5\nloss,2,1,1\n"
        "return of a robot,0.1,-1e-09,-1e-09\nreturn of a robot,2048,1e+09,1e+09\n");
  const Bands back = read_bands(path);
  REQUIRE(back.size() == 2);
  CHECK(back.at("loss").low == std::vector<double>{2, 2, 1});
  CHECK(back.at("loss").high == std::vector<double>{3, 2.5, 1});
  CHECK(back.at("return of a robot").x == std::vector<double>{0.1, 2048});
  CHECK(read_bands((dir.path / "none.csv").string()).empty());
}

TEST_CASE("a curve is compared with the band of its name", "[kit]") {
  const Bands bands = {{"loss", {{0, 1, 2, 3}, {0, 0, 0, 0}, {1, 1, 1, 0}}}};
  Series curve{.name = "loss", .y = {0.5, 1.00000001, 2, NAN}};
  const OnBand on = put_on_band(bands, curve);
  CHECK(on.name == "loss");
  CHECK(on.share == 0.5);
  CHECK(curve.low == std::vector<double>{0, 0, 0, 0});
  CHECK(curve.high == std::vector<double>{1, 1, 1, 0});
  Series other{.name = "reward", .y = {0, 0, 0, 0}}, shorter{.name = "loss", .y = {0, 0, 0}};
  CHECK(contains(error_of([&] { put_on_band(bands, other); }), "no curve \"reward\""));
  CHECK(contains(error_of([&] { put_on_band(bands, shorter); }), "with these 3 points"));
  Bands one = bands;
  CHECK(contains(error_of([&] { widen(one, shorter); }), "elsewhere with another seed"));
  CHECK(contains(error_of([&] { widen(one, {.name = "a, b", .y = {1}}); }), "comma"));
}

TEST_CASE("a broken band.csv is named with its line", "[kit]") {
  const TempDir dir;
  const std::string path = (dir.path / "band.csv").string();
  const auto error = [&](const std::string& text) {
    std::ofstream(path) << text;
    return error_of([&] { read_bands(path); });
  };
  CHECK(contains(error(""), "expected the first line curve,x,low,high"));
  CHECK(contains(error("curve,x,low,high\na,0,1\n"), "band.csv:2: expected curve,x,low,high"));
  CHECK(contains(error("curve,x,low,high\na,0,1,2\na,1,nan,2\n"), "band.csv:3: expected a number, got \"nan\""));
  CHECK(contains(error("curve,x,low,high\na,0,1,2x\n"), "expected a number, got \"2x\""));
  CHECK(contains(error("curve,x,low,high\na,0,3,2\n"), "low is above high"));
}

TEST_CASE("a demonstration has seeds, and bands without --full", "[kit]") {
  const Bands bands = {{"loss", {{0}, {1}, {2}}}};
  const Series curve{.name = "loss", .y = {3}};
  Demo quick(false, nullptr, {.part = 99}, {.known = bands});
  CHECK(quick.seeds(3) == std::vector<uint64_t>{1, 2, 3});
  CHECK(quick.on_band(curve).high == std::vector<double>{2});
  REQUIRE(quick.on_bands().size() == 1);
  CHECK(quick.on_bands()[0].share == 0);
  Demo full(true, nullptr, {.part = 99}, {.known = bands});
  CHECK(full.on_band(curve).high.empty());
  CHECK(full.on_bands().empty());
  Bands made;
  for (const uint64_t seed : {4, 5}) {
    Demo maker(false, nullptr, {.part = 99}, {.widened = &made, .seed = seed});
    CHECK(maker.seeds(3) == std::vector<uint64_t>{seed});
    maker.on_band({.name = "seed", .y = {static_cast<double>(seed)}});
  }
  CHECK(made.at("seed").low == std::vector<double>{4});
  CHECK(made.at("seed").high == std::vector<double>{5});
}

TEST_CASE("sketches draw lines by their slope and frames side by side", "[kit]") {
  const Style before = style();
  set_style({.width = 20});
  const SketchOptions options{.left = -1, .right = 1, .bottom = -1, .top = 1, .columns = 5, .rows = 3};
  const std::vector<Sketch> frames = {{.caption = "up", .lines = {{0, 1, 0, -1}}, .crosses = {}},
                                      {.caption = "flat", .lines = {{-1, 0, 1, 0}}, .crosses = {{0, 0}, {9, 9}}},
                                      {.caption = "tilt", .lines = {{-0.5, -1, 0.5, 1}}, .crosses = {}}};
  CHECK(sketches(frames, options) ==
        "  |         \n  |    --+--\n  |         \nup     flat \n"
        "   / \n  /  \n /   \ntilt \n");
  set_style(before);
}
