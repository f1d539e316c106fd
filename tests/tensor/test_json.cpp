// JSON values: numbers, depth, equality. test_json_text.cpp compares with another implementation.
#include <cmath>

#include "tensor/base/json.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::testing;

namespace {

std::string nested(size_t depth, const std::string& open, const std::string& close) {
  std::string text;
  for (size_t i = 0; i < depth; ++i) text += open;
  text += "1";
  for (size_t i = 0; i < depth; ++i) text += close;
  return text;
}

}  // namespace

TEST_CASE("json: numbers keep their type and value", "[json]") {
  CHECK(Json::parse("9223372036854775807").get<int64_t>() == INT64_MAX);
  CHECK(Json::parse("-9223372036854775808").get<int64_t>() == INT64_MIN);
  CHECK(Json::parse("18446744073709551615").get<uint64_t>() == UINT64_MAX);
  CHECK(Json::parse("18446744073709551616").get<double>() == 0x1p64);
  CHECK(!Json::parse("18446744073709551616").is_number_integer());
  CHECK(Json::parse("-0").dump() == "0");  // an integer, which has no negative zero
  CHECK(std::signbit(Json::parse("-0.0").get<double>()));
  CHECK(Json::parse("5e-324").get<double>() == 5e-324);
  CHECK(Json(NAN).dump() == "null");
  CHECK(Json(-INFINITY).dump() == "null");
  CHECK(Json(1.0).dump() == "1.0");
  CHECK(Json(0.1f).dump() == "0.10000000149011612");
  CHECK(Json('a').dump() == "97");
  CHECK(Json(uint8_t{200}).dump() == "200");
  CHECK(Json(true).dump() == "true");

  CHECK(Json::parse("2.9").get<int>() == 2);
  CHECK(Json::parse("-2.9").get<int>() == -2);
  CHECK(Json::parse("-0.5").get<uint64_t>() == 0);
  CHECK(Json(3).get<double>() == 3);
  CHECK(Json(3).get<uint8_t>() == 3);
  for (const char* text : {"2147483648", "-2147483649", "1e300", "18446744073709551615"}) {
    CHECK(
        contains(error_of([&] { Json::parse(text).get<int>(); }), "expected a number from -2147483648 to 2147483647"));
  }
  for (const char* text : {"-1", "-1.0", "1e20", "256"}) {
    CHECK(contains(error_of([&] { Json::parse(text).get<uint8_t>(); }), "expected a number from 0 to 255, got "));
  }
  CHECK(contains(error_of([] { Json(UINT64_MAX).get<int64_t>(); }), "got 18446744073709551615"));
  CHECK(Json(5).is_integer_in(5, 5));
  CHECK(Json(5u).is_integer_in(-1, 5));
  CHECK(!Json(5u).is_integer_in(6, 9));
  CHECK(!Json(5u).is_integer_in(-9, -1));
  CHECK(!Json(5.0).is_integer_in(0, 9));
  CHECK(!Json(UINT64_MAX).is_integer_in(INT64_MIN, INT64_MAX));
  CHECK(!Json("5").is_integer_in(0, 9));
}

TEST_CASE("json: a value that nests 100000 deep is read and written and copied and compared", "[json]") {
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"b\":0,\"a\":", "}")}) {
    const std::string text = nested(100000, open, close);
    const Json json = Json::parse(text);
    CHECK(json.dump() == text);
    Json copy = json;
    CHECK((copy == json));  // without parentheses a failure would print both
    copy = sorted_by_key(std::move(copy));
    CHECK((copy == json));
    CHECK((Json::parse(nested(99999, open, close)) != json));
    copy = 1;
    CHECK(copy == 1);
    CHECK(Json::try_parse(text.substr(0, text.size() - 1)).is_discarded());
  }
  Json mixed;
  for (int i = 0; i < 100000; ++i) mixed = i % 2 ? Json::array({std::move(mixed)}) : Json{{"a", std::move(mixed)}};
  const Json moved = std::move(mixed);
  CHECK(moved.size() == 1);
}

TEST_CASE("json: values equal other types on both sides", "[json]") {
  const Json json = {{"text", "abc"}, {"one", 1}, {"yes", true}, {"half", 0.5}, {"none", nullptr}, {"list", {1, 2}}};
  const std::string abc = "abc";
  const std::string_view view = abc;
  CHECK(json["text"] == abc);
  CHECK(abc == json["text"]);
  CHECK(json["text"] == view);
  CHECK(view == json["text"]);
  CHECK(json["text"] == "abc");
  CHECK("abc" == json["text"]);
  CHECK(json["text"] != "abd");
  CHECK("abd" != json["text"]);
  CHECK(abc != json["one"]);
  CHECK(json["one"] == 1);
  CHECK(1u == json["one"]);
  CHECK(json["one"] == 1.0);
  CHECK(json["one"] != true);
  CHECK(json["yes"] == true);
  CHECK(false != json["yes"]);
  CHECK(json["half"] == 0.5);
  CHECK(json["none"] == nullptr);
  CHECK(json["none"] != false);
  CHECK(json["list"] == std::vector<int>{1, 2});
  CHECK(json["list"] == Json({1, 2}));
  CHECK(json["list"] != Json({2, 1}));
  CHECK(Json(-1) != UINT64_MAX);
  CHECK(Json(int64_t{7}) == uint64_t{7});
  CHECK(Json(NAN) != Json(NAN));
  CHECK(Json{{"a", 1}, {"b", 2}} == Json{{"b", 2}, {"a", 1}});
  CHECK(Json{{"a", 1}, {"b", 2}} != Json{{"b", 1}, {"a", 2}});
  CHECK(Json{{"a", 1}, {"b", 2}} != Json{{"a", 1}});
  CHECK(Json{{"a", 1}} != Json{{"b", 1}});
  CHECK(Json::array() != Json::object());
  CHECK(Json::array() != nullptr);
  CHECK(Json::try_parse("x") != Json::try_parse("x"));
}
