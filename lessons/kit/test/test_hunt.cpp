// Tests of what ./lessonN hunt compares and asks, of the letters that are typed, and of the score.
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "lessons/kit/picture.h"
#include "lessons/kit/quiz.h"
#include "lessons/kit/state.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;
using pg::testing::contains;
using pg::testing::error_of;
using pg::testing::TempDir;

namespace {

// A curve of five parts, each of which is from `low` to `high` of several seeds.
Band flat(double low, double high) { return {{0, 1, 2, 3, 4}, std::vector(5, low), std::vector(5, high)}; }
const Bands kEngine = {{"reward", flat(0, 1)}};
Bands reward(double low, double high) { return {{"reward", flat(low, high)}}; }

// Eight mistakes: 0 to 3 end low, 4 to 7 end high.
Pictures eight() {
  Pictures pictures;
  for (int i = 0; i < 8; ++i) pictures[fmt::format("mistake {}", i)] = i < 4 ? reward(-1, -0.8) : reward(2, 2.1);
  return pictures;
}
std::string own_words(const std::string& mistake) { return "words of " + mistake; }

}  // namespace

TEST_CASE("parts of a curve are means and a mean that is not finite is a number", "[kit]") {
  const std::vector<double> y = {0, 1, 2, 3, 4, 5, 6, 7, NAN, 9};
  const Bands parts = in_parts({{"loss", {y, y, y}}});
  CHECK(parts.at("loss").x == std::vector<double>{0, 1, 2, 3, 4});
  CHECK(parts.at("loss").low == std::vector<double>{0.5, 2.5, 4.5, 6.5, kNotFinite});
  CHECK(in_parts({{"short", {{7, 8}, {1, 2}, {1, 3}}}}).at("short").high == std::vector<double>{1, 3});
  // One seed of three is finite: every value is in the range.
  const Bands mixed = in_parts({{"loss", {{0}, {1}, {std::numeric_limits<double>::infinity()}}}});
  CHECK(mixed.at("loss").low == std::vector<double>{1});
  CHECK(mixed.at("loss").high == std::vector<double>{kNotFinite});
}

TEST_CASE("an eye sees a gap of a tenth in two parts of one curve", "[kit]") {
  CHECK_FALSE(difference(kEngine, kEngine, kEngine).seen);
  CHECK_FALSE(difference(reward(0.9, 1.5), kEngine, kEngine).seen);   // the ranges overlap
  CHECK_FALSE(difference(reward(1.05, 1.5), kEngine, kEngine).seen);  // a gap of a twentieth
  CHECK(difference(reward(1.11, 1.5), kEngine, kEngine).seen);
  CHECK(difference(reward(-0.5, -0.11), kEngine, kEngine).seen);
  CHECK(difference(kEngine, reward(-0.5, -0.11), kEngine).gap == Approx(0.11));
  Bands once = reward(0, 1), twice = reward(0, 1);
  once["reward"].low[3] = once["reward"].high[3] = 1.5;
  twice["reward"].low[1] = twice["reward"].high[1] = 1.2;
  twice["reward"].low[3] = twice["reward"].high[3] = 1.5;
  CHECK_FALSE(difference(once, kEngine, kEngine).seen);
  const Difference two = difference(twice, kEngine, kEngine);
  CHECK(two.seen);
  CHECK(two.curve == "reward");
  CHECK(two.part == 3);
  CHECK(two.gap == Approx(0.5));
  CHECK(contains(error_of([&] { difference(kEngine, {{"loss", flat(0, 1)}}, kEngine); }), "curve \"reward\""));
}

TEST_CASE("what explodes looks like what explodes more", "[kit]") {
  CHECK_FALSE(difference(reward(1e5, 1e6), reward(1e8, 1e9), kEngine).seen);
  CHECK_FALSE(difference(reward(1e5, 1e6), reward(kNotFinite, kNotFinite), kEngine).seen);
  CHECK(difference(reward(-1e6, -1e5), reward(1e5, 1e6), kEngine).seen);
  CHECK(difference(reward(kNotFinite, kNotFinite), kEngine, kEngine).seen);
  // A band of no width: what differs by more than rounding is seen.
  const Bands exact = reward(0.5, 0.5);
  CHECK_FALSE(difference(reward(0.5 + 1e-9, 0.5 + 1e-9), exact, exact).seen);
  CHECK(difference(reward(0.51, 0.51), exact, exact).seen);
}

