// The known mistakes of lesson 2.
#include "lessons/02_autograd/wrong.h"

namespace pg::lesson02 {

kit::Mistakes<&Impl::mul> mul_mistakes() {
  return {
      {"mul_exchanged", "02.1", "da and db are exchanged: what multiplies dz is the other factor",
       wrong_mul<"exchanged">},
      {"mul_no_dz", "02.1", "the incoming gradient dz is forgotten: multiply by it", wrong_mul<"no_dz">},
      {"mul_sum", "02.1", "dz, a and b are added or multiplied at once: da = dz · b", wrong_mul<"sum">},
      {"mul_result", "02.1", "dz, a and b are added or multiplied at once: da = dz · b", wrong_mul<"result">},
      {"mul_quotient", "02.1", "the result divided by a factor is nan where the factor is 0: multiply by the other one",
       wrong_mul<"quotient">},
  };
}

kit::Mistakes<&Impl::tanh> tanh_mistakes() {
  return {
      {"tanh_no_dy", "02.2", "the incoming gradient dy is forgotten: multiply by it", wrong_tanh<"no_dy">},
      {"tanh_of_x", "02.2", "1 - x² in place of 1 - y²: the derivative is written in terms of the result",
       wrong_tanh<"of_x">},
      {"tanh_no_square", "02.2", "1 - y in place of 1 - y²: the square is missing", wrong_tanh<"no_square">},
      {"tanh_plus", "02.2", "1 + y² in place of 1 - y²: tanh is flat where |y| is near 1", wrong_tanh<"plus">},
      {"tanh_sigmoid", "02.2", "this is the derivative of the sigmoid", wrong_tanh<"sigmoid">},
      {"tanh_again", "02.2", "y is tanh(x) already: the tanh of y is not needed", wrong_tanh<"tanh_again">},
      {"tanh_precedence", "02.2", "dy multiplies only the 1: write dy · (1 - y²)", wrong_tanh<"precedence">},
      {"tanh_no_one", "02.2", "the 1 is missing: dx = dy · (1 - y²)", wrong_tanh<"no_one">},
      {"tanh_square_of_difference", "02.2", "(1 - y)² in place of 1 - y²", wrong_tanh<"square_of_difference">},
      {"tanh_twice_y", "02.2", "1 - 2y in place of 1 - y²", wrong_tanh<"twice_y">},
      {"tanh_root", "02.2", "this is the root of 1 - y²: no root is needed", wrong_tanh<"root">},
  };
}

kit::Mistakes<&Impl::matmul> matmul_mistakes() {
  return {
      {"matmul_b_untransposed", "02.3", "b is not transposed: compare da [M, K] with dc [M, N] and b [K, N]",
       wrong_matmul<"b_plain">},
      {"matmul_dc_first", "02.3", "the factors are in the wrong order: dc stands first", wrong_matmul<"dc_first">},
      {"matmul_a_untransposed", "02.3", "a is not transposed: compare db [K, N] with a [M, K] and dc [M, N]",
       wrong_matmul<"a_plain">},
      {"matmul_order", "02.3", "the factors are in the wrong order: dc stands last", wrong_matmul<"dc_last">},
      {"matmul_exchanged", "02.3", "da and db are exchanged", wrong_matmul<"exchanged">},
      {"matmul_no_dc", "02.3", "the incoming gradient dc is forgotten", wrong_matmul<"no_dc">},
      {"matmul_dc_turned", "02.3", "dc is transposed in place of b", wrong_matmul<"dc_turned">},
      {"matmul_dc_turned_for_a", "02.3", "dc is transposed in place of a", wrong_matmul<"dc_turned_for_a">},
      {"matmul_elements", "02.3", "a matrix product is needed, not a product of elements", wrong_matmul<"elements">},
  };
}

kit::Mistakes<&Impl::pass_summed> sum_mistakes() {
  return {
      {"sum_mean", "02.4", "this is the mean over the stretched dimensions; add up instead", wrong_sum<"mean">},
      {"sum_first_copy", "02.4", "only the first of the stretched copies counts; add up all of them",
       wrong_sum<"first_copy">},
      {"sum_largest", "02.4", "only the largest of the gradients counts; add up all of them", wrong_sum<"largest">},
      {"sum_left", "02.4", "shapes are aligned at the right: sum over the leading dim", wrong_sum<"left">},
  };
}

kit::Mistakes<&Impl::gradcheck> gradcheck_mistakes() {
  return {
      {"gradcheck_mean", "02.5",
       "this is the mean over the inputs: a bug in one of ten would be diluted; take the largest",
       wrong_gradcheck<"mean">},
      {"gradcheck_adds", "02.5", "the errors of the inputs are added up; take the largest",
       wrong_gradcheck<"adds_inputs">},
      {"gradcheck_element", "02.5",
       "the largest relative error of one element; the exercise asks for the norm over the input",
       wrong_gradcheck<"element">},
      {"gradcheck_by_n", "02.5", "|a - n| is divided by |n| alone; the exercise divides by the larger of |a| and |n|",
       wrong_gradcheck<"by_n">},
      {"gradcheck_by_a", "02.5", "|a - n| is divided by |a| alone; the exercise divides by the larger of |a| and |n|",
       wrong_gradcheck<"by_a">},
      {"gradcheck_by_both", "02.5", "|a - n| is divided by |a| + |n|; the exercise divides by the larger of the two",
       wrong_gradcheck<"by_both">},
      {"gradcheck_squares", "02.5", "the norms are sums of squares: take the roots", wrong_gradcheck<"squares">},
      {"gradcheck_sums", "02.5",
       "the norms are sums of absolute values; the Euclidean one is the root of the sum of squares",
       wrong_gradcheck<"sums">},
      {"gradcheck_largest_element", "02.5",
       "the norms are those of the largest element; the Euclidean one is the root of the sum of squares",
       wrong_gradcheck<"largest_element">},
  };
}

}  // namespace pg::lesson02
