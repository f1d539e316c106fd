// JSON values against nlohmann/json, an independent implementation. No other test includes it.
#include <bit>
#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tensor/base/json.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::testing;
using Ordered = nlohmann::ordered_json;
using Sorted = nlohmann::json;

namespace {

constexpr auto kReplace = nlohmann::json::error_handler_t::replace;

// What f throws, as text.
template <class F>
std::string thrown(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

std::string random_text(Generator& g) {
  static const std::vector<std::string> pieces = [] {
    std::vector<std::string> all = {"\xc3", "\xe2\x82", "\xed\xa0", "\xff", "\xf0\x9f\x98", "é", "€", "😀", "key"};
    for (const char c : std::string_view("aZ0\"\\/\n\t\x1f\x7f\x80 \x01{,\0", 16)) all.emplace_back(1, c);
    return all;
  }();
  std::string text;
  for (int64_t n = g.integer(6); n > 0; --n) text += pieces[static_cast<size_t>(g.integer(std::ssize(pieces)))];
  return text;
}

double random_double(Generator& g) {
  const double x = std::bit_cast<double>(static_cast<uint64_t>(g.integer(int64_t{1} << 62)) << 2 |
                                         static_cast<uint64_t>(g.integer(4)));
  switch (g.integer(4)) {
    case 0:
      return x;  // any bits: huge, denormal, not finite
    case 1:
      return static_cast<double>(g.integer(2000000) - 1000000) / 1000;
    case 2:
      return static_cast<double>(g.integer(1 << 20)) * std::pow(10, static_cast<double>(g.integer(40) - 20));
    default:
      return static_cast<double>(static_cast<float>(g.integer(1000)) / 7);
  }
}

// The same value twice.
struct Both {
  Json own;
  Ordered other;
};

Both random_leaf(Generator& g) {
  const std::string text = random_text(g);
  const double real = random_double(g);
  const int64_t integer = (g.integer(int64_t{1} << 62) >> g.integer(62)) * (g.integer(2) ? 2 : -2);
  switch (g.integer(7)) {
    case 0:
      return {nullptr, nullptr};
    case 1:
      return {g.integer(2) == 0, false};
    case 2:
      return {integer, integer};
    case 3:
      return {static_cast<uint64_t>(integer), static_cast<uint64_t>(integer)};
    case 4:
      return {real, real};
    default:
      return {text, text};
  }
}

Both random_value(Generator& g, int depth) {
  const int64_t kind = g.integer(depth == 0 ? 1 : 4);
  if (kind < 2) {
    Both leaf = random_leaf(g);
    if (leaf.own.is_boolean()) leaf.other = leaf.own.get<bool>();
    return leaf;
  }
  Both all = kind == 2 ? Both{Json::array(), Ordered::array()} : Both{Json::object(), Ordered::object()};
  for (int64_t n = g.integer(g.integer(10) == 0 ? 40 : 6); n > 0; --n) {
    Both inner = random_value(g, depth - 1);
    if (kind == 2) {
      all.own.push_back(std::move(inner.own));
      all.other.push_back(std::move(inner.other));
    } else {
      const std::string key = random_text(g);
      all.own[key] = std::move(inner.own);
      all.other[key] = std::move(inner.other);
    }
  }
  return all;
}

// Whether both parsers take the text, and make the same value of it or the same error.
void check_parsed(const std::string& text) {
  CAPTURE(text);
  const Ordered other = Ordered::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json own = Json::try_parse(text);
  REQUIRE(own.is_discarded() == other.is_discarded());
  if (own.is_discarded()) {
    CHECK(error_of([&] { Json::parse(text); }) == thrown([&] { const Ordered json = Ordered::parse(text); }));
    return;
  }
  CHECK(own.dump() == other.dump());
  CHECK(own.dump(3) == other.dump(3));
  CHECK(sorted_by_key(own).dump() == Sorted::parse(text).dump());
  CHECK(Json::parse(text) == own);
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

// Texts that RFC 8259 allows, one a line.
const std::vector<std::string>& good_texts() {
  static const std::vector<std::string> texts = [] {
    auto all = lines(R"x(null
true
false
0
-0
-0.0
0e5
1E+2
-123
1.5e-7
9223372036854775807
9223372036854775808
-9223372036854775808
-9223372036854775809
18446744073709551615
18446744073709551616
9007199254740993
100000000000000000000
1e308
-1.7976931348623157e308
5e-324
2.2250738585072011e-308
4.9e-325
1e-400
0.30000000000000004
1e15
1e16
1e22
1e23
123456789012345680.0
0.0001
0.00001
3.0
""
[]
{}
[[]]
{"a":{"b":[null,true,{"c":"d"}]},"":0}
"\"\\\/\b\f\n\r\t\u0000\u001f\u0041\u00e9\u20ac"
"\ud83d\ude00"
"\uFFFF\uDBFF\uDFFF"
"é€😀"
{"a":1,"b":2,"a":3,"c":4,"b":{"x":5}}
{"b":1,"a":2,"B":3,"é":4,"":5})x");
    all.insert(all.end(), {" \t\r\n[ 1 , 2 ] \n", "\xef\xbb\xbf[1]", "\"\x7f\""});
    return all;
  }();
  return texts;
}

// Texts that are no JSON, or have numbers or characters that do not exist.
const std::vector<std::string>& bad_texts() {
  static const std::vector<std::string> texts = [] {
    auto all = lines(R"x(
nul
True
NaN
Infinity
-
+1
01
1.
.5
1e
1e+
0x10
--1
1 2
[1,]
[,1]
[1 2]
[1
]
[}
{"a":}
{"a"}
{a:1}
{"a":1,}
{,}
{"a":1
}
{]
{1:2}
{"a":1 "b":2}
"abc
"\x"
"\u12"
"\u12g4"
"\ud83d"
"\ud83dx"
"\ud83d\u0041"
"\ude00"
1e400
-1e400
[1e999]
/* */ 1
1 // one
'a')x");
    all.insert(all.end(), {"\"\n\"", "\"\x01\"", "\"\xff\"", "\"\xc3\"", "\"\xc0\x80\"", "\"\xe2\x82\""});
    all.insert(all.end(), {"\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\xff", "\xef\xbb", "[1]\n\n x", "[{\n tru}]"});
    return all;
  }();
  return texts;
}

}  // namespace

TEST_CASE("json: random values are written as nlohmann writes them", "[json]") {
  Generator g(1);
  for (int round = 0; round < 4000; ++round) {
    const auto [own, other] = random_value(g, 4);
    const std::string text = own.dump(-1, Json::Utf8::replace);
    REQUIRE(text == other.dump(-1, ' ', false, kReplace));
    REQUIRE(own.dump(0, Json::Utf8::replace) == other.dump(0, ' ', false, kReplace));
    REQUIRE(own.dump(2, Json::Utf8::replace) == other.dump(2, ' ', false, kReplace));
    REQUIRE(sorted_by_key(own).dump(1, Json::Utf8::replace) == Sorted(other).dump(1, ' ', false, kReplace));
    // Strict: the same text or the same error.
    REQUIRE(thrown([&, &own = own] { own.dump(); }) == thrown([&, &other = other] { other.dump(); }));
    check_parsed(text);
  }
}

TEST_CASE("json: texts are read as nlohmann reads them", "[json]") {
  for (const std::string& text : good_texts()) {
    check_parsed(text);
    CHECK(!Json::try_parse(text).is_discarded());
  }
  for (const std::string& text : bad_texts()) {
    CAPTURE(text);
    check_parsed(text);
    CHECK(Json::try_parse(text).is_discarded());
    CHECK(!error_of([&] { Json::parse(text); }).empty());
  }
}

TEST_CASE("json: damaged texts are read as nlohmann reads them", "[json]") {
  Generator g(2);
  for (int round = 0; round < 4000; ++round) {
    std::string text = round % 2 == 0 ? good_texts()[static_cast<size_t>(g.integer(std::ssize(good_texts())))]
                                      : random_value(g, 3).own.dump(-1, Json::Utf8::replace);
    for (int64_t changes = 1 + g.integer(3); changes > 0 && !text.empty(); --changes) {
      const auto at = static_cast<size_t>(g.integer(std::ssize(text)));
      constexpr std::string_view bytes = "{}[]\",:\\u0d8-+.eE1 \n\xff\xc3ntf";
      const char byte = bytes[static_cast<size_t>(g.integer(std::ssize(bytes)))];
      if (g.integer(3) == 0)
        text.erase(at, 1);
      else if (g.integer(2) == 0)
        text.insert(at, 1, byte);
      else
        text[at] = byte;
    }
    check_parsed(text);
  }
}

TEST_CASE("json: of keys that are there twice the last value is kept", "[json]") {
  std::string text = "{";
  Ordered expected = Ordered::object();
  Generator g(3);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = std::to_string(g.integer(1000));
    text += (i ? ",\"" : "\"") + key + "\":" + std::to_string(i);
    expected[key] = i;
  }
  const Json json = Json::parse(text + "}");
  CHECK(json.dump() == expected.dump());
  CHECK(json.size() == expected.size());
}

TEST_CASE("json: initializer lists mean what they mean for nlohmann", "[json]") {
  const std::string text = "t";
  const std::vector<int> numbers = {1, 2};
  const std::map<std::string, std::string> map = {{"k", "v"}, {"a", "b"}};
  const auto same = [](const Json& own, const Ordered& other) { CHECK(own.dump() == other.dump()); };
  same({}, {});
  same({1}, {1});
  same({"a", 1}, {"a", 1});
  same({{"a", 1}}, {{"a", 1}});
  same({{"a", 1}, {"b", {1, 2}}}, {{"a", 1}, {"b", {1, 2}}});
  same({{"a", 1}, {2, 3}}, {{"a", 1}, {2, 3}});
  same({{"a", 1, 2}}, {{"a", 1, 2}});
  same({{{"a", 1}}, {{"b", 2}}}, {{{"a", 1}}, {{"b", 2}}});
  same({{"x", {{"y", {{"z", nullptr}}}}}}, {{"x", {{"y", {{"z", nullptr}}}}}});
  same({{"ids", {3}}, {"tokens", {text}}}, {{"ids", {3}}, {"tokens", {text}}});
  same({{text, numbers}, {"map", map}}, {{text, numbers}, {"map", map}});
  same({{"a", "b"}, {"c", "d"}}, {{"a", "b"}, {"c", "d"}});
  same({{"a", 1}, {"a", 2}}, {{"a", 1}, {"a", 2}});
  same(Json::array({{"a", 1}, {"b", 2}}), Ordered::array({{"a", 1}, {"b", 2}}));
  same(Json::array({numbers}), Ordered::array({numbers}));
  same(std::set<std::string>{"b", "a"}, std::set<std::string>{"b", "a"});
  same(std::deque<double>{0.5}, std::deque<double>{0.5});
  same(std::vector<bool>{true, false}, std::vector<bool>{true, false});
  same(std::vector<std::vector<int>>{{1}, {}}, std::vector<std::vector<int>>{{1}, {}});
  Json own = {{"a", 1}};
  own["b"] = {{"c", {1, 2}}};
  own["list"].push_back({{"d", 2}});
  own["list"].push_back({1, "x"});
  own.update({{"a", 5}, {"z", 6}});
  CHECK(own.dump() == R"({"a":5,"b":{"c":[1,2]},"list":[{"d":2},[1,"x"]],"z":6})");
  own.erase("b");
  own.erase("not there");
  CHECK(own.dump() == R"({"a":5,"list":[{"d":2},[1,"x"]],"z":6})");
  const Json copy = own;
  own["list"][0]["d"] = 3;
  own["list"].back() = nullptr;
  CHECK(copy["list"].dump() == R"([{"d":2},[1,"x"]])");
  CHECK(own["list"].dump() == R"([{"d":3},null])");
}

TEST_CASE("json: reading what is not there or of another type has the words of nlohmann", "[json]") {
  const std::string text = R"({"number":1,"text":"x","list":[1,2],"object":{"a":"b"},"yes":true,"none":null})";
  const Json own = Json::parse(text);
  const Ordered other = Ordered::parse(text);
  const auto same = [](const auto& of_own, const auto& of_other) {
    const std::string error = error_of(of_own);
    CHECK(error == thrown(of_other));
    CHECK(!error.empty());
  };
  for (const char* key : {"number", "text", "list", "object", "yes", "none"}) {
    CAPTURE(key);
    CHECK(std::string(own[key].type_name()) == other.at(key).type_name());
    CHECK(own.at(key).size() == other.at(key).size());
    CHECK(own.at(key).empty() == other.at(key).empty());
    if (own[key] != "x") same([&] { own[key].get<std::string>(); }, [&] { other.at(key).get<std::string>(); });
    if (own[key] != true) same([&] { own[key].get<bool>(); }, [&] { other.at(key).get<bool>(); });
    if (own[key] != 1) same([&] { own[key].get<int64_t>(); }, [&] { other.at(key).get<int64_t>(); });
    if (own[key] != 1) same([&] { own[key].get<double>(); }, [&] { other.at(key).get<double>(); });
    if (!own[key].is_array()) {
      same([&] { own[key].get<std::vector<int>>(); }, [&] { other.at(key).get<std::vector<int>>(); });
      same([&] { own[key].at(0); }, [&] { (void)other.at(key).at(0); });
    }
    if (!own[key].is_object()) {
      same([&] { own[key].get<std::map<std::string, int>>(); },
           [&] { other.at(key).get<std::map<std::string, int>>(); });
      same([&] { own[key].at("a"); }, [&] { (void)other.at(key).at("a"); });
      same([&] { own[key].value("a", 1); }, [&] { (void)other.at(key).value("a", 1); });
    }
    if (!own[key].is_object() && !own[key].is_null()) {
      same([copy = own[key]]() mutable { copy["a"] = 1; }, [copy = other.at(key)]() mutable { copy["a"] = 1; });
      CHECK(!error_of([&] { own[key].items(); }).empty());
    }
    if (!own[key].is_array() && !own[key].is_null()) {
      same([&] { Json(own[key]).push_back(1); }, [&] { Ordered(other.at(key)).push_back(1); });
      CHECK(!error_of([&] { own[key].begin(); }).empty());
    }
  }
  same([&] { own.at("nowhere"); }, [&] { (void)other.at("nowhere"); });
  same([&] { own["list"].at(2); }, [&] { (void)other.at("list").at(2); });
  same([&] { own.value("text", 1); }, [&] { (void)other.value("text", 1); });

  CHECK(own.value("nowhere", "else") == "else");
  CHECK(own.value("text", "else") == "x");
  CHECK(own.value("number", int64_t{7}) == 1);
  CHECK(own["object"].get<std::map<std::string, std::string>>() == std::map<std::string, std::string>{{"a", "b"}});
  CHECK(own["list"].get<std::deque<double>>() == std::deque<double>{1, 2});
  CHECK(own["nowhere"]["deeper"].is_null());
  CHECK(own.find("nowhere") == nullptr);
  CHECK(*own.find("number") == 1);
  CHECK(Json().items().empty());
  CHECK(Json().begin() == Json().end());
  std::string all;
  for (const auto& [key, value] : own.items()) all += key + "=" + value.dump() + ";";
  CHECK(all == R"(number=1;text="x";list=[1,2];object={"a":"b"};yes=true;none=null;)");
  std::ostringstream printed;
  printed << own["object"] << Json("\xff");
  CHECK(printed.str() == "{\"a\":\"b\"}\"\xef\xbf\xbd\"");
}
