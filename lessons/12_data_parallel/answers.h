// Lesson 12: data parallelism. This is your file: replace each TODO(...), then:
// make lesson12 && ./lesson12 check
//
// n = ring.size() ranks compute at the same time, and each runs the same code
// with its own r = ring.rank(). The engine's own functions are pg::shard_of and
// so on: use pg::shard_of for the chunks of 12.1 and 12.2. x.subspan(begin,
// size) is a part of x, and x.size() its length.
#include <algorithm>

#include "autograd/ops.h"
#include "lessons/12_data_parallel/lesson.h"

namespace pg::lesson12 {

// Step s = 0 ... n - 2 of the reduce phase. x is this rank's copy of all
// elements; chunk c of it is the Shard pg::shard_of(x.size(), c, n), elements
// [begin, end), and chunks may differ in size. Send chunk (r - s) mod n to the
// right neighbour, receive from the left one, and add what came to chunk (r - s
// - 1) mod n. ring.send(span) returns only when the right neighbour has
// received; ring.receive(span) fills a span with exactly as many elements as
// the left neighbour sends. A place for them: std::vector<float>
// received(size).
void ring_reduce_step(Ring& ring, std::span<float> x, int step) {
  // [answer 12.1 ring_reduce_step]
  const int n = ring.size(), r = ring.rank();
  const Shard out = pg::shard_of(std::ssize(x), (r - step + n) % n, n);
  const Shard sum = pg::shard_of(std::ssize(x), (r - step - 1 + n) % n, n);
  const std::span<float> sent = x.subspan(static_cast<size_t>(out.begin), static_cast<size_t>(out.size()));
  std::vector<float> received(static_cast<size_t>(sum.size()));
  if (r % 2 == 0) ring.send(sent);
  ring.receive(received);
  if (r % 2 == 1) ring.send(sent);
  for (size_t i = 0; i < received.size(); ++i) x[static_cast<size_t>(sum.begin) + i] += received[i];
  // [end]
}

// Step s = 0 ... n - 2 of the gather phase. It begins when chunk (r + 1) mod n
// of rank r is the sum of all ranks. Send chunk (r + 1 - s) mod n, and put what
// comes from the left neighbour into chunk (r - s) mod n.
void ring_gather_step(Ring& ring, std::span<float> x, int step) {
  // [answer 12.2 ring_gather_step]
  const int n = ring.size(), r = ring.rank();
  const auto chunk = [&](int index) {
    const Shard shard = pg::shard_of(std::ssize(x), (index + n) % n, n);
    return x.subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()));
  };
  if (r % 2 == 0) ring.send(chunk(r + 1 - step));
  ring.receive(chunk(r - step));
  if (r % 2 == 1) ring.send(chunk(r + 1 - step));
  // [end]
}

// The mean over all tokens of a batch. Rank r has tokens[r] of them, and
// means[r] is the mean over those: a loss, or a gradient; all are tensors of
// one shape and dtype, and so is the result. A rank without tokens does not
// count: its mean is 0/0. An Error (check(condition, "token_weighted_mean:
// ...")) if there are no tokens at all. a + b, x * 3.0 and x / 3.0 work on
// tensors and make new ones; tensor.defined() is false before the first is
// assigned.
Tensor token_weighted_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  // [answer 12.3 token_weighted_mean]
  Tensor sum;
  int64_t total = 0;
  for (size_t r = 0; r < means.size(); ++r) {
    if (tokens[r] == 0) continue;
    const Tensor part = means[r] * static_cast<double>(tokens[r]);
    sum = sum.defined() ? sum + part : part;
    total += tokens[r];
  }
  check(total > 0, "token_weighted_mean: no tokens");
  return sum / static_cast<double>(total);
  // [end]
}

// The elements [begin, end) of n that belong to a rank. All shards together are
// [0, n), rank 0's first. Each begins at a multiple of `unit` (or is empty, at
// n), their sizes differ by at most one unit, and the first ranks have the
// larger ones: 10 elements for 4 ranks are 3 3 2 2. The last unit may be cut
// off by n. n may be near 2^62.
Shard shard_of(int64_t n, int rank, int ranks, int64_t unit) {
  // [answer 12.4 shard_of]
  const int64_t units = n / unit + (n % unit > 0 ? 1 : 0);
  const int64_t each = units / ranks, longer = units % ranks;
  const auto begin_of = [&](int64_t r) {
    const int64_t before = r * each + std::min(r, longer);  // units of the ranks before r
    return before == units ? n : before * unit;
  };
  return {begin_of(rank), begin_of(rank + 1)};
  // [end]
}

// The ranges [begin, end) of a gradient slab, in the order in which they are
// reduced while backward computes. Backward completes the segments from the
// last to the first, so walk from the end of the slab to its beginning:
//   The first range ends where the last segment ends. Take in one segment after
//   another; the range then begins where that segment begins. As soon as it has
//   least_bytes (an element has element_bytes) it is finished, and the next
//   range ends where this one begins.
// What is left at the beginning of the slab, where the first segment begins at
// 0, is the last range, however small. Gaps between segments count as elements
// of the range. No segments: no ranges.
std::vector<Shard> gradient_buckets(const std::vector<Segment>& segments, int64_t least_bytes, int64_t element_bytes) {
  // [answer 12.5 gradient_buckets]
  std::vector<Shard> ranges;
  if (segments.empty()) return ranges;
  Shard open{segments.back().end, segments.back().end};
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    open.begin = segment->begin;
    if (open.size() * element_bytes >= least_bytes) {
      ranges.push_back(open);
      open.end = open.begin;
    }
  }
  if (open.size() > 0) ranges.push_back(open);
  return ranges;
  // [end]
}

}  // namespace pg::lesson12
