// The checks of lesson 4.
#include "lessons/04_gpt/checks.h"

#include <cmath>

#include "nn/module.h"

namespace pg::lesson04 {

Qkv random_qkv(const Shape& shape, uint64_t seed, DType dtype) {
  Generator random = kit::draws(seed);
  const auto normal = [&] { return Tensor::normal(shape, 0, 1, random, dtype); };
  const Tensor q = normal(), k = normal(), v = normal();
  return {q, k, v};
}
Qkv map(const Qkv& x, const std::function<Tensor(const Tensor&)>& f) { return {f(x.q), f(x.k), f(x.v)}; }
double tolerance(const Tensor& x) { return x.dtype() == f64 ? 1e-9 : 1e-5; }

namespace {

using kit::Grader;

// One comparison. Returns whether the check goes on.
bool compare_attention(Grader& g, const Impl& impl, const std::string& name, const Qkv& x) {
  const Qkv plain = map(x, [](const Tensor& t) { return t.detach(); });
  const std::string input = fmt::format("q, k, v {} in {}, {}", x.q.shape(), x.q.dtype(), name);
  const Tensor got = impl.attention(x.q, x.k, x.v);
  if (!g.equal(input, got.detach(), pg::attention(plain.q, plain.k, plain.v),
               {.rtol = tolerance(x.q), .mistakes = kit::results_of(attention_mistakes(), plain.q, plain.k, plain.v)}))
    return false;
  if (!got.requires_grad()) return true;  // kit/contract.h compares the tape
  const Tensor dout = random_qkv(got.shape(), 58, got.dtype()).q;
  backward(got, dout);
  const AttentionGrads want = reference().attention_backward(dout, plain.q, plain.k, plain.v);
  const auto judge = [&](const char* part, const Tensor& leaf, const Tensor& gradient) {
    return g.equal(fmt::format("{}: the gradient of {}", input, part), has_grad(leaf) ? leaf.grad() : zeros_like(leaf),
                   gradient, {.rtol = tolerance(x.q), .gradient = true});
  };
  return judge("q", x.q, want.dq) && judge("k", x.k, want.dk) && judge("v", x.v, want.dv);
}

void check_attention(Grader& g, const Impl& impl) {
  const Qkv x = random_qkv({2, 2, 5, 4}, 41),
            far = map(random_qkv({1, 2, 3, 7}, 51), [](const Tensor&t) { return t * 60.0; });
  const auto strided = [](const Tensor& t) { return t.view_transpose(1, 2); };
  const auto leaf = [](const Tensor& t) { return t.clone().set_requires_grad(); };
  // Every key is far from every query: all scores are about -10,000.
  Qkv apart = random_qkv({1, 1, 4, 3}, 52);
  apart = {apart.q + 100.0, apart.k - 100.0, apart.v};
  if (!compare_attention(g, impl, "random", x)) return;
  Qkv changed = map(x, [](const Tensor& t) { return t.clone(); });
  for (const Tensor& part : {changed.q, changed.k, changed.v}) part.view_slice(2, 3, 5).fill(9);
  const Tensor before = impl.attention(x.q, x.k, x.v), after = impl.attention(changed.q, changed.k, changed.v);
  const auto early = [](const Tensor& y) { return y.view_slice(2, 0, 3).contiguous_copy(); };
  const double error = kit::relative_error(early(before), early(after));
  if (!g.expect(
          early(before).to_vector() == early(after).to_vector(), "positions 3 and 4 overwritten: positions 0 to 2",
          fmt::format("a relative change of {:.1e}", error), "the same bits",
          error <= 1e-9 ? "right up to rounding, but the maximum and the sum of the softmax see the future: mask the "
                          "scores, before the softmax"
                        : "the future leaks into the past"))
    return;
  const Qkv few = random_qkv({3, 1, 7, 5}, 48), scaled{leaf(few.q * 60.0), leaf(few.k / 60.0), leaf(few.v)};
  if (!compare_attention(g, impl, "random, on the tape", map(few, leaf)) ||
      !compare_attention(g, impl, "large queries and small keys, on the tape", scaled) ||
      !compare_attention(g, impl, "a query, a key and a value of 0", map(few, kit::with_zero_row)) ||
      !compare_attention(g, impl, "random", random_qkv({2, 3, 5, 1}, 53)) ||
      !compare_attention(g, impl, "one position", random_qkv({2, 3, 1, 5}, 54)) ||
      !compare_attention(g, impl, "[B, T, H, D] with two dims exchanged", map(random_qkv({2, 5, 3, 7}, 55), strided)) ||
      !compare_attention(g, impl, "large numbers", far) ||
      !compare_attention(g, impl, "scores of about -17,000", apart) ||
      !compare_attention(g, impl, "no rows", random_qkv({0, 2, 3, 5}, 56)) ||
      !compare_attention(g, impl, "random", random_qkv({1, 2, 7, 3}, 57, f32)))
    return;
  g.note("11 tensors, and the future changes nothing");
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k) {
  const Tensor at = Tensor::arange(q.size(2), q.dtype());
  const Tensor scores = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(q.size(3))));
  return softmax(where(le(at, unsqueeze(at, 1)), scores, Tensor::scalar(-INFINITY, q.dtype())));
}

