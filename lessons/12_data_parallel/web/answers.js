// Lesson 12: data parallelism. Replace each TODO(), then press Check.
// The two steps of the ring are written in C++ only: they need several ranks
// that compute at the same time.

// The mean over all tokens of a batch. Rank r has tokens[r] of them, and
// means[r] is the mean over those: a loss, or a gradient; all are tensors of
// one shape and dtype, and so is the result. A rank without tokens does not
// count: its mean is 0/0. An error, fail("token_weighted_mean: ..."), if there
// are no tokens at all. add(a, b), mul(x, 3) and div(x, 3) make new tensors.
function token_weighted_mean(means, tokens) {
  // [answer 12.3 token_weighted_mean]
  let total = null, count = 0;
  means.forEach((mean, r) => {
    if (tokens[r] === 0) return;
    const part = mul(mean, tokens[r]);
    total = total === null ? part : add(total, part);
    count += tokens[r];
  });
  if (count === 0) fail("token_weighted_mean: no tokens");
  return div(total, count);
  // [end]
}

// The elements {begin, end} of n that belong to a rank: [begin, end). All
// shards together are [0, n), rank 0's first. Each begins at a multiple of
// `unit` (or is empty, at n), their sizes differ by at most one unit, and the
// first ranks have the larger ones: 10 elements for 4 ranks are 3 3 2 2. The
// last unit may be cut off by n. n may be near 2^62, so all four are BigInts,
// as 3n is: their / and % are those of whole numbers.
function shard_of(n, rank, ranks, unit) {
  // [answer 12.4 shard_of]
  const units = n / unit + (n % unit > 0n ? 1n : 0n);
  const each = units / ranks, longer = units % ranks;
  const begin_of = (r) => {
    const before = r * each + (r < longer ? r : longer);  // units of the ranks before r
    return before === units ? n : before * unit;
  };
  return {begin: begin_of(rank), end: begin_of(rank + 1n)};
  // [end]
}

// The ranges [begin, end) of a gradient slab, a list of {begin, end} in the
// order in which they are reduced while backward computes. segments is such a
// list of the parameters. Backward completes the segments from the last to the
// first, so walk from the end of the slab to its beginning:
//   The first range ends where the last segment ends. Take in one segment after
//   another; the range then begins where that segment begins. As soon as it has
//   least_bytes (an element has element_bytes) it is finished, and the next
//   range ends where this one begins.
// What is left at the beginning of the slab, where the first segment begins at
// 0, is the last range, however small. Gaps between segments count as elements
// of the range. No segments: no ranges.
function gradient_buckets(segments, least_bytes, element_bytes) {
  // [answer 12.5 gradient_buckets]
  const ranges = [];
  if (segments.length === 0) return ranges;
  let end = segments.at(-1).end, begin = end;
  for (const segment of [...segments].reverse()) {
    begin = segment.begin;
    if ((end - begin) * element_bytes >= least_bytes) {
      ranges.push({begin, end});
      end = begin;
    }
  }
  if (begin < end) ranges.push({begin, end});
  return ranges;
  // [end]
}
