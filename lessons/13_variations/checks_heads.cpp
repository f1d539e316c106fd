// The checks of lesson 13 on what heads share: heads of keys and values, and latents.
#include <cmath>

#include "lessons/13_variations/checks.h"
#include "nn/variants/latent_attention.h"
#include "tensor/storage.h"

namespace pg::lesson13 {

using kit::Grader;

Tensor heads_of(const Tensor& x, const std::vector<int32_t>& of) {
  return index_select(x, 1, Tensor::from(of, {std::ssize(of)}));
}

void check_repeat_heads(Grader& g, const Impl& impl) {
  struct Case {
    int64_t shared, heads, rows, steps, size;
  };
  for (const Case& one : {Case{2, 6, 2, 5, 4}, Case{3, 6, 1, 7, 2}, Case{1, 5, 3, 4, 6}, Case{3, 3, 3, 2, 7}}) {
    const int64_t shared = one.shared, heads = one.heads;
    const int64_t rows = one.rows, steps = one.steps, size = one.size;
    const Tensor x = random_tensor({rows, shared, steps, size}, 140 + static_cast<uint64_t>(heads));
    const std::string input = fmt::format("x [{}, {}, {}, {}], {} heads", rows, shared, steps, size, heads);
    std::vector<int32_t> of;
    for (int64_t h = 0; h < heads; ++h) of.push_back(static_cast<int32_t>(h / (heads / shared)));
    const auto mistakes = kit::results_of(repeat_mistakes(), x, heads);
    const Unchanged inputs({x});
    const Tensor want = heads_of(x, of);
    const Tensor got = impl.repeat_heads(x, heads);
    if (!inputs.expect(g, input) || !same_tensor(g, input, got, want, {.mistakes = mistakes})) return;
    const Tensor q = random_tensor({rows, heads, steps, size}, 141),
                 v = random_tensor({rows, shared, steps, size}, 142);
    g.equal(input + ": attention with the copies, as pg::attention has it with Hkv heads",
            pg::attention(q, got, impl.repeat_heads(v, heads)), pg::attention(q, x, v));
  }
  const Tensor small = Tensor::arange(6, f64).view_reshape({1, 3, 1, 2});
  same_tensor(g, "x [1, 3, 1, 2] = 0 ... 5, 6 heads", impl.repeat_heads(small, 6), heads_of(small, {0, 0, 1, 1, 2, 2}));
  const Tensor hundreds = random_tensor({2, 3, 5, 1}, 146) * 300.0;
  hundreds.data<double>()[4] = INFINITY;
  same_tensor(g, "x [2, 3, 5, 1] in hundreds, one inf, every second element of a tensor, 6 heads",
              impl.repeat_heads(kit::strided(hundreds), 6), heads_of(hundreds, {0, 0, 1, 1, 2, 2}));
  const Tensor f = kit::with_zero_row(random_tensor({1, 2, 3, 5}, 143, f32));
  same_tensor(g, "x [1, 2, 3, 5] f32, 4 heads", impl.repeat_heads(f, 4), heads_of(f, {0, 0, 1, 1}));
  same_gradients(
      g, "x [2, 3, 5, 4] in hundreds, 6 heads", [&](const auto& in) { return impl.repeat_heads(in[0], 6); },
      [](const auto& in) {
        return heads_of(in[0], {0, 0, 1, 1, 2, 2});
      },
      {{"x", random_tensor({2, 3, 5, 4}, 144) * 300.0}});
  refuses(g, "4 heads of keys for 6 of queries", [&] { impl.repeat_heads(random_tensor({1, 4, 2, 2}, 145), 6); });
  g.note("four ways to share, and attention with the copies");
}

namespace {

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

}  // namespace

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

}  // namespace pg::lesson13
