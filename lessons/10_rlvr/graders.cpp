// The demonstration of lesson 10, first part: texts that want to be paid, and three graders.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "lessons/10_rlvr/checks.h"
#include "tensor/base/clock.h"

namespace pg::lesson10 {
namespace {

const std::vector<int64_t> kNumbers = {2, 3, 8};
constexpr int64_t kTarget = 24;

struct Attack {
  std::string text;
  bool boxed;  // an answer in mathematics, else one to Countdown
};

std::vector<Attack> attacks() {
  std::string chain = "24", deep(10000, '(');
  for (int i = 0; i < 5000; ++i) chain += "/1*1";
  deep.append("24").append(10000, ')');
  std::vector<Attack> all;
  for (const std::string& text :
       {std::string("24"), std::string("1+2+3=24"), std::string("12+12"), std::string("4*6"), std::string("8+8+8"),
        std::string("3*8*3/3"), std::string("2*(3+8)+2"), chain, deep, std::string("３*８"), std::string("24/0"),
        std::string("-3*-8"), std::string("03*8"), std::string("3*8*1"), std::string("2*12 or 3*8"),
        std::string("2^3*3"), std::string("241/10"), std::string("0x18 is 24")}) {
    all.push_back({text, false});
  }
  for (const char* text : {"the answer is 24 or 25", "\\boxed{24} or \\boxed{25}", "\\boxed{24, 25}", "\\boxed{24",
                           "\\boxed{23.9}", "\\boxed{2,4}", "\\boxed{24 \\pm 1}", "\\boxed{not 24}", "23 24 25 24",
                           "\\boxed{1024}", "\\boxed{24/0}", "\\boxed{x}, where x is 24"}) {
    all.push_back({text, true});
  }
  return all;
}

// The last number in a text.
double last_number(const std::string& text) {
  const size_t end = text.find_last_of("0123456789");
  if (end == std::string::npos) return std::nan("");
  size_t begin = end;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(text[begin - 1])) || text[begin - 1] == '.')) --begin;
  return std::strtod(text.c_str() + begin, nullptr);
}

bool contains_target(const Attack& a) { return a.text.find("24") != std::string::npos; }
// What the text is worth, to one part in a hundred: its value as an expression, or else its last number.
bool is_about_target(const Impl& impl, const Attack& a) {
  const auto read = impl.read_expression(a.text.substr(0, a.text.find('=')), 256);
  const double value = read && !a.boxed ? read->value.value() : last_number(a.text);
  return std::abs(value - kTarget) <= 0.01 * kTarget;
}
bool ours(const Impl& impl, const Attack& a) {
  if (!a.boxed) return impl.countdown_reward(a.text, kNumbers, kTarget, false, 0) == 1;
  const auto box = impl.last_boxed(a.text);
  return box && impl.same_number(*box, "24");
}

}  // namespace

void show_attacks(kit::Demo& demo, const Impl& impl) {
  demo.heading("Thirty texts that want to be paid");
  demo.say(
      "Two questions with the answer 24. Countdown: make 24 of 2, 3 and 8, each at most once. And a question of "
      "mathematics, whose answer is to be in \\boxed{{...}}. By the rules none of these texts is an answer. \"finds "
      "24\": "
      "the "
      "text contains 24. \"computes\": its value, or else its last number, is within 1 % of 24.");
  demo.line("{:<52}{:>9}{:>10}{:>6}", "the text", "finds 24", "computes", "ours");
  int64_t found = 0, computed = 0, paid = 0, count = 0;
  double slowest = 0;
  for (const Attack& a : attacks()) {
    const bool finds = contains_target(a), about = is_about_target(impl, a);
    bool pays = false;
    double fastest = 1;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const double start = thread_seconds();
      pays = ours(impl, a);
      fastest = std::min(fastest, thread_seconds() - start);
    }
    slowest = std::max(slowest, fastest);
    std::string shown = quoted(a.text);
    if (a.text.size() > 1000) shown = fmt::format("\"{}...\", {} bytes", a.text.substr(0, 20), a.text.size());
    demo.line("{:<52}{:>9}{:>10}{:>6}", shown, finds ? "pays" : "-", about ? "pays" : "-", pays ? "pays" : "-");
    found += finds;
    computed += about;
    paid += pays;
    ++count;
  }
  demo.gap();
  int64_t right = 0;
  const std::vector<Attack> answers = {{"3*8", false},        {" ( 8 ) * 3", false},   {"8*(2-3+2)*3", false},
                                       {"\\boxed{24}", true}, {"\\boxed{48/2}", true}, {"no, \\boxed{24.0}", true}};
  std::string list;
  for (const Attack& a : answers) {
    if (!ours(impl, a)) continue;
    ++right;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", quoted(a.text));
  }
  demo.say(
      "A policy finds whatever is paid. Ours pays for {}. It reads at most 256 numbers, signs and parentheses of "
      "an expression, so no text is slow.",
      list);
  demo.claim("paid by \"finds 24\"", static_cast<double>(found), fmt::format("of {}", count), kit::at_least(12));
  demo.claim("paid by \"computes\"", static_cast<double>(computed), fmt::format("of {}", count), kit::at_least(12));
  demo.claim("paid by ours", static_cast<double>(paid), fmt::format("of {}", count), kit::equals(0));
  demo.claim("right answers paid by ours", static_cast<double>(right), "of 5", kit::equals(5));
  demo.claim("ours, slowest verdict", 1000 * slowest, "ms", kit::at_most(1));
}

}  // namespace pg::lesson10
