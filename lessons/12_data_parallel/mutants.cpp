// Wrong answers to lesson 12. The checks must call each WRONG and say why; everything else must stay ok.
#include "lessons/kit/mutants.h"

#include <cmath>

#include "lessons/12_data_parallel/answers.h"
#include "lessons/12_data_parallel/wrong.h"

namespace pg::lesson12 {
namespace {

enum class Step {
  negative,
  not_wrapped,
  unsigned_index,
  send_first,
  receive_first,
  one_silent,
  overwrite,
  nothing,
  into_itself,
  mean,
  other_way,
  right_neighbour,
  exchanged,
  same_chunk,
  no_step,
  from_1,
  from_0,
  floor,
  ceiling,
  all_elements,
  add,
  in_pieces,
  no_offset,
  sent_size,
  every_step
};

// Rank r sends chunk r + send - step and receives chunk r + receive - step, with a mistake.
template <Step mistake, int send, int receive, bool adds>
void wrong_step(Ring& ring, std::span<float> x, int step) {
  const int n = ring.size(), r = ring.rank();
  const auto chunk = [&](int index) {
    int c = mistake == Step::negative || mistake == Step::not_wrapped ? index : ((index % n) + n) % n;
    if (mistake == Step::negative) c = index % n;
    if (mistake == Step::unsigned_index) c = static_cast<int>(static_cast<unsigned>(index) % static_cast<unsigned>(n));
    const int64_t length = std::ssize(x), floor = length / n, ceiling = (length + n - 1) / n;
    Shard s = mistake == Step::floor || mistake == Step::ceiling ? Shard{} : pg::shard_of(length, c, n);
    if (mistake == Step::floor) s = {c * floor, (c + 1) * floor};
    if (mistake == Step::ceiling) s = {std::min(length, c * ceiling), std::min(length, (c + 1) * ceiling)};
    return x.subspan(static_cast<size_t>(s.begin), static_cast<size_t>(s.size()));
  };
  int out = send - step, in = receive - step;
  if (mistake == Step::other_way) out = send + step, in = receive + step;
  if (mistake == Step::right_neighbour) in += 2;
  if (mistake == Step::exchanged) std::swap(out, in);
  if (mistake == Step::same_chunk) in = out;
  if (mistake == Step::no_step) out = send, in = receive;
  if (mistake == Step::from_1) --out, --in;
  std::span<float> sent = chunk(r + out), into = chunk(r + in);
  if (mistake == Step::all_elements) sent = x;
  if (mistake == Step::no_offset) into = x.first(into.size());
  std::vector<float> received(mistake == Step::all_elements ? x.size() : into.size());
  if (mistake == Step::sent_size) received.resize(sent.size());
  const bool first = mistake == Step::send_first || (mistake != Step::receive_first && r % 2 == 0);
  const auto send_it = [&] {
    if (mistake == Step::one_silent && r == 0) return;
    if (mistake == Step::in_pieces) {
      for (size_t i = 0; i < sent.size(); ++i) ring.send(sent.subspan(i, 1));
    } else {
      ring.send(sent);
    }
  };
  const auto receive_it = [&] {
    if (mistake == Step::in_pieces) {
      for (size_t i = 0; i < received.size(); ++i) ring.receive(std::span(received).subspan(i, 1));
    } else {
      ring.receive(received);
    }
  };
  if (first) send_it();
  receive_it();
  if (!first) send_it();
  const size_t at = mistake == Step::all_elements ? static_cast<size_t>(into.data() - x.data()) : 0;
  for (size_t i = 0; i < into.size(); ++i) {
    const float came = received[at + i];
    if (mistake == Step::nothing) continue;
    if (mistake == Step::mean) {
      into[i] = (into[i] + came) / static_cast<float>(n);
    } else if (mistake == Step::into_itself) {
      into[i] = came + came;
    } else if (adds != (mistake == Step::overwrite || mistake == Step::add)) {
      into[i] += came;
    } else {
      into[i] = came;
    }
  }
}
// All steps of the phase in each call.
template <int send, int receive, bool adds>
void whole_phase(Ring& ring, std::span<float> x, int) {
  for (int step = 0; step < ring.size() - 1; ++step) wrong_step<Step::every_step, send, receive, adds>(ring, x, step);
}
template <Step mistake>
constexpr auto wrong_reduce = wrong_step<mistake, 0, -1, true>;
template <Step mistake>
constexpr auto wrong_gather = wrong_step<mistake, 1, 0, false>;

template <Mean mistake>
Tensor mean(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  return wrong_mean(mistake, means, tokens);
}
// Begins with rank 0, tokens or not.
Tensor mean_from_rank_0(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  Tensor sum = means[0] * static_cast<double>(tokens[0]);
  double total = static_cast<double>(tokens[0]);
  for (size_t r = 1; r < means.size(); ++r) {
    if (tokens[r] == 0) continue;
    sum = sum + means[r] * static_cast<double>(tokens[r]);
    total += static_cast<double>(tokens[r]);
  }
  check(total > 0, "token_weighted_mean: no tokens");
  return sum / total;
}
// Leaves out every mean that is nan.
Tensor mean_without_nan(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  std::vector<int64_t> counted = tokens;
  for (size_t r = 0; r < means.size(); ++r) {
    for (const double x : means[r].to_vector())
      if (std::isnan(x)) counted[r] = 0;
  }
  return wrong_mean(Mean::right, means, counted);
}
Tensor mean_as_number(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  double sum = 0, total = 0;
  for (size_t r = 0; r < means.size(); ++r) {
    if (tokens[r] == 0) continue;
    sum += means[r].item() * static_cast<double>(tokens[r]);
    total += static_cast<double>(tokens[r]);
  }
  check(total > 0, "token_weighted_mean: no tokens");
  return Tensor::full({}, sum / total, means[0].dtype());
}
Tensor mean_from_zeros(const std::vector<Tensor>& means, const std::vector<int64_t>& tokens) {
  Tensor sum = Tensor::zeros(means[0].shape());
  double total = 0;
  for (size_t r = 0; r < means.size(); ++r) {
    if (tokens[r] == 0) continue;
    sum = sum + means[r] * static_cast<double>(tokens[r]);
    total += static_cast<double>(tokens[r]);
  }
  check(total > 0, "token_weighted_mean: no tokens");
  return sum / total;
}

template <Cut mistake>
Shard shard(int64_t n, int rank, int ranks, int64_t unit) {
  return wrong_shard(mistake, n, rank, ranks, unit);
}
// Right for whatever a double holds.
Shard shard_in_double(int64_t n, int rank, int ranks, int64_t unit) {
  const int64_t units = n / unit + (n % unit > 0 ? 1 : 0), more = units % ranks;
  const auto begin = [&](int64_t r) {
    const double each = static_cast<double>(units / ranks);
    const auto at = static_cast<int64_t>(each * static_cast<double>(r)) + std::min(r, more);
    return at >= units ? n : at * unit;
  };
  return {begin(rank), begin(rank + 1)};
}
template <Order mistake>
std::vector<Shard> buckets(const std::vector<Segment>& segments, int64_t least_bytes, int64_t element_bytes) {
  return wrong_buckets(mistake, segments, least_bytes, element_bytes);
}

#define ROW(piece, name, check, says, wrong)            \
  {                                                     \
    name, check, says, [](Impl& m) { m.piece = wrong; } \
  }

const kit::Mutants<Impl> kTable = {
    ROW(ring_reduce_step, "reduce_negative", "12.1", "in C++ -1 % 4 is -1", wrong_reduce<Step::negative>),
    ROW(ring_reduce_step, "reduce_not_wrapped", "12.1", "is negative", wrong_reduce<Step::not_wrapped>),
    ROW(ring_reduce_step, "reduce_send_first", "12.1", "all ranks send first", wrong_reduce<Step::send_first>),
    ROW(ring_reduce_step, "reduce_receive_first", "12.1", "all ranks receive first", wrong_reduce<Step::receive_first>),
    ROW(ring_reduce_step, "reduce_one_silent", "12.1", "sends once and receives once", wrong_reduce<Step::one_silent>),
    ROW(ring_reduce_step, "reduce_overwrites", "12.1", "the chunk is overwritten", wrong_reduce<Step::overwrite>),
    ROW(ring_reduce_step, "reduce_nothing", "12.1", "nothing changes", wrong_reduce<Step::nothing>),
    ROW(ring_reduce_step, "reduce_into_itself", "12.1", "twice what came", wrong_reduce<Step::into_itself>),
    ROW(ring_reduce_step, "reduce_mean", "12.1", "divided by the ranks in every step", wrong_reduce<Step::mean>),
    ROW(ring_reduce_step, "reduce_other_way", "12.1", "chunks go the other way", wrong_reduce<Step::other_way>),
    ROW(ring_reduce_step, "reduce_right_neighbour", "12.1", "that of the right neighbour",
        wrong_reduce<Step::right_neighbour>),
    ROW(ring_reduce_step, "reduce_exchanged", "12.1", "the two chunks are exchanged", wrong_reduce<Step::exchanged>),
    ROW(ring_reduce_step, "reduce_same_chunk", "12.1", "that this rank sends", wrong_reduce<Step::same_chunk>),
    ROW(ring_reduce_step, "reduce_no_step", "12.1", "the step is left out", wrong_reduce<Step::no_step>),
    ROW(ring_reduce_step, "reduce_from_1", "12.1", "steps count from 0", wrong_reduce<Step::from_1>),
    ROW(ring_reduce_step, "reduce_unsigned", "12.1", "a negative index as unsigned",
        wrong_reduce<Step::unsigned_index>),
    ROW(ring_reduce_step, "reduce_floor", "12.1", "the last elements belong to none", wrong_reduce<Step::floor>),
    ROW(ring_reduce_step, "reduce_ceiling", "12.1", "all chunks are rounded up", wrong_reduce<Step::ceiling>),
    ROW(ring_reduce_step, "reduce_all_elements", "12.1", "more is sent than one chunk",
        wrong_reduce<Step::all_elements>),
    ROW(ring_reduce_step, "reduce_in_pieces", "12.1", "in one message", wrong_reduce<Step::in_pieces>),

    ROW(ring_reduce_step, "reduce_no_offset", "12.1", "x[begin + i]", wrong_reduce<Step::no_offset>),
    ROW(ring_reduce_step, "reduce_sent_size", "12.1", "the lengths differ", wrong_reduce<Step::sent_size>),
    ROW(ring_reduce_step, "reduce_whole_phase", "12.1", "one call is one step", (whole_phase<0, -1, true>)),

    ROW(ring_gather_step, "gather_negative", "12.2", "in C++ -1 % 4 is -1", wrong_gather<Step::negative>),
    ROW(ring_gather_step, "gather_not_wrapped", "12.2", "modulo n", wrong_gather<Step::not_wrapped>),
    ROW(ring_gather_step, "gather_send_first", "12.2", "all ranks send first", wrong_gather<Step::send_first>),
    ROW(ring_gather_step, "gather_receive_first", "12.2", "all ranks receive first", wrong_gather<Step::receive_first>),
    ROW(ring_gather_step, "gather_adds", "12.2", "what came is added", wrong_gather<Step::add>),
    ROW(ring_gather_step, "gather_nothing", "12.2", "nothing changes", wrong_gather<Step::nothing>),
    ROW(ring_gather_step, "gather_mean", "12.2", "the gather phase only copies", wrong_gather<Step::mean>),
    ROW(ring_gather_step, "gather_chunk_r", "12.2", "chunk (r + 1) of rank r is complete", wrong_gather<Step::from_1>),
    ROW(ring_gather_step, "gather_other_way", "12.2", "chunks go the other way", wrong_gather<Step::other_way>),
    ROW(ring_gather_step, "gather_right_neighbour", "12.2", "that of the right neighbour",
        wrong_gather<Step::right_neighbour>),
    ROW(ring_gather_step, "gather_exchanged", "12.2", "the two chunks are exchanged", wrong_gather<Step::exchanged>),
    ROW(ring_gather_step, "gather_same_chunk", "12.2", "that this rank sends", wrong_gather<Step::same_chunk>),
    ROW(ring_gather_step, "gather_no_step", "12.2", "is the step left out", wrong_gather<Step::no_step>),
    ROW(ring_gather_step, "gather_floor", "12.2", "the last elements belong to none", wrong_gather<Step::floor>),
    ROW(ring_gather_step, "gather_ceiling", "12.2", "all chunks are rounded up", wrong_gather<Step::ceiling>),
    ROW(ring_gather_step, "gather_all_elements", "12.2", "more is sent than one chunk",
        wrong_gather<Step::all_elements>),

    ROW(ring_gather_step, "gather_no_offset", "12.2", "x[begin + i]", wrong_gather<Step::no_offset>),
    ROW(ring_gather_step, "gather_sent_size", "12.2", "the lengths differ", wrong_gather<Step::sent_size>),
    ROW(ring_gather_step, "gather_whole_phase", "12.2", "one call is one step", (whole_phase<1, 0, false>)),

    ROW(token_weighted_mean, "mean_of_means", "12.3", "the mean of the means: each token", mean<Mean::of_means>),
    ROW(token_weighted_mean, "mean_of_some", "12.3", "the mean of the means", mean<Mean::of_some>),
    ROW(token_weighted_mean, "mean_not_divided", "12.3", "the sum is not divided", mean<Mean::no_division>),
    ROW(token_weighted_mean, "mean_divided_twice", "12.3", "divided twice", mean<Mean::twice>),
    ROW(token_weighted_mean, "mean_by_ranks", "12.3", "divided by the number of ranks", mean<Mean::by_ranks>),
    ROW(token_weighted_mean, "mean_sum_of_means", "12.3", "the sum of the means", mean<Mean::sum_of_means>),
    ROW(token_weighted_mean, "mean_inverse", "12.3", "more tokens counts less", mean<Mean::inverse>),
    ROW(token_weighted_mean, "mean_first_only", "12.3", "rank 0 alone", mean<Mean::first_only>),
    ROW(token_weighted_mean, "mean_empty_counts", "12.3", "counted as one token", mean<Mean::empty_counts>),
    ROW(token_weighted_mean, "mean_by_largest", "12.3", "the longest rank", mean<Mean::by_largest>),
    ROW(token_weighted_mean, "mean_empty_rank", "12.3", "0 times nan", mean<Mean::empty_rank>),
    ROW(token_weighted_mean, "mean_in_int", "12.3", "does not fit in an int", mean<Mean::in_int>),
    ROW(token_weighted_mean, "mean_total_in_int", "12.3", "does not fit in an int", mean<Mean::truncated>),
    ROW(token_weighted_mean, "mean_unchecked", "12.3", "refuse what cannot be right", mean<Mean::unchecked>),
    ROW(token_weighted_mean, "mean_in_place", "12.3", "an input was written to", mean<Mean::in_place>),
    ROW(token_weighted_mean, "mean_in_float", "12.3", "another dtype", mean<Mean::in_float>),

    ROW(token_weighted_mean, "mean_from_rank_0", "12.3", "0 times nan", mean_from_rank_0),
    ROW(token_weighted_mean, "mean_without_nan", "12.3", "a nan of a rank that has tokens", mean_without_nan),
    ROW(token_weighted_mean, "mean_as_number", "12.3", "a tensor of any shape", mean_as_number),
    ROW(token_weighted_mean, "mean_from_zeros", "12.3", "zeros(shape) is f32", mean_from_zeros),
    ROW(token_weighted_mean, "mean_whole_numbers", "12.3", "whole numbers", mean<Mean::whole>),

    ROW(shard_of, "shard_lost", "12.4", "elements are lost", shard<Cut::lost>),
    ROW(shard_of, "shard_last_long", "12.4", "the whole remainder", shard<Cut::last_long>),
    ROW(shard_of, "shard_last_short", "12.4", "the last is short", shard<Cut::last_short>),
    ROW(shard_of, "shard_last_longer", "12.4", "the last shards are the longer ones", shard<Cut::last_longer>),
    ROW(shard_of, "shard_longer_by_elements", "12.4", "counted in elements", shard<Cut::longer_by_elements>),
    ROW(shard_of, "shard_spread", "12.4", "spread", shard<Cut::spread>),
    ROW(shard_of, "shard_inclusive", "12.4", "one unit too small", shard<Cut::inclusive>),
    ROW(shard_of, "shard_size_for_end", "12.4", "`end` is the size", shard<Cut::size_for_end>),
    ROW(shard_of, "shard_no_unit", "12.4", "the unit is ignored", shard<Cut::no_unit>),
    ROW(shard_of, "shard_whole_units", "12.4", "count units rounded up", shard<Cut::whole_units>),
    ROW(shard_of, "shard_too_far", "12.4", "reaches beyond n", shard<Cut::too_far>),
    ROW(shard_of, "shard_shift", "12.4", "begins too early", shard<Cut::shift>),
    ROW(shard_of, "shard_in_int", "12.4", "does not fit in an int", shard<Cut::in_int>),
    ROW(shard_of, "shard_in_double", "12.4", "a double has 53", shard_in_double),

    ROW(shard_of, "shard_one_more", "12.4", "one shard too many is longer", shard<Cut::one_more>),
    ROW(shard_of, "shard_overlap", "12.4", "the shards overlap", shard<Cut::overlap>),
    ROW(shard_of, "shard_empty_zero", "12.4", "an empty shard", shard<Cut::empty_zero>),

    ROW(gradient_buckets, "buckets_forward", "12.5", "the order of forward", buckets<Order::forward>),
    ROW(gradient_buckets, "buckets_reversed", "12.5", "in the wrong order", buckets<Order::reversed>),
    ROW(gradient_buckets, "buckets_rest_lost", "12.5", "the remainder is lost", buckets<Order::rest_lost>),
    ROW(gradient_buckets, "buckets_rest_merged", "12.5", "wait for the embedding", buckets<Order::rest_merged>),
    ROW(gradient_buckets, "buckets_cap", "12.5", "it is the least, not the most", buckets<Order::cap>),
    ROW(gradient_buckets, "buckets_elements", "12.5", "compared with bytes", buckets<Order::elements>),
    ROW(gradient_buckets, "buckets_gaps", "12.5", "the gaps are missing", buckets<Order::gaps>),
    ROW(gradient_buckets, "buckets_embedding_twice", "12.5", "reduced twice", buckets<Order::embedding_twice>),
    ROW(gradient_buckets, "buckets_embedding_first", "12.5", "reduced first", buckets<Order::embedding_first>),
    ROW(gradient_buckets, "buckets_single", "12.5", "each segment is a range", buckets<Order::single>),
    ROW(gradient_buckets, "buckets_whole", "12.5", "one range for all", buckets<Order::whole>),
    ROW(gradient_buckets, "buckets_above", "12.5", ">= for >", buckets<Order::above>),
    ROW(gradient_buckets, "buckets_empty_last", "12.5", "the last range is empty", buckets<Order::empty_last>),
    ROW(gradient_buckets, "buckets_split", "12.5", "split segments", buckets<Order::split>),
    ROW(gradient_buckets, "buckets_four_bytes", "12.5", "taken to have 4 bytes", buckets<Order::four_bytes>),
    ROW(gradient_buckets, "buckets_in_int", "12.5", "does not fit in an int", buckets<Order::in_int>),
    ROW(gradient_buckets, "buckets_segments_alone", "12.5", "gaps count", buckets<Order::segments_alone>),
    ROW(gradient_buckets, "buckets_end_stays", "12.5", "where the range before it begins", buckets<Order::end_stays>)};

}  // namespace
}  // namespace pg::lesson12
