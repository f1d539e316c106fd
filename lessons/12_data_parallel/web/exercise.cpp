// The pieces of lesson 12 in a browser: each calls the learner's JavaScript, but for the steps of the ring, whose ranks
// are threads.
#include "lessons/12_data_parallel/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
namespace {

struct BigShard {
  Big begin, end;
};

}  // namespace

template <>
inline constexpr auto kFields<BigShard> = std::tuple{field("begin", &BigShard::begin), field("end", &BigShard::end)};
template <>
inline constexpr auto kFields<Shard> = std::tuple{field("begin", &Shard::begin), field("end", &Shard::end)};
template <>
inline constexpr auto kFields<lesson12::Segment> =
    std::tuple{field("begin", &lesson12::Segment::begin), field("end", &lesson12::Segment::end)};

}  // namespace pg::web

namespace pg::lesson12 {
using web::call, web::Big;

void ring_reduce_step(Ring&, std::span<float>, int) { TODO("12.1 ring_reduce_step"); }
void ring_gather_step(Ring&, std::span<float>, int) { TODO("12.2 ring_gather_step"); }
Tensor token_weighted_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  return call<Tensor>("token_weighted_mean", means, tokens);
}
Shard shard_of(int64_t n, int rank, int ranks, int64_t unit) {
  const auto shard = call<web::BigShard>("shard_of", Big{n}, Big{rank}, Big{ranks}, Big{unit});
  return {shard.begin, shard.end};
}
std::vector<Shard> gradient_buckets(const std::vector<Segment>& segments, int64_t least_bytes, int64_t element_bytes) {
  return call<std::vector<Shard>>("gradient_buckets", segments, least_bytes, element_bytes);
}

}  // namespace pg::lesson12
