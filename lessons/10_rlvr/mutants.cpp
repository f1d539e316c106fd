// Wrong answers to lesson 10. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/10_rlvr/answers.h"
#include "lessons/10_rlvr/wrong_reader.h"
#include "tasks/puzzles/exact_number.h"

namespace pg::lesson10 {
namespace {

enum class Pay {
  reused,
  any_number,
  only_once,
  all_ignored,
  all_always,
  close,
  whole,
  format,
  format_constant,
  no_one,
  signed_distance,
  absolute,
};
template <Pay mistake>
double wrong_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all, double near) {
  const auto read = pg::read_expression(answer);
  if (!read) return mistake == Pay::format_constant ? near : 0;
  std::vector<int64_t> left(numbers.begin(), numbers.end());
  bool rules = true;
  for (const int64_t number : read->numbers) {
    const auto found = std::find(left.begin(), left.end(), number);
    if (found == left.end()) {
      const bool given = std::find(numbers.begin(), numbers.end(), number) != numbers.end();
      rules = rules && ((mistake == Pay::reused && given) || mistake == Pay::any_number);
      continue;
    }
    if (mistake == Pay::only_once) {
      std::erase(left, number);
    } else {
      left.erase(found);
    }
  }
  if (mistake == Pay::all_always) all = true;
  if (mistake != Pay::all_ignored && all && !left.empty()) rules = false;
  if (!rules && mistake != Pay::format && mistake != Pay::format_constant) return 0;
  const double value = read->value.value(), distance = value - static_cast<double>(target);
  if (rules) {
    if (mistake == Pay::close && std::abs(distance) < 1e-2) return 1;
    if (mistake == Pay::whole && static_cast<int64_t>(value) == target) return 1;
    if (mistake == Pay::absolute && std::abs(value) == static_cast<double>(target)) return 1;
    if (read->value == target) return 1;
  }
  if (mistake == Pay::format_constant) return near;
  if (mistake == Pay::no_one) return near / std::abs(distance);
  if (mistake == Pay::signed_distance) return near / (1 + distance);
  return near / (1 + std::abs(distance));
}

enum class Box { first, greedy, shortest, cut, no_escape, no_fbox, boxed_wins, no_braces, trims, no_spaces, empty };
template <Box mistake>
std::optional<std::string_view> wrong_boxed(std::string_view text) {
  const auto find = [&](std::string_view command) {
    return mistake == Box::first ? text.find(command) : text.rfind(command);
  };
  size_t begin = 0;
  for (const std::string_view command : {"\\boxed", "\\fbox"}) {
    if (mistake == Box::no_fbox && command == "\\fbox") continue;
    if (mistake == Box::boxed_wins && begin > 0) continue;
    const size_t at = find(command);
    if (at != std::string_view::npos && (mistake != Box::first || begin == 0))
      begin = std::max(begin, at + command.size());
  }
  if (begin == 0) return {};
  const size_t command = begin;
  while (mistake != Box::no_spaces && begin < text.size() && text[begin] == ' ') ++begin;
  if (begin == text.size() || text[begin] != '{') {
    if (mistake == Box::cut && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
    if (mistake == Box::no_braces) return text.substr(begin);
    return {};
  }
  if (mistake == Box::greedy) {
    const size_t end = text.rfind('}');
    return end == text.npos || end < begin ? std::nullopt : std::optional(text.substr(begin + 1, end - begin - 1));
  }
  int64_t open = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '\\' && mistake != Box::no_escape) {
      ++i;
    } else if (text[i] == '{') {
      ++open;
    } else if (text[i] == '}' && (--open == 0 || mistake == Box::shortest)) {
      std::string_view content = text.substr(begin + 1, i - begin - 1);
      while (mistake == Box::trims && content.starts_with(' ')) content.remove_prefix(1);
      while (mistake == Box::trims && content.ends_with(' ')) content.remove_suffix(1);
      if (mistake == Box::empty && content.empty()) return {};
      return content;
    }
  }
  if (mistake == Box::cut && command > 6) return wrong_boxed<mistake>(text.substr(0, command - 6));
  return {};
}

