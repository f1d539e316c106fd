// The known mistakes of lesson 12. In an order in which the first row that fits a wrong result is the right one.
#include <algorithm>
#include <numeric>

#include "autograd/ops.h"
#include "lessons/12_data_parallel/checks.h"
#include "lessons/12_data_parallel/wrong.h"

namespace pg::lesson12 {

kit::Mistakes<&Impl::ring_reduce_step> reduce_mistakes() {
  return {
      {"reduce_unsigned", "12.1",
       "a negative index as unsigned is a huge one: it is right only where n is a power of 2; add n first",
       wrong_reduce<Step{.index = Step::Index::as_unsigned}>},
      {"reduce_overwrites", "12.1", "the chunk is overwritten: add what came to what is there",
       wrong_reduce<Step{.store = Step::Store::other}>},
      {"reduce_nothing", "12.1", "nothing changes: add what came to chunk (r - s - 1) mod n",
       wrong_reduce<Step{.store = Step::Store::nothing}>},
      {"reduce_into_itself", "12.1",
       "this is twice what came: it was received into the chunk itself, whose own elements are lost; receive into a "
       "place of its own",
       wrong_reduce<Step{.store = Step::Store::twice}>},
      {"reduce_larger", "12.1", "only what makes an element larger is added: negative numbers count as well",
       wrong_reduce<Step{.store = Step::Store::larger}>},
      {"reduce_mean", "12.1",
       "divided by the ranks in every step: the ring adds up, and a mean is divided once, at the end",
       wrong_reduce<Step{.store = Step::Store::mean}>},
      {"reduce_other_way", "12.1", "chunks go the other way: (r + s) for (r - s); the sums pass by",
       wrong_reduce<Step{.sign = 1}>},
      {"reduce_right_neighbour", "12.1",
       "what comes from the left neighbour goes to the chunk that it sent, (r - s - 1): r - s + 1 is that of the right "
       "neighbour",
       wrong_reduce<Step{.in = 2}>},
      {"reduce_exchanged", "12.1", "the two chunks are exchanged: send (r - s), add to (r - s - 1)",
       wrong_reduce<Step{.out = -1, .in = 1}>},
      {"reduce_same_chunk", "12.1",
       "what comes from the left neighbour goes to the chunk that it sent, (r - s - 1): it was added to the chunk that "
       "this rank sends",
       wrong_reduce<Step{.in = 1}>},
      {"reduce_no_step", "12.1", "the step is left out: every step sends the same chunk",
       wrong_reduce<Step{.sign = 0}>},
      {"reduce_from_1", "12.1", "steps count from 0: step 0 sends chunk r", wrong_reduce<Step{.out = -1, .in = -1}>},
      {"reduce_floor", "12.1", "chunks of N / n elements: the last elements belong to none; take pg::shard_of",
       wrong_reduce<Step{.chunks = Step::Chunks::floor}>},
      {"reduce_ceiling", "12.1",
       "all chunks are rounded up, the last is short: the first are longer by one; take pg::shard_of",
       wrong_reduce<Step{.chunks = Step::Chunks::ceiling}>},
      {"reduce_no_offset", "12.1", "what came is added at the beginning of x: its place is x[begin + i], of the chunk",
       wrong_reduce<Step{.at_front = true}>},
      {"reduce_whole_phase", "12.1", "all steps of the phase were made: one call is one step",
       whole_phase<0, -1, true>}};
}
kit::Mistakes<&Impl::ring_gather_step> gather_mistakes() {
  return {
      {"gather_unsigned", "12.2",
       "a negative index as unsigned is a huge one: it is right only where n is a power of 2; add n first",
       wrong_gather<Step{.index = Step::Index::as_unsigned}>},
      {"gather_adds", "12.2", "what came is added: it is the sum already, so it replaces what is there",
       wrong_gather<Step{.store = Step::Store::other}>},
      {"gather_nothing", "12.2",
       "nothing changes: put what came into chunk (r - s) mod n; or is the step left out, and an old chunk sent again?",
       wrong_gather<Step{.store = Step::Store::nothing}>},
      {"gather_no_step", "12.2",
       "nothing changes: put what came into chunk (r - s) mod n; or is the step left out, and an old chunk sent again?",
       wrong_gather<Step{.sign = 0}>},
      {"gather_larger", "12.2", "the larger of old and new is kept: what came is the sum, so it replaces what is there",
       wrong_gather<Step{.store = Step::Store::larger}>},
      {"gather_mean", "12.2", "divided by the ranks in every step: the gather phase only copies",
       wrong_gather<Step{.store = Step::Store::mean}>},
      {"gather_chunk_r", "12.2", "step 0 sends chunk r: after the reduce phase chunk (r + 1) of rank r is complete",
       wrong_gather<Step{.out = -1, .in = -1}>},
      {"gather_other_way", "12.2", "chunks go the other way: (r + 1 + s) for (r + 1 - s)",
       wrong_gather<Step{.sign = 1}>},
      {"gather_right_neighbour", "12.2",
       "what comes from the left neighbour goes to the chunk that it sent, (r - s): r - s + 2 is that of the right "
       "neighbour",
       wrong_gather<Step{.in = 2}>},
      {"gather_exchanged", "12.2", "the two chunks are exchanged: send (r + 1 - s), receive (r - s)",
       wrong_gather<Step{.out = -1, .in = 1}>},
      {"gather_same_chunk", "12.2",
       "what comes from the left neighbour goes to the chunk that it sent, (r - s): it was put into the chunk that "
       "this "
       "rank sends",
       wrong_gather<Step{.in = 1}>},
      {"gather_floor", "12.2", "chunks of N / n elements: the last elements belong to none; take pg::shard_of",
       wrong_gather<Step{.chunks = Step::Chunks::floor}>},
      {"gather_ceiling", "12.2",
       "all chunks are rounded up, the last is short: the first are longer by one; take pg::shard_of",
       wrong_gather<Step{.chunks = Step::Chunks::ceiling}>},
      {"gather_no_offset", "12.2", "what came is put at the beginning of x: its place is x[begin + i], of the chunk",
       wrong_gather<Step{.at_front = true}>},
      {"gather_whole_phase", "12.2", "all steps of the phase were made: one call is one step",
       whole_phase<1, 0, false>}};
}

namespace {
struct Mean {
  bool of_means = false, of_some = false, no_division = false, twice = false, by_ranks = false, sum_of_means = false,
       inverse = false, first_only = false, empty_rank = false, in_int = false, truncated = false, whole = false,
       empty_counts = false, by_largest = false, in_float = false;
};
template <Mean is>
Tensor wrong_mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  Tensor sum;
  double total = 0, ranks = 0;
  int32_t small_total = 0;
  for (size_t r = 0; r < means.size(); ++r) {
    double weight = static_cast<double>(tokens[r]);
    if (tokens[r] == 0 && is.empty_counts) total += 1;
    if (tokens[r] == 0 && !is.empty_rank && !is.of_means) continue;
    if (is.in_float) weight = static_cast<double>(static_cast<float>(tokens[r]));
    if (is.in_int) weight = static_cast<double>(static_cast<int32_t>(tokens[r]));
    if (is.inverse) weight = 1 / weight;
    if (is.whole) {
      const int64_t all = std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
      weight = static_cast<double>(tokens[r] / all);
    }
    if (is.of_means || is.of_some || is.sum_of_means) weight = 1;
    const Tensor term = means[r] * weight;
    sum = sum.defined() ? sum + term : term;
    total += weight;
    small_total = static_cast<int32_t>(static_cast<uint32_t>(small_total) + static_cast<uint32_t>(tokens[r]));
    ranks += 1;
    if (is.first_only) break;
  }
  check(sum.defined() && (total != 0 || is.whole), "token_weighted_mean: no tokens");
  if (is.of_means) total = static_cast<double>(means.size());
  if (is.no_division || is.sum_of_means || is.whole) total = 1;
  if (is.twice) total *= ranks;
  if (is.by_ranks) total = ranks;
  if (is.by_largest) total = static_cast<double>(*std::max_element(tokens.begin(), tokens.end()));
  if (is.truncated) total = static_cast<double>(small_total);
  return sum / total;
}

}  // namespace

