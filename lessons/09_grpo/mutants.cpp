// Wrong answers to lesson 9. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include "lessons/09_grpo/answers.h"
#include "lessons/09_grpo/wrong_groups.h"
#include "lessons/09_grpo/wrong_losses.h"

namespace pg::lesson09 {

#define ROW(piece, name, check, says, wrong)            \
  {                                                     \
    name, check, says, [](Impl& m) { m.piece = wrong; } \
  }

const kit::Mutants<Impl> mutants = {
    ROW(group_mean_advantage, "mean_of_batch", "09.1", "each row has its own mean", wrong_mean<Mean::of_batch>),
    ROW(group_mean_advantage, "mean_of_others", "09.1", "that is leave-one-out", wrong_mean<Mean::of_others>),
    ROW(group_mean_advantage, "mean_rounded", "09.1", "then equal rewards are exact zeros", wrong_mean<Mean::rounded>),
    ROW(group_mean_advantage, "mean_sign", "09.1", "it is reward minus mean", wrong_mean<Mean::sign>),
    ROW(group_mean_advantage, "mean_transposed", "09.1", "across prompts", wrong_mean<Mean::transposed>),
    ROW(group_mean_advantage, "mean_sum", "09.1", "mean, not the sum", wrong_mean<Mean::sum>),
    ROW(group_mean_advantage, "mean_of_three", "09.1", "divided by 3", wrong_mean<Mean::of_three>),
    ROW(group_mean_advantage, "mean_threshold", "09.1", "a threshold", wrong_mean<Mean::threshold>),

    ROW(group_std_advantage, "std_eps_inside", "09.2", "eps is inside the root", wrong_std<Std::eps_inside>),
    ROW(group_std_advantage, "std_noise", "09.2", "noise divided by rounding noise", wrong_std<Std::noise>),
    ROW(group_std_advantage, "std_not_centred", "09.2", "not centred", wrong_std<Std::not_centred>),
    ROW(group_std_advantage, "std_of_batch", "09.2", "each row has its own mean", wrong_std<Std::of_batch>),
    ROW(group_std_advantage, "std_population", "09.2", "population for sample", wrong_std<Std::population>),
    ROW(group_std_advantage, "std_rewards", "09.2", "the mean is still in it", wrong_std<Std::rewards>),
    ROW(group_std_advantage, "std_sample", "09.2", "sample for population", wrong_std<Std::sample>),
    ROW(group_std_advantage, "std_singleton", "09.2", "divide by at least 1", wrong_std<Std::singleton>),
    ROW(group_std_advantage, "std_transposed", "09.2", "across prompts", wrong_std<Std::transposed>),
    ROW(group_std_advantage, "std_variance", "09.2", "take its root", wrong_std<Std::variance>),
    ROW(group_std_advantage, "std_absolute", "09.2", "root of the mean square", wrong_std<Std::absolute>),
    ROW(group_std_advantage, "std_larger", "09.2", "add it", wrong_std<Std::larger>),
    ROW(group_std_advantage, "std_no_eps", "09.2", "eps is missing", wrong_std<Std::no_eps>),
    ROW(group_std_advantage, "std_threshold", "09.2", "a threshold", wrong_std<Std::threshold>),
    ROW(group_std_advantage, "std_of_three", "09.2", "divided by 3", wrong_std<Std::of_three>),

    ROW(leave_one_out_advantage, "loo_by_group", "09.3", "there are G - 1 of them", wrong_others<Others::by_group>),
    ROW(leave_one_out_advantage, "loo_rounded", "09.3", "then equal rewards are exact zeros",
        wrong_others<Others::rounded>),
    ROW(leave_one_out_advantage, "loo_self", "09.3", "includes the reward itself", wrong_others<Others::self>),
    ROW(leave_one_out_advantage, "loo_singleton", "09.3", "a group of one has no others",
        wrong_others<Others::singleton>),
    ROW(leave_one_out_advantage, "loo_singleton_reward", "09.3", "worth 0", wrong_others<Others::singleton_reward>),
    ROW(leave_one_out_advantage, "loo_sum", "09.3", "not their mean", wrong_others<Others::sum>),
    ROW(leave_one_out_advantage, "loo_transposed", "09.3", "across prompts", wrong_others<Others::transposed>),
    ROW(leave_one_out_advantage, "loo_inverse", "09.3", "G/(G-1)", wrong_others<Others::inverse>),
    ROW(leave_one_out_advantage, "loo_of_two", "09.3", "divided by 2", wrong_others<Others::of_two>),

    ROW(groups_with_signal, "signal_first_two", "09.4", "only the first two", wrong_signal<Signal::first_two>),
    ROW(groups_with_signal, "signal_inverted", "09.4", "the other way round", wrong_signal<Signal::inverted>),
    ROW(groups_with_signal, "signal_threshold", "09.4", "a threshold swallows", wrong_signal<Signal::threshold>),
    ROW(groups_with_signal, "signal_unsolved", "09.4", "solved by all", wrong_signal<Signal::unsolved>),
    ROW(groups_with_signal, "signal_zero_or_one", "09.4", "any equal rewards will do",
        wrong_signal<Signal::zero_or_one>),
    ROW(groups_with_signal, "signal_first_and_last", "09.4", "the first and the last",
        wrong_signal<Signal::first_and_last>),
    ROW(groups_with_signal, "signal_variance", "09.4", "not exactly 0", wrong_signal<Signal::variance>),
    ROW(groups_with_signal, "signal_columns", "09.4", "across prompts", wrong_signal<Signal::columns>),
    ROW(groups_with_signal, "signal_kept", "09.4", "only the shape is not", wrong_signal<Signal::kept>),

    ROW(token_ratio, "ratio_detached", "09.5", "without a gradient nothing is learned", wrong_ratio<Ratio::detached>),
    ROW(token_ratio, "ratio_exchanged", "09.5", "the two are exchanged", wrong_ratio<Ratio::exchanged>),
    ROW(token_ratio, "ratio_mask_last", "09.5", "mask the log-ratio, before exp", wrong_ratio<Ratio::mask_last>),
    ROW(token_ratio, "ratio_mask_product", "09.5", "choose with where", wrong_ratio<Ratio::mask_product>),
    ROW(token_ratio, "ratio_no_clamp", "09.5", "not held within", wrong_ratio<Ratio::no_clamp>),
    ROW(token_ratio, "ratio_no_exp", "09.5", "exp is missing", wrong_ratio<Ratio::no_exp>),
    ROW(token_ratio, "ratio_no_mask", "09.5", "the mask is not used", wrong_ratio<Ratio::no_mask>),
    ROW(token_ratio, "ratio_of_logs", "09.5", "divided by the other", wrong_ratio<Ratio::of_logs>),
    ROW(token_ratio, "ratio_ratio_clamped", "09.5", "not the ratio", wrong_ratio<Ratio::ratio_clamped>),
    ROW(token_ratio, "ratio_upper_only", "09.5", "below", wrong_ratio<Ratio::upper_only>),

    ROW(sequence_ratio, "sequence_all_steps", "09.6", "in place of the response", wrong_whole<Whole::all_steps>),
    ROW(sequence_ratio, "sequence_empty", "09.6", "a response without a token", wrong_whole<Whole::empty>),
    ROW(sequence_ratio, "sequence_exchanged", "09.6", "the two are exchanged", wrong_whole<Whole::exchanged>),
    ROW(sequence_ratio, "sequence_mask_length_only", "09.6", "padding is in the sum",
        wrong_whole<Whole::mask_length_only>),
    ROW(sequence_ratio, "sequence_mean_of_ratios", "09.6", "geometric mean", wrong_whole<Whole::mean_of_ratios>),
    ROW(sequence_ratio, "sequence_padding", "09.6", "padding is in the mean", wrong_whole<Whole::padding>),
    ROW(sequence_ratio, "sequence_sum", "09.6", "take their mean", wrong_whole<Whole::sum>),
    ROW(sequence_ratio, "sequence_no_clamp", "09.6", "not held within", wrong_whole<Whole::no_clamp>),
    ROW(sequence_ratio, "sequence_tokens_clamped", "09.6", "hold the mean", wrong_whole<Whole::tokens_clamped>),
    ROW(sequence_ratio, "sequence_flat", "09.6", "only the shape is not", wrong_whole<Whole::flat>),
    ROW(sequence_ratio, "sequence_mask_product", "09.6", "choose with where", wrong_whole<Whole::mask_product>),

    ROW(aggregate, "aggregate_empty", "09.7", "a response without a token", wrong_sum<Sum::empty>),
    ROW(aggregate, "aggregate_longest_here", "09.7", "max_length is the same", wrong_sum<Sum::longest_here>),
    ROW(aggregate, "aggregate_mask_late", "09.7", "the mask comes after the mean", wrong_sum<Sum::mask_late>),
    ROW(aggregate, "aggregate_mask_product", "09.7", "choose with where", wrong_sum<Sum::mask_product>),
    ROW(aggregate, "aggregate_micro_batch", "09.7", "eight small ones are not one large one",
        wrong_sum<Sum::micro_batch>),
    ROW(aggregate, "aggregate_micro_sequences", "09.7", "eight small ones are not one large one",
        wrong_sum<Sum::micro_sequences>),
    ROW(aggregate, "aggregate_mixed_up", "09.7", "this is the sequence mean", wrong_sum<Sum::mixed_up>),
    ROW(aggregate, "aggregate_no_mask", "09.7", "the mask is not used", wrong_sum<Sum::no_mask>),
    ROW(aggregate, "aggregate_sequence_as_token", "09.7", "this is the token mean", wrong_sum<Sum::sequence_as_token>),
    ROW(aggregate, "aggregate_sum_micro", "09.7", "eight small ones are not one large one", wrong_sum<Sum::sum_micro>),
    ROW(aggregate, "aggregate_sum_not_divided", "09.7", "not divided", wrong_sum<Sum::sum_not_divided>),
    ROW(aggregate, "aggregate_sum_product", "09.7", "choose with where", wrong_sum<Sum::sum_product>),
    ROW(aggregate, "aggregate_whole_numbers", "09.7", "whole numbers", wrong_sum<Sum::whole_numbers>),
    ROW(aggregate, "aggregate_constant_untaped", "09.7", "without a gradient nothing is learned",
        wrong_sum<Sum::constant_untaped>),
    ROW(aggregate, "aggregate_width_5", "09.7", "the first 5 steps", wrong_sum<Sum::width_5>),
};

#undef ROW

}  // namespace pg::lesson09
