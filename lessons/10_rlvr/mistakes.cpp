// The known mistakes of lesson 10.
#include "lessons/10_rlvr/checks.h"
#include "lessons/10_rlvr/wrong_pass.h"

namespace pg::lesson10 {

kit::Mistakes<&Impl::pass_at_k> pass_at_k_mistakes() {
  return {
      {"naive", "10.5", "1 - (1 - c/n)^k draws with replacement, and is biased: the k responses are different ones",
       wrong_pass<"naive">},
      {"mean", "10.5", "this is c/n: it is pass@1 for every k", wrong_pass<"mean">},
      {"expected_number", "10.5", "k·c/n counts the right ones that are expected: two in one choice are one success",
       wrong_pass<"expected">},
      {"threshold", "10.5", "this is 0 or 1, a threshold: it is the mean over all choices of k that is asked for",
       wrong_pass<"threshold">},
      {"whole_factors", "10.5", "1: is the division one of whole numbers? Each factor is below 1: divide in double",
       wrong_pass<"whole">},
      {"short_loop", "10.5", "one factor too few: k factors, i = 0 ... k - 1; this is pass@(k-1)",
       wrong_pass<"short_loop">},
      {"long_loop", "10.5", "one factor too many: k factors, i = 0 ... k - 1; this is pass@(k+1)",
       wrong_pass<"long_loop">},
      {"wrong_ones", "10.5", "C(c, k) in place of C(n - c, k): count the choices of k from the n - c, the wrong ones",
       wrong_pass<"wrong_ones">},
      {"same_total", "10.5",
       "all factors are divided by n: that is a draw with replacement; n becomes smaller by one each time",
       wrong_pass<"same_total">},
      {"none_right", "10.5", "this is the probability that none is right", wrong_pass<"none">},
      {"all_right", "10.5", "this is the probability that all k are right", wrong_pass<"all">},
  };
}

}  // namespace pg::lesson10
