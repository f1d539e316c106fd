// What data parallelism needs besides collectives: the mean over tokens, buckets of gradients, ZeRO's memory.
#include <cmath>
#include <set>

#include "autograd/ops.h"
#include "nn/ranks/data_parallel.h"
#include "nn/ranks/zero_memory.h"
#include "nn/transformer.h"
#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"

using namespace pg;

namespace {

std::vector<ParamSlab::Segment> segments_of(const std::vector<Shard>& ranges) {
  std::vector<ParamSlab::Segment> segments;
  for (const Shard& range : ranges) {
    segments.push_back({fmt::format("p{}", segments.size()), {range.size()}, range.begin, range.end, false});
  }
  return segments;
}

std::vector<std::pair<int64_t, int64_t>> buckets_of(const std::vector<Shard>& ranges, int64_t least,
                                                    int64_t element = 4) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const Shard& bucket : gradient_buckets(segments_of(ranges), least, element)) {
    pairs.emplace_back(bucket.begin, bucket.end);
  }
  return pairs;
}

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

}  // namespace

TEST_CASE("the mean over tokens is that of all tokens in one list", "[data_parallel]") {
  const std::vector<std::vector<double>> losses = {{1.5, 2.5, 0.25}, {4}, {}, {0.125, 8, 1, 1, 3}};
  std::vector<Tensor> means;
  std::vector<int64_t> tokens;
  double sum = 0, count = 0;
  for (const auto& own : losses) {
    double total = 0;
    for (const double x : own) total += x;
    means.push_back(Tensor::full({2}, total / static_cast<double>(own.size()), f64));  // 0/0 without tokens
    tokens.push_back(std::ssize(own));
    sum += total;
    count += static_cast<double>(own.size());
  }
  const Tensor mean = token_weighted_mean(means, tokens);
  for (const double x : mean.to_vector()) REQUIRE(std::abs(x - sum / count) < 1e-14);
  REQUIRE_THROWS_AS(token_weighted_mean(means, {1, 2}), Error);
  REQUIRE_THROWS_AS(token_weighted_mean({means[0]}, {0}), Error);
  REQUIRE_THROWS_AS(token_weighted_mean({means[0]}, {-1}), Error);
  REQUIRE_THROWS_AS(token_weighted_mean({}, {}), Error);

  std::string sentences;
  const int status = run_ranks(
      4,
      [&](Comm& comm) {
        const auto r = static_cast<size_t>(comm.rank());
        const Tensor own = means[r].clone();
        all_reduce_token_mean(comm, own, tokens[r]);
        return own.to_vector() == mean.to_vector() ? 0 : 3;
      },
      {}, &sentences);
  INFO(sentences);
  REQUIRE(status == 0);
}

TEST_CASE("buckets tile the slab from its end", "[data_parallel]") {
  const std::vector<Shard> ranges = {{0, 10}, {16, 20}, {24, 30}, {32, 33}, {40, 48}};
  REQUIRE(buckets_of(ranges, 0) == Pairs{{40, 48}, {32, 40}, {24, 32}, {16, 24}, {0, 16}});
  REQUIRE(buckets_of(ranges, 32) == Pairs{{40, 48}, {32, 40}, {24, 32}, {16, 24}, {0, 16}});  // exactly 32 bytes
  REQUIRE(buckets_of(ranges, 33) == Pairs{{32, 48}, {16, 32}, {0, 16}});
  REQUIRE(buckets_of(ranges, 33, 8) == Pairs{{40, 48}, {32, 40}, {24, 32}, {16, 24}, {0, 16}});
  REQUIRE(buckets_of(ranges, 100) == Pairs{{16, 48}, {0, 16}});  // the rest is smaller
  REQUIRE(buckets_of(ranges, 1 << 20) == Pairs{{0, 48}});
  REQUIRE(buckets_of({}, 4).empty());
  REQUIRE(buckets_of({{0, 7}}, 4) == Pairs{{0, 7}});
  REQUIRE_THROWS_AS(buckets_of(ranges, -1), Error);
  REQUIRE_THROWS_AS(buckets_of(ranges, 4, 0), Error);
}

TEST_CASE("a tied embedding is in the last bucket only", "[data_parallel]") {
  Transformer model({.vocab_size = 40, .block_size = 8, .n_layer = 2, .n_head = 2, .n_embd = 16});
  const ParamSlab slab(model);
  REQUIRE(slab.segments().front().name == "wte.weight");
  REQUIRE(!model.lm_head);
  const std::vector<Shard> buckets = gradient_buckets(slab.segments(), 4096);
  REQUIRE(buckets.size() > 3);
  int64_t end = slab.size();
  for (const Shard& bucket : buckets) {
    REQUIRE(bucket.end == end);
    end = bucket.begin;
    REQUIRE((bucket.size() * 4 >= 4096 || bucket.begin == 0));
  }
  REQUIRE(end == 0);
  const int64_t embedding = slab.segments().front().end;
  for (const Shard& bucket : buckets) REQUIRE((bucket.begin < embedding) == (bucket.begin == 0));
}

// Figure 1 of Rajbhandari et al. 2020: 7.5 B parameters on 64 ranks, K = 12, gradients of 2 bytes, in GB.
TEST_CASE("ZeRO's memory is that of the paper", "[data_parallel]") {
  const StateBytes paper{.weights = 2, .gradients = 2, .optimizer = 12};
  const double want[] = {120, 31.4, 16.6, 1.88};
  for (int stage = 0; stage <= 3; ++stage) {
    REQUIRE(std::abs(zero_bytes(7.5e9, 64, stage, paper) / 1e9 / want[stage] - 1) < 5e-3);
  }
  for (int stage = 0; stage <= 3; ++stage) REQUIRE(zero_bytes(1000, 1, stage) == 18000);
  REQUIRE_THROWS_AS(zero_bytes(1, 1, 4), Error);
  REQUIRE_THROWS_AS(zero_bytes(1, 0, 1), Error);
}
