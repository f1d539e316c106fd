// Chat templates in Jinja: equal to Jinja itself, as transformers sets it up (tools/goldens/make_jinja_goldens.py).
#include <fstream>

#include "tasks/jinja/template.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;
using jinja::Template;
using testing::contains;
using testing::error_of;

namespace {

std::string render(const std::string& source, const Json& variables = Json::object()) {
  return Template(source).render(variables);
}
std::string refusal(const std::string& source) {
  return error_of([&] { render(source); });
}

}  // namespace

TEST_CASE("jinja: templates write what Jinja writes, and refuse what it refuses", "[tasks][jinja]") {
  std::ifstream file("tests/goldens/jinja.jsonl");
  std::string line;
  REQUIRE(std::getline(file, line));
  const Json variables = Json::parse(line)["variables"];
  int cases = 0, refused = 0;
  while (std::getline(file, line)) {
    const Json c = Json::parse(line);
    INFO(c["template"].text());
    ++cases;
    std::string text, error;
    try {
      text = render(c["template"].text(), variables);
    } catch (const Error& e) {
      error = e.what();
    }
    INFO(error);
    if (c.contains("text")) {
      CHECK(error.empty());
      CHECK(text == c["text"].text());
    } else {
      ++refused;
      CHECK(error.starts_with("chat template: "));
    }
  }
  CHECK(cases >= 70);
  CHECK(refused >= 15);
}

TEST_CASE("jinja: the date is the same one every day", "[tasks][jinja]") {
  CHECK(render("{{ strftime_now('%d %b %Y, %A, %j, %-d. %m., %H:%M %%') }}") ==
        "26 Jul 2024, Friday, 208, 26. 07., 00:00 %");
  CHECK(render("{{ strftime_now('') }}").empty());
  for (const char* format : {"%", "%-", "%s", "%Z", "%1000d", "%c%"}) {
    CHECK(contains(refusal(fmt::format("{{{{ strftime_now('{}') }}}}", format)), "is not supported"));
  }
}

TEST_CASE("jinja: what is not supported is named with its line", "[tasks][jinja]") {
  CHECK(contains(refusal("{{ 'a'.strip(chars='a') }}"), "strip: it takes no named arguments"));
  CHECK(contains(refusal("a\n{% include 'x' %}"), "line 2: expected if, for, set, macro"));
  CHECK(contains(refusal("{% for a in [1] recursive %}{% endfor %}"), "recursive loops are not supported"));
  CHECK(contains(refusal("\n\n{{ 1 | trimm }}"), "line 3: filter: expected trim, length"));
  CHECK(contains(refusal("{{ 1 is evne }}"), "did you mean even?"));
  CHECK(contains(refusal("{{ [] | tojson(indnt=2) }}"),
                 "tojson: argument: expected ensure_ascii, indent, separators, sort_keys"));
  CHECK(contains(refusal("{{ 'a' | upper(x=1) }}"), "upper: argument: there is none, got \"x\""));
  CHECK(contains(refusal("{{ 'a'.strip('a', 'b') }}"), "strip: expected at most 1 arguments, got 2"));
  CHECK(contains(refusal("{{ 'é' | upper }}"), "'é' is not ASCII"));
  CHECK(contains(refusal("{{ raise_exception('roles must alternate') }}"), "refuses the conversation: roles must"));
  CHECK(contains(refusal("{{ strftime_now('%s') }}"), "the format '%s' is not supported"));
}

