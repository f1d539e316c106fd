// The checks of lesson 10 on numbers: pass@k, progress in the Tower of Hanoi, the vote.
#include <bit>
#include <cmath>
#include <limits>

#include "lessons/10_rlvr/checks.h"
#include "tensor/base/error.h"

namespace pg::lesson10 {
namespace {

using kit::Grader;

// The share of the choices of k of n responses that contain one of the first c, by counting all of them.
double counted(int64_t n, int64_t c, int64_t k) {
  int64_t choices = 0, right = 0;
  for (unsigned chosen = 0; chosen < 1U << n; ++chosen) {
    if (std::popcount(chosen) != k) continue;
    ++choices;
    right += (chosen & ((1U << c) - 1)) != 0;
  }
  return static_cast<double>(right) / static_cast<double>(choices);
}

bool refuses(Grader& g, const Impl& impl, int64_t n, int64_t c, int64_t k) {
  return g.expect_error(
      fmt::format("n = {}, c = {}, k = {}", n, c, k), [&] { impl.pass_at_k(n, c, k); }, "",
      k > n ? "k > n: of n responses no k can be chosen; an estimate would be a guess"
            : "refuse what cannot be right: check(0 <= c && c <= n, ...), check(1 <= k && k <= n, ...)");
}

std::string text_of(const std::vector<HanoiMove>& moves) {
  std::string text;
  for (const HanoiMove& m : moves) text += fmt::format("{}{}{}", text.empty() ? "" : " ", m.from, m.to);
  return moves.size() > 12 ? text.substr(0, 24) + fmt::format("... ({} moves)", moves.size()) : text;
}

struct HanoiCase {
  std::vector<int> pegs;
  int goal;
  std::string moves;
  std::vector<kit::Mistake> mistakes = {};
};

const std::vector<HanoiCase>& hanoi_cases() {
  static const std::string illegal = "a move that breaks the rules earns nothing, and neither do those before it";
  static const std::string after = "the solution is the end: a move after it loses everything";
  static const std::string best = "this is the best position on the way: only the last one counts";
  static const std::string disks = "disks on the goal are no measure: the largest must go first; use hanoi_distance()";
  static const std::string done = "nothing is left to do, so all of it is done: 1, not 0 divided by 0";
  static const std::string whole =
      "0: is the division one of whole numbers, or was the distance before the moves computed after the moves?";
  static const std::string start =
      "this is divided by 2^n - 1, a whole tower's distance: divide by the distance from where it starts";
  static const std::vector<int> three = {1, 1, 1};
  static const std::vector<HanoiCase> cases = {
      {three, 3, "13", {{whole, 0.0}, {disks, 1.0 / 3}, {"this is the distance that is left", 6.0 / 7}}},
      {three, 3, "13 12 32", {{disks, 0.0}}},
      {three, 3, "13 12 32 13", {{disks, 1.0 / 3}}},
      {three, 3, "13 12 32 13 21 23 13"},
      {three,
       3,
       "13 31",
       {{"moving to and fro is paid: only the position at the end counts, not the number of moves", 2.0 / 7},
        {best, 1.0 / 7}}},
      {three, 3, "12", {{"moves are counted, not how much nearer they come", 1.0 / 7}}},
      {three, 3, "13 12 12", {{illegal, 1.0 / 7}, {illegal, 2.0 / 7}, {illegal, 3.0 / 7}}},
      {three, 3, "13 12 32 13 32", {{illegal, 4.0 / 7}, {illegal, 3.0 / 7}}},
      {three, 3, "21 13", {{illegal, 1.0 / 7}}},
      {three, 3, "13 12 32 13 21 23 13 31", {{after, 6.0 / 7}, {after, 1.0}}},
      {three, 3, "13 12 32 13 21 23 13 31 13", {{after, 1.0}}},
      {three, 3, "13 12 32 13 21 23 13 13", {{after, 1.0}}},
      {three, 3, ""},
      {{3, 1, 3}, 3, "32 13", {{start, 2.0 / 7}}},
      {{2, 1},
       3,
       "23",
       {{"a position further away than before is worth 0, not less", -0.5},
        {"a position further away than before is worth 0, not less", 0.5}}},
      {{1, 3, 3}, 3, "12"},
      {{2, 2}, 2, "", {{done, std::nan("")}, {done, 0.0}}},
      {{2, 2}, 2, "21", {{after, 1.0}, {after, -std::numeric_limits<double>::infinity()}}}};
  return cases;
}

}  // namespace

void check_pass_at_k(Grader& g, const Impl& impl) {
  // First a case in which no two mistakes give the same number.
  std::vector<std::array<int64_t, 3>> cases = {{11, 3, 3}, {5, 2, 2}, {5, 2, 3}, {7, 1, 3}, {7, 3, 1}};
  for (int64_t n = 1; n <= 9; ++n) {
    for (int64_t c = 0; c <= n; ++c) {
      for (int64_t k = 1; k <= n; ++k) cases.push_back({n, c, k});
    }
  }
  for (const auto& [n, c, k] : cases) {
    const std::string input = fmt::format("n = {}, c = {}, k = {}", n, c, k);
    double got = 0;
    if (const std::string thrown = exception_of([&, n = n, c = c, k = k] { got = impl.pass_at_k(n, c, k); });
        !thrown.empty()) {
      const std::string says = "c = 0 and k = n are allowed: refuse only what is outside 0 <= c <= n or 1 <= k <= n";
      g.expect(false, input, thrown, fmt::format("{}", counted(n, c, k)), says);
      return;
    }
    if (!g.equal(input, got, counted(n, c, k), {.mistakes = kit::results_of(pass_at_k_mistakes(), n, c, k)})) return;
  }
  for (const auto& [n, c, k] : {std::array<int64_t, 3>{3, 1, 4}, {1, 1, 2}, {3, 0, 0}, {3, 4, 2}, {3, -1, 2}}) {
    if (!refuses(g, impl, n, c, k)) return;
  }
  // One of n is right: the share of the choices with it is k/n. All but one: only k = 1 can miss.
  for (const int64_t n : {64, 70, 400, 100000}) {
    for (const int64_t k : {n / 8, n / 2, n - 1}) {
      const double want = static_cast<double>(k) / static_cast<double>(n), got = impl.pass_at_k(n, 1, k);
      const std::string input = fmt::format("n = {}, c = 1, k = {}", n, k);
      if (!(std::abs(got - want) <= 1e-7)) {
        g.expect(false, input, fmt::format("{}", got), fmt::format("{}", want),
                 "right for small n, wrong for large ones: a factorial or a binomial coefficient overflows; multiply "
                 "ratios near 1 in their place");
        return;
      }
    }
  }
  if (!g.equal("n = 5,000,000,000, c = 1,000,000,000, k = 1", impl.pass_at_k(5'000'000'000, 1'000'000'000, 1), 0.2))
    return;
  if (!g.equal("n = 400, c = 200, k = 200", impl.pass_at_k(400, 200, 200), 1.0)) return;
  g.note("every n up to 9 by counting all choices; n up to 100,000");
}

void check_hanoi_progress(Grader& g, const Impl& impl) {
  const Impl engine = reference();
  const auto compare = [&](const HanoiPosition& start, const std::vector<HanoiMove>& moves,
                           const std::vector<kit::Mistake>& mistakes) {
    const std::string input = fmt::format("disks 1 ... {} on the pegs {}, goal {}, moves \"{}\"", start.peg.size(),
                                          fmt::join(start.peg, " "), start.goal, text_of(moves));
    return g.equal(input, impl.hanoi_progress(start, moves), engine.hanoi_progress(start, moves),
                   {.mistakes = mistakes});
  };
  for (const HanoiCase& c : hanoi_cases()) {
    if (!compare({c.pegs, c.goal}, hanoi_moves(c.moves).value(), c.mistakes)) return;
  }
  Generator random = kit::draws(109);
  for (int i = 0; i < 3000; ++i) {
    HanoiPosition start{{}, 1 + static_cast<int>(random.integer(3))};
    for (int64_t k = 1 + random.integer(6); k > 0; --k) start.peg.push_back(1 + static_cast<int>(random.integer(3)));
    std::vector<HanoiMove> moves = solve_hanoi(start);
    if (!moves.empty()) moves.resize(static_cast<size_t>(random.integer(std::ssize(moves) + 1)));
    HanoiPosition now = start;
    for (const HanoiMove& m : moves) now.move(m.from, m.to);
    for (int64_t more = random.integer(6); more > 0; --more) {
      const HanoiMove m{1 + static_cast<int>(random.integer(3)), 1 + static_cast<int>(random.integer(3))};
      if (i % 3 == 0 || now.move(m.from, m.to)) moves.push_back(m);
    }
    if (!compare(start, moves, {})) return;
  }
  g.note("18 sequences of moves, 3,000 random ones");
}

void check_majority_vote(Grader& g, const Impl& impl) {
  struct Case {
    std::vector<AnswerCount> answers;
    double want;
    std::vector<kit::Mistake> mistakes = {};
  };
  const std::string first = "a tie goes to whoever stands first: each of the tied answers has the same chance";
  const std::string ties = "a tie: each of the most frequent answers has the same chance, so the share that is right";
  const std::string whole =
      "a tie: each of the two has the same chance, so give the share that is right. Is the last answer taken, or is "
      "the division one of whole numbers?";
  const std::string wide = "these counts do not fit in 32 bits: count in int64_t";
  const Case cases[] = {
      {{{3, true}, {2, false}}, 1, {{"this is the share of right responses, pass@1", 0.6}}},
      {{{3, false}, {2, true}},
       0,
       {{"one right answer is not enough: that is pass@k", 1.0},
        {"this is the share of right responses, pass@1", 0.4}}},
      {{{2, true}, {3, false}, {1, false}},
       0,
       {{"the first answer is taken: the most frequent one is", 1.0},
        {"this is the share of right responses, pass@1", 1.0 / 3}}},
      {{{2, false}, {3, true}, {1, false}, {1, false}},
       1,
       {{"more than half of the votes are not needed: the most frequent answer wins", 0.0}}},
      {{{2, true}, {2, false}}, 0.5, {{first, 1.0}, {whole, 0.0}}},
      {{{2, false}, {2, true}}, 0.5, {{first, 0.0}, {ties, 1.0}}},
      {{{2, false}, {2, true}, {1, true}, {2, false}},
       1.0 / 3,
       {{ties, 0.0}, {ties, 1.0}, {"this is the share of all responses", 3.0 / 7}}},
      {{{2, true}, {2, true}, {3, false}},
       0,
       {{"right answers that differ are not one answer: 2 and 2 do not outvote 3", 1.0}}},
      {{{2, true}, {2, true}}, 1, {}},
      {{{1, true}}, 1, {}},
      {{{4'294'967'301, true}, {6, false}}, 1, {{wide, 0.0}}},
      {{{16'777'217, true}, {16'777'216, false}}, 1, {{"a float has 24 bits: count in int64_t", 0.5}}},
      {{}, 0, {{"nobody votes: 0 divided by 0", std::nan("")}}},
      {{{0, true}, {0, false}}, 0, {{"a count of 0 is no vote", 0.5}, {"a count of 0 is no vote", 1.0}}}};
  for (const Case& c : cases) {
    std::string input;
    for (const AnswerCount& a : c.answers)
      input += fmt::format("{}{} x {}", input.empty() ? "" : ", ", a.count, a.right ? "right" : "wrong");
    if (!g.equal(input.empty() ? "no answers" : input, impl.majority_vote(c.answers), c.want,
                 {.mistakes = c.mistakes})) {
      return;
    }
  }
  Generator random = kit::draws(113);
  for (int i = 0; i < 300; ++i) {
    std::vector<AnswerCount> answers(static_cast<size_t>(random.integer(7)));
    for (AnswerCount& a : answers) a = {random.integer(4), random.integer(2) == 0};
    if (!g.equal("random counts", impl.majority_vote(answers), rl::majority_vote(answers))) return;
  }
  g.note("14 votes, 300 random ones");
}

}  // namespace pg::lesson10