kit::Mistakes<&Impl::token_weighted_mean> mean_mistakes() {
  return {
      {"mean_empty_rank", "12.3", "a rank without tokens has the mean 0/0, and 0 times nan is nan: leave it out",
       wrong_mean<Mean{.empty_rank = true}>},
      {"mean_of_means", "12.3",
       "this is the mean of the means: each token counts the same, so a rank with more of them counts more",
       wrong_mean<Mean{.of_means = true}>},
      {"mean_of_some", "12.3",
       "this is the mean of the means: each token counts the same, so a rank with more of them counts more",
       wrong_mean<Mean{.of_some = true}>},
      {"mean_not_divided", "12.3", "the sum is not divided: divide it by the tokens of all ranks",
       wrong_mean<Mean{.no_division = true}>},
      {"mean_divided_twice", "12.3", "divided twice: by the tokens and by the ranks; the tokens alone",
       wrong_mean<Mean{.twice = true}>},
      {"mean_by_ranks", "12.3", "divided by the number of ranks: divide by the tokens of all ranks",
       wrong_mean<Mean{.by_ranks = true}>},
      {"mean_sum_of_means", "12.3", "the sum of the means: weight each by its tokens, and divide by all tokens",
       wrong_mean<Mean{.sum_of_means = true}>},
      {"mean_inverse", "12.3", "a rank with more tokens counts less: multiply by tokens[r]",
       wrong_mean<Mean{.inverse = true}>},
      {"mean_first_only", "12.3", "this is the mean of rank 0 alone", wrong_mean<Mean{.first_only = true}>},
      {"mean_empty_counts", "12.3",
       "a rank without tokens is counted as one token: add tokens[r] to the total, not at least 1",
       wrong_mean<Mean{.empty_counts = true}>},
      {"mean_by_largest", "12.3", "divided by the tokens of the longest rank: divide by those of all ranks",
       wrong_mean<Mean{.by_largest = true}>},
      {"mean_in_float", "12.3", "something is computed in float", wrong_mean<Mean{.in_float = true}>},
      {"mean_in_int", "12.3", "a number of tokens does not fit in an int: use int64_t",
       wrong_mean<Mean{.in_int = true}>},
      {"mean_total_in_int", "12.3", "the sum of the tokens does not fit in an int: use int64_t",
       wrong_mean<Mean{.truncated = true}>},
      {"mean_whole_numbers", "12.3", "tokens[r] / total is a division of whole numbers, and 0: convert to double first",
       wrong_mean<Mean{.whole = true}>}};
}