enum class Same {
  texts,
  tolerance,
  tight,
  doubles,
  no_commas,
  any_commas,
  prefix,
  sign,
  zero,
  texts_too,
  narrow,
  refuses
};
template <Same mistake>
bool wrong_same(std::string_view a, std::string_view b) {
  if (mistake == Same::texts) return a == b && pg::same_number(a, b);
  if (mistake == Same::texts_too) return (a == b && !a.ends_with("/0")) || pg::same_number(a, b);
  const auto bare = [](std::string_view text) {
    std::string cleaned(text);
    if (mistake == Same::any_commas) std::erase(cleaned, ',');
    if (mistake == Same::sign && cleaned.starts_with('-')) cleaned.erase(0, 1);
    if (mistake == Same::prefix) cleaned.resize(std::min(cleaned.find_first_not_of("0123456789+-./,"), cleaned.size()));
    return cleaned;
  };
  if (mistake == Same::no_commas && (a.find(',') != a.npos || b.find(',') != b.npos)) return false;
  const auto x = exact_number(bare(a)), y = exact_number(bare(b));
  if (mistake == Same::zero && (a.ends_with("/0") || b.ends_with("/0"))) return true;
  if (!x || !y) return false;
  const double difference = std::abs(x->value() - y->value());
  if (mistake == Same::tolerance) return difference < 1e-2;
  if (mistake == Same::tight) return difference < 1e-9;
  if (mistake == Same::doubles) return difference == 0;
  if (mistake == Same::narrow || mistake == Same::refuses) {
    int64_t left = 0, right = 0;
    const bool first = __builtin_mul_overflow(x->numerator, y->denominator, &left);
    const bool second = __builtin_mul_overflow(y->numerator, x->denominator, &right);
    return left == right && (mistake == Same::narrow || !(first || second));
  }
  return pg::same_number(bare(a), bare(b));
}

enum class Pass { naive, mean, expected, threshold, none, all, factorials, binomials, unchecked, clamps };
template <Pass mistake>
double wrong_pass(int64_t n, int64_t c, int64_t k) {
  if (mistake == Pass::clamps) k = std::min(k, n);
  if (mistake != Pass::unchecked) check(0 <= c && c <= n && 1 <= k && k <= n, "pass_at_k: {} {} {}", n, c, k);
  const double p = static_cast<double>(c) / static_cast<double>(n);
  if (mistake == Pass::naive) return 1 - std::pow(1 - p, static_cast<double>(k));
  if (mistake == Pass::mean) return p;
  if (mistake == Pass::expected) return p * static_cast<double>(k);
  if (mistake == Pass::threshold) return c * k >= n ? 1 : 0;
  if (mistake == Pass::unchecked)
    return n < k || n < c ? 1 : rl::pass_at_k(n, std::max<int64_t>(0, c), std::max<int64_t>(1, k));
  if (mistake == Pass::none) return 1 - rl::pass_at_k(n, c, k);
  if (mistake == Pass::all) return c == n ? 1 : 1 - rl::pass_at_k(n, n - c, k);
  if (mistake == Pass::clamps) return rl::pass_at_k(n, c, k);
  if (n - c < k) return 1;
  if (mistake == Pass::binomials) {
    const auto choose = [](int64_t from, int64_t of) {
      uint64_t result = 1;
      for (int64_t i = 1; i <= of; ++i)
        result = result * static_cast<uint64_t>(from - of + i) / static_cast<uint64_t>(i);
      return static_cast<double>(result);
    };
    return 1 - choose(n - c, k) / choose(n, k);
  }
  const auto factorial = [](int64_t m) { return std::tgamma(static_cast<double>(m) + 1); };
  return 1 - factorial(n - c) / factorial(n - c - k) * (factorial(n - k) / factorial(n));
}