Tensor attention(const Impl& impl, const Tensor& q, const Tensor& k, const Tensor& v) {
  const Tensor out = impl.attention(q.detach(), k.detach(), v.detach());
  return record(Op::attention, out, {&q, &k, &v},
                [&impl, q = q.detach(), k = k.detach(), v = v.detach()](const Tensor& dout, Grads& g) {
                  const AttentionGrads d = impl.attention_backward(dout, q, k, v);
                  g.pass(0, d.dq);
                  g.pass(1, d.dk);
                  g.pass(2, d.dv);
                });
}

Tensor layer_norm(const Impl& impl, const Tensor& x, const Tensor& w, const Tensor& b) {
  const Tensor y = pg::layer_norm(x.detach(), w.detach(), b.detach());
  return record(Op::layer_norm, y, {&x, &w, &b}, [&impl, x = x.detach(), w = w.detach()](const Tensor& dy, Grads& g) {
    const int64_t c = x.size(-1);
    const LayerNormGrads d = impl.layer_norm_backward(reshape(dy, {-1, c}), reshape(x, {-1, c}), w, 1e-5);
    g.pass(0, reshape(d.dx, x.shape()));
    g.pass(1, d.dw);
    g.pass(2, d.db);
  });
}

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "04.1",
       .title = "causal attention",
       .piece = kit::piece<&Impl::attention>("attention"),
       .section = "Looking back",
       .why =
           "The only part of a GPT in which positions exchange information. If a position sees a single later token, "
           "the training loss looks wonderful and the model cannot write.",
       .hints = {"The scores of all pairs are one matrix product. Which entries must get weight exactly 0, and what "
                 "must their score be so that the softmax gives that?",
                 "out [T, D] = softmax(mask(q [T, D] · kᵀ [D, T] / √D)) · v [T, D]; mask: key > query becomes -∞.",
                 "scores = matmul(q, transpose(k)) times 1/√D; with position = arange(T): where(le(position, "
                 "unsqueeze(position, 1)), scores, a scalar -INFINITY); softmax over the last dim; matmul with v."},
       .solution = {"autograd/check/composed.cpp", "Tensor attention("},
       .run = check_attention,
       .harmless = {{{"rank 0", "rank 1"}, "q, k and v are [B, H, T, D]"},
                    {"infinite", "a score of infinity has no softmax"}}},
      {.id = "04.2",
       .title = "backward of attention",
       .piece = kit::piece<&Impl::attention_backward>("attention_backward"),
       .section = "The way back",
       .why = "Three products, a softmax and a scale, each with its own backward. Forgetting the softmax's second "
              "term still trains, slowly, which is the worst kind of wrong.",
       .hints = {"out = p · v: what do the two gradients of a matrix product look like? Then: the weights of one query "
                 "sum to 1, so what happens to the others when one rises?",
                 "dv = pᵀ·dout; dp = dout·vᵀ; ds = p · (dp - sum(dp · p)) / √D; dq = ds·k; dk = dsᵀ·q.",
                 "p = attention_weights(q, k); dp = matmul(dout, transpose(v)); subtract sum(dp * p, {-1}, true), "
                 "multiply by p and by 1/√D: that is ds. The three results are matmuls with ds, its transpose, and "
                 "p's transpose."},
       .solution = {"tensor/cpu/attention/attention_backward.cpp", "void attention_backward("},
       .run = check_attention_backward,
       .harmless = {{"detached", "the result of a backward is not on the tape"},
                    {{"rank 0", "rank 1"}, "q, k and v are [B, H, T, D]"},
                    {"infinite", "a score of infinity has no softmax"}}},
      {.id = "04.3",
       .title = "backward of layernorm",
       .piece = kit::piece<&Impl::layer_norm_backward>("layer_norm_backward"),
       .section = "Rows with mean 0 and deviation 1",
       .why = "A change of x changes the row's mean and standard deviation, too. If they are taken for constants, the "
              "gradient has parts in the two directions that layernorm removes.",
       .hints =
           {"If all of a row's numbers grow by e, or all are doubled, what does x̂ do? So what must dx be orthogonal "
            "to?",
            "With dx̂ = dy·w: dx = (dx̂ - mean(dx̂) - x̂ · mean(dx̂ · x̂)) / √(variance + eps), means over the row; "
            "dw = Σ_rows dy · x̂; db = Σ_rows dy.",
            "rstd = rsqrt(var(x, {-1}, 0, true) + eps); xhat = (x - mean(x, {-1}, true)) * rstd; dxhat = dy * w; "
            "subtract its row mean and xhat times the row mean of dxhat * xhat; multiply by rstd; sum over {0} "
            "for dw and db."},
       .solution = {"tensor/cpu/norm.cpp", "void layer_norm_backward("},
       .run = check_layer_norm_backward,
       .harmless = {{"detached", "the result of a backward is not on the tape"},
                    {{"rank 0", "rank 4"}, "x and dy are [R, C], w is [C]"},
                    {"infinite", "a row that holds infinity has no mean"}}},
      {.id = "04.4",
       .title = "GPT-2's first weights",
       .piece = kit::piece<&Impl::init_weights>("init_weights"),
       .section = "How to begin",
       .why = "A good start knows nothing: every character equally likely, a loss of ln V. Each of the 2·n_layer "
              "writers into the stream starts quiet, so that depth does not make it loud.",
       .hints = {"Add up n independent numbers of standard deviation s: what is that of the sum? How many results are "
                 "added to the residual stream?",
                 "std = 0.02 / √(2·n_layer) where the name ends in c_proj.weight, else model.config.in_proj_std where "
                 "it begins "
                 "with h., else 0.02; vectors: weight 1, bias 0.",
                 "for (auto& [name, parameter] : named_parameters(model)): rank 2: copy_from(Tensor::normal(shape, 0, "
                 "std, generator)); else fill(1) if the name ends in .weight, fill(0) if not."},
       .solution = {"nn/transformer.cpp", "Transformer::Transformer("},
       .run = check_init},
      {.id = "04.5",
       .title = "the KV cache",
       .piece = kit::piece<&Impl::decode>("decode"),
       .section = "Remembering instead of reading again",
       .why = "Generation without it costs a whole pass per token. With it, what was computed for the past is kept, "
              "and each new token asks the kept keys one question.",
       .hints = {"Which of q, k and v of the past does a new token need? Where do its own k and v have to be before it "
                 "asks?",
                 "slot.k[b, :, before[b] : before[b]+T, :] = k[b], the same for v; out = attention(q, slot.k, slot.v, "
                 "kv_len = after).",
                 "For each row b: start = before[b]; slot.k.view_select(0, b).view_slice(1, start, start + T)"
                 ".copy_from(k.view_select(0, b)); the same for v. Then pg::attention with options.kv_len = "
                 "slot.after."},
       .solution = {"tensor/cpu/kv_append.cpp", "void kv_append("},
       .run = check_decode,
       .harmless = {{"detached", "text is generated without a tape"},
                    {"rank 0", "a cache is [B, H, S, D], its lengths [B]"},
                    {"no elements", "without a row or a new position nothing is computed"},
                    {"infinite", "a score of infinity has no softmax"}}},
  };
}

