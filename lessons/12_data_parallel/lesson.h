#pragma once
// Lesson 12: the functions that you write, and what they work on.
#include <span>
#include <vector>

#include "lessons/kit/lesson.h"
#include "nn/ranks/data_parallel.h"
#include "tensor/comm/ring.h"

namespace pg::lesson12 {

using Segment = ParamSlab::Segment;  // of a gradient slab: elements [begin, end) are those of the parameter `name`

void ring_reduce_step(Ring& ring, std::span<float> x, int step);
void ring_gather_step(Ring& ring, std::span<float> x, int step);
Tensor token_weighted_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens);
Shard shard_of(int64_t n, int rank, int ranks, int64_t unit);
std::vector<Shard> gradient_buckets(const std::vector<Segment>& segments, int64_t least_bytes, int64_t element_bytes);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson12::ring_reduce_step)* ring_reduce_step = lesson12::ring_reduce_step;
  decltype(lesson12::ring_gather_step)* ring_gather_step = lesson12::ring_gather_step;
  decltype(lesson12::token_weighted_mean)* token_weighted_mean = lesson12::token_weighted_mean;
  decltype(lesson12::shard_of)* shard_of = lesson12::shard_of;
  decltype(lesson12::gradient_buckets)* gradient_buckets = lesson12::gradient_buckets;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson12
