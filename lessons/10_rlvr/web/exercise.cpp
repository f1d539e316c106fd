// The pieces of lesson 10 in a browser: each calls the learner's JavaScript, which has whole numbers of 64 bits as
// BigInts.
#include "lessons/10_rlvr/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
namespace {

struct Exact {
  Big numerator, denominator;
};
struct Read {
  Exact value;
  std::vector<Big> numbers;
};
std::vector<Big> big(std::span<const int64_t> x) {
  std::vector<Big> all;
  for (const int64_t one : x) all.push_back({one});
  return all;
}
Exact exact(const Fraction& x) { return {{x.numerator}, {x.denominator}}; }
Fraction fraction(const Exact& x) {
  check(x.denominator > 0, "a fraction: expected a denominator above 0, got {}", x.denominator.value);
  return {x.numerator, x.denominator};
}
HanoiPosition checked(const HanoiPosition& position) {
  const auto is_peg = [](int peg) { return peg >= 1 && peg <= 3; };
  check(std::all_of(position.peg.begin(), position.peg.end(), is_peg) && is_peg(position.goal),
        "a position: each peg is 1, 2 or 3");
  return position;
}

}  // namespace

template <>
inline constexpr auto kFields<Exact> =
    std::tuple{field("numerator", &Exact::numerator), field("denominator", &Exact::denominator)};
template <>
inline constexpr auto kFields<Read> = std::tuple{field("value", &Read::value), field("numbers", &Read::numbers)};
template <>
inline constexpr auto kFields<HanoiPosition> =
    std::tuple{field("peg", &HanoiPosition::peg), field("goal", &HanoiPosition::goal)};
template <>
inline constexpr auto kFields<HanoiMove> = std::tuple{field("from", &HanoiMove::from), field("to", &HanoiMove::to)};
template <>
inline constexpr auto kFields<rl::AnswerCount> =
    std::tuple{field("count", &rl::AnswerCount::count), field("right", &rl::AnswerCount::right)};

const Offer kCombined(
    "combined", {"a", "op", "b"}, +[](const Exact& a, const std::string& op, const Exact& b) -> std::optional<Exact> {
      check(op.size() == 1 && std::string_view("+-*/").find(op) != std::string_view::npos,
            "combined: op: expected one of + - * /, got {}", op);
      const auto result = pg::combined(fraction(a), op[0], fraction(b));
      return result ? std::optional(exact(*result)) : std::nullopt;
    });
const Offer kRead(
    "read_expression", {"text"}, +[](const std::string& text) -> std::optional<Read> {
      const auto read = pg::read_expression(text);
      return read ? std::optional(Read{exact(read->value), big(read->numbers)}) : std::nullopt;
    });
const Offer kSameNumber(
    "same_number", {"a", "b"}, +[](const std::string& a, const std::string& b) { return pg::same_number(a, b); });
const Offer kDistance(
    "hanoi_distance", {"position"},
    +[](const HanoiPosition& position) { return pg::hanoi_distance(checked(position)); });
const Offer kSolved(
    "solved", {"position"}, +[](const HanoiPosition& position) { return checked(position).solved(); });
const Offer kMoved(
    "moved", {"position", "from", "to"}, +[](const HanoiPosition& position, int from, int to) {
      HanoiPosition after = checked(position);
      return after.move(from, to) ? std::optional(after) : std::nullopt;
    });

}  // namespace pg::web

namespace pg::lesson10 {
using web::call;

std::optional<ReadExpression> read_expression(std::string_view text, int64_t steps) {
  const auto read = call<std::optional<web::Read>>("read_expression", text, steps);
  if (!read) return {};
  return ReadExpression{web::fraction(read->value), {read->numbers.begin(), read->numbers.end()}};
}
double countdown_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all,
                        double near) {
  return call<double>("countdown_reward", answer, web::big(numbers), web::Big{target}, all, near);
}
std::optional<std::string_view> last_boxed(std::string_view text) {
  const auto box = call<std::optional<std::string>>("last_boxed", text);
  if (!box) return {};
  const size_t at = text.rfind(*box);
  check(at != std::string_view::npos, "last_boxed: the result: expected a part of the text, got {}", *box);
  return text.substr(at, box->size());
}
bool same_number(std::string_view a, std::string_view b) { return call<bool>("same_number", a, b); }
double pass_at_k(int64_t n, int64_t c, int64_t k) { return call<double>("pass_at_k", n, c, k); }
double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  return call<double>("hanoi_progress", std::as_const(position), moves);
}
double majority_vote(std::span<const AnswerCount> answers) { return call<double>("majority_vote", answers); }

}  // namespace pg::lesson10