TEST_CASE("jinja: no template runs or grows without a bound", "[tasks][jinja]") {
  CHECK(contains(refusal("{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"), "steps"));
  CHECK(contains(refusal("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "50 deep"));
  CHECK(contains(refusal("{{ range(10 ** 9) }}"), "more than 100000 numbers"));
  const std::string million =
      "{% set ns = namespace(a='abcdefgh') %}{% for i in range(17) %}{% set ns.a = ns.a ~ ns.a "
      "%}{% endfor %}{{ ";
  CHECK(render(million + "ns.a | length }}") == "1048576");
  CHECK(contains(refusal(million + "ns.a | join('-') }}"), "is taken apart; at most 262144 are allowed"));
  CHECK(contains(
      refusal("{% set ns = namespace(a='xxxxxxxxxxxxxxxx') %}{% for i in range(40) %}{% set ns.a = ns.a ~ ns.a "
              "%}{% endfor %}{{ ns.a }}"),
      "bytes"));
  for (const char* deep : {"(", "[", "{'a':", "not ", "-", "x[", "f(", "1 if x else "}) {
    std::string text = "{{ ";
    for (int i = 0; i < 10000; ++i) text += deep;
    const std::string error = refusal(text + " }}");
    INFO(error);
    CHECK((contains(error, "deep") || contains(error, "}} is missing")));
  }
  for (const char* chain : {".a", "[0]", "()", "|trim", " + 1", " and 1", " == 1", " is none", " ~ 1"}) {
    std::string text = "{{ x";
    for (int i = 0; i < 20000; ++i) text += chain;
    CHECK(contains(refusal(text + " }}"), "deep"));
  }
  std::string branches = "{% if x %}";
  for (int i = 0; i < 10000; ++i) branches += "{% elif x %}";
  CHECK(contains(refusal(branches), "nest more than 100 deep"));
  CHECK(contains(refusal("{% set a = 'x' * 3 %}"), "not possible"));
  CHECK(contains(
      refusal(
          "{{ (range(99999) | list) | join('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx') }}"),
      "bytes"));
  // Work that no count of expressions shows: copies of long texts, lists that are gone through, shared lists compared.
  const std::string doubled =
      "{% set ns = namespace(a='xxxxxxxxxxxxxxxx', l=[1], m=[1]) %}{% for i in range(19) %}"
      "{% set ns.a = ns.a ~ ns.a %}{% endfor %}{% for i in range(60) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% set ns.m = [ns.m, ns.m] %}{% endfor %}";
  CHECK(
      contains(refusal(doubled + "{% for i in range(90000) %}{% if ns.a | length %}{% endif %}{% endfor %}"), "steps"));
  CHECK(contains(refusal(doubled + "{{ ns.l == ns.m }}"), "steps"));
  CHECK(contains(refusal("{% set l = range(99999) %}{% for i in l %}{% for j in l[1:] %}{% endfor %}{% endfor %}"),
                 "steps"));
  CHECK(
      render("{% set l = range(99999) %}{% for i in range(9999) %}{% if l[5] == 0 %}x{% endif %}{% endfor %}").empty());
  // Integers that have no negative or no successor.
  for (const char* large : {"9223372036854775807", "9223372036854775808", "'-9223372036854775808' | int",
                            "('1e300' | float) | int", "10 ** 300"}) {
    CHECK(contains(refusal(fmt::format("{{{{ ({}) is divisibleby (0 - 1) }}}}", large)), "too large"));
  }
  CHECK(contains(refusal(std::string(300 << 10, ' ')), "at most 262144 are allowed"));
  std::string blocks;
  for (int i = 0; i < 10000; ++i) blocks += "{% if x %}";
  CHECK(contains(refusal(blocks), "deep"));
  CHECK(contains(refusal("{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}"), "deep"));
  CHECK(contains(
      refusal("{% set ns = namespace(a=[]) %}{% for i in range(99999) %}{% set ns.a = [ns.a] %}{% endfor %}"), "deep"));
  // A chain of namespaces, which is as long as the loop, is taken apart at the end.
  CHECK(render("{% set ns = namespace() %}{% for i in range(30000) %}{% set new = namespace(x=1) %}{% if ns.last is "
               "defined %}"
               "{% set old = ns.last %}{% set old.next = new %}{% else %}{% set ns.first = new %}{% endif %}{% set "
               "ns.last = new %}"
               "{% endfor %}{{ ns.first.x }}") == "1");
}
