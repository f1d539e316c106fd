// Wrong answers to lesson 10. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include <algorithm>
#include <cmath>

#include "lessons/10_rlvr/answers.h"
#include "lessons/10_rlvr/checks.h"
#include "lessons/10_rlvr/wrong_pass.h"
#include "lessons/10_rlvr/wrong_reader.h"
#include "lessons/10_rlvr/wrong_texts.h"

namespace pg::lesson10 {
namespace {

// ---- 10.6 and 10.7: a progress and a vote with one mistake of many

template <Name mistake>
double wrong_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  const auto before = static_cast<double>(hanoi_distance(position));
  const auto on_goal = [&] {
    return static_cast<double>(std::count(position.peg.begin(), position.peg.end(), position.goal));
  };
  double best = 0, made = 0;
  const auto share = [&] { return (before - static_cast<double>(hanoi_distance(position))) / before; };
  for (const HanoiMove& m : moves) {
    if (position.solved() && mistake == "stops") break;
    if (position.solved() && mistake != "goes_on") return 0;
    if (!position.move(m.from, m.to)) {
      if (mistake == "skips") continue;
      return mistake == "keeps" && before > 0 ? std::max(0.0, share()) : 0;
    }
    made += 1;
    best = std::max(best, share());
  }
  if (before == 0) return mistake == "zero" ? 0 : 1;
  if (mistake == "best") return best;
  if (mistake == "per_move") return std::min(1.0, made / before);
  if (mistake == "disks") return on_goal() / static_cast<double>(position.peg.size());
  if (mistake == "left") return 1 - share();
  if (mistake == "negative") return share();
  if (mistake == "absolute") return std::abs(share());
  if (mistake == "whole") return std::max(0.0, std::trunc(share()));
  if (mistake == "tower") return std::max(0.0, share() * before / (std::pow(2, position.peg.size()) - 1));
  if (mistake == "too_late") return position.solved() ? 1 : 0;
  return std::max(0.0, share());
}

template <Name mistake>
double wrong_vote(std::span<const AnswerCount> answers) {
  int64_t most = 0, all = 0, right_votes = 0;
  for (const AnswerCount& a : answers) {
    most = std::max(most, mistake == "narrow" ? int64_t{static_cast<int32_t>(a.count)} : a.count);
    all += a.count;
    right_votes += a.right ? a.count : 0;
  }
  const auto share = [](int64_t p, int64_t q) { return static_cast<double>(p) / static_cast<double>(q); };
  if (mistake == "position") return !answers.empty() && most > 0 && answers[0].right ? 1 : 0;
  if (mistake == "no_check") {
    const auto by_count = [](const AnswerCount& a, const AnswerCount& b) { return a.count < b.count; };
    most = std::max_element(answers.begin(), answers.end(), by_count)->count;
  }
  if (mistake == "absolute") {
    for (const AnswerCount& a : answers)
      if (2 * a.count > all) return a.right ? 1 : 0;
    return 0;
  }
  if (most == 0 && mistake != "no_votes" && mistake != "zero_counts") return 0;
  if (answers.empty() && mistake == "zero_counts") return 0;
  if (mistake == "any") return right_votes > 0 ? 1 : 0;
  if (mistake == "share") return share(right_votes, all);
  if (mistake == "pooled" && 2 * right_votes > all) return 1;
  int64_t tied = 0, right = 0;
  double first = -1, last = 0;
  for (const AnswerCount& a : answers) {
    if ((mistake == "narrow" ? int64_t{static_cast<int32_t>(a.count)} : a.count) != most) continue;
    ++tied;
    right += a.right;
    last = a.right ? 1 : 0;
    if (first < 0) first = last;
  }
  if (mistake == "first") return first;
  if (mistake == "last") return last;
  if (mistake == "ties_right") return right > 0 ? 1 : 0;
  if (mistake == "whole") return static_cast<double>(right / tied);
  if (mistake == "ties_wrong") return right == tied ? 1 : 0;
  return share(right, tied);
}

}  // namespace

