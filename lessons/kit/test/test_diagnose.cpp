// Tests that every entry of the catalogue reports its mistake, and no other.
#include "lessons/kit/diagnose.h"
#include "lessons/kit/grader.h"
#include "lessons/kit/todo.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

namespace {

const Value kWant({3, 4}, {1.5, -2, 3, 0.25, 5, 7, -1, 2, 4, -6, 8, 0.5});

Value mapped(double (*f)(double)) {
  Value y = kWant;
  for (double& x : y.v) x = f(x);
  return y;
}
// Rows and columns permuted or shifted: element [r, c] from want[row(r), column(c)].
Value moved(int (*row)(int), int (*column)(int)) {
  Value y = kWant;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 4; ++c) y.v[r * 4 + c] = kWant.v[row(r) * 4 + column(c)];
  }
  return y;
}
int same(int i) { return i; }

bool says(const Value& got, const std::string& words, const Value& want = kWant) {
  const std::string text = diagnose(got, want);
  INFO(text);
  return text.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("diagnose names factors", "[kit]") {
  CHECK(says(mapped([](double x) { return -x; }), "sign is flipped"));
  CHECK(says(mapped([](double x) { return 2 * x; }), "2 x expected"));
  CHECK(says(mapped([](double x) { return x / 2; }), "half of expected"));
  CHECK(says(mapped([](double x) { return 3 * x; }), "3 x expected: divide by 3, the size of axis 0"));
  CHECK(says(mapped([](double x) { return x / 4; }), "expected / 4: do not divide by 4, the size of axis 1"));
  CHECK(says(mapped([](double x) { return x * 12; }), "12 x expected: divide by 12, the number of elements"));
  CHECK(says(mapped([](double x) { return x * 0.7; }), "every number is 0.7 x expected"));
  CHECK(says(mapped([](double x) { return x + 0.5; }), "every number is expected + 0.5"));
  CHECK(says(mapped([](double x) { return std::abs(x); }), "the sign is lost"));
  CHECK(says(mapped([](double) { return 0.0; }), "all zeros"));
  const Value shares({2}, {5.0 / 3, 0.75});
  CHECK(says(Value({2}, {0, 0}), "3 / 7, which is 0", shares));
  CHECK(says(Value({2}, {1, 0}), "5 / 3 is 1", shares));
  CHECK(says(mapped([](double x) { return x == 7 ? NAN : x; }), "inf or nan"));
}

TEST_CASE("diagnose names places", "[kit]") {
  const auto later = [](int i) { return i == 0 ? 0 : i - 1; };
  CHECK(says(moved([](int r) { return 2 - r; }, same), "rows are in reversed order"));
  CHECK(says(moved(same, [](int c) { return 3 - c; }), "columns are in reversed order"));
  CHECK(says(moved(same, later), "shifted by one place to later indices"));
  CHECK(says(moved(same, [](int c) { return c == 3 ? 0 : c + 1; }), "shifted by one place to earlier indices"));
  CHECK(says(moved(later, same), "shifted down by one row"));
  CHECK(says(moved([](int r) { return r == 2 ? 0 : r + 1; }, same), "shifted up by one row"));
  CHECK(says(moved([](int r) { return (r + 1) % 3; }, [](int c) { return c ^ 1; }), "in the wrong places"));

  Value transposed({4, 3}, {}), square({2, 2}, {1, 2, 3, 4});
  for (int c = 0; c < 4; ++c) {
    for (int r = 0; r < 3; ++r) transposed.v.push_back(kWant.v[r * 4 + c]);
  }
  CHECK(says(transposed, "transposed"));
  CHECK(says(Value({2, 2}, {1, 3, 2, 4}), "rows and columns are swapped", square));
  CHECK(says(Value({12}, kWant.v), "only the shape is not"));

  Value border = kWant;
  for (int c = 0; c < 4; ++c) border.v[8 + c] = 100 + c * c;
  CHECK(says(border, "all rows but the last"));
  CHECK(!says(border, "ends one step early"));
  for (int c = 0; c < 4; ++c) border.v[8 + c] = 0;
  CHECK(says(border, "all rows but the last are right, and these are 0: does a loop end one step early?"));
  border = kWant;
  for (int r = 0; r < 3; ++r) border.v[r * 4 + 3] = 100 + r * r;
  CHECK(says(border, "all columns but the last"));
  border = kWant;
  for (int c = 0; c < 4; ++c) border.v[c] = 100 + c * c;
  CHECK(says(border, "all rows but the first"));
  border = kWant;
  for (int r = 0; r < 3; ++r) border.v[r * 4] = 100 + r * r;
  CHECK(says(border, "all columns but the first"));
}

TEST_CASE("diagnose names sums that are missing", "[kit]") {
  CHECK(says(kWant, "sum over the broadcast axis is missing", Value({4}, {10.5, -1, 10, 2.75})));
  CHECK(says(kWant, "sum over the broadcast axis is missing", Value({3, 1}, {2.75, 13, 6.5})));
  Value overwritten = kWant;
  const Value before({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12.5});
  for (size_t i = 0; i < overwritten.v.size(); ++i) overwritten.v[i] -= before.v[i];
  CHECK(diagnose(overwritten, kWant, {.before = before}).find("overwritten") != std::string::npos);
}

TEST_CASE("an answer in float is named before any other guess", "[kit]") {
  // The last element, which float represents exactly, was once diagnosed as "all columns but the last"; the others as
  // 06.4's reversed order.
  const Value want({4}, {0.105, -0.005, -0.08, 0.5});
  Value in_float = want;
  for (double& x : in_float.v) x = static_cast<float>(x);
  CHECK(says(in_float, "computed in float", want));
  CHECK(says(in_float, "use double", want));
  const Value even({4}, {0.1, 0.7, 0.7, 0.1});  // equal to its reverse
  Value even_in_float = even;
  for (double& x : even_in_float.v) x = static_cast<float>(x);
  CHECK(says(even_in_float, "computed in float", even));
  CHECK(diagnose(in_float, want, {.mistakes = {{"a known mistake", in_float}}}).find("computed in float") !=
        std::string::npos);
  CHECK(diagnose(in_float, want, {.rtol = 0}).find("every bit must agree") != std::string::npos);
  CHECK(diagnose(want, want).empty());
}

TEST_CASE("right to 7 digits: the digits say how far", "[kit]") {
  CHECK(says(Value(1 + 3e-8), "right to 7 digits", Value(1.0)));
  CHECK(says(Value(1 + 3e-9), "right to 8 digits", Value(1.0)));
}

TEST_CASE("a border is missed only where the border is wrong", "[kit]") {
  // 5 is 5e-8 of the scale here, so no row is wrong to 1e-6, and the last row must not be reported.
  Value got({3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 1e8, 1, 1, 1}), want = got;
  want.v[0] = 6;
  INFO(diagnose(got, want));
  CHECK(diagnose(got, want).find("but the") == std::string::npos);
}

TEST_CASE("got and want are printed in as many digits as they need to differ", "[kit]") {
  const auto shown = [](const Value& got, const Value& want) {
    return grade([&](Grader& g) { g.equal("x", got, want); }).failure;
  };
  const Case few = shown(Value({2}, {0.5, 1.00000003}), Value({2}, {0.5, 1}));
  CHECK(few.got == "[0.5, 1.00000003]");
  CHECK(few.want == "[0.5, 1]");
  const Case coarse = shown(Value({2}, {0.5, 3}), Value({2}, {0.5, 1. / 3}));
  CHECK(coarse.want == "[0.5, 0.333333]");
  std::vector<double> ones(20, 1);
  std::vector<double> off = ones;
  off[7] = 1 + 2e-9;
  const Case many = shown(Value({20}, off), Value({20}, ones));
  CHECK(many.got != many.want);
  CHECK(many.got.find("at [7]") != std::string::npos);
}

TEST_CASE("diagnose knows the mistakes of its check and else keeps silent", "[kit]") {
  Value odd = kWant;
  odd.v[5] = 11;
  CHECK(diagnose(odd, kWant).empty());
  CHECK(diagnose(odd, kWant, {.mistakes = {{"seven became eleven", odd}}}) == "seven became eleven");
  CHECK(diagnose(Value(1.5), Value(3.0)).find("half") != std::string::npos);
  CHECK(diagnose(Value(1.7), Value(3.0)).empty());
  CHECK(diagnose(Value(std::vector<double>{}), Value(kWant)).empty());
}

TEST_CASE("the grader keeps the first failure and turns exceptions into outcomes", "[kit]") {
  const Outcome wrong = grade([](Grader& g) {
    CHECK(g.equal("one", 1.0, 1.0));
    CHECK(!g.equal("two", 2.1, 2.0));
    CHECK(!g.equal("three", 1.0, 1.0));
  });
  CHECK(wrong.state == State::wrong);
  CHECK(wrong.failure.input == "two");
  CHECK(wrong.cases.size() == 2);
  CHECK(grade([](Grader&) { TODO("1.1"); }).state == State::todo);
  const Outcome thrown = grade([](Grader&) { fail("sum: {}", "no"); });
  CHECK(thrown.state == State::wrong);
  CHECK(thrown.failure.got.find("sum: no") != std::string::npos);
  const auto nothing = [] {};
  CHECK(grade([&](Grader& g) { g.expect_error("x", nothing, "no"); }).state == State::wrong);
  CHECK(grade([&](Grader& g) {
          g.expect_error(
              "x", [] { fail("no way"); }, "no");
        }).state == State::ok);
  CHECK(grade([&](Grader& g) { g.equal("nan", std::nan(""), 1.0); }).state == State::wrong);
  CHECK(grade([&](Grader& g) { g.equal("zero", 1e-12, 0.0); }).state == State::ok);
  CHECK(grade([&](Grader& g) { g.equal("shape", Value({1, 2}, {1, 2}), Value({2}, {1, 2})); }).state == State::wrong);
}

TEST_CASE("a gradient of zeros does not arrive", "[kit]") {
  const Value none = mapped([](double) { return 0.0; });
  CHECK(diagnose(none, kWant, {.gradient = true}).find("no gradient arrives") != std::string::npos);
  CHECK(diagnose(mapped([](double x) { return -x; }), kWant, {.gradient = true}) == "the sign is flipped");
}

TEST_CASE("a long result is shown at its worst element relative to its row", "[kit]") {
  Value want({3, 6}, std::vector<double>(18, 1000)), got;
  for (int c = 0; c < 6; ++c) {
    want.v[6 + c] = 2 + c;       // a row of small numbers
    want.v[12 + c] = 1e-16 * c;  // a row of rounding errors
  }
  got = want;
  got.v[1] = 1001;  // the largest difference but for one, 0.1 % of its row
  got.v[8] = 4.5;   // 7 % of its row
  got.v[14] = 3;    // everything of its row
  Grader g;
  CHECK(!g.equal("x", got, want));
  const Case shown = g.outcome().failure;
  CHECK(shown.got == "4.5 at [1, 2] of [3, 6]");
  CHECK(shown.row == "elements [1, 0] to [1, 5]");
  CHECK(shown.got_row == "2, 3, 4.5, 5, 6, 7");
  CHECK(shown.want_row == "2, 3, 4, 5, 6, 7");

  got = want;
  got.v[14] = 3;
  Grader rounding;
  rounding.equal("x", got, want);
  CHECK(rounding.outcome().failure.got == "3 at [2, 2] of [3, 6]");

  Value row({40}, std::vector<double>(40, 1));
  want = row;
  row.v[20] = 7;
  Grader wide;
  wide.equal("x", row, want);
  CHECK(wide.outcome().failure.got_row == "..., 1, 1, 1, 1, 7, 1, 1, 1, 1, ...");
  CHECK(wide.outcome().failure.row == "elements [16] to [24]");

  row.v[20] = NAN;
  Grader nan;
  nan.equal("x", row, want);
  CHECK(nan.outcome().failure.got == "nan at [20] of [40]");
}

TEST_CASE("an error with other words is told from no error", "[kit]") {
  Grader words, none, any;
  words.expect_error(
      "x", [] { fail("axis out of range"); }, "dim");
  CHECK(words.outcome().diagnosis.find("does not contain \"dim\"") != std::string::npos);
  none.expect_error(
      "x", [] {}, "dim");
  CHECK(none.outcome().diagnosis.find("refuse what cannot be right") != std::string::npos);
  CHECK(any.expect_error("x", [] { fail("axis out of range"); }));
  CHECK(!any.expect_error("x", [] { throw std::invalid_argument("axis"); }));
  CHECK(any.outcome().diagnosis == kForeignError);
  CHECK(any.outcome().failure.got == "an exception: axis");
  CHECK(grade([](Grader& g) { g.expect_error("x", [] { TODO("x"); }); }).state == State::todo);
}