namespace {

struct Cut {
  bool lost = false, last_long = false, last_short = false, last_longer = false, spread = false, inclusive = false,
       size_for_end = false, no_unit = false, whole_units = false, too_far = false, shift = false, in_int = false,
       one_more = false, overlap = false, empty_zero = false, longer_by_elements = false, begin_too_far = false;
};
template <Cut is>
Shard wrong_shard(int64_t n, int rank, int ranks, int64_t unit) {
  if (is.in_int) n = static_cast<int32_t>(n);
  if (is.no_unit) unit = 1;
  const int64_t units = is.whole_units ? n / unit : n / unit + (n % unit != 0);
  const int64_t each = units / ranks, more = (is.longer_by_elements ? n : units) % ranks;
  const auto begin = [&](int64_t r) {
    int64_t at = r * each + std::min(r, more);
    if (is.lost || is.last_long) at = r * each;
    if (is.last_long && r == ranks) at = units;
    if (is.last_short) at = std::min(units, r * (each + (more > 0)));
    if (is.last_longer) at = r * each + std::max<int64_t>(0, r - (ranks - more));
    if (is.spread) at = r * each + r * more / ranks;
    if (is.shift) at = r * each + (r < more ? r : 0);
    const bool cut_off = at >= units && !is.too_far && !is.whole_units && !is.lost;
    return cut_off ? n : at * unit;
  };
  Shard shard{begin(rank), begin(rank + 1)};
  if (is.begin_too_far) shard.begin = (rank * each + std::min<int64_t>(rank, more)) * unit;
  if (is.shift) shard.end = shard.begin + (each + (rank < more)) * unit;
  if (is.one_more) shard.end = std::min(n, shard.begin + (each + (rank <= more)) * unit);
  if (is.overlap) {
    shard.begin = std::min(n, rank * each * unit);
    shard.end = std::min(n, shard.begin + (each + (rank < more)) * unit);
  }
  if (is.empty_zero && shard.size() == 0) shard = {0, 0};
  if (is.inclusive) --shard.end;
  if (is.size_for_end) shard.end -= shard.begin;
  return shard;
}

}  // namespace

