// The check of lesson 13b, and the reference.
#include "lessons/13b_latent_attention/checks.h"

#include <cmath>

#include "nn/variants/latent_attention.h"
#include "tensor/storage.h"

namespace pg::lesson13b {
namespace {

using kit::Grader;

struct Latents {
  LatentInputs in;
  Tensor k_up, v_up;
  int64_t heads() const { return in.q_nope.size(1); }
  Tensor w(const Tensor& up, int64_t h) const {  // of one head
    const int64_t rows = up.size(0) / heads();
    return slice(up, 0, h * rows, (h + 1) * rows);
  }
};
struct Sizes {
  int64_t rows, heads, steps, keys, d_n, d_r, d_c, d_v;
  std::string text() const {
    return fmt::format("{} rows, H {}, T {}, S {}, d_n {}, d_r {}, d_c {}, d_v {}", rows, heads, steps, keys, d_n, d_r,
                       d_c, d_v);
  }
};
Latents random_latents(const Sizes& z, uint64_t seed, DType dtype = f64) {
  const auto random = [&](const Shape& shape) { return random_tensor(shape, seed++, dtype); };
  const Tensor q_nope = random({z.rows, z.heads, z.steps, z.d_n}), q_rope = random({z.rows, z.heads, z.steps, z.d_r});
  const Tensor latent = random({z.rows, 1, z.keys, z.d_c}), k_rope = random({z.rows, 1, z.keys, z.d_r});
  return {
      {q_nope, q_rope, latent, k_rope}, random({z.heads * z.d_n, z.d_c}) * 0.5, random({z.heads * z.d_v, z.d_c}) * 0.5};
}

// The plain form of one head after another.
Tensor plain_form(const Latents& x) {
  const int64_t steps = x.in.q_nope.size(2), keys = x.in.latent.size(2);
  const Tensor latent = squeeze(x.in.latent, 1), at = Tensor::arange(keys, f64);
  const Tensor past = le(at, unsqueeze(Tensor::arange(steps, f64) + static_cast<double>(keys - steps), 1));
  const double width = static_cast<double>(x.in.q_nope.size(3) + x.in.q_rope.size(3));
  std::vector<Tensor> results;
  for (int64_t h = 0; h < x.heads(); ++h) {
    const Tensor k = matmul(latent, transpose(x.w(x.k_up, h)));
    const Tensor scores = matmul(select(x.in.q_nope, 1, h), transpose(k)) +
                          matmul(select(x.in.q_rope, 1, h), transpose(squeeze(x.in.k_rope, 1)));
    const Tensor seen = where(past, scores * (1 / std::sqrt(width)), Tensor::scalar(-INFINITY, scores.dtype()));
    results.push_back(matmul(softmax(seen), matmul(latent, transpose(x.w(x.v_up, h)))));
  }
  return cat(results, 2);
}

// The latent layer of the engine, part by part: its own result, and impl's from its inputs.
void check_layer(Grader& g, const Impl& impl) {
  Generator random = kit::draws(150);
  const LatentAttentionConfig c{
      .heads = 3, .kv_latent_size = 5, .head_size = 4, .v_head_size = 7, .rope_size = 2, .bias = false};
  const LatentAttention layer(6, c, {random, f64});
  const Tensor x = random_tensor({2, 5, 6}, 151);
  const auto split = [](const Tensor& y, int64_t heads) {
    return transpose(reshape(y, {y.size(0), y.size(1), heads, -1}), 1, 2);
  };
  NoGrad no_grad;
  const Tensor q = split(layer.q_up(x), c.heads), kv = split(layer.kv_down(x), 1);
  const LatentInputs in{slice(q, 3, 0, 4), pg::rope(slice(q, 3, 4, 6), c.rope), layer.kv_norm(slice(kv, 3, 0, 5)),
                        pg::rope(slice(kv, 3, 5, 7), c.rope)};
  g.equal("the inputs of a LatentAttention, then its c_proj",
          layer.c_proj(impl.absorbed_attention(in, layer.k_up.weight, layer.v_up.weight)), layer(x));
}

// One query and many keys: what is made besides the result must not grow with H·S·d.
void check_memory(Grader& g, const Impl& impl) {
  const Sizes z{1, 16, 1, 4096, 16, 2, 8, 16};
  const Latents x = random_latents(z, 160);
  NoGrad no_grad;
  reset_peak_memory();
  const size_t before = memory_stats().in_use;
  const Tensor y = impl.absorbed_attention(x.in, x.k_up, x.v_up);
  const double megabytes = static_cast<double>(memory_stats().peak - before) / 1e6;
  g.expect(megabytes < 4, z.text() + ": memory", fmt::format("{:.1f} MB", megabytes), "less than 4 MB",
           "keys or values of every head were made, 16 x 4096 of them: this is the plain form, or the latents were "
           "copied for each head; attention takes one head of keys");
}

void check_absorbed(Grader& g, const Impl& impl) {
  uint64_t seed = 152;
  for (const Sizes& z : {Sizes{2, 3, 5, 5, 4, 2, 6, 7}, Sizes{3, 2, 4, 4, 5, 4, 5, 3}, Sizes{1, 5, 2, 7, 3, 2, 4, 1}}) {
    const Latents x = random_latents(z, seed += 10);
    if (z.rows == 1) x.in.q_nope.view_reshape({-1, z.d_n}).view_select(0, 0).fill(0);
    const Unchanged inputs({x.in.q_nope, x.in.q_rope, x.in.latent, x.in.k_rope, x.k_up, x.v_up});
    const Tensor want = plain_form(x);
    const auto mistakes = kit::results_of(latent_mistakes(), x.in, x.k_up, x.v_up);
    const Tensor got = impl.absorbed_attention(x.in, x.k_up, x.v_up);
    if (!inputs.expect(g, z.text()) || !same_tensor(g, z.text(), got, want, {.mistakes = mistakes})) return;
  }
  const Sizes z{2, 3, 3, 5, 4, 2, 6, 1};
  const Latents x = random_latents(z, 190), f = random_latents(z, 190, f32);
  same_tensor(g, z.text() + ", f32", impl.absorbed_attention(f.in, f.k_up, f.v_up), plain_form(f), {.rtol = 1e-5});
  const auto laid = [](const Tensor& of) { return kit::strided(of); };
  const LatentInputs apart{laid(x.in.q_nope), laid(x.in.q_rope), laid(x.in.latent), laid(x.in.k_rope)};
  const Tensor large = x.v_up * 300.0;
  same_tensor(g, z.text() + ", v_up in hundreds, every second element of tensors",
              impl.absorbed_attention(apart, laid(x.k_up), laid(large)), plain_form({x.in, x.k_up, large}));
  const auto latents_of = [](const std::vector<Tensor>& in) -> Latents {
    return {{in[0], in[1], in[2], in[3]}, in[4], in[5]};
  };
  same_gradients(
      g, z.text() + ", v_up in hundreds",
      [&](const auto& in) { return impl.absorbed_attention(latents_of(in).in, in[4], in[5]); },
      [&](const auto& in) { return plain_form(latents_of(in)); },
      {{"q_nope", x.in.q_nope},
       {"q_rope", x.in.q_rope},
       {"latent", x.in.latent},
       {"k_rope", x.in.k_rope},
       {"k_up", x.k_up},
       {"v_up", large}});
  if (g.failed()) return;
  check_layer(g, impl);
  check_memory(g, impl);
  g.note("three sets of sizes, the engine's layer, gradients, memory");
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "13.4",
       .title = "absorbed latent attention",
       .piece = kit::piece<&Impl::absorbed_attention>("absorbed_attention"),
       .section = "Remember a summary",
       .why = "The plain form makes the keys of all heads again for every new token, and the small cache has gained "
              "nothing. The absorbed form is the same number, and reads the latents as they are.",
       .hints =
           {"q·(W c) is one number. Which vector q' gives it as q'·c? And a weighted sum of W_uv·c[s]: where may W_uv "
            "stand?",
            "q' = q_nope·W_uk [T, d_n]·[d_n, d_c] per head; key = [latent ; k_rope] [S, d_c + d_r], also the value; "
            "scale 1/√(d_n + d_r); sums = the first d_c channels; values = sums·W_uvᵀ [T, d_c]·[d_c, d_v].",
            "reshape(k_up, {H, d_n, d_c}); matmul(q_nope, it); cat with q_rope. key = cat({latent, k_rope}, 3). "
            "options.scale; pg::attention(query, key, key, options); slice(…, 3, 0, d_c); matmul with "
            "transpose(reshape(v_up, {H, d_v, d_c})); transpose(…, 1, 2); reshape to {B, T, H * d_v}."},
       .solution = {"nn/variants/latent_attention.cpp", "Tensor LatentAttention::query("},
       .run = check_absorbed,
       .harmless = {{{"rank 0", "rank 1"}, "the inputs have rank 4, k_up and v_up rank 2"},
                    {"infinite", "activations are finite: an infinite one has no direction"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
  };
}

Impl reference() {
  return {.absorbed_attention = [](const LatentInputs& in, const Tensor& k_up, const Tensor& v_up) {
    // One head after another, each with the engine's attention over the latents.
    const int64_t heads = in.q_nope.size(1), d_c = in.latent.size(3), d_n = in.q_nope.size(3);
    const Tensor key = cat({in.latent, in.k_rope}, 3);
    AttentionOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(d_n + in.q_rope.size(3)));
    std::vector<Tensor> results;
    for (int64_t h = 0; h < heads; ++h) {
      const auto rows = [&](const Tensor& up) {
        const int64_t n = up.size(0) / heads;
        return slice(up, 0, h * n, (h + 1) * n);
      };
      const auto head = [&](const Tensor& x) { return slice(x, 1, h, h + 1); };
      const Tensor query = cat({linear(head(in.q_nope), transpose(rows(k_up))), head(in.q_rope)}, 3);
      const Tensor sums = slice(pg::attention(query, key, key, options), 3, 0, d_c);
      results.push_back(linear(squeeze(sums, 1), rows(v_up)));
    }
    return cat(results, 2);
  }};
}

}  // namespace pg::lesson13b
