// The known mistakes of lesson 13: rotations, the cache, shared heads. In an order in which the first row that fits a
// wrong result is the right one.
#include <algorithm>
#include <cmath>

#include "lessons/13_positions/checks.h"

namespace pg::lesson13 {
namespace {

using T = const Tensor&;

// rope with a switch for each mistake.
struct Turn {
  bool neighbours = false, mixed = false, exchanged = false, in_place = false, first_half = false, in_dtype = false;
  bool restarts = false, row_0 = false, no_step = false, first_of_given = false, by_head = false, fixed_base = false;
  double exponent = 1, angle = 1;  // factors
  int from = 0, position = 0;      // added to i and to the position
};
template <Turn is>
Tensor turned(T x, const Rope& options, T positions) {
  const int64_t rows = x.size(0), heads = x.size(1), steps = x.size(2), half = x.size(3) / 2;
  std::vector<double> cosines, sines;
  for (int64_t n = 0; n < rows * heads * steps * half; ++n) {
    const int64_t i = n % half, t = n / half % steps, h = n / half / steps % heads, b = n / half / steps / heads;
    const bool given = positions.defined() && !is.restarts;
    const int64_t first = given ? positions.data<const int32_t>()[is.row_0 ? 0 : b] : 0;
    const bool stays = is.no_step || (is.first_of_given && given);
    const auto p = static_cast<double>(first + is.position + (stays ? 0 : is.by_head ? h : t));
    const double power = -is.exponent * static_cast<double>(i + is.from) / static_cast<double>(half);
    const double wave = std::pow(is.fixed_base ? 1e4 : options.base, power);
    double angle = is.angle * p * wave;
    if (is.in_dtype && x.dtype() == f32) angle = static_cast<float>(p) * static_cast<float>(wave);
    cosines.push_back(is.exchanged ? std::sin(angle) : std::cos(angle));
    sines.push_back(is.exchanged ? std::cos(angle) : std::sin(angle));
  }
  const Shape shape = {rows, heads, steps, half};
  const Tensor c = Tensor::from(cosines, shape).to(x.dtype()), s = Tensor::from(sines, shape).to(x.dtype());
  const bool pairs = is.neighbours || is.mixed;
  const Tensor u = pairs ? slice(x, 3, 0, 2 * half, 2) : slice(x, 3, 0, half);
  const Tensor w = pairs ? slice(x, 3, 1, 2 * half, 2) : slice(x, 3, half, 2 * half);
  const Tensor low = u * c - w * s;
  const Tensor high = is.first_half ? w : (is.in_place ? low : u) * s + w * c;
  return is.neighbours ? reshape(stack({low, high}, 4), x.shape()) : cat({low, high}, 3);
}

}  // namespace

kit::Mistakes<&Impl::rope> rope_mistakes() {
  return {
      {"rope_identity", "13.1",
       "this is x itself: nothing was rotated, or every angle is 0; the position is positions[b] + t",
       [](T x, const Rope&, T) { return x; }},
      {"rope_neighbours", "13.1",
       "channels 2i and 2i + 1 are paired, the order of the paper: here channel i belongs with i + D/2",
       turned<Turn{.neighbours = true}>},
      {"rope_mixed_layout", "13.1",
       "read as pairs 2i, 2i + 1 and written as halves: channel i belongs with i + D/2 on both sides",
       turned<Turn{.mixed = true}>},
      {"rope_sign", "13.1", "the angle has the other sign: u·cos - w·sin comes first, then u·sin + w·cos",
       turned<Turn{.angle = -1}>},
      {"rope_d_for_half", "13.1",
       "the frequency is base^(-i/D): i counts pairs, and there are D/2 of them, so it is base^(-2i/D)",
       turned<Turn{.exponent = 0.5}>},
      {"rope_two_twos", "13.1", "the frequency is base^(-4i/D): divide 2i by D, or i by D/2, not both",
       turned<Turn{.exponent = 2}>},
      {"rope_growing", "13.1", "the exponent has the other sign: later pairs turn slower, not faster",
       turned<Turn{.exponent = -1}>},
      {"rope_one_speed", "13.1",
       "all pairs turn equally fast: pair i has the frequency base^(-2i/D); in whole numbers 2i/D would be 0",
       turned<Turn{.exponent = 0}>},
      {"rope_fixed_base", "13.1", "10000 is written in: the base is options.base", turned<Turn{.fixed_base = true}>},
      {"rope_pairs_from_1", "13.1", "i counts from 0: the first pair turns by 1 radian per position",
       turned<Turn{.from = 1}>},
      {"rope_full_circle", "13.1", "the angle is in radians already: no factor of 2π", turned<Turn{.angle = 2 * M_PI}>},
      {"rope_positions_from_1", "13.1", "positions count from 0: yours are one larger", turned<Turn{.position = 1}>},
      {"rope_by_head", "13.1", "the angle grows with the head: the position is the index in dim 2, T",
       turned<Turn{.by_head = true}>},
      {"rope_cos_sin", "13.1", "cos and sin are exchanged", turned<Turn{.exchanged = true}>},
      {"rope_in_place", "13.1",
       "the second half is computed from the first half that was rotated already: keep the old u",
       turned<Turn{.in_place = true}>},
      {"rope_first_half", "13.1", "only the first half of the channels is rotated: both coordinates of a point change",
       turned<Turn{.first_half = true}>},
      {"rope_restarts", "13.1",
       "every row begins at position 0: row b begins at positions[b], or a cache is read wrongly",
       turned<Turn{.restarts = true}>},
      {"rope_row_0", "13.1", "all rows begin where row 0 does: row b begins at positions[b]",
       turned<Turn{.row_0 = true}>},
      {"rope_first_of_given", "13.1",
       "all T positions of a row are taken for its first: the position is positions[b] + t",
       turned<Turn{.first_of_given = true}>},
      {"rope_no_step", "13.1",
       "this is x itself: nothing was rotated, or every angle is 0; the position is positions[b] + t",
       turned<Turn{.no_step = true}>},
      // Its values in f64 are right.
      {"rope_angle_of_dtype", "13.1", "the angle is computed in float", turned<Turn{.in_dtype = true}>}};
}

namespace {

// decode with a switch for each mistake.
enum class Start { before, zero, row_0, after, none };  // none: not rotated
struct Decoding {
  Start q = Start::before, k = Start::before;
  bool q_twice = false, k_twice = false, rotates_v = false, default_base = false, exchanged = false;
  bool late = false, new_only = false, whole_room = false, future = false, cache_again = false;
};
template <Decoding is>
Tensor decoded(const KvSlot& slot, T q, T k, T v, const Rope& given) {
  const Rope options = is.default_base ? Rope{} : given;
  const auto turn = [&](T x, Start start, bool twice = false) {
    if (start == Start::none) return x;
    const double row_0 = slot.before.data<const int32_t>()[0];
    const Tensor at = start == Start::before ? slot.before
                      : start == Start::after
                          ? slot.after
                          : Tensor::full(slot.before.shape(), start == Start::zero ? 0 : row_0, i32);
    return twice ? pg::rope(pg::rope(x, options, at), options, at) : pg::rope(x, options, at);
  };
  const Tensor queries = turn(q, is.q, is.q_twice), keys = turn(k, is.k, is.k_twice);
  const Tensor values = is.rotates_v ? turn(v, is.k) : v;
  if (is.new_only) {
    slot.store(keys, values);
    return pg::attention(queries, keys, values);
  }
  AttentionOptions attend;
  attend.causal = !is.future;
  attend.kv_len = slot.after;
  if (is.whole_room) attend.kv_len = Tensor::full(slot.after.shape(), static_cast<double>(slot.k.size(2)), i32);
  const Tensor early = is.late ? pg::attention(queries, slot.k, slot.v, attend) : Tensor();
  slot.store(is.exchanged ? values : keys, is.exchanged ? keys : values);
  const Tensor read = is.cache_again ? pg::rope(slot.k, options, Tensor::zeros(slot.before.shape(), i32)) : slot.k;
  return is.late ? early : pg::attention(queries, read, slot.v, attend);
}

}  // namespace

kit::Mistakes<&Impl::decode> decode_mistakes() {
  return {
      {"decode_stores_late", "13.2", "attention came before slot.store: store the new keys and values before attention",
       decoded<Decoding{.late = true}>},
      {"decode_new_only", "13.2", "only the new keys are read: attend to slot.k and slot.v, the whole cache",
       decoded<Decoding{.new_only = true}>},
      {"decode_default_base", "13.2", "the base is not that of `options`: pass options to pg::rope",
       decoded<Decoding{.default_base = true}>},
      {"decode_k_for_v", "13.2", "keys and values are exchanged: slot.store(k, v)",
       decoded<Decoding{.exchanged = true}>},
      {"decode_rotates_twice", "13.2", "k is rotated twice: once, before it is stored",
       decoded<Decoding{.k_twice = true}>},
      {"decode_cache_again", "13.2", "the cache is rotated again: it holds rotated keys already",
       decoded<Decoding{.cache_again = true}>},
      {"decode_q_twice", "13.2", "q is rotated twice", decoded<Decoding{.q_twice = true}>},
      {"decode_q", "13.2", "this is q itself: attend with it", [](const KvSlot&, T q, T, T, const Rope&) { return q; }},
      {"decode_restarts", "13.2", "positions begin at 0 again: the first new position of row b is slot.before[b]",
       decoded<Decoding{.q = Start::zero, .k = Start::zero}>},
      {"decode_q_restarts", "13.2", "q begins at position 0 again, k does not: both need slot.before",
       decoded<Decoding{.q = Start::zero}>},
      {"decode_k_restarts", "13.2", "k begins at position 0 again, q does not: both need slot.before",
       decoded<Decoding{.k = Start::zero}>},
      {"decode_rotates_v", "13.2", "v is rotated too: only scores may depend on positions, values are what is read",
       decoded<Decoding{.rotates_v = true}>},
      {"decode_plain_keys", "13.2", "k is stored without its rotation: the cache holds rotated keys",
       decoded<Decoding{.k = Start::none}>},
      {"decode_plain_queries", "13.2", "q is not rotated", decoded<Decoding{.q = Start::none}>},
      {"decode_no_rotation", "13.2", "nothing is rotated", decoded<Decoding{.q = Start::none, .k = Start::none}>},
      {"decode_by_after", "13.2", "q is rotated by slot.after: the first new position is slot.before",
       decoded<Decoding{.q = Start::after}>},
      {"decode_row_0", "13.2", "all rows are rotated as row 0 is: pass slot.before, which has a position for each row",
       decoded<Decoding{.q = Start::row_0, .k = Start::row_0}>},
      {"decode_whole_room", "13.2", "the unused room of the cache is read too: options.kv_len = slot.after",
       decoded<Decoding{.whole_room = true}>},
      {"decode_future", "13.2",
       "the new positions see those behind them: pg::attention is causal unless told otherwise",
       decoded<Decoding{.future = true}>}};
}

namespace {

// f(h, heads of x, heads of the result) is the head that result h reads.
template <auto f>
Tensor reads(T x, int64_t heads) {
  std::vector<int32_t> of;
  for (int64_t h = 0; h < heads; ++h)
    of.push_back(static_cast<int32_t>(std::min(f(h, x.size(1), heads), x.size(1) - 1)));
  return heads_of(x, of);
}
// Repeated along a new axis `dim`.
Tensor repeated(T x, int dim, int64_t times, int64_t heads) {
  Shape shape = unsqueeze(x, dim).shape();
  shape[dim] = times;
  return reshape(expand(unsqueeze(x, dim), shape), {x.size(0), heads, x.size(2), x.size(3)});
}

}  // namespace

kit::Mistakes<&Impl::repeat_heads> repeat_mistakes() {
  return {
      {"repeat_identity", "13.3", "this is x itself: its heads must be repeated", [](T x, int64_t) { return x; }},
      {"repeat_tiles", "13.3", "tiled, 0 1 2 0 1 2: neighbouring heads of queries share one, 0 0 1 1 2 2",
       reads<[](int64_t h, int64_t shared, int64_t) { return h % shared; }>},
      {"repeat_by_count", "13.3", "head h reads number h / Hkv: it is h / (heads / Hkv), the size of a group",
       reads<[](int64_t h, int64_t shared, int64_t) { return h / shared; }>},
      {"repeat_one", "13.3", "all read the first head", reads<[](int64_t, int64_t, int64_t) { return int64_t{0}; }>},
      {"repeat_reversed", "13.3", "the groups are in reversed order",
       reads<[](int64_t h, int64_t shared, int64_t heads) { return shared - 1 - h / (heads / shared); }>},
      {"repeat_positions", "13.3",
       "the positions are repeated, not the heads: the new axis comes behind the heads, before T",
       [](T x, int64_t heads) { return repeated(x, 3, heads / x.size(1), heads); }},
      {"repeat_batch", "13.3", "the rows of the batch are mixed with the heads: repeat along dim 1",
       [](T x, int64_t heads) { return repeated(x, 0, heads / x.size(1), heads); }},
      {"repeat_copies", "13.3", "each head is repeated `heads` times: that is the number of heads of the result",
       [](T x, int64_t heads) { return repeated(x, 2, heads, heads * x.size(1)); }},
      {"repeat_mean", "13.3", "divided by the size of the group: each head reads the whole key",
       [](T x, int64_t heads) {
         return reads<[](int64_t h, int64_t shared, int64_t all) { return h / (all / shared); }>(x, heads) /
                static_cast<double>(heads / x.size(1));
       }}};
}

}  // namespace pg::lesson13