Impl reference() {
  return {.attention = [](const Tensor& q, const Tensor& k, const Tensor& v) { return pg::attention(q, k, v); },
          .attention_backward =
              [](const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v) {
                EnableGrad on;
                const Tensor lq = q.detach().set_requires_grad(), lk = k.detach().set_requires_grad(),
                             lv = v.detach().set_requires_grad();
                backward(pg::attention(lq, lk, lv), dout);
                return AttentionGrads{lq.grad(), lk.grad(), lv.grad()};
              },
          .layer_norm_backward =
              [](const Tensor& dy, const Tensor& x, const Tensor& w, double eps) {
                EnableGrad on;
                const Tensor lx = x.detach().set_requires_grad(), lw = w.detach().set_requires_grad();
                const Tensor lb = zeros_like(w).set_requires_grad();
                backward(pg::layer_norm(lx, lw, lb, eps), dy);
                return LayerNormGrads{lx.grad(), lw.grad(), lb.grad()};
              },
          .init_weights =
              [](Transformer& model, Generator& generator) {
                Transformer fresh(model.config, generator);
                load_state_dict(model, state_dict(fresh));
              },
          .decode =
              [](const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v) {
                slot.store(k, v);
                AttentionOptions options;
                options.kv_len = slot.after;
                return pg::attention(q, slot.k, slot.v, options);
              }};
}

}  // namespace pg::lesson04