kit::Mistakes<&Impl::shard_of> shard_mistakes() {
  return {
      {"shard_lost", "12.4",
       "elements are lost: all shards have n / ranks, which rounds down; the first n % ranks have one more",
       wrong_shard<Cut{.lost = true}>},
      {"shard_last_long", "12.4", "the last shard gets the whole remainder: sizes differ by one unit at most",
       wrong_shard<Cut{.last_long = true}>},
      {"shard_longer_by_elements", "12.4",
       "the longer shards are counted in elements: units % ranks of them have one more unit, not n % ranks",
       wrong_shard<Cut{.longer_by_elements = true}>},
      {"shard_last_short", "12.4",
       "all shards are rounded up, so the last is short or empty: sizes differ by one unit at most",
       wrong_shard<Cut{.last_short = true}>},
      {"shard_last_longer", "12.4", "the last shards are the longer ones: the first are",
       wrong_shard<Cut{.last_longer = true}>},
      {"shard_spread", "12.4", "the longer shards are spread (r·n / ranks): the first are longer",
       wrong_shard<Cut{.spread = true}>},
      {"shard_inclusive", "12.4", "the end is one unit too small: [begin, end) ends before `end`",
       wrong_shard<Cut{.inclusive = true}>},
      {"shard_size_for_end", "12.4", "`end` is the size: it is where the shard ends, begin + size",
       wrong_shard<Cut{.size_for_end = true}>},
      {"shard_no_unit", "12.4", "the unit is ignored: every shard begins at a multiple of it",
       wrong_shard<Cut{.no_unit = true}>},
      {"shard_whole_units", "12.4", "the last unit, which n cuts off, is lost: count units rounded up",
       wrong_shard<Cut{.whole_units = true}>},
      {"shard_too_far", "12.4", "a shard reaches beyond n: the last unit may be cut off",
       wrong_shard<Cut{.too_far = true}>},
      {"shard_begin_too_far", "12.4", "`begin` is not cut at n: an empty shard of the last ranks begins and ends at n",
       wrong_shard<Cut{.begin_too_far = true}>},
      {"shard_empty_zero", "12.4", "an empty shard is [0, 0): those of the last ranks begin and end at n",
       wrong_shard<Cut{.empty_zero = true}>},
      {"shard_shift", "12.4",
       "a shard after the longer ones begins too early: min(r, n % ranks) ranks before it have one more",
       wrong_shard<Cut{.shift = true}>},
      {"shard_in_int", "12.4", "n does not fit in an int: use int64_t", wrong_shard<Cut{.in_int = true}>},
      {"shard_one_more", "12.4",
       "one shard too many is longer: ranks 0 ... n % ranks - 1 have one more, so r < n % ranks",
       wrong_shard<Cut{.one_more = true}>},
      {"shard_overlap", "12.4",
       "the shards overlap: those after a longer one begin later, at r·(n / ranks) + min(r, n % ranks)",
       wrong_shard<Cut{.overlap = true}>}};
}

