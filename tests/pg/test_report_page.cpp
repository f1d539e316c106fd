// The page of a report: its data stays data, and its colours have enough contrast.
#include <cmath>
#include <map>
#include <regex>

#include "tensor/base/json.h"
#include "tests/catch.h"
#include "tools/report/page.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

// What stands between two texts.
std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t begin = text.find(before);
  REQUIRE(begin != std::string::npos);
  const size_t end = text.find(after, begin + before.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + before.size(), end - begin - before.size());
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::string css() {
  for (const auto& [name, text] : report_files()) {
    if (name == "report.css") return std::string(text);
  }
  return "";
}

// The colours "--name: #rrggbb" of the rules that begin with `selector`.
std::map<std::string, std::string> colors_of(const std::string& text, const std::string& selector) {
  std::map<std::string, std::string> colors;
  for (size_t at = text.find(selector + " {"); at != std::string::npos; at = text.find(selector + " {", at + 1)) {
    const std::string rule = text.substr(at, text.find('}', at) - at);
    const std::regex color("--([a-z0-9]+): (#[0-9a-f]{6})");
    for (std::sregex_iterator match(rule.begin(), rule.end(), color), end; match != end; ++match) {
      colors[(*match)[1]] = (*match)[2];
    }
  }
  return colors;
}

// Relative luminance and contrast as WCAG 2.1 defines them.
double luminance(const std::string& color) {
  const double weights[] = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    sum += weights[i] * (c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}
double contrast(const std::string& a, const std::string& b) {
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace

TEST_CASE("hostile text in a report stays data", "[report]") {
  const std::string hostile = std::string(
                                  "</script><script>alert(1)</script><!--<script><img src=x onerror=alert(2)>"
                                  "{{script}}{{policy}} \xe2\x80\xa8\xe2\x80\xa9 \\u003c \" ' & ") +
                              '\0' + "\x01\x7f end";
  const Json value = {{"kind", "runs"}, {"text", hostile}, {hostile, 1}};
  const Json samples = Json::array({{{"response", hostile}}});
  const std::string page = report_page(hostile, value.dump(), samples.dump());
  const std::string plain = report_page("title", "{}");
  // The page has the elements of one with harmless data, and the data is what it was.
  for (const char* tag : {"<script", "</script", "<img", "<!--", "<style", "<meta", "<title"}) {
    CAPTURE(tag);
    CHECK(count(page, tag) == count(plain, tag));
  }
  CHECK(Json::parse(between(page, "id=\"report-data\">", "</script>")) == value);
  CHECK(Json::parse(between(page, "id=\"report-samples\">", "</script>")) == samples);
  CHECK(!contains(between(page, "id=\"report-data\">", "</body>"), "\xe2\x80\xa8"));
  CHECK(!contains(between(page, "<title>", "</title>"), "<"));
}

TEST_CASE("a report runs its own script only and asks no network", "[report]") {
  const std::string page = report_page("t", "{}");
  const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  CHECK(contains(policy, "default-src 'none'"));
  CHECK(!contains(policy, "unsafe"));
  CHECK(count(policy, "'sha256-") == 2);
  for (const char* text : {"http-equiv=\"refresh\"", "src=", "@import", "url(", "fetch(", "innerHTML", "outerHTML",
                           "insertAdjacentHTML", "document.write", "eval(", "XMLHttpRequest", " onclick=\""}) {
    CAPTURE(text);
    CHECK(!contains(page, text));
  }
  // The only address is the name of SVG's namespace, which is not fetched.
  CHECK(count(page, "http") == count(page, "http://www.w3.org/2000/svg") + count(page, "http-equiv"));
  CHECK(contains(error_of([] { report_page("t", "{\"a\": \"\xff\"}"); }), "no UTF-8"));
}

TEST_CASE("script_json keeps the value", "[report]") {
  CHECK(script_json("") == "");
  CHECK(script_json("{\"a\":\"<\xe2\x80\xa8\xe2\x80\xa9\"}") == "{\"a\":\"\\u003c\\u2028\\u2029\"}");
  CHECK(script_json("\xe2\x80") == "\xe2\x80");  // a part of a character at the end
  CHECK(script_json("\"\xe2\x80\xa6\"") == "\"\xe2\x80\xa6\"");
}

TEST_CASE("the contrast formula gives the values that WCAG states", "[report]") {
  CHECK(contrast("#000000", "#ffffff") == Approx(21));
  CHECK(contrast("#777777", "#ffffff") == Approx(4.48).epsilon(0.002));  // the known grey that just fails
  CHECK(contrast("#767676", "#ffffff") == Approx(4.54).epsilon(0.002));  // and the one that just passes
}

TEST_CASE("colours of a report have the contrast of WCAG AA in both themes", "[report]") {
  const std::string text = css();
  const std::string pairs = between(text, "/* contrast:", "*/");
  const auto light = colors_of(text, ":root"), dark = colors_of(text, ":root[data-theme=\"dark\"]");
  REQUIRE(light.size() == dark.size());
  REQUIRE(light.size() >= 28);
  const std::regex pair("([a-z0-9]+)\\s+([a-z0-9]+)\\s+([0-9.]+)(;|\\s*$)");
  int checked = 0;
  for (std::sregex_iterator match(pairs.begin(), pairs.end(), pair), end; match != end; ++match) {
    for (const auto* theme : {&light, &dark}) {
      const std::string a = (*match)[1], b = (*match)[2];
      CAPTURE(a, b, theme == &dark);
      REQUIRE(theme->contains(a));
      REQUIRE(theme->contains(b));
      CHECK(contrast(theme->at(a), theme->at(b)) >= std::stod((*match)[3]));
      ++checked;
    }
  }
  CHECK(checked >= 80);
  // Every colour but that of hair lines, which only decorate, is in a pair.
  for (const auto& [name, color] : light) {
    CAPTURE(name);
    CHECK((name == "hair" || std::regex_search(pairs, std::regex("\\b" + name + "\\b"))));
  }
}
