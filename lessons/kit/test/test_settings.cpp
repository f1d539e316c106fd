// --set name=value: what is refused, and what a changed setting does to a demonstration.

#include "lessons/kit/demo.h"
#include "tensor/base/json.h"
#include "tests/catch.h"

using namespace pg;
using kit::Setting;
using kit::Settings;

namespace {

const std::vector<Setting> kAll = {
    kit::seed_setting(), {"lr", 0.1, 0.01, 1, "learning rate"}, {"width", 16, 1, 64, "units", true}};

std::string refusal(const std::string& assignment) {
  try {
    Settings(kAll, {assignment});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("settings have their defaults, or what was set", "[kit][settings]") {
  const Settings defaults(kAll);
  CHECK(defaults["lr"] == 0.1);
  CHECK(defaults["width"] == 16);
  CHECK(defaults.changes().empty());
  const Settings set(kAll, {"lr=0.5", "width=3", "lr=1"});  // the last one counts
  CHECK(set["lr"] == 1);
  CHECK(set["width"] == 3);
  CHECK(set.changes() == "lr = 1 (0.1), width = 3 (16)");
  CHECK(Settings(kAll, {"lr=0.1"}).changes().empty());
  CHECK(Settings(kAll, {"seed=1000000"}).changes() == "seed = 1000000 (1)");
  CHECK_THROWS_AS(defaults["no"], Error);
}

TEST_CASE("a setting takes numbers of its range only", "[kit][settings]") {
  CHECK(refusal("lr=1e-2").empty());
  for (const char* text :
       {"lr=", "lr= 1", "lr=1 ", "lr=a", "lr=nan", "lr=inf", "lr=0.009", "lr=1.01", "lr=-1", "lr=0,5"}) {
    CHECK(refusal(text).starts_with("--set lr: expected a number from 0.01 to 1, got"));
  }
  CHECK(refusal("width=2.5") == "--set width: expected a whole number from 1 to 64, got \"2.5\"");
  CHECK(refusal("Width=2") == "--set: no setting \"Width\"; the settings are seed, lr, width");
  CHECK(refusal("lr") == "--set: expected name=value, got \"lr\"; the settings are seed, lr, width");
}

TEST_CASE("a demonstration with a changed setting judges no claim", "[kit][settings]") {
  for (const char* lr : {"lr=0.1", "lr=0.2"}) {
    const Settings settings(kAll, {lr});
    kit::Demo demo(false, nullptr, {.quiet = true}, {}, settings);
    demo.claim("a number", 3, "", kit::at_most(2));
    CHECK(demo.claims()[0].judged == settings.changes().empty());
    CHECK(demo.claims()[0].holds() == !settings.changes().empty());
  }
}

TEST_CASE("a curve whose points a setting has changed has no band", "[kit][settings]") {
  const kit::Bands known = {{"loss", {{0, 1}, {1, 1}, {2, 2}}}};
  for (const char* lr : {"lr=0.1", "lr=0.2"}) {
    const Settings settings(kAll, {lr});
    kit::Demo demo(false, nullptr, {.quiet = true}, {.known = known}, settings);
    CHECK(demo.on_band({.name = "loss", .y = {1, 1}}).low == std::vector<double>{1, 1});
    const kit::Series longer{.name = "loss", .y = {1, 1, 1}};
    if (settings.changes().empty())
      CHECK_THROWS_AS(demo.on_band(longer), Error);
    else
      CHECK(demo.on_band(longer).low.empty());
  }
}

TEST_CASE("the seeds begin with the setting", "[kit][settings]") {
  kit::Demo demo(false, nullptr, {.quiet = true}, {}, Settings(kAll, {"seed=7"}));
  CHECK(demo.seeds(3) == std::vector<uint64_t>{7, 8, 9});
  CHECK(kit::Demo(false).seeds(2) == std::vector<uint64_t>{1, 2});
}

TEST_CASE("a page reads the settings as JSON", "[kit][settings]") {
  const Json rows = Json::parse(kit::settings_text(kAll, true));
  REQUIRE(rows.size() == 3);
  CHECK(rows[2]["name"] == "width");
  CHECK(rows[2]["high"] == 64);
  CHECK(rows[2]["whole"] == true);
  CHECK(kit::settings_text({}, false) == "This demonstration has no settings.\n");
}