namespace {

struct Order {
  bool forward = false, reversed = false, rest_lost = false, rest_merged = false, cap = false, elements = false,
       gaps = false, embedding_twice = false, embedding_first = false, single = false, whole = false, above = false,
       empty_last = false, split = false, four_bytes = false, in_int = false, segments_alone = false, end_stays = false;
};
template <Order is>
std::vector<Shard> wrong_buckets(const std::vector<Segment>& segments, int64_t least, int64_t element) {
  std::vector<Shard> ranges;
  if (segments.empty()) return ranges;
  if (is.elements) element = 1;
  if (is.four_bytes) element = 4;
  if (is.single) least = 0;
  const int64_t slab_end = segments.back().end;
  if (is.whole) return {{0, slab_end}};
  if (is.split) {
    const int64_t step = std::max<int64_t>(1, (least + element - 1) / element);
    for (int64_t end = slab_end; end > 0; end -= step) ranges.push_back({std::max<int64_t>(0, end - step), end});
    return ranges;
  }
  if (is.forward) {
    int64_t begin = 0;
    for (size_t i = 0; i < segments.size(); ++i) {
      const int64_t end = i + 1 < segments.size() ? segments[i + 1].begin : slab_end;
      if ((end - begin) * element < least && i + 1 < segments.size()) continue;
      ranges.push_back({begin, end});
      begin = end;
    }
    return ranges;
  }
  const size_t stop = is.embedding_first ? 1 : 0;
  const int64_t first_end = segments.size() > 1 ? segments[1].begin : slab_end;
  if (is.embedding_twice || stop == 1) ranges.push_back({0, first_end});
  int64_t end = slab_end;
  for (size_t i = segments.size(); i-- > stop;) {
    const int64_t begin = segments[i].begin;
    int64_t bytes = (end - begin) * element;
    if (is.in_int) bytes = static_cast<int32_t>(static_cast<uint32_t>(bytes));
    if (is.segments_alone) {
      bytes = 0;
      for (const Segment& s : segments) bytes += s.begin >= begin && s.end <= end ? (s.end - s.begin) * element : 0;
    }
    if (is.cap && bytes > least && i + 1 < segments.size() && segments[i + 1].begin < end) {
      ranges.push_back({segments[i + 1].begin, end});
      end = segments[i + 1].begin;
    }
    const bool last = i == stop && !is.rest_lost;
    const bool full = is.above ? bytes > least : bytes >= least;
    if (is.cap ? !last : !last && !full) continue;
    if (last && !full && is.rest_merged && !ranges.empty()) {
      ranges.back().begin = begin;
    } else {
      ranges.push_back({begin, is.end_stays ? slab_end : end});
    }
    end = begin;
  }
  if (is.gaps) {
    // The range ends with its last segment, not where the next one begins.
    for (Shard& range : ranges) {
      int64_t last_end = range.begin;
      for (const Segment& segment : segments) {
        if (segment.begin >= range.begin && segment.end <= range.end) last_end = segment.end;
      }
      range.end = last_end;
    }
  }
  if (is.empty_last) ranges.push_back({0, 0});
  if (is.reversed) std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

}  // namespace

kit::Mistakes<&Impl::gradient_buckets> bucket_mistakes() {
  return {
      {"buckets_forward", "12.5",
       "the order of forward: the sums would be right, but the first range is complete only when backward ends, and "
       "nothing overlaps",
       wrong_buckets<Order{.forward = true}>},
      {"buckets_reversed", "12.5", "the right ranges in the wrong order: backward completes the end of the slab first",
       wrong_buckets<Order{.reversed = true}>},
      {"buckets_rest_lost", "12.5",
       "the remainder is lost: what is left at the beginning of the slab is a range too, however small",
       wrong_buckets<Order{.rest_lost = true}>},
      {"buckets_rest_merged", "12.5",
       "the small remainder was merged into the range before: that one would wait for the embedding",
       wrong_buckets<Order{.rest_merged = true}>},
      {"buckets_cap", "12.5", "ranges are closed before they have least_bytes: it is the least, not the most",
       wrong_buckets<Order{.cap = true}>},
      {"buckets_elements", "12.5", "elements were compared with bytes: an element has element_bytes",
       wrong_buckets<Order{.elements = true}>},
      {"buckets_gaps", "12.5", "the gaps are missing: a range ends where the one before begins",
       wrong_buckets<Order{.gaps = true}>},
      {"buckets_embedding_twice", "12.5",
       "the first segment is reduced twice: a tied embedding gets gradients from the head first and from the lookup "
       "last, and is complete only then",
       wrong_buckets<Order{.embedding_twice = true}>},
      {"buckets_embedding_first", "12.5",
       "the first segment is reduced first: a tied embedding gets its last gradients at the end of backward",
       wrong_buckets<Order{.embedding_first = true}>},
      {"buckets_single", "12.5", "each segment is a range: short messages cost their latency; gather least_bytes",
       wrong_buckets<Order{.single = true}>},
      {"buckets_whole", "12.5", "one range for all: it is complete when backward ends, and nothing overlaps",
       wrong_buckets<Order{.whole = true}>},
      {"buckets_above", "12.5", "a range that has exactly least_bytes is closed: >= for >",
       wrong_buckets<Order{.above = true}>},
      {"buckets_empty_last", "12.5", "the last range is empty: nothing is left after the first segment",
       wrong_buckets<Order{.empty_last = true}>},
      {"buckets_split", "12.5", "ranges of equal size split segments: a range begins where a segment begins",
       wrong_buckets<Order{.split = true}>},
      {"buckets_four_bytes", "12.5", "an element is taken to have 4 bytes: it has element_bytes",
       wrong_buckets<Order{.four_bytes = true}>},
      {"buckets_in_int", "12.5", "a number of bytes does not fit in an int: use int64_t",
       wrong_buckets<Order{.in_int = true}>},
      {"buckets_segments_alone", "12.5",
       "only the elements of segments are counted: gaps count as elements of the range too",
       wrong_buckets<Order{.segments_alone = true}>},
      {"buckets_end_stays", "12.5",
       "all ranges end at the end of the slab: each next one ends where the range before it begins",
       wrong_buckets<Order{.end_stays = true}>}};
}

}  // namespace pg::lesson12
