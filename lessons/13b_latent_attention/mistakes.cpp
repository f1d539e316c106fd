// The known mistakes of lesson 13b, in an order in which the first row that fits a wrong result is the right one.
#include <cmath>

#include "lessons/13b_latent_attention/checks.h"

namespace pg::lesson13b {
namespace {

using T = const Tensor&;

// absorbed_attention with a switch for each mistake.
enum class Up { right, misread, interleaved, wrong_side };  // how k_up or v_up is read
enum class Joined { right, not_joined, unordered, channels_first };
struct Absorb {
  Up k = Up::right, v = Up::right;
  Joined joined = Joined::right;
  bool wide_scale = false, latent_scale = false, nope_scale = false, value_scale = false, no_scale = false,
       no_root = false;
  bool future = false, no_rope = false, next_head = false, last_channels = false, head_0 = false;
  bool plain = false, late = false, expanded = false, untaped = false;
};
template <Absorb is>
Tensor absorbed(const LatentInputs& in, T k_up, T v_up) {
  const int64_t rows = in.q_nope.size(0), heads = in.q_nope.size(1), steps = in.q_nope.size(2);
  const int64_t d_n = in.q_nope.size(3), d_r = in.q_rope.size(3), d_c = in.latent.size(3), d_v = v_up.size(0) / heads;
  const int64_t width = is.wide_scale     ? d_c + d_r
                        : is.latent_scale ? d_c
                        : is.nope_scale   ? d_n
                        : is.value_scale  ? d_v + d_r
                        : is.no_scale     ? 1
                        : is.no_root      ? (d_n + d_r) * (d_n + d_r)
                                          : d_n + d_r;
  AttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<double>(width));
  options.causal = !is.future;
  // [H, d, d_c] of up [H·d, d_c].
  const auto read = [&](T up, int64_t d, Up how) {
    if (how == Up::misread) return transpose(reshape(up, {heads, d_c, d}));
    if (how == Up::interleaved) return transpose(reshape(up, {d, heads, d_c}), 0, 1);
    const Tensor w = reshape(up, {heads, d, d_c});
    return how == Up::wrong_side && d == d_c ? transpose(w) : w;
  };
  Tensor w_k = read(k_up, d_n, is.k), w_v = transpose(read(v_up, d_v, is.v));
  if (is.plain || is.late) {
    const Tensor k = matmul(in.latent, transpose(w_k)), v = matmul(in.latent, w_v);
    const Tensor keys = cat({k, expand(in.k_rope, {-1, heads, -1, -1})}, 3);
    const Tensor scores = matmul(cat({in.q_nope, in.q_rope}, 3), transpose(keys)) * *options.scale;
    const Tensor at = Tensor::arange(in.latent.size(2), f64);
    const int64_t before = is.late ? 0 : in.latent.size(2) - steps;
    const Tensor query_at = Tensor::arange(steps, f64) + static_cast<double>(before);
    const Tensor seen = where(le(at, unsqueeze(query_at, 1)), scores, Tensor::scalar(-INFINITY, scores.dtype()));
    return reshape(transpose(matmul(softmax(seen), v), 1, 2), {rows, steps, heads * d_v});
  }
  if (is.head_0) w_k = slice(w_k, 0, 0, 1), w_v = slice(w_v, 0, 0, 1);
  if (is.next_head) w_v = cat({slice(w_v, 0, 1, heads), slice(w_v, 0, 0, 1)}, 0);
  const Tensor q = matmul(in.q_nope, w_k);
  Tensor key = is.no_rope ? in.latent : cat({in.latent, in.k_rope}, 3);
  if (is.untaped) key = key.detach();
  if (is.expanded) key = contiguous(expand(key, {-1, heads, -1, -1}));
  const Tensor all = pg::attention(is.no_rope ? q : cat({q, in.q_rope}, 3), key, key, options);
  const int64_t skip = is.last_channels ? d_r : 0;
  const Tensor values = matmul(slice(all, 3, skip, skip + d_c), w_v);
  if (is.joined == Joined::not_joined) return values;
  const Tensor ordered = is.joined == Joined::unordered        ? values
                         : is.joined == Joined::channels_first ? permute(values, {0, 2, 3, 1})
                                                               : transpose(values, 1, 2);
  return reshape(ordered, {rows, steps, heads * d_v});
}

}  // namespace

