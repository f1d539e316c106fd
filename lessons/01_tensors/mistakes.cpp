// The known mistakes of lesson 1.
#include "lessons/01_tensors/wrong.h"

namespace pg::lesson01 {

kit::Mistakes<&Impl::broadcast_shapes> broadcast_mistakes() {
  return {
      {"broadcast_larger", "01.2", "a size of 1 gives way to any size, to 0 as well: the larger is not always right",
       wrong_broadcast<"larger">},
      {"broadcast_left", "01.2", "shapes are aligned at the last dimension, not at the first", wrong_broadcast<"left">},
      {"broadcast_rank_1", "01.2", "a shape without dimensions is [], not [1]", wrong_broadcast<"rank_1">},
  };
}

// In this order: with four dims, one that is right for three leaves out dim 0.
kit::Mistakes<&Impl::offset_of> offset_mistakes() {
  return {
      {"offset_first_fastest", "01.3", "the first index runs fastest in yours; the last one should",
       wrong_offset<"first_fastest">},
      {"offset_skips_repeated", "01.3",
       "a dim of stride 0 adds nothing, but n must be divided by its size all the same",
       wrong_offset<"skips_repeated">},
      {"offset_three_dims", "01.3", "right for three dims only: loop over all shape.rank() of them",
       wrong_offset<"three_dims">},
      {"offset_first_three", "01.3", "right for three dims only: loop over all shape.rank() of them",
       wrong_offset<"first_three">},
      {"offset_without_first", "01.3", "dim 0 is left out", wrong_offset<"without_first">},
      {"offset_is_n", "01.3", "this is n itself: right only when the view is contiguous", wrong_offset<"is_n">},
      {"offset_last_is_1", "01.3", "the last stride is not always 1: multiply its index by strides.back()",
       wrong_offset<"last_is_1">},
  };
}

kit::Mistakes<&Impl::matmul> matmul_mistakes() {
  return {
      {"matmul_nothing", "01.4", "nothing is written: c still holds what lay there", wrong_matmul<"does_nothing">},
      {"matmul_adds", "01.4", "c held 1000 before: start from 0, not from what lies there", wrong_matmul<"adds">},
      {"matmul_clears_bytes", "01.4", "only a quarter of c was set to 0: a count of bytes is 4 times that of floats",
       wrong_matmul<"clears_bytes">},
      {"matmul_clears_first_row", "01.4", "only the first row of c was set to 0", wrong_matmul<"clears_first_row">},
      {"matmul_whole_blocks", "01.4",
       "c is 0: no whole block fits into these sizes, so the last block ends at min(k0 + 64, K)",
       wrong_matmul<"whole_only">},
      {"matmul_no_rest_of_k", "01.4", "the rest of K that fills no block is left out: blocks end at min(k0 + 64, K)",
       wrong_matmul<"no_rest_of_k">},
      {"matmul_resets", "01.4", "only the last block of k counts: c is set to 0 once, before all blocks",
       wrong_matmul<"reset_each_block">},
      {"matmul_k_from_1", "01.4", "the first product of each sum is left out: k begins at 0", wrong_matmul<"k_from_1">},
      {"matmul_overlaps", "01.4", "columns are added more than once: j0 grows by as many columns as a block has",
       wrong_matmul<"overlapping">},
  };
}

}  // namespace pg::lesson01