enum class Way { per_move, best, disks, skips, keeps, goes_on, negative, left, zero };
template <Way mistake>
double wrong_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  const auto before = static_cast<double>(hanoi_distance(position));
  const auto on_goal = [&] {
    return static_cast<double>(std::count(position.peg.begin(), position.peg.end(), position.goal));
  };
  double best = 0, made = 0;
  const auto share = [&] { return (before - static_cast<double>(hanoi_distance(position))) / before; };
  for (const HanoiMove& m : moves) {
    if (position.solved() && mistake != Way::goes_on) return 0;
    if (!position.move(m.from, m.to)) {
      if (mistake == Way::skips) continue;
      return mistake == Way::keeps && before > 0 ? std::max(0.0, share()) : 0;
    }
    made += 1;
    best = std::max(best, share());
  }
  if (before == 0) return mistake == Way::zero ? 0 : 1;
  if (mistake == Way::best) return best;
  if (mistake == Way::per_move) return std::min(1.0, made / before);
  if (mistake == Way::disks) return on_goal() / static_cast<double>(position.peg.size());
  if (mistake == Way::left) return 1 - share();
  if (mistake == Way::negative) return share();
  return std::max(0.0, share());
}

enum class Vote { first, last, ties_right, ties_wrong, any, share, pooled, no_votes, zero_counts, position };
template <Vote mistake>
double wrong_vote(std::span<const AnswerCount> answers) {
  int64_t most = 0, all = 0, right_votes = 0;
  for (const AnswerCount& a : answers) {
    most = std::max(most, a.count);
    all += a.count;
    right_votes += a.right ? a.count : 0;
  }
  const auto share = [](int64_t p, int64_t q) { return static_cast<double>(p) / static_cast<double>(q); };
  if (mistake == Vote::position) return !answers.empty() && most > 0 && answers[0].right ? 1 : 0;
  if (most == 0 && mistake != Vote::no_votes && mistake != Vote::zero_counts) return 0;
  if (answers.empty() && mistake == Vote::zero_counts) return 0;
  if (mistake == Vote::any) return right_votes > 0 ? 1 : 0;
  if (mistake == Vote::share) return share(right_votes, all);
  if (mistake == Vote::pooled && 2 * right_votes > all) return 1;
  int64_t tied = 0, right = 0;
  double first = -1, last = 0;
  for (const AnswerCount& a : answers) {
    if (a.count != most) continue;
    ++tied;
    right += a.right;
    last = a.right ? 1 : 0;
    if (first < 0) first = last;
  }
  if (mistake == Vote::first) return first;
  if (mistake == Vote::last) return last;
  if (mistake == Vote::ties_right) return right > 0 ? 1 : 0;
  if (mistake == Vote::ties_wrong) return right == tied ? 1 : 0;
  return share(right, tied);
}

#define ROW(piece, name, id, says, ...)                    \
  {                                                        \
    name, id, says, [](Impl& m) { m.piece = __VA_ARGS__; } \
  }

