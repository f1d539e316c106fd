// The known mistakes of lesson 5.
#include "lessons/05_tokens/checks.h"
#include "lessons/05_tokens/wrong_bits.h"

namespace pg::lesson05 {

using kit::wrong;

kit::Mistakes<&Impl::bits_per_byte> bits_mistakes() {
  return {
      {"bits_per_token", "05.6", "this is the loss per token: a token of four bytes counts like one of a single byte",
       wrong<wrong_bits, "per_token">},
      {"bits_loss_per_token", "05.6", "this is the loss per token, in nats", wrong<wrong_bits, "loss_per_token">},
      {"bits_perplexity", "05.6", "this is the perplexity, which depends on the tokens: bits per byte have no exp",
       wrong<wrong_bits, "perplexity">},
      {"bits_in_nats", "05.6", "nats, not bits: 1 nat is 1 / ln 2 bits", wrong<wrong_bits, "in_nats">},
      {"bits_inverse", "05.6", "multiplied by ln 2: 1 nat is 1 / ln 2 = 1.44 bits, so divide",
       wrong<wrong_bits, "inverse">},
      {"bits_log10", "05.6", "divided by log10 of 2: nats are natural logarithms, so std::log(2)",
       wrong<wrong_bits, "log10">},
      {"bits_eighth", "05.6", "divided by 8: bits are counted, for each byte", wrong<wrong_bits, "eighth">},
      {"bits_mean_of_ratios", "05.6",
       "the mean of the tokens' own bits per byte: add up nats and bytes first, then divide",
       wrong<wrong_bits, "mean_of_ratios">},
      {"bits_per_character", "05.6", "characters are counted, not bytes: é has two",
       wrong<wrong_bits, "per_character">},
      {"bits_ascii", "05.6", "bytes from 128 on are bytes, too: é has two", wrong<wrong_bits, "ascii">},
      {"bits_of_vocabulary", "05.6", "divided by the bytes of other tokens than the text's: they are tokens[ids[i]]",
       wrong<wrong_bits, "of_vocabulary">},
      {"bits_position", "05.6", "divided by the bytes of other tokens than the text's: they are tokens[ids[i]]",
       wrong<wrong_bits, "position">},
      {"bits_distinct", "05.6", "a token counts as often as it occurs in the text", wrong<wrong_bits, "distinct">},
      {"bits_distinct_bytes", "05.6", "a token counts as often as it occurs in the text",
       wrong<wrong_bits, "distinct_bytes">},
      {"bits_first_left_out", "05.6", "a token at the border is left out: all of them count",
       wrong<wrong_bits, "first_left_out">},
      {"bits_last_left_out", "05.6", "a token at the border is left out: all of them count",
       wrong<wrong_bits, "last_left_out">},
      {"bits_total", "05.6", "not divided by the number of bytes", wrong<wrong_bits, "total">},
      {"bits_exchanged", "05.6",
       "the wrong way round: add up the nats and the bytes of all tokens, and divide the first sum by the second",
       wrong<wrong_bits, "exchanged">},
      {"bits_upside_down", "05.6",
       "the wrong way round: add up the nats and the bytes of all tokens, and divide the first sum by the second",
       wrong<wrong_bits, "upside_down">},
      {"bits_e_to_the", "05.6", "nats[i] is -ln p already: no exp and no logarithm is taken of it",
       wrong<wrong_bits, "e_to_the">},
      {"bits_log2_of_nats", "05.6", "nats[i] is -ln p already: no exp and no logarithm is taken of it",
       wrong<wrong_bits, "log2_of_nats">},
      {"bits_integer", "05.6", "a division of whole numbers has no fraction: use double", wrong<wrong_bits, "integer">},
  };
}

}  // namespace pg::lesson05
