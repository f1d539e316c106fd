// The known mistakes of lesson 4.
#include "lessons/04_gpt/wrong.h"

namespace pg::lesson04 {

kit::Mistakes<&Impl::attention> attention_mistakes() {
  return {
      {"attention_no_scale", "04.1", "the scale 1/√D is missing", wrong_attention<"no_scale">},
      {"attention_squared_scale", "04.1", "1/D in place of 1/√D: the scale is applied twice",
       wrong_attention<"squared_scale">},
      {"attention_times_root", "04.1", "multiplied by √D: divide by it", wrong_attention<"times_root">},
      {"attention_half", "04.1", "the scale is a fixed 0.5, which is 1/√D for D = 4 only", wrong_attention<"half">},
      {"attention_all_channels", "04.1", "the scale is 1/√(H·D): D is the size of one head",
       wrong_attention<"all_channels">},
      {"attention_by_t", "04.1", "the scale is 1/√T: it is √D that the scores are divided by", wrong_attention<"by_t">},
      {"attention_sees_all", "04.1", "nothing is masked: position 0 sees the end of the text",
       wrong_attention<"sees_all">},
      {"attention_turned_mask", "04.1", "the mask is transposed: each position sees only what comes after it",
       wrong_attention<"turned_mask">},
      {"attention_strict", "04.1", "position t does not see itself: the mask is s <= t, not s < t",
       wrong_attention<"strict">},
      {"attention_after_softmax", "04.1", "the mask comes after the softmax: the weights of a query no longer sum to 1",
       wrong_attention<"after_softmax">},
      {"attention_queries", "04.1", "the softmax runs over the queries; the weights of one query must sum to 1",
       wrong_attention<"queries">},
      {"attention_uniform", "04.1", "all positions get the same weight: the scores do not count",
       wrong_attention<"uniform">},
      {"attention_keys", "04.1", "the keys are averaged; the values should be", wrong_attention<"keys">},
      {"attention_no_softmax", "04.1", "nothing is divided: the weights are the scores, without softmax",
       wrong_attention<"no_softmax">},
      {"attention_zero_mask", "04.1", "a masked score is 0, which is no small weight: mask with -∞",
       wrong_attention<"zero_mask">},
      {"attention_number_mask", "04.1", "a masked score is a number: scores of the past may lie below it. Mask with -∞",
       wrong_attention<"mask_of_100">},
      {"attention_larger_number_mask", "04.1",
       "a masked score is a number: scores of the past may lie below it. Mask with -∞",
       wrong_attention<"mask_of_1000">},
      {"attention_first_row", "04.1", "every text gets the values of row 0 of the batch", wrong_attention<"first_row">},
  };
}

kit::Mistakes<&Impl::attention_backward> attention_backward_mistakes() {
  return {
      {"backward_exchanged", "04.2", "dq and dk are exchanged", wrong_attention_backward<"exchanged">},
      {"backward_own_effect", "04.2", "only each weight's effect on itself: raising one weight lowers all the others",
       wrong_attention_backward<"own_effect">},
      {"backward_no_scale", "04.2", "the scale 1/√D is missing: the scores were scaled, so their gradient is",
       wrong_attention_backward<"no_scale">},
      {"backward_scale_twice", "04.2", "the scale 1/√D is applied twice", wrong_attention_backward<"scale_twice">},
      {"backward_by_t", "04.2", "the scale is 1/√T: it is √D that the scores were divided by",
       wrong_attention_backward<"by_t">},
      {"backward_half", "04.2", "the scale is a fixed 0.5, which is 1/√D for D = 4 only",
       wrong_attention_backward<"half">},
      {"backward_queries", "04.2", "the sum runs over the queries; it runs over the keys of one query",
       wrong_attention_backward<"queries">},
      {"backward_mean", "04.2", "the mean of dp·p is subtracted; subtract the sum", wrong_attention_backward<"mean">},
      {"backward_precedence", "04.2", "the sum is subtracted after the product: p · (dp - sum), not p · dp - sum",
       wrong_attention_backward<"precedence">},
      {"backward_no_weights", "04.2", "the sum lacks the weights: sum of dp · p, not of dp",
       wrong_attention_backward<"no_weights">},
      {"backward_no_p", "04.2", "the factor p is missing: ds = p · (dp - sum)", wrong_attention_backward<"no_p">},
      {"backward_plus", "04.2", "p is added to: the sum must be subtracted", wrong_attention_backward<"plus">},
      {"backward_q_for_k", "04.2", "the scores are q·k: dq takes k, not q", wrong_attention_backward<"q_for_k">},
      {"backward_dq_turned", "04.2", "ds is transposed for dk, not for dq", wrong_attention_backward<"dq_turned">},
      {"backward_dk_plain", "04.2", "ds is not transposed: a key collects from all queries that looked at it",
       wrong_attention_backward<"dk_plain">},
      {"backward_k_for_q", "04.2", "the scores are q·k: dk takes q, not k", wrong_attention_backward<"k_for_q">},
      {"backward_p_plain", "04.2", "p is not transposed: a value collects from all queries that looked at it",
       wrong_attention_backward<"p_plain">},
      {"backward_ds_for_p", "04.2", "ds is not p: dv takes the weights themselves",
       wrong_attention_backward<"ds_for_p">},
      {"backward_dv_scaled", "04.2", "the scale has no part in dv: it divided the scores",
       wrong_attention_backward<"dv_scaled">},
  };
}

kit::Mistakes<&Impl::layer_norm_backward> layer_norm_mistakes() {
  return {
      {"norm_db_mean", "04.3", "this is a mean over the rows; add up", wrong_layer_norm<"db_mean">},
      {"norm_dw_of_x", "04.3", "dy is multiplied by x; w multiplied the normalised x̂", wrong_layer_norm<"dw_of_x">},
      {"norm_dw_mean", "04.3", "this is a mean over the rows; add up", wrong_layer_norm<"dw_mean">},
      {"norm_dw_times_w", "04.3", "w has no part in dw = sum of dy · x̂", wrong_layer_norm<"dw_times_w">},
      {"norm_dw_is_db", "04.3", "this is db: dw is the sum of dy · x̂", wrong_layer_norm<"dw_is_db">},
      {"norm_no_eps", "04.3", "the argument eps is added to the variance: neither 0 nor a fixed 1e-5",
       wrong_layer_norm<"no_eps">},
      {"norm_fixed_eps", "04.3", "the argument eps is added to the variance: neither 0 nor a fixed 1e-5",
       wrong_layer_norm<"fixed_eps">},
      {"norm_one_channel", "04.3", "a row of one number is its own mean: dx is 0", wrong_layer_norm<"one_channel">},
      {"norm_constants", "04.3",
       "mean and deviation are taken for constants, but x moves them too: two terms are missing",
       wrong_layer_norm<"constants">},
      {"norm_no_mean", "04.3", "the path through the mean is missing", wrong_layer_norm<"no_mean">},
      {"norm_no_deviation", "04.3", "the path through the deviation is missing", wrong_layer_norm<"no_deviation">},
      {"norm_plain_mean", "04.3", "x̂ is missing in the second mean: x̂ times the mean of dx̂ · x̂",
       wrong_layer_norm<"plain_mean">},
      {"norm_no_w", "04.3", "w is missing: dx̂ = dy · w", wrong_layer_norm<"no_w">},
      {"norm_w_last", "04.3", "w multiplies the result; it multiplies dy, before the means are taken",
       wrong_layer_norm<"w_last">},
      {"norm_no_factor", "04.3", "the factor 1/√(variance + eps) is missing", wrong_layer_norm<"no_factor">},
      {"norm_sums", "04.3", "sums over the row in place of means", wrong_layer_norm<"sums">},
      {"norm_eps_outside", "04.3", "eps stands beside the root; it is added to the variance",
       wrong_layer_norm<"eps_outside">},
      {"norm_ddof_1", "04.3", "the variance divides by C - 1; it is the mean of squares: var(x, {-1}, 0, true)",
       wrong_layer_norm<"ddof_1">},
      {"norm_columns", "04.3", "mean and variance run over the batch; each row has its own",
       wrong_layer_norm<"columns">},
  };
}

kit::Mistakes<&Impl::decode> decode_mistakes() {
  return {
      {"decode_row_zero", "04.5",
       "row 1 is written to where the end of the first row is: each row has its own slot.before[b]",
       wrong_decode<"row_zero">},
      {"decode_at_zero", "04.5", "the new positions are written at the start of the cache, over the oldest",
       wrong_decode<"at_zero">},
      {"decode_reads_all", "04.5", "the unused room of the cache is read too: give kv_len", wrong_decode<"reads_all">},
      {"decode_not_causal", "04.5", "a new position sees the new ones after it: attention stays causal",
       wrong_decode<"not_causal">},
      {"decode_length_before", "04.5",
       "the new positions themselves are not read: kv_len is slot.after, not slot.before",
       wrong_decode<"length_before">},
      {"decode_one_token", "04.5", "only the first new position is stored: copy all T", wrong_decode<"one_token">},
      {"decode_two_rows", "04.5", "the new positions are not stored in every row: there are q.size(0) of them",
       wrong_decode<"two_rows">},
      {"decode_one_late", "04.5", "stored one place too late: the first free place of row b is slot.before[b]",
       wrong_decode<"one_late">},
      {"decode_v_forgotten", "04.5", "v is not stored: copy it as k is", wrong_decode<"v_forgotten">},
  };
}

kit::Mistakes<&Impl::decode> cache_mistakes() {
  return {
      {"decode_forgets", "04.5", "the new positions are not in the cache: the next token will miss them",
       wrong_decode<"forgets">},
      {"decode_k_in_v", "04.5", "the cache of v holds k: each has its own", wrong_decode<"k_in_v">},
      {"decode_clears_rest", "04.5", "the places beyond the new positions are overwritten: store the new ones only",
       wrong_decode<"clears_rest">},
  };
}

}  // namespace pg::lesson04
