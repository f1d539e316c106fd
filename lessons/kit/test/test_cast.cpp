// The recording of a demonstration.
#include <sstream>

#include "lessons/kit/cast.h"
#include "lessons/kit/demo.h"
#include "tensor/base/json.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

namespace {

std::vector<Json> lines_of(const std::string& file) {
  std::vector<Json> lines;
  std::istringstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

}  // namespace

TEST_CASE("a recording has a header, and what was printed in the order of time", "[kit][cast]") {
  Cast cast;
  cast.text("one two\n");
  cast.prompt("  [Enter] ");
  cast.text("\"three\" \\ ä\n");
  const std::vector<Json> lines = lines_of(cast.file("a title", 600));
  REQUIRE(lines.size() == 5);
  CHECK(lines[0]["version"] == 2);
  CHECK(lines[0]["width"] == 80);
  CHECK(lines[0]["title"] == "a title");
  CHECK(lines[1] == Json({0.0, "o", "one two\r\n"}));
  CHECK(lines[2][2] == "  [Enter] ");
  CHECK(lines[3][2] == "\r\x1b[K");
  CHECK(lines[4][2] == "\"three\" \\ ä\r\n");
  for (size_t i = 2; i < lines.size(); ++i) CHECK(lines[i][0].get<double>() >= lines[i - 1][0].get<double>());
}

TEST_CASE("a long recording is sped up, a short one is not", "[kit][cast]") {
  Cast cast;
  for (int i = 0; i < 10000; ++i) cast.text("word\n");
  const std::vector<Json> lines = lines_of(cast.file("", 600));
  CHECK(lines.back()[0].get<double>() <= 600);
  CHECK(lines.back()[0].get<double>() > 599);
  Cast brief;
  brief.text("word\n");
  brief.text("word\n");
  CHECK(lines_of(brief.file("", 600)).back()[0].get<double>() < 1);
}

TEST_CASE("a demonstration is recorded with its prompts, and waits for nothing", "[kit][cast]") {
  Cast cast;
  Demo demo(false, nullptr, {.step = true, .cast = &cast});
  demo.say("A paragraph.");
  demo.show("a\nb\n");
  demo.claim("a number", 1, "", at_most(2));
  const std::string file = cast.file("", 600);
  CHECK(file.find("A paragraph.") != std::string::npos);
  CHECK(file.find("a number: ?  [Enter]") != std::string::npos);
  CHECK(file.find("a number:") < file.rfind("a number:"));
}