const kit::Mutants<Impl> of_read_expression(
    &Impl::read_expression,
    {{"minus_from_the_right", "10.1", "minus is read from the right", wrong_read<"right_to_left">},
     {"division_from_the_right", "10.1", "the chain is read from the right", wrong_read<"right_to_left_product">},
     {"one_level", "10.1", "+ binds as * does", wrong_read<"one_level">},
     {"integer_division", "10.1", "one of whole numbers", wrong_read<"integer_division">},
     {"unary_minus", "10.1", "a sign is read as part", wrong_read<"unary_minus">},
     {"unary_plus", "10.1", "a sign is read as part", wrong_read<"unary_plus">},
     {"no_limit", "10.1", "more is read than `steps` allows", wrong_read<"no_limit">},
     {"limit_of_numbers", "10.1", "more is read than `steps` allows", wrong_read<"limit_numbers_only">},
     {"limit_too_strict", "10.1", "five steps are allowed", wrong_read<"limit_too_strict">},
     {"leftover", "10.1", "the expression ends before the text does", wrong_read<"leftover">},
     {"unclosed", "10.1", "must be closed", wrong_read<"unclosed">},
     {"leading_zeros", "10.1", "a leading zero", wrong_read<"zeros">},
     {"zeros_before_zero", "10.1", "a leading zero", wrong_read<"double_zeros">},
     {"eighteen_digits", "10.1", "count no digits", wrong_read<"eighteen_digits">},
     {"zero_forgotten", "10.1", "0 as well", wrong_read<"no_zero">},
     {"empty_parentheses", "10.1", "nothing between them", wrong_read<"nothing_is_0">},
     {"spaces_join", "10.1", "spaces do not join digits", wrong_read<"spaces_join">},
     {"no_spaces", "10.1", "spaces may stand around", wrong_read<"no_spaces">},
     {"no_parentheses", "10.1", "parentheses are not read", wrong_read<"no_parentheses">},
     {"half_expression", "10.1", "an operator without a number behind it", wrong_read<"half_expression">},
     {"nul_ends", "10.1", "a byte of value 0", wrong_read<"nul_ends">},
     {"saturates", "10.1", "does not fit in 64 bits", wrong_read<"saturates">},
     {"product_without_sign", "10.1", "no sign, no product", wrong_read<"product_without_sign">},
     {"zero_refused", "10.1", "0 is a whole number", wrong_read<"zero_refused">},
     {"step_per_digit", "10.1", "a number is one step", wrong_read<"step_per_digit">},
     {"free_parentheses", "10.1", "more is read than `steps` allows", wrong_read<"free_parentheses">},
     {"free_operators", "10.1", "more is read than `steps` allows", wrong_read<"free_operators">},
     {"counted_afterwards", "10.1", "calls itself", wrong_read<"counted_afterwards">},
     {"never_reset", "10.1", "remembers", wrong_read<"never_reset">},
     {"tabs", "10.1", "no other white space", wrong_read<"tabs">},
     {"sorted", "10.1", "in the order of the text", wrong_read<"sorted">},
     {"division_by_zero", "10.1", "division by zero", wrong_read<"division_by_zero">},
     {"wraps", "10.1", "does not fit in 64 bits", wrong_read<"wraps">},
     {"throws", "10.1", "an exception", wrong_read<"throws">},
     {"no_numbers", "10.1", "the numbers are missing", wrong_read<"no_numbers">},
     {"exchanged", "10.1", "are exchanged", wrong_read<"exchanged">}});
const kit::Mutants<Impl> of_countdown_reward(
    &Impl::countdown_reward, {{"number_reused", "10.2", "more often than it is given", wrong_reward<"reused">},
                              {"any_number", "10.2", "a number that was not given", wrong_reward<"any_number">},
                              {"twice_given", "10.2", "may be used twice", wrong_reward<"only_once">},
                              {"all_ignored", "10.2", "a number is left over", wrong_reward<"all_ignored">},
                              {"all_always", "10.2", "unless `all` says so", wrong_reward<"all_always">},
                              {"close_enough", "10.2", "paid like the target", wrong_reward<"close">},
                              {"cut_to_whole", "10.2", "cut to a whole number", wrong_reward<"whole">},
                              {"form_alone", "10.2", "the form alone is paid", wrong_reward<"format">},
                              {"form_constant", "10.2", "the form alone is paid", wrong_reward<"format_constant">},
                              {"no_one", "10.2", "the 1 is missing", wrong_reward<"no_one">},
                              {"signed_distance", "10.2", "the distance has no sign", wrong_reward<"signed_distance">},
                              {"below_is_near", "10.2", "the distance has no sign", wrong_reward<"below_is_near">},
                              {"all_counted", "10.2", "not only as many", wrong_reward<"all_counted">},
                              {"sign_lost", "10.2", "the sign of the value is lost", wrong_reward<"absolute">},
                              {"as_double", "10.2", "a double has 53 bits", wrong_reward<"as_double">},
                              {"near_ignored", "10.2", "`near` is ignored", wrong_reward<"near_ignored">},
                              {"near_for_right", "10.2", "is worth 1", wrong_reward<"near_for_right">},
                              {"distance_cut", "10.2", "cut to a whole number", wrong_reward<"distance_cut">},
                              {"in_order", "10.2", "in any order", wrong_reward<"in_order">},
                              {"all_as_set", "10.2", "must be used twice", wrong_reward<"all_as_set">}});
