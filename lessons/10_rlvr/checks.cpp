// The checks of lesson 10: the table, the reference, and what the checks share.
#include "lessons/10_rlvr/checks.h"

#include "tasks/grade/extract.h"
#include "tasks/puzzles/exact_number.h"

namespace pg::lesson10 {

std::string quoted(std::string_view text) {
  constexpr size_t kShown = 60;
  std::string shown = "\"";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.size() > kShown && i == kShown / 2) {
      shown += " ... ";
      i = text.size() - kShown / 2;
    }
    const char c = text[i];
    shown += c >= ' ' && c <= '~' ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  }
  return shown + "\"";
}

std::string exception_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Todo&) {
    throw;
  } catch (const std::exception&) {
    return kit::describe_exception();
  }
  return "";
}

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "10.1",
       .title = "a reader with a budget",
       .piece = kit::piece<&Impl::read_expression>("read_expression"),
       .section = "Reading what a model wrote",
       .why = "The grader reads what a model wrote, and the model is paid for whatever the grader lets pass. A reader "
              "that takes 8-(3-2) for 8-3-2 teaches wrong arithmetic, and one that recurses without a limit ends a run "
              "of hours.",
       .hints =
           {"Which of three functions, sum, product and factor, calls which? And which one may call the first again?",
            "sum = product {(+ or -) product}, product = factor {(* or /) factor}, factor = number or ( sum ). A loop "
            "for the braces {}: it takes the operators from left to right. steps is one number for all of them.",
            "A struct with the rest of the text, the steps left and the numbers. next(): drop spaces, give the "
            "character. take(): drop the character, --steps >= 0. sum(): value = product(); while next() is + or -: "
            "take it, right = product(), value = combined(*value, op, *right). At the end the text must be empty."},
       .solution = {"tasks/puzzles/countdown_expression.cpp", "class Parser {"},
       .run = check_read_expression},
      {.id = "10.2",
       .title = "the reward of Countdown",
       .piece = kit::piece<&Impl::countdown_reward>("countdown_reward"),
       .section = "Reading what a model wrote",
       .why =
           "The rules are part of the task. If 16 is paid for making 16, a policy finds that within a few steps, and "
           "learns nothing else.",
       .hints =
           {"Which expression has the right value and does not use the numbers that were given?",
            "reward = 1 if value == target; else near / (1 + |value - target|); 0 unless the numbers of the "
            "expression are a part of `numbers`, each as often as given.",
            "pg::read_expression(answer), 0 without it. A copy of `numbers`; find each number of the expression in "
            "it and erase it, 0 if it is not there. With `all` the copy must be empty at the end."},
       .solution = {"tasks/puzzles/countdown_expression.cpp", "std::optional<Fraction> countdown_value("},
       .run = check_countdown_reward,
       .harmless = {{"only positive", "a reward is never negative"}}},
      {.id = "10.3",
       .title = "the answer in a box",
       .piece = kit::piece<&Impl::last_boxed>("last_boxed"),
       .section = "Where is the answer?",
       .why = "A response is a page of work with an answer in it. A grader that takes the wrong part of it punishes "
              "right answers, and pays for a list of guesses.",
       .hints =
           {"Which } closes \\boxed{\\frac{1}{2}}? And which box counts if there are two?",
            "open = number of { minus number of } so far; the box ends where open is 0 again. A backslash hides the "
            "character after it.",
            "text.rfind for both commands, the later one. Skip spaces; there must be a {. Loop: a backslash skips "
            "two, { adds one, } takes one; at 0 return what is between. Nothing after the loop."},
       .solution = {"tasks/grade/extract.cpp", "std::optional<std::string_view> last_boxed("},
       .run = check_last_boxed},
      {.id = "10.4",
       .title = "the same number",
       .piece = kit::piece<&Impl::same_number>("same_number"),
       .section = "Where is the answer?",
       .why = "1/2 and 0.5 are one answer. A comparison of texts calls half of the right answers wrong; one with a "
              "tolerance pays for 3.14 where 22/7 is right.",
       .hints = {"How can 1/3 and 0.333333333333 be told apart without a tolerance?",
                 "A number is a/b of whole numbers: 1,234.5 = 12345/10. a/b = c/d if a·d = c·b, which is exact in "
                 "__int128.",
                 "Take the sign off. With a slash: two whole numbers, the second not 0. Else: check the commas (one "
                 "before each three digits, counted from the end), drop them, drop zeros at the end of the decimals; "
                 "all digits together over a power of 10."},
       .solution = {"tasks/puzzles/exact_number.cpp", "std::optional<Fraction> exact_number("},
       .run = check_same_number},
      {.id = "10.5",
       .title = "pass@k without bias",
       .piece = kit::piece<&Impl::pass_at_k>("pass_at_k"),
       .section = "How good is a model that may try k times?",
       .why = "The naive estimate is too small for each problem that is hard, and the curve over k then has the wrong "
              "shape: exactly the curve that says what training did.",
       .hints = {"Of 5 responses 2 are right. In how many of the 10 pairs is there a right one?",
                 "1 - C(n-c, k)/C(n, k) = 1 - Π_{i=0..k-1} (n-c-i)/(n-i): the k are drawn one after the other.",
                 "check c and k. none = 1; for i from 0 to k - 1: if n - c - i is 0, return 1; none *= (n - c - i) / "
                 "(n - i) in double. Return 1 - none."},
       .solution = {"rl/methods/statistics.cpp", "double pass_at_k("},
       .run = check_pass_at_k,
       .harmless = {{"only positive", "a probability is never negative"}}},
      {.id = "10.6",
       .title = "progress towards the tower",
       .piece = kit::piece<&Impl::hanoi_progress>("hanoi_progress"),
       .section = "Optional: paying for a part of the way",
       .why = "A reward for steps in the right direction is earned best by walking in circles, unless what counts is "
              "how far the end is from the goal.",
       .hints = {"A policy moves disk 1 to and fro a thousand times. Which reward for progress does not pay for that?",
                 "max(0, (d(start) - d(end)) / d(start)), d = hanoi_distance; 0 if a move is forbidden or the position "
                 "was solved before it.",
                 "before = hanoi_distance(position). For each move: 0 if position.solved(); 0 if !position.move(from, "
                 "to). If before is 0 return 1. Return max(0, (before - after) / before) in double."},
       .solution = {"tasks/puzzles/hanoi_solver.cpp", "double hanoi_progress("},
       .run = check_hanoi_progress,
       .harmless = {{"only positive", "0 is the least progress"}}},
      {.id = "10.7",
       .title = "the majority",
       .piece = kit::piece<&Impl::majority_vote>("majority_vote"),
       .section = "How good is a model that may try k times?",
       .why = "pass@k needs somebody who knows the answer. A vote does not. How a tie is decided is worth several "
              "points with few responses.",
       .hints = {"Two responses say 3*5, two say 5+7, and one of these is right. What is the vote worth?",
                 "most = the largest count; (number of right answers with count most) / (number of answers with count "
                 "most).",
                 "One loop for the largest count; return 0 if it is 0. A second loop over the answers that have it: "
                 "tied += 1, right += 1 if it is right. Return right / tied in double."},
       .solution = {"rl/methods/statistics.cpp", "double majority_vote("},
       .run = check_majority_vote,
       .harmless = {{"only positive", "a probability is never negative"}}}};
}

Impl reference() {
  return {pg::read_expression, pg::countdown_reward, pg::last_boxed,   pg::same_number,
          rl::pass_at_k,       pg::hanoi_progress,   rl::majority_vote};
}

}  // namespace pg::lesson10
