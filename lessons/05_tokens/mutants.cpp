// Wrong answers to lesson 5. The checks must call each WRONG and say why; everything else must stay ok. The last rows
// are right answers.
#include "lessons/kit/mutants.h"

#include <map>
#include <numeric>

#include "lessons/05_tokens/answers.h"
#include "lessons/05_tokens/checks.h"
#include "lessons/05_tokens/right.h"
#include "lessons/05_tokens/wrong_bits.h"
#include "lessons/05_tokens/wrong_encode.h"
#include "lessons/05_tokens/wrong_split.h"
#include "lessons/05_tokens/wrong_train.h"

namespace pg::lesson05 {
namespace {

using kit::wrong;

// A right load_weights with one mistake.
void wrong_load(std::string_view mistake, Transformer& model, const TensorSource& source) {
  const bool prefixed = source.find("transformer.wte.weight") != nullptr;
  static std::map<std::string, Tensor> first;
  const auto named = named_parameters(model);
  size_t position = 0;
  if (mistake == "refuses_others" && source.tensors().size() != named.size())
    fail("{} has other tensors", source.path());
  for (const auto& [key, tensor] : named) {
    const std::string& name = key;
    Tensor parameter = tensor;
    std::string stored = prefixed ? "transformer." + name : name;
    if (mistake == "first_name" && !source.tensors().front().name.starts_with("transformer.")) stored = name;
    if (mistake == "without_prefix") stored = name;
    if (mistake == "with_prefix") stored = "transformer." + name;
    const auto ends = [&name](std::string_view end) { return name.ends_with(end); };
    if (mistake == "skips_missing" && !source.find(stored)) continue;
    if (mistake == "biases_skipped" && ends(".bias") && !ends("ln_1.bias") && !ends("ln_2.bias") && !ends("ln_f.bias"))
      continue;
    if (mistake == "norms_skipped" && name.find("ln_") != name.npos) continue;
    if (mistake == "last_norm_left_out" && name.starts_with("ln_f")) continue;
    if (mistake == "positions_skipped" && name == "wpe.weight") continue;
    if (mistake == "last_block_left_out" && model.h.size() > 1 &&
        name.starts_with("h." + std::to_string(model.h.size() - 1) + "."))
      continue;
    if (mistake == "block_0" && name.starts_with("h.")) {
      stored = (prefixed ? "transformer.h.0" : "h.0") + name.substr(name.find('.', 2));
    }
    if (mistake == "by_position") stored = source.tensors()[position++].name;
    if (mistake == "two_blocks" && name.starts_with("h.2.")) continue;
    Tensor values = source.read(stored, f32);
    if (mistake == "in_bf16") values = values.to(bf16).to(f32);
    bool is_linear = ends("c_attn.weight") || ends("c_proj.weight") || ends("c_fc.weight");
    if (mistake == "square_untransposed") is_linear = values.shape() != parameter.shape();
    if (mistake == "untransposed") is_linear = false;
    if (mistake == "attn_only") is_linear = ends("attn.c_attn.weight") || ends("attn.c_proj.weight");
    if (mistake == "mlp_not" && ends("mlp.c_proj.weight")) is_linear = false;
    if (mistake == "biases_transposed") is_linear = name.find(".c_") != name.npos;
    if (mistake == "embeddings_transposed") is_linear |= values.rank() == 2;
    if (mistake == "square_transposed") is_linear |= values.rank() == 2 && values.size(0) == values.size(1);
    if (is_linear) {
      if (mistake == "reshaped")
        values = values.view_reshape(parameter.shape());
      else
        values = transpose(values);
    }
    if (mistake == "attn_proj_twice" && ends("attn.c_proj.weight")) values = transpose(values);
    if (ends("c_attn.weight") || ends("c_attn.bias")) {
      const int64_t c = values.size(0) / 3, heads = model.config.n_head, d = c / heads;
      const auto order = [&](std::vector<int64_t> rows) {
        Tensor permuted = Tensor::empty(values.shape(), f32);
        for (size_t row = 0; row < rows.size(); ++row)
          permuted.view_select(0, static_cast<int64_t>(row)).copy_from(values.view_select(0, rows[row]));
        values = permuted;
      };
      std::vector<int64_t> rows(3 * c);
      std::iota(rows.begin(), rows.end(), 0);
      if (mistake == "qkv_permuted") std::rotate(rows.begin(), rows.begin() + c, rows.begin() + 2 * c), order(rows);
      if (mistake == "k_and_v") std::rotate(rows.begin() + c, rows.begin() + 2 * c, rows.end()), order(rows);
      if (mistake == "qkv_by_head") {
        size_t to = 0;
        for (int64_t head = 0; head < heads; ++head) {
          for (int64_t part = 0; part < 3; ++part) {
            for (int64_t i = 0; i < d; ++i) rows[to++] = part * c + head * d + i;
          }
        }
        order(rows);
      }
    }
    if (mistake == "first_file") {
      if (first.contains(name) && first[name].shape() == values.shape()) values = first[name];
      first[name] = values;
    }
    if (mistake == "adds") values = values + parameter.detach().to(f32);
    if (mistake == "handle") {
      parameter = values;
      continue;
    }
    parameter.copy_from(values);
  }
}

}  // namespace

const kit::Mutants<Impl> of_best_pair(
    &Impl::best_pair,
    {{"count_aaa_apart", "05.1", "1 1 1 has the pair (1, 1) twice", wrong<wrong_best_pair, "aaa_apart">},
     {"count_across_words", "05.1", "over the border of two words", wrong<wrong_best_pair, "across_words">},
     {"count_all", "05.1", "the count of all pairs together", wrong<wrong_best_pair, "all">},
     {"count_best_word", "05.1", "add up over all words", wrong<wrong_best_pair, "best_word">},
     {"count_both_orders", "05.1", "1 2 and 2 1 are two pairs", wrong<wrong_best_pair, "both_orders">},
     {"count_bytes_only", "05.1", "ids go beyond 255", wrong<wrong_best_pair, "bytes_only">},
     {"count_equal_ids_not", "05.1", "two equal ids are a pair", wrong<wrong_best_pair, "equal_ids_not">},
     {"count_first_not", "05.1", "the first pair of each word", wrong<wrong_best_pair, "first_not">},
     {"count_in_float", "05.1", "counted in float", wrong<wrong_best_pair, "in_float">},
     {"count_in_int", "05.1", "does not fit in an int", wrong<wrong_best_pair, "in_int">},
     {"count_keeps", "05.1", "something is kept between calls", wrong<wrong_best_pair, "keeps">},
     {"count_keys_of_16_bits", "05.1", "do not fit in 16 bits", wrong<wrong_best_pair, "keys_of_16_bits">},
     {"count_keys_or", "05.1", "do not fit in 16 bits", wrong<wrong_best_pair, "keys_or">},
     {"count_last_not", "05.1", "the last pair of each word", wrong<wrong_best_pair, "last_not">},
     {"count_least_two", "05.1", "occurs once is a pair", wrong<wrong_best_pair, "least_two">},
     {"count_no_pair_is_zero", "05.1", "where there is no pair", wrong<wrong_best_pair, "no_pair_is_zero">},
     {"count_number_of_words", "05.1", "this is the number of words", wrong<wrong_best_pair, "number_of_words">},
     {"count_once", "05.1", "each word is counted once", wrong<wrong_best_pair, "once">},
     {"count_once_in_a_word", "05.1", "every position of a word counts", wrong<wrong_best_pair, "once_in_a_word">},
     {"count_past_end", "05.1", "an index outside its memory", wrong<wrong_best_pair, "past_end">},
     {"count_tie_as_text", "05.1", "compared as text", wrong<wrong_best_pair, "tie_as_text">},
     {"count_tie_by_right", "05.1", "compared by the right id", wrong<wrong_best_pair, "tie_by_right">},
     {"count_tie_by_sum", "05.1", "a number made of both ids", wrong<wrong_best_pair, "tie_by_sum">},
     {"count_tie_by_words", "05.1", "the one in more words is taken", wrong<wrong_best_pair, "tie_by_words">},
     {"count_tie_first_seen", "05.1", "the one that was seen first", wrong<wrong_best_pair, "tie_first_seen">},
     {"count_tie_last", "05.1", "the last one is taken", wrong<wrong_best_pair, "tie_last">},
     {"count_tie_left_only", "05.1", "of equal left ids", wrong<wrong_best_pair, "tie_left_only">},
     {"count_tie_low_byte", "05.1", "do not fit in a byte", wrong<wrong_best_pair, "tie_low_byte">},
     {"count_times_length", "05.1", "multiplied by the length", wrong<wrong_best_pair, "times_length">},
     {"count_two_ids_not", "05.1", "words of two ids are left out", wrong<wrong_best_pair, "two_ids_not">},
     {"count_zero_not", "05.1", "0 is an id like any other", wrong<wrong_best_pair, "zero_not">},
     {"right_sorted", "05.1", "ok", right_sorted},
     {"right_nested", "05.1", "ok", right_nested},
     {"right_hashed", "05.1", "ok", right_hashed}});
const kit::Mutants<Impl> of_merge_pair(
    &Impl::merge_pair,
    {{"merge_bytes", "05.2", "do not fit in a byte", wrong<wrong_merge_pair, "bytes">},
     {"merge_copies_next", "05.2", "pairs may follow each other", wrong<wrong_merge_pair, "copies_next">},
     {"merge_either_order", "05.2", "2 1 is another pair", wrong<wrong_merge_pair, "either_order">},
     {"merge_equal_not", "05.2", "two equal ids are a pair", wrong<wrong_merge_pair, "equal_not">},
     {"merge_first_of_run", "05.2", "pairs may follow each other", wrong<wrong_merge_pair, "first_of_run">},
     {"merge_first_only", "05.2", "only the first pair", wrong<wrong_merge_pair, "first_only">},
     {"merge_from_right", "05.2", "replaced from the right", wrong<wrong_merge_pair, "from_right">},
     {"merge_in_16_bits", "05.2", "do not fit in 16 bits", wrong<wrong_merge_pair, "in_16_bits">},
     {"merge_keeps", "05.2", "something is kept between calls", wrong<wrong_merge_pair, "keeps">},
     {"merge_keeps_right", "05.2", "the right half stays behind", wrong<wrong_merge_pair, "keeps_right">},
     {"merge_largest_id", "05.2", "the new id is `id`", wrong<wrong_merge_pair, "largest_id">},
     {"merge_left_alone", "05.2", "`left` alone is no pair", wrong<wrong_merge_pair, "left_alone">},
     {"merge_loses_end", "05.2", "the last id is lost", wrong<wrong_merge_pair, "loses_end">},
     {"merge_misses_end", "05.2", "the pair at the end is missed", wrong<wrong_merge_pair, "misses_end">},
     {"merge_overlaps", "05.2", "an id is used twice", wrong<wrong_merge_pair, "overlaps">},
     {"merge_past_end", "05.2", "an index outside its memory", wrong<wrong_merge_pair, "past_end">},
     {"merge_reads_beyond", "05.2", "reads past the end of ids", wrong<wrong_merge_pair, "reads_beyond">},
     {"merge_same_size", "05.2", "the result is shorter than ids", wrong<wrong_merge_pair, "same_size">},
     {"merge_skips_next", "05.2", "the id after a merged pair is lost", wrong<wrong_merge_pair, "skips_next">},
     {"merge_writes_input", "05.2", "the input was overwritten", wrong<wrong_merge_pair, "writes_input">},
     {"merge_zero_not", "05.2", "0 is an id like any other", wrong<wrong_merge_pair, "zero_not">},
     {"right_erase", "05.2", "ok", right_erase},
     {"right_stack", "05.2", "ok", right_stack},
     {"right_search", "05.2", "ok", right_search}});
const kit::Mutants<Impl> of_split(
    &Impl::split,
    {{"split_any_space", "05.3", "only ' ' goes with the word", wrong<wrong_split, "any_space">},
     {"split_ascii", "05.3", "bytes from 128 on", wrong<wrong_split, "ascii">},
     {"split_byte_127", "05.3", "the byte 127 is no letter", wrong<wrong_split, "byte_127">},
     {"split_byte_128", "05.3", "0x80 in À too", wrong<wrong_split, "byte_128">},
     {"split_byte_255", "05.3", "the byte 255 is a letter", wrong<wrong_split, "byte_255">},
     {"split_capitals", "05.3", "small letters only", wrong<wrong_split, "capitals">},
     {"split_control", "05.3", "other control characters are of kind 4", wrong<wrong_split, "control">},
     {"split_digits", "05.3", "digits are in one piece", wrong<wrong_split, "digits">},
     {"split_empty_text", "05.3", "a piece is empty", wrong<wrong_split, "empty_text">},
     {"split_end_run", "05.3", "nothing follows this white space", wrong<wrong_split, "end_run">},
     {"split_follows_special", "05.3", "nothing follows its white space", wrong<wrong_split, "follows_special">},
     {"split_keeps", "05.3", "something is kept between calls", wrong<wrong_split, "keeps">},
     {"split_last_space", "05.3", "the last space of a run", wrong<wrong_split, "last_space">},
     {"split_latin_1", "05.3", "are no white space", wrong<wrong_split, "latin_1">},
     {"split_letters_and_digits", "05.3", "letters and digits are two kinds", wrong<wrong_split, "letters_and_digits">},
     {"split_newline_joins", "05.3", "only ' ' goes with the word", wrong<wrong_split, "newline_joins">},
     {"split_newlines", "05.3", "a newline too", wrong<wrong_split, "newlines">},
     {"split_no_carriage_return", "05.3", "\\x0d is white space", wrong<wrong_split, "no_carriage_return">},
     {"split_no_contractions", "05.3", "contractions are cut off", wrong<wrong_split, "no_contractions">},
     {"split_no_vertical", "05.3", "\\x0b is white space", wrong<wrong_split, "no_vertical">},
     {"split_nul_ends", "05.3", "a byte 0 does not end a text", wrong<wrong_split, "nul_ends">},
     {"split_of_copy", "05.3", "no view of `text`", wrong<wrong_split, "of_copy">},
     {"split_of_static_copy", "05.3", "no view of `text`", wrong<wrong_split, "of_static_copy">},
     {"split_other_space", "05.3", "take the space before them", wrong<wrong_split, "other_space">},
     {"split_others", "05.3", "a run of other characters", wrong<wrong_split, "others">},
     {"split_quote_alone", "05.3", "contractions stay together", wrong<wrong_split, "quote_alone">},
     {"split_quote_at_word_end", "05.3", "a contraction may have letters after it",
      wrong<wrong_split, "quote_at_word_end">},
     {"split_quote_ends_run", "05.3", "takes an apostrophe along", wrong<wrong_split, "quote_ends_run">},
     {"split_quote_first_letter", "05.3", "'re, 've and 'll have two letters",
      wrong<wrong_split, "quote_first_letter">},
     {"split_quote_in_run", "05.3", "takes an apostrophe along", wrong<wrong_split, "quote_in_run">},
     {"split_quote_joins", "05.3", "an apostrophe is no letter", wrong<wrong_split, "quote_joins">},
     {"split_quote_needs_letter", "05.3", "asks for nothing before the apostrophe",
      wrong<wrong_split, "quote_needs_letter">},
     {"split_quote_needs_word", "05.3", "asks for nothing before the apostrophe",
      wrong<wrong_split, "quote_needs_word">},
     {"split_quote_no_d", "05.3", "'d is a contraction, too", wrong<wrong_split, "quote_no_d">},
     {"split_quote_no_ll", "05.3", "'ll is a contraction, too", wrong<wrong_split, "quote_no_ll">},
     {"split_quote_no_m", "05.3", "'m is a contraction, too", wrong<wrong_split, "quote_no_m">},
     {"split_quote_no_re", "05.3", "'re is a contraction, too", wrong<wrong_split, "quote_no_re">},
     {"split_quote_no_s", "05.3", "'s is a contraction, too", wrong<wrong_split, "quote_no_s">},
     {"split_quote_no_t", "05.3", "'t is a contraction, too", wrong<wrong_split, "quote_no_t">},
     {"split_quote_no_ve", "05.3", "'ve is a contraction, too", wrong<wrong_split, "quote_no_ve">},
     {"split_quote_past_end", "05.3", "'l alone is no contraction", wrong<wrong_split, "quote_past_end">},
     {"split_quote_reads_beyond", "05.3", "past the end of `text`", wrong<wrong_split, "quote_reads_beyond">},
     {"split_quote_with_space", "05.3", "takes no space along", wrong<wrong_split, "quote_with_space">},
     {"split_reads_beyond", "05.3", "past the end of `text`", wrong<wrong_split, "reads_beyond">},
     {"split_run_joins", "05.3", "only one space goes with a word", wrong<wrong_split, "run_joins">},
     {"split_separators", "05.3", "other control characters are of kind 4", wrong<wrong_split, "separators">},
     {"split_space_alone", "05.3", "the space is a piece of its own", wrong<wrong_split, "space_alone">},
     {"split_space_before", "05.3", "the space is on the wrong side", wrong<wrong_split, "space_before">},
     {"split_space_for_letters", "05.3", "digits and other characters take the space",
      wrong<wrong_split, "space_for_letters">},
     {"split_space_lost", "05.3", "the spaces are lost", wrong<wrong_split, "space_lost">},
     {"split_spaces_one_by_one", "05.3", "the spaces before the last one are one piece",
      wrong<wrong_split, "spaces_one_by_one">},
     {"split_special", "05.3", "the special token is split", wrong<wrong_split, "special">},
     {"split_special_empty", "05.3", "a piece is empty", wrong<wrong_split, "special_empty">},
     {"split_special_fixed", "05.3", "is text like any other", wrong<wrong_split, "special_fixed">},
     {"split_special_from_right", "05.3", "found from the left", wrong<wrong_split, "special_from_right">},
     {"split_special_lost", "05.3", "the special token is a piece of the text", wrong<wrong_split, "special_lost">},
     {"split_special_not_in_word", "05.3", "the special token is split", wrong<wrong_split, "special_not_in_word">},
     {"split_special_once", "05.3", "only the first special token", wrong<wrong_split, "special_once">},
     {"split_special_rest", "05.3", "after the special token is split as well", wrong<wrong_split, "special_rest">},
     {"split_special_rest_lost", "05.3", "what is after the special token is lost",
      wrong<wrong_split, "special_rest_lost">},
     {"split_special_space", "05.3", "the space before the special token", wrong<wrong_split, "special_space">},
     {"split_three_digits", "05.3", "however long", wrong<wrong_split, "three_digits">},
     {"split_trailing_lost", "05.3", "the white space at the end is lost", wrong<wrong_split, "trailing_lost">},
     {"split_underscore", "05.3", "an underscore is no letter", wrong<wrong_split, "underscore">},
     {"split_utf8_each", "05.3", "bytes from 128 on", wrong<wrong_split, "utf8_each">},
     {"split_white_space_lost", "05.3", "a part of it is lost", wrong<wrong_split, "white_space_lost">},
     {"right_regex", "05.3", "ok", right_regex},
     {"right_borders", "05.3", "ok", right_borders}});
const kit::Mutants<Impl> of_encode_piece(
    &Impl::encode_piece,
    {{"encode_byte_values", "05.4", "the value of a byte is not its id", wrong<wrong_encode, "byte_values">},
     {"encode_char", "05.4", "a char may be negative", wrong<wrong_encode, "char">},
     {"encode_code_points", "05.4", "code points in place of bytes", wrong<wrong_encode, "code_points">},
     {"encode_exchanged", "05.4", "left and right are exchanged", wrong<wrong_encode, "exchanged">},
     {"encode_first_not", "05.4", "a pair at the border is left out", wrong<wrong_encode, "first_not">},
     {"encode_highest", "05.4", "the highest rank", wrong<wrong_encode, "highest">},
     {"encode_invalid_replaced", "05.4", "no UTF-8 is replaced", wrong<wrong_encode, "invalid_replaced">},
     {"encode_invalid_skipped", "05.4", "no UTF-8 is left out", wrong<wrong_encode, "invalid_skipped">},
     {"encode_keeps_address", "05.4", "not its address", wrong<wrong_encode, "keeps_address">},
     {"encode_keeps_ids", "05.4", "depend on byte_ids and merges", wrong<wrong_encode, "keeps_ids">},
     {"encode_keeps_text", "05.4", "depend on byte_ids and merges", wrong<wrong_encode, "keeps_text">},
     {"encode_last_not", "05.4", "a pair at the border is left out", wrong<wrong_encode, "last_not">},
     {"encode_leftmost", "05.4", "the leftmost merge goes first", wrong<wrong_encode, "leftmost">},
     {"encode_longest", "05.4", "the longest token goes first", wrong<wrong_encode, "longest">},
     {"encode_lowest_id", "05.4", "the lowest id goes first", wrong<wrong_encode, "lowest_id">},
     {"encode_most_frequent", "05.4", "the most frequent pair", wrong<wrong_encode, "most_frequent">},
     {"encode_never", "05.4", "nothing is merged", wrong<wrong_encode, "never">},
     {"encode_never_back", "05.4", "on both of its sides", wrong<wrong_encode, "never_back">},
     {"encode_no_new_pairs", "05.4", "pairs with new tokens too", wrong<wrong_encode, "no_new_pairs">},
     {"encode_nul_ends", "05.4", "a byte 0 does not end a piece", wrong<wrong_encode, "nul_ends">},
     {"encode_once", "05.4", "one pass only", wrong<wrong_encode, "once">},
     {"encode_one_pass", "05.4", "one pass only", wrong<wrong_encode, "one_pass">},
     {"encode_past_end", "05.4", "an index outside its memory", wrong<wrong_encode, "past_end">},
     {"encode_rank_0_not", "05.4", "rank 0 is a rank", wrong<wrong_encode, "rank_0_not">},
     {"encode_rank_for_id", "05.4", "not 256 + rank", wrong<wrong_encode, "rank_for_id">},
     {"encode_rank_in_16_bits", "05.4", "does not fit in 16 bits", wrong<wrong_encode, "rank_in_16_bits">},
     {"encode_rank_in_int", "05.4", "in an int it is -1", wrong<wrong_encode, "rank_in_int">},
     {"encode_rightmost", "05.4", "the rightmost goes first", wrong<wrong_encode, "rightmost">},
     {"encode_to_255", "05.4", "a pair that has a rank is left", wrong<wrong_encode, "to_255">},
     {"heap_both_stale", "05.4", "or not any more", wrong<wrong_heap, "both_stale">},
     {"heap_left_forgotten", "05.4", "on both of its sides", wrong<wrong_heap, "left_forgotten">},
     {"heap_no_order", "05.4", "the rightmost goes first", wrong<wrong_heap, "no_order">},
     {"heap_right_forgotten", "05.4", "pairs with new tokens too", wrong<wrong_heap, "right_forgotten">},
     {"heap_right_stale", "05.4", "or not any more", wrong<wrong_heap, "right_stale">},
     {"right_recursive", "05.4", "ok", right_recursive},
     {"right_engine", "05.4", "ok", right_engine},
     {"right_sweeps", "05.4", "ok", right_sweeps},
     {"right_heap", "05.4", "ok", wrong<wrong_heap, "nothing">}});
const kit::Mutants<Impl> of_load_weights(
    &Impl::load_weights,
    {{"load_adds", "05.5", "copy_from overwrites", wrong<wrong_load, "adds">},
     {"load_attn_only", "05.5", "a shape that does not fit", wrong<wrong_load, "attn_only">},
     {"load_attn_proj_twice", "05.5", "a square matrix fits either way", wrong<wrong_load, "attn_proj_twice">},
     {"load_biases_skipped", "05.5", "bias is not filled", wrong<wrong_load, "biases_skipped">},
     {"load_biases_transposed", "05.5", "a bias has one dimension", wrong<wrong_load, "biases_transposed">},
     {"load_block_0", "05.5", "the numbers of h.0", wrong<wrong_load, "block_0">},
     {"load_embeddings_transposed", "05.5", "a shape that does not fit", wrong<wrong_load, "embeddings_transposed">},
     {"load_by_position", "05.5", "take each tensor by its name", wrong<wrong_load, "by_position">},
     {"load_first_file", "05.5", "something is kept between calls", wrong<wrong_load, "first_file">},
     {"load_first_name", "05.5", "a name that is not in the file", wrong<wrong_load, "first_name">},
     {"load_handle", "05.5", "nothing was written", wrong<wrong_load, "handle">},
     {"load_in_bf16", "05.5", "rounded to bf16", wrong<wrong_load, "in_bf16">},
     {"load_k_and_v", "05.5", "q, k and v are permuted", wrong<wrong_load, "k_and_v">},
     {"load_last_block_left_out", "05.5", "h.1.ln_1.weight is not filled", wrong<wrong_load, "last_block_left_out">},
     {"load_last_norm_left_out", "05.5", "ln_f.weight is not filled", wrong<wrong_load, "last_norm_left_out">},
     {"load_mlp_not", "05.5", "a shape that does not fit", wrong<wrong_load, "mlp_not">},
     {"load_norms_skipped", "05.5", "h.0.ln_1.weight is not filled", wrong<wrong_load, "norms_skipped">},
     {"load_positions_skipped", "05.5", "wpe.weight is not filled", wrong<wrong_load, "positions_skipped">},
     {"load_qkv_by_head", "05.5", "alternate head by head", wrong<wrong_load, "qkv_by_head">},
     {"load_qkv_permuted", "05.5", "q, k and v are permuted", wrong<wrong_load, "qkv_permuted">},
     {"load_refuses_others", "05.5", "the file may hold other tensors", wrong<wrong_load, "refuses_others">},
     {"load_reshaped", "05.5", "reshaped, not transposed", wrong<wrong_load, "reshaped">},
     {"load_skips_missing", "05.5", "a missing tensor must be an error", wrong<wrong_load, "skips_missing">},
     {"load_square_transposed", "05.5", "an embedding is a table", wrong<wrong_load, "square_transposed">},
     {"load_square_untransposed", "05.5", "a square matrix fits either way", wrong<wrong_load, "square_untransposed">},
     {"load_two_blocks", "05.5", "h.2.ln_1.weight is not filled", wrong<wrong_load, "two_blocks">},
     {"load_untransposed", "05.5", "a shape that does not fit", wrong<wrong_load, "untransposed">},
     {"load_with_prefix", "05.5", "others have not", wrong<wrong_load, "with_prefix">},
     {"load_without_prefix", "05.5", "a name that is not in the file", wrong<wrong_load, "without_prefix">},
     {"right_into_transposed", "05.5", "ok", right_into_transposed},
     {"right_engine_load", "05.5", "ok", right_engine_load},
     {"right_state_dict", "05.5", "ok", right_state_dict},
     {"right_from_file", "05.5", "ok", right_from_file}});
const kit::Mutants<Impl> of_bits_per_byte(
    &Impl::bits_per_byte, bits_mistakes(),
    {{"bits_empty_is_one", "05.6", "adds its nats and no byte", wrong<wrong_bits, "empty_is_one">},
     {"bits_keeps", "05.6", "something is kept between calls", wrong<wrong_bits, "keeps">},
     {"bits_nul_ends", "05.6", "a byte 0 does not end a token", wrong<wrong_bits, "nul_ends">},
     {"right_means", "05.6", "ok", right_means},
     {"right_joined", "05.6", "ok", right_joined},
     {"right_long_double", "05.6", "ok", right_long_double}});

}  // namespace pg::lesson05