kit::Mistakes<&Impl::absorbed_attention> latent_mistakes() {
  return {
      {"mla_wrong_side", "13.4", "W_uk is absorbed on the wrong side: the query becomes W_ukᵀ·q, as row vectors q·W_uk",
       absorbed<Absorb{.k = Up::wrong_side}>},
      {"mla_wide_scale", "13.4",
       "scores are divided by √(d_c + d_r), the width of the absorbed query: the scores are still those of the plain "
       "form, so it is √(d_n + d_r)",
       absorbed<Absorb{.wide_scale = true}>},
      {"mla_latent_scale", "13.4", "scores are divided by √d_c: it is √(d_n + d_r), as in the plain form",
       absorbed<Absorb{.latent_scale = true}>},
      {"mla_nope_scale", "13.4", "scores are divided by √d_n: the rotated channels count too, √(d_n + d_r)",
       absorbed<Absorb{.nope_scale = true}>},
      {"mla_value_scale", "13.4",
       "scores are divided by √(d_v + d_r): d_v is the width of a value, a key has d_n + d_r",
       absorbed<Absorb{.value_scale = true}>},
      {"mla_no_scale", "13.4", "the scale 1/√(d_n + d_r) is missing", absorbed<Absorb{.no_scale = true}>},
      {"mla_no_root", "13.4", "scores are divided by d_n + d_r: the root is missing",
       absorbed<Absorb{.no_root = true}>},
      {"mla_head_0", "13.4", "all heads use the matrices of head 0: head h has its own rows of k_up and v_up",
       absorbed<Absorb{.head_0 = true}>},
      {"mla_future", "13.4", "the future is not masked", absorbed<Absorb{.future = true}>},
      {"mla_no_rope", "13.4",
       "the rotated parts are missing: the query is [W_ukᵀ·q_nope ; q_rope], the key [latent ; k_rope]",
       absorbed<Absorb{.no_rope = true}>},
      {"mla_k_misread", "13.4",
       "k_up is read as [H, d_c, d_n]: its rows are channels of keys, so each head's matrix is [d_n, d_c]",
       absorbed<Absorb{.k = Up::misread}>},
      {"mla_v_misread", "13.4",
       "v_up is read as [H, d_c, d_v]: its rows are channels of values, so each head's matrix is [d_v, d_c]",
       absorbed<Absorb{.v = Up::misread}>},
      {"mla_k_interleaved", "13.4",
       "k_up is divided among the heads channel by channel: head h has the rows h·d_n to (h + 1)·d_n - 1",
       absorbed<Absorb{.k = Up::interleaved}>},
      {"mla_v_interleaved", "13.4",
       "v_up is divided among the heads channel by channel: head h has the rows h·d_v to (h + 1)·d_v - 1",
       absorbed<Absorb{.v = Up::interleaved}>},
      {"mla_v_of_next_head", "13.4", "the sum of head h is multiplied by the W_uv of another head",
       absorbed<Absorb{.next_head = true}>},
      {"mla_not_joined", "13.4", "the heads are not joined: [B, H, T, d_v] becomes [B, T, H·d_v]",
       absorbed<Absorb{.joined = Joined::not_joined}>},
      {"mla_unordered", "13.4",
       "reshaped without a transpose: [B, H, T, d_v] is [B, T, H, d_v] first, transpose(values, 1, 2)",
       absorbed<Absorb{.joined = Joined::unordered}>},
      {"mla_last_channels", "13.4",
       "the last d_c channels of the sums are taken: the latent comes first, the rotated part is no value",
       absorbed<Absorb{.last_channels = true}>},
      {"mla_head_last", "13.4", "the result is ordered channel by channel: it is head after head, as c_proj expects",
       absorbed<Absorb{.joined = Joined::channels_first}>},
      {"mla_late", "13.4", "the queries are taken for the first T positions: they are the last T of S",
       absorbed<Absorb{.late = true}>},
      // Their values are right: the memory and the tape show them.
      {"mla_plain_form", "13.4", "this is the plain form", absorbed<Absorb{.plain = true}>},
      {"mla_expanded", "13.4", "copied for each head", absorbed<Absorb{.expanded = true}>},
      {"mla_untaped", "13.4", "the tape is cut", absorbed<Absorb{.untaped = true}>}};
}

}  // namespace pg::lesson13b