const kit::Mutants<Impl> of_last_boxed(&Impl::last_boxed,
                                       {{"first_box", "10.3", "the first box is taken", wrong_boxed<"first">},
                                        {"greedy_brace", "10.3", "the last } of the text", wrong_boxed<"greedy">},
                                        {"first_brace", "10.3", "ends at its first }", wrong_boxed<"shortest">},
                                        {"box_before_the_cut", "10.3", "the last box is cut", wrong_boxed<"cut">},
                                        {"escaped_brace", "10.3", "an escaped brace is text", wrong_boxed<"no_escape">},
                                        {"no_fbox", "10.3", "is a box, too", wrong_boxed<"no_fbox">},
                                        {"boxed_before_fbox", "10.3", "the one that stands last",
                                         wrong_boxed<"boxed_wins">},
                                        {"no_braces", "10.3", "without braces it is no box", wrong_boxed<"no_braces">},
                                        {"trimmed", "10.3", "with its spaces", wrong_boxed<"trims">},
                                        {"no_spaces", "10.3", "spaces may stand between", wrong_boxed<"no_spaces">},
                                        {"white_space", "10.3", "no other white space", wrong_boxed<"white_space">},
                                        {"empty_box", "10.3", "an empty box is a box", wrong_boxed<"empty">},
                                        {"outer", "10.3", "the inner one", wrong_boxed<"outer">},
                                        {"previous", "10.3", "two backslashes", wrong_boxed<"previous">},
                                        {"braces_too", "10.3", "between the braces", wrong_boxed<"braces_too">},
                                        {"one_brace", "10.3", "between the braces", wrong_boxed<"one_brace">}});
const kit::Mutants<Impl> of_same_number(
    &Impl::same_number, {{"texts_compared", "10.4", "one number in two forms", wrong_same<"texts">},
                         {"texts_too", "10.4", "equal texts that are no numbers", wrong_same<"texts_too">},
                         {"tolerance", "10.4", "a tolerance pays wrong answers", wrong_same<"tolerance">},
                         {"small_tolerance", "10.4", "a tolerance pays wrong answers", wrong_same<"tight">},
                         {"doubles", "10.4", "a double has 53 bits", wrong_same<"doubles">},
                         {"long_doubles", "10.4", "a long double has 64 bits", wrong_same<"long_double">},
                         {"two_signs", "10.4", "one sign at most", wrong_same<"two_signs">},
                         {"no_commas", "10.4", "commas between thousands are part", wrong_same<"no_commas">},
                         {"any_commas", "10.4", "a comma stands in the wrong place", wrong_same<"any_commas">},
                         {"number_in_front", "10.4", "a number and nothing else", wrong_same<"prefix">},
                         {"sign_lost", "10.4", "the sign is lost", wrong_same<"sign">},
                         {"division_by_zero", "10.4", "a division by zero", wrong_same<"zero">},
                         {"products_wrap", "10.4", "use __int128", wrong_same<"narrow">},
                         {"products_refused", "10.4", "use __int128", wrong_same<"refuses">},
                         {"no_plus", "10.4", "a plus may stand", wrong_same<"no_plus">},
                         {"no_bare_point", "10.4", "2. is 2", wrong_same<"no_bare_point">},
                         {"point_first", "10.4", "before the point", wrong_same<"point_first">},
                         {"inner_sign", "10.4", "in front of the fraction", wrong_same<"inner_sign">},
                         {"exponent", "10.4", "an e is no part", wrong_same<"exponent">},
                         {"comma_decimals", "10.4", "behind the point", wrong_same<"comma_decimals">},
                         {"long_first_group", "10.4", "in the wrong place", wrong_same<"long_first_group">},
                         {"comma_fraction", "10.4", "no commas in a fraction", wrong_same<"comma_fraction">},
                         {"zeros_kept", "10.4", "zeros at the end", wrong_same<"zeros_kept">},
                         {"trimmed", "10.4", "no space", wrong_same<"trimmed">},
                         {"decimal_zeros", "10.4", "not the zeros behind the point", wrong_same<"decimal_zeros">},
                         {"decimals_added", "10.4", "the sign belongs to", wrong_same<"decimals_added">},
                         {"no_signed_fraction", "10.4", "may have a sign in front", wrong_same<"no_signed_fraction">},
                         {"two_points", "10.4", "one point at most", wrong_same<"two_points">},
                         {"decimal_fraction", "10.4", "no point in it", wrong_same<"decimal_fraction">}});