TEST_CASE("pictures survive a round trip", "[kit]") {
  const TempDir dir;
  const std::string path = (dir.path / "hunt.csv").string();
  Pictures pictures = eight();
  pictures["exploded"]["and KL: entropy"] = flat(3, kNotFinite);
  write_pictures(path, pictures);
  const Pictures back = read_pictures(path);
  REQUIRE(back.size() == 9);
  CHECK(back.at("exploded").at("and KL: entropy").high == std::vector(5, kNotFinite));
  CHECK(back.at("mistake 7").at("reward").low == std::vector(5, 2.0));
  write_bands(path, kEngine);
  CHECK(contains(error_of([&] { read_pictures(path); }), "expected \"mistake: curve\", got \"reward\""));
}

TEST_CASE("a question has the true cause among five that are told apart", "[kit]") {
  Pictures pictures = eight();
  std::set<std::string> asked, orders, places;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const HuntQuestion q = hunt_question(pictures, kEngine, seed, own_words);
    asked.insert(q.mistake);
    REQUIRE(q.choices.size() == 5);
    CHECK(std::set(q.choices.begin(), q.choices.end()).size() == 5);
    const auto at = std::find(q.choices.begin(), q.choices.end(), q.mistake);
    REQUIRE(at != q.choices.end());
    places.insert(std::to_string(at - q.choices.begin()));
    for (const std::string& choice : q.choices) {
      if (choice != q.mistake) CHECK(difference(pictures.at(choice), pictures.at(q.mistake), kEngine).seen);
    }
    CHECK(hunt_question(pictures, kEngine, seed, own_words).choices == q.choices);  // the seed chooses
    CHECK(hunt_question(pictures, kEngine, seed + 8, own_words).mistake == q.mistake);
    orders.insert(q.choices[0] + q.choices[1] + q.choices[2] + q.choices[3] + q.choices[4]);
  }
  CHECK(asked.size() == 8);  // each comes before one comes again
  CHECK(orders.size() >= 6);
  CHECK(places.size() >= 3);  // no letter is a good guess
}

TEST_CASE("a question refuses too few causes and causes in the same words", "[kit]") {
  Pictures pictures = eight();
  const auto error = [&](const auto& words) {
    return error_of([&] {
      for (uint64_t seed = 1; seed <= 8; ++seed) hunt_question(pictures, kEngine, seed, words);
    });
  };
  CHECK(error(own_words) == "");
  CHECK(contains(error([](const std::string& m) { return m == "mistake 4" ? "words of mistake 5" : own_words(m); }),
                 "only 3 causes can be told from mistake"));
  pictures.erase("mistake 1");
  CHECK(contains(error(own_words), "only 3 causes can be told from mistake"));
  CHECK(contains(error_of([&] { hunt_question(pictures, kEngine, 0, own_words); }), "a seed of 1 or more"));
  CHECK(contains(error_of([&] { hunt_question({}, kEngine, 1, own_words); }), "a mistake"));
}

TEST_CASE("letters are read until one is a choice", "[kit]") {
  const auto read = [](const std::string& typed) {
    std::istringstream input(typed);
    return read_choice(input, 5);
  };
  CHECK(read("a\n") == 0);
  CHECK(read(" E \n") == 4);
  CHECK(read("f\n\nab\n7\n\xff\xfe\n" + std::string(100000, 'x') + "\nc\nd\n") == 2);
  CHECK(read("") == std::string::npos);
  CHECK(read("g\n") == std::string::npos);
  CHECK(read("b") == 1);  // the input ends without a line break
}

TEST_CASE("the score of hunts is part of the record", "[kit]") {
  const TempDir dir;
  const std::string path = (dir.path / "progress.json").string();
  Progress progress;
  progress.lessons["6"].hunt = {7, 5, 2, 3};
  progress.lessons["7"] = {};
  save_progress(path, progress);
  const Progress back = load_progress(path);
  const HuntScore& score = back.lessons.at("6").hunt;
  CHECK(std::vector{score.answered, score.right, score.streak, score.best} == std::vector<int64_t>{7, 5, 2, 3});
  CHECK(back.lessons.at("7").hunt.answered == 0);
  const auto damaged = [&](const std::string& hunt) {
    pg::testing::write_bytes(
        path, R"({"lessons": {"6": {"checks": {}, "hints": {}, "solution_asked": [], "hunt": )" + hunt + "}}}");
    return error_of([&] { load_progress(path); });
  };
  CHECK(damaged(R"({"answered": 1, "right": 1, "streak": 1, "best": 1})") == "");
  for (const char* hunt : {R"({"answered": -1, "right": 0, "streak": 0, "best": 0})", R"({"answered": "x"})", "{}", "3",
                           R"({"answered": 1e300, "right": 0, "streak": 0, "best": 0})"}) {
    CHECK(contains(damaged(hunt), "not a record of this course"));
  }
}
