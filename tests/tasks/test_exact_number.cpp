// Texts that are numbers, and their exact values.
#include <numeric>

#include "tasks/puzzles/countdown.h"
#include "tasks/puzzles/exact_number.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("exact_number: equal values in different forms are the same number", "[tasks][puzzles]") {
  const std::vector<std::vector<std::string>> classes = {
      {"0.5", "1/2", "2/4", "+0.5", "0.500000000000000000000000", "050/100", "00.5"},
      {"1000", "1,000", "1000.", "1,000.00", "2000/2"},
      {"-1234567.25", "-1,234,567.25", "-4938269/4"},
      {"0", "-0", "0.0", "0/7", "+0/1"},
      {"1/3", "3/9"},
      {"0.33"},
      {"0.333333333333333333"},
      {"9007199254740993"},  // 2^53 + 1: a double is 2^53
      {"9007199254740992", "9,007,199,254,740,992.0"},
      {"0.1", "1/10"},
      {"3.14"},
      {"22/7"},
      {"9223372036854775807", "9223372036854775807/1"}};
  for (size_t i = 0; i < classes.size(); ++i) {
    for (const std::string& a : classes[i]) {
      for (size_t j = 0; j < classes.size(); ++j) {
        for (const std::string& b : classes[j]) {
          INFO(a << " and " << b);
          CHECK(same_number(a, b) == (i == j));
        }
      }
    }
  }
  const auto value = exact_number("-12.50");
  REQUIRE(value);
  CHECK((value->numerator == -125 && value->denominator == 10));
}

TEST_CASE("exact_number: any other text is no number and equals nothing", "[tasks][puzzles]") {
  std::vector<std::string> wrong = {"",
                                    " ",
                                    "1 ",
                                    " 1",
                                    "1,00",
                                    ",100",
                                    "1234,567",
                                    "1,2345",
                                    "1,",
                                    "1,,000",
                                    "1.5.",
                                    "1..5",
                                    ".5",
                                    "-.5",
                                    "--1",
                                    "+-1",
                                    "1-",
                                    "-",
                                    "1/0",
                                    "/2",
                                    "1/",
                                    "1/2/3",
                                    "1/-2",
                                    "1.5/2",
                                    "1,000/2",
                                    "1e3",
                                    "0x10",
                                    "1.5,0",
                                    "½",
                                    "１",
                                    "1\n",
                                    "inf",
                                    "nan",
                                    "1 000",
                                    "$1",
                                    "1%",
                                    "1or2",
                                    "1=1",
                                    "9223372036854775808",
                                    "0.1234567890123456789",
                                    "99999999999999999999/1"};
  wrong.push_back(std::string("1\0", 2));
  wrong.push_back(std::string(100000, '9'));
  wrong.push_back("0." + std::string(100000, '1'));
  for (const std::string& text : wrong) {
    INFO(text.substr(0, 40));
    CHECK_FALSE(exact_number(text));
    CHECK_FALSE(same_number(text, text));
  }
}

TEST_CASE("read_expression: values and numbers within a budget of steps", "[tasks][puzzles]") {
  const auto read = read_expression("8-(3-2)*1");
  REQUIRE(read);
  CHECK(read->value == 7);
  CHECK(read->numbers == std::vector<int64_t>{8, 3, 2, 1});
  // Five numbers, signs and parentheses.
  CHECK(read_expression("(1+2)", 5));
  CHECK_FALSE(read_expression("(1+2)", 4));
  CHECK(read_expression("1", 1));
  CHECK_FALSE(read_expression("1", 0));
  CHECK(read_expression("0", 1)->value == 0);
  CHECK_FALSE(read_expression("1/0"));
  CHECK_FALSE(read_expression("1/(2-2)"));
  CHECK_FALSE(read_expression("00"));
  CHECK_FALSE(read_expression(""));
  // Fractions that do not fit in 64 bits are refused.
  CHECK_FALSE(read_expression("9223372036854775807+1"));
  CHECK_FALSE(read_expression("4294967296*4294967296"));
  for (const int64_t n : {10, 1000, 1000000}) {
    std::string chain = "24", deep(static_cast<size_t>(n), '(');
    for (int64_t i = 0; i < n; ++i) chain += i % 2 == 0 ? "/1" : "*1";
    deep.append("24").append(static_cast<size_t>(n), ')');
    CHECK(read_expression(chain, 2 * n + 1).has_value());
    CHECK_FALSE(read_expression(chain, 2 * n));
    CHECK(read_expression(chain).has_value() == (n == 10));
    CHECK(read_expression(deep).has_value() == (n == 10));
    CHECK_FALSE(read_expression(std::string(static_cast<size_t>(n), '(')));
  }
}