const kit::Mutants<Impl> of_pass_at_k(&Impl::pass_at_k, pass_at_k_mistakes(),
                                      {{"factorials", "10.5", "a factorial or a binomial", wrong_pass<"factorials">},
                                       {"binomials", "10.5", "a factorial or a binomial", wrong_pass<"binomials">},
                                       {"unchecked", "10.5", "k > n", wrong_pass<"unchecked">},
                                       {"clamped", "10.5", "k > n", wrong_pass<"clamps">},
                                       {"foreign_error", "10.5", "not of this type: use fail(", wrong_pass<"foreign">},
                                       {"k_n", "10.5", "k = n are allowed", wrong_pass<"k_n">}});
const kit::Mutants<Impl> of_hanoi_progress(
    &Impl::hanoi_progress, {{"per_move", "10.6", "moving to and fro is paid", wrong_progress<"per_move">},
                            {"best_on_the_way", "10.6", "the best position on the way", wrong_progress<"best">},
                            {"disks_on_goal", "10.6", "disks on the goal are no measure", wrong_progress<"disks">},
                            {"skips_illegal", "10.6", "breaks the rules earns nothing", wrong_progress<"skips">},
                            {"keeps_before_illegal", "10.6", "breaks the rules earns nothing", wrong_progress<"keeps">},
                            {"goes_on", "10.6", "the solution is the end", wrong_progress<"goes_on">},
                            {"negative", "10.6", "worth 0, not less", wrong_progress<"negative">},
                            {"what_is_left", "10.6", "the distance that is left", wrong_progress<"left">},
                            {"solved_is_zero", "10.6", "nothing is left to do", wrong_progress<"zero">},
                            {"whole_share", "10.6", "of whole numbers", wrong_progress<"whole">},
                            {"tower", "10.6", "from where it starts", wrong_progress<"tower">},
                            {"stops", "10.6", "the solution is the end", wrong_progress<"stops">},
                            {"distance_absolute", "10.6", "worth 0, not less", wrong_progress<"absolute">},
                            {"too_late", "10.6", "after the moves", wrong_progress<"too_late">}});
const kit::Mutants<Impl> of_majority_vote(
    &Impl::majority_vote, {{"tie_to_the_first", "10.7", "a tie goes to whoever stands first", wrong_vote<"first">},
                           {"tie_to_the_last", "10.7", "the share that is right", wrong_vote<"last">},
                           {"tie_to_the_right", "10.7", "a tie", wrong_vote<"ties_right">},
                           {"tie_to_the_wrong", "10.7", "a tie", wrong_vote<"ties_wrong">},
                           {"any_right", "10.7", "that is pass@k", wrong_vote<"any">},
                           {"share_of_responses", "10.7", "this is the share of right responses", wrong_vote<"share">},
                           {"right_ones_pooled", "10.7", "are not one answer", wrong_vote<"pooled">},
                           {"nobody", "10.7", "nobody votes", wrong_vote<"no_votes">},
                           {"zero_counts", "10.7", "a count of 0", wrong_vote<"zero_counts">},
                           {"not_counted", "10.7", "the first answer is taken", wrong_vote<"position">},
                           {"whole_vote", "10.7", "of whole numbers", wrong_vote<"whole">},
                           {"absolute_majority", "10.7", "more than half", wrong_vote<"absolute">},
                           {"narrow_counts", "10.7", "do not fit in 32 bits", wrong_vote<"narrow">},
                           {"no_check", "10.7", "an index outside", wrong_vote<"no_check">}});

}  // namespace pg::lesson10
