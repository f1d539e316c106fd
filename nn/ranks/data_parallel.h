#pragma once
// Data parallelism: ranks with equal weights and different rows of a batch. How their means become the batch's, and in
// which order their gradients are complete.
#include <cstdint>
#include <vector>

#include "nn/param_slab.h"
#include "tensor/comm/comm.h"

namespace pg {

// The mean over all tokens of a batch, of the ranks' means over their own tokens: Σ tokens[r]·means[r] / Σ tokens[r],
// added up in the order of the ranks. means: losses or gradients, of one shape and dtype. The mean of a rank without
// tokens is 0/0 and does not count, whatever it is. Error for other lengths, and if there is no token at all.
Tensor token_weighted_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens);
// The same among the ranks of a group: `mean`, of this rank's `tokens`, becomes the mean over the tokens of all ranks.
void all_reduce_token_mean(Comm& comm, const Tensor& mean, int64_t tokens);

// The ranges of a gradient slab that are reduced one after the other while backward computes. Backward completes
// gradients from the last segment to the first, so the first range is the end of the slab, each next one ends where the
// one before begins, and the last begins at 0. Together they are [0, end of the last segment), gaps included. Each
// begins where a segment does, and is closed as soon as it has `least_bytes`, at element_bytes per element; what
// remains at the beginning of the slab may be smaller.
//
// An embedding that is also the output head is the first segment. Backward adds to its gradient first of all and last
// of all, so it is complete only at the end: it is in the last range, and in no other.
std::vector<Shard> gradient_buckets(const std::vector<ParamSlab::Segment>& segments, int64_t least_bytes,
                                    int64_t element_bytes = 4);

}  // namespace pg