const kit::Mutants<Impl> table = {
    ROW(read_expression, "minus_from_the_right", "10.1", "minus is read from the right",
        wrong_read<Read::right_to_left>),
    ROW(read_expression, "division_from_the_right", "10.1", "the chain is read from the right",
        wrong_read<Read::right_to_left_product>),
    ROW(read_expression, "one_level", "10.1", "+ binds as * does", wrong_read<Read::one_level>),
    ROW(read_expression, "integer_division", "10.1", "one of whole numbers", wrong_read<Read::integer_division>),
    ROW(read_expression, "unary_minus", "10.1", "a sign is read as part", wrong_read<Read::unary_minus>),
    ROW(read_expression, "unary_plus", "10.1", "a sign is read as part", wrong_read<Read::unary_plus>),
    ROW(read_expression, "no_limit", "10.1", "more is read than `steps` allows", wrong_read<Read::no_limit>),
    ROW(read_expression, "limit_of_numbers", "10.1", "more is read than `steps` allows",
        wrong_read<Read::limit_numbers_only>),
    ROW(read_expression, "limit_too_strict", "10.1", "five steps are allowed", wrong_read<Read::limit_too_strict>),
    ROW(read_expression, "leftover", "10.1", "the expression ends before the text does", wrong_read<Read::leftover>),
    ROW(read_expression, "unclosed", "10.1", "must be closed", wrong_read<Read::unclosed>),
    ROW(read_expression, "leading_zeros", "10.1", "a leading zero", wrong_read<Read::zeros>),
    ROW(read_expression, "spaces_join", "10.1", "spaces do not join digits", wrong_read<Read::spaces_join>),
    ROW(read_expression, "no_spaces", "10.1", "spaces may stand around", wrong_read<Read::no_spaces>),
    ROW(read_expression, "no_parentheses", "10.1", "parentheses are not read", wrong_read<Read::no_parentheses>),
    ROW(read_expression, "half_expression", "10.1", "an operator without a number behind it",
        wrong_read<Read::half_expression>),
    ROW(read_expression, "nul_ends", "10.1", "a byte of value 0", wrong_read<Read::nul_ends>),
    ROW(read_expression, "saturates", "10.1", "does not fit in 64 bits", wrong_read<Read::saturates>),
    ROW(read_expression, "product_without_sign", "10.1", "no sign, no product", wrong_read<Read::product_without_sign>),

    ROW(countdown_reward, "number_reused", "10.2", "more often than it is given", wrong_reward<Pay::reused>),
    ROW(countdown_reward, "any_number", "10.2", "a number that was not given", wrong_reward<Pay::any_number>),
    ROW(countdown_reward, "twice_given", "10.2", "may be used twice", wrong_reward<Pay::only_once>),
    ROW(countdown_reward, "all_ignored", "10.2", "a number is left over", wrong_reward<Pay::all_ignored>),
    ROW(countdown_reward, "all_always", "10.2", "unless `all` says so", wrong_reward<Pay::all_always>),
    ROW(countdown_reward, "close_enough", "10.2", "paid like the target", wrong_reward<Pay::close>),
    ROW(countdown_reward, "cut_to_whole", "10.2", "cut to a whole number", wrong_reward<Pay::whole>),
    ROW(countdown_reward, "form_alone", "10.2", "the form alone is paid", wrong_reward<Pay::format>),
    ROW(countdown_reward, "form_constant", "10.2", "the form alone is paid", wrong_reward<Pay::format_constant>),
    ROW(countdown_reward, "no_one", "10.2", "the 1 is missing", wrong_reward<Pay::no_one>),
    ROW(countdown_reward, "signed_distance", "10.2", "the distance has no sign", wrong_reward<Pay::signed_distance>),
    ROW(countdown_reward, "sign_lost", "10.2", "the sign of the value is lost", wrong_reward<Pay::absolute>),

    ROW(last_boxed, "first_box", "10.3", "the first box is taken", wrong_boxed<Box::first>),
    ROW(last_boxed, "greedy_brace", "10.3", "the last } of the text", wrong_boxed<Box::greedy>),
    ROW(last_boxed, "first_brace", "10.3", "ends at its first }", wrong_boxed<Box::shortest>),
    ROW(last_boxed, "box_before_the_cut", "10.3", "the last box is cut", wrong_boxed<Box::cut>),
    ROW(last_boxed, "escaped_brace", "10.3", "an escaped brace is text", wrong_boxed<Box::no_escape>),
    ROW(last_boxed, "no_fbox", "10.3", "is a box, too", wrong_boxed<Box::no_fbox>),
    ROW(last_boxed, "boxed_before_fbox", "10.3", "the one that stands last", wrong_boxed<Box::boxed_wins>),
    ROW(last_boxed, "no_braces", "10.3", "without braces it is no box", wrong_boxed<Box::no_braces>),
    ROW(last_boxed, "trimmed", "10.3", "with its spaces", wrong_boxed<Box::trims>),
    ROW(last_boxed, "no_spaces", "10.3", "spaces may stand between", wrong_boxed<Box::no_spaces>),
    ROW(last_boxed, "empty_box", "10.3", "an empty box is a box", wrong_boxed<Box::empty>),

    ROW(same_number, "texts_compared", "10.4", "one number in two forms", wrong_same<Same::texts>),
    ROW(same_number, "texts_too", "10.4", "equal texts that are no numbers", wrong_same<Same::texts_too>),
    ROW(same_number, "tolerance", "10.4", "a tolerance pays wrong answers", wrong_same<Same::tolerance>),
    ROW(same_number, "small_tolerance", "10.4", "a tolerance pays wrong answers", wrong_same<Same::tight>),
    ROW(same_number, "doubles", "10.4", "a double has 53 bits", wrong_same<Same::doubles>),
    ROW(same_number, "no_commas", "10.4", "commas between thousands are part", wrong_same<Same::no_commas>),
    ROW(same_number, "any_commas", "10.4", "a comma stands in the wrong place", wrong_same<Same::any_commas>),
    ROW(same_number, "number_in_front", "10.4", "a number and nothing else", wrong_same<Same::prefix>),
    ROW(same_number, "sign_lost", "10.4", "the sign is lost", wrong_same<Same::sign>),
    ROW(same_number, "division_by_zero", "10.4", "a division by zero", wrong_same<Same::zero>),
    ROW(same_number, "products_wrap", "10.4", "use __int128", wrong_same<Same::narrow>),
    ROW(same_number, "products_refused", "10.4", "use __int128", wrong_same<Same::refuses>),

    ROW(pass_at_k, "naive", "10.5", "draws with replacement", wrong_pass<Pass::naive>),
    ROW(pass_at_k, "mean", "10.5", "it is pass@1 for every k", wrong_pass<Pass::mean>),
    ROW(pass_at_k, "expected_number", "10.5", "the right ones that are expected", wrong_pass<Pass::expected>),
    ROW(pass_at_k, "threshold", "10.5", "a threshold", wrong_pass<Pass::threshold>),
    ROW(pass_at_k, "none_right", "10.5", "that none is right", wrong_pass<Pass::none>),
    ROW(pass_at_k, "all_right", "10.5", "that all k are right", wrong_pass<Pass::all>),
    ROW(pass_at_k, "factorials", "10.5", "a factorial or a binomial", wrong_pass<Pass::factorials>),
    ROW(pass_at_k, "binomials", "10.5", "a factorial or a binomial", wrong_pass<Pass::binomials>),
    ROW(pass_at_k, "unchecked", "10.5", "k > n", wrong_pass<Pass::unchecked>),
    ROW(pass_at_k, "clamped", "10.5", "k > n", wrong_pass<Pass::clamps>),

    ROW(hanoi_progress, "per_move", "10.6", "moving to and fro is paid", wrong_progress<Way::per_move>),
    ROW(hanoi_progress, "best_on_the_way", "10.6", "the best position on the way", wrong_progress<Way::best>),
    ROW(hanoi_progress, "disks_on_goal", "10.6", "disks on the goal are no measure", wrong_progress<Way::disks>),
    ROW(hanoi_progress, "skips_illegal", "10.6", "breaks the rules earns nothing", wrong_progress<Way::skips>),
    ROW(hanoi_progress, "keeps_before_illegal", "10.6", "breaks the rules earns nothing", wrong_progress<Way::keeps>),
    ROW(hanoi_progress, "goes_on", "10.6", "the solution is the end", wrong_progress<Way::goes_on>),
    ROW(hanoi_progress, "negative", "10.6", "worth 0, not less", wrong_progress<Way::negative>),
    ROW(hanoi_progress, "what_is_left", "10.6", "the distance that is left", wrong_progress<Way::left>),
    ROW(hanoi_progress, "solved_is_zero", "10.6", "nothing is left to do", wrong_progress<Way::zero>),

    ROW(majority_vote, "tie_to_the_first", "10.7", "a tie goes to whoever stands first", wrong_vote<Vote::first>),
    ROW(majority_vote, "tie_to_the_last", "10.7", "the share that is right", wrong_vote<Vote::last>),
    ROW(majority_vote, "tie_to_the_right", "10.7", "a tie", wrong_vote<Vote::ties_right>),
    ROW(majority_vote, "tie_to_the_wrong", "10.7", "a tie", wrong_vote<Vote::ties_wrong>),
    ROW(majority_vote, "any_right", "10.7", "that is pass@k", wrong_vote<Vote::any>),
    ROW(majority_vote, "share_of_responses", "10.7", "this is the share of right responses", wrong_vote<Vote::share>),
    ROW(majority_vote, "right_ones_pooled", "10.7", "are not one answer", wrong_vote<Vote::pooled>),
    ROW(majority_vote, "nobody", "10.7", "nobody votes", wrong_vote<Vote::no_votes>),
    ROW(majority_vote, "zero_counts", "10.7", "a count of 0", wrong_vote<Vote::zero_counts>),
    ROW(majority_vote, "not_counted", "10.7", "the first answer is taken", wrong_vote<Vote::position>)};

}  // namespace
}  // namespace pg::lesson10
