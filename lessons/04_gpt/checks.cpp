// The checks of lesson 4.
#include <cmath>

#include "lessons/04_gpt/lesson.h"
#include "nn/module.h"

namespace pg::lesson04 {
namespace {

using kit::Grader;
using kit::Value;

struct Qkv {
  Tensor q, k, v;
};
Qkv random_qkv(const Shape& shape, uint64_t seed) {
  Generator random(seed);
  const auto normal = [&] { return Tensor::normal(shape, 0, 1, random, f64); };
  const Tensor q = normal(), k = normal(), v = normal();
  return {q, k, v};
}
Tensor positions(int64_t t) { return Tensor::arange(t, f64); }

// softmax over `dim` of scale·q kᵀ where `visible` (undefined: everywhere), times v: attention and its faulty variants.
Tensor variant(const Qkv& x, double scale, const Tensor& visible, int dim = -1) {
  Tensor scores = matmul(x.q, transpose(x.k)) * scale;
  if (visible.defined()) scores = where(visible, scores, Tensor::scalar(-INFINITY, f64));
  return matmul(softmax(scores, dim), x.v);
}

void check_attention(Grader& g, const Impl& impl) {
  const Qkv x = random_qkv({2, 2, 5, 4}, 41);
  const Tensor at = positions(5), past = le(at, unsqueeze(at, 1)), future = ge(at, unsqueeze(at, 1));
  const double scale = 0.5;
  g.equal(
      "q, k, v [2, 2, 5, 4], random", impl.attention(x.q, x.k, x.v), pg::attention(x.q, x.k, x.v),
      {.mistakes = {{"the scale 1/√D is missing", variant(x, 1, past)},
                    {"1/D in place of 1/√D: the scale is applied twice", variant(x, scale * scale, past)},
                    {"nothing is masked: position 0 sees the end of the text", variant(x, scale, {})},
                    {"the mask is transposed: each position sees only what comes after it", variant(x, scale, future)},
                    {"the softmax runs over the queries; the weights of one query must sum to 1",
                     variant(x, scale, past, -2)}}});
  if (g.failed()) return;
  const Qkv other = random_qkv({3, 1, 7, 5}, 48);
  Qkv leaf{other.q.clone().set_requires_grad(), other.k.clone().set_requires_grad(),
           other.v.clone().set_requires_grad()};
  g.equal("q, k, v [3, 1, 7, 5], random, on the tape", impl.attention(leaf.q, leaf.k, leaf.v).detach(),
          pg::attention(other.q, other.k, other.v));
  if (g.failed()) return;
  Qkv changed{x.q.clone(), x.k.clone(), x.v.clone()};
  for (const Tensor& part : {changed.q, changed.k, changed.v}) part.view_slice(2, 3, 5).fill(9);
  const Tensor before = impl.attention(x.q, x.k, x.v), after = impl.attention(changed.q, changed.k, changed.v);
  const auto early = [](const Tensor& y) { return y.view_slice(2, 0, 3).to_vector(); };
  g.expect(early(before) == early(after), "positions 3 and 4 overwritten: positions 0 to 2", "different results",
           "the same bits", "the future leaks into the past");
  g.note("two shapes, and the future changes nothing");
}

void check_attention_backward(Grader& g, const Impl& impl) {
  Qkv x = random_qkv({2, 2, 5, 4}, 42);
  Generator random(43);
  const Tensor dout = Tensor::normal({2, 2, 5, 4}, 0, 1, random, f64);
  Qkv leaf{x.q.clone().set_requires_grad(), x.k.clone().set_requires_grad(), x.v.clone().set_requires_grad()};
  backward(pg::attention(leaf.q, leaf.k, leaf.v), dout);
  const AttentionGrads got = impl.attention_backward(dout, x.q, x.k, x.v);

  const Tensor p = attention_weights(x.q, x.k), dp = matmul(dout, transpose(x.v));
  const Tensor diagonal = p * dp * 0.5;  // the softmax's Jacobian without its second term
  const std::string input = "q, k, v, dout [2, 2, 5, 4], random: ";
  const std::string half = "only the diagonal of the softmax's Jacobian: raising one weight lowers all the others";
  const std::string unscaled = "the scale 1/√D is missing: the scores were scaled, so their gradient is";
  g.equal(
      input + "dv", got.dv, leaf.v.grad(),
      {.mistakes = {{"p is not transposed: a value collects from all queries that looked at it", matmul(p, dout)}}});
  g.equal(input + "dq", got.dq, leaf.q.grad(),
          {.mistakes = {{half, matmul(diagonal, x.k)},
                        {unscaled, leaf.q.grad() * 2.0},
                        {"dq and dk are exchanged", leaf.k.grad()}}});
  g.equal(input + "dk", got.dk, leaf.k.grad(),
          {.mistakes = {{half, matmul(transpose(diagonal), x.q)},
                        {unscaled, leaf.k.grad() * 2.0},
                        {"dq and dk are exchanged", leaf.q.grad()}}});
  if (g.failed()) return;
  const Qkv other = random_qkv({3, 1, 7, 5}, 49);
  const Tensor dother = Tensor::normal({3, 1, 7, 5}, 0, 1, random, f64);
  leaf = {other.q.clone().set_requires_grad(), other.k.clone().set_requires_grad(),
          other.v.clone().set_requires_grad()};
  backward(pg::attention(leaf.q, leaf.k, leaf.v), dother);
  const AttentionGrads second = impl.attention_backward(dother, other.q, other.k, other.v);
  g.equal("q, k, v, dout [3, 1, 7, 5], random: dv", second.dv, leaf.v.grad());
  g.equal("the same: dq", second.dq, leaf.q.grad());
  g.equal("the same: dk", second.dk, leaf.k.grad());
  g.note("dq, dk and dv for two shapes");
}

void check_layer_norm_backward(Grader& g, const Impl& impl) {
  Generator random(44);
  const Tensor x = Tensor::normal({6, 5}, 0.5, 2, random, f64), w = Tensor::normal({5}, 1, 0.3, random, f64);
  const Tensor dy = Tensor::normal({6, 5}, 0, 1, random, f64);
  Tensor lx = x.clone().set_requires_grad(), lw = w.clone().set_requires_grad();
  Tensor lb = Tensor::zeros({5}, f64).set_requires_grad();
  backward(pg::layer_norm(lx, lw, lb, 1e-5), dy);
  const LayerNormGrads got = impl.layer_norm_backward(dy, x, w, 1e-5);

  const Tensor rstd = rsqrt(var(x, {-1}, 0, true) + 1e-5), xhat = (x - mean(x, {-1}, true)) * rstd, d = dy * w;
  const Tensor through_mean = mean(d, {-1}, true), through_std = xhat * mean(d * xhat, {-1}, true);
  const std::string input = "x, dy [6, 5], w [5], random: ";
  g.equal(input + "db", got.db, lb.grad(), {.mistakes = {{"this is a mean over the rows; add up", lb.grad() / 6.0}}});
  g.equal(input + "dw", got.dw, lw.grad(),
          {.mistakes = {{"dy is multiplied by x; w multiplied the normalised x̂", sum(dy * x, {0})}}});
  g.equal(input + "dx", got.dx, lx.grad(),
          {.mistakes = {
               {"mean and deviation are taken for constants, but x moves them too: two terms are missing", d * rstd},
               {"the path through the mean is missing", (d - through_std) * rstd},
               {"the path through the deviation is missing", (d - through_mean) * rstd},
               {"w is missing: dx̂ = dy · w", (dy - mean(dy, {-1}, true) - xhat * mean(dy * xhat, {-1}, true)) * rstd},
               {"the factor 1/√(variance + eps) is missing", d - through_mean - through_std}}});
  if (g.failed()) return;
  const Tensor x2 = Tensor::normal({4, 7}, 0.5, 2, random, f64), w2 = Tensor::normal({7}, 1, 0.3, random, f64);
  const Tensor dy2 = Tensor::normal({4, 7}, 0, 1, random, f64);
  lx = x2.clone().set_requires_grad(), lw = w2.clone().set_requires_grad();
  lb = Tensor::zeros({7}, f64).set_requires_grad();
  backward(pg::layer_norm(lx, lw, lb, 0.1), dy2);
  const LayerNormGrads second = impl.layer_norm_backward(dy2, x2, w2, 0.1);
  g.equal("x, dy [4, 7], w [7], random, eps 0.1: db", second.db, lb.grad());
  g.equal("the same: dw", second.dw, lw.grad());
  g.equal("the same: dx", second.dx, lx.grad());
  g.note("dx, dw and db for two shapes; each row feels its mean and its deviation");
}

struct Spread {
  double mean, std, kurtosis;
};
Spread spread_of(const Tensor& x) {
  const std::vector<double> v = x.to_vector();
  double m = 0, s = 0, k = 0;
  for (double e : v) m += e;
  m /= static_cast<double>(v.size());
  for (double e : v) s += (e - m) * (e - m);
  s /= static_cast<double>(v.size());
  for (double e : v) k += std::pow(e - m, 4);
  return {m, std::sqrt(s), k / static_cast<double>(v.size()) / (s * s)};
}

void check_init(Grader& g, const Impl& impl) {
  Generator generator(45), other(46);
  Transformer model({.vocab_size = 100, .block_size = 64, .n_layer = 8, .n_head = 4, .n_embd = 64, .in_proj_std = 0.1},
                    other);
  for (auto& [name, parameter] : named_parameters(model)) parameter.fill(-7);  // every value must be overwritten
  impl.init_weights(model, generator);
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (parameter.rank() != 2) {
      const double want = name.ends_with(".weight") ? 1 : 0;
      g.equal(name, parameter, Tensor::full(parameter.shape(), want));
      continue;
    }
    // With 4,096 elements or more, the measured standard deviation is accurate to 1.1 %, and the kurtosis of a normal
    // distribution is 3 ± 0.08.
    const bool writer = name.ends_with("c_proj.weight"), reader = name.starts_with("h.") && !writer;
    const double want = writer ? 0.005 : reader ? 0.1 : 0.02;  // 0.02 / √16
    const Spread s = spread_of(parameter);
    std::string diagnosis;
    if (s.std < 1e-9) diagnosis = "all numbers are equal: then all channels learn the same";
    if (reader && std::abs(s.std - 0.02) < 0.002) {
      diagnosis = "what reads the stream starts at model.config.in_proj_std, here 0.1; only the embeddings at 0.02";
    }
    if (writer && (std::abs(s.std - 0.02) < 0.002 || std::abs(s.std - 0.1) < 0.01)) {
      diagnosis = "what writes into the stream needs 0.02 / √(2·n_layer): 2·n_layer of them add up there";
    }
    if (writer && std::abs(s.std - 0.02 / std::sqrt(8.0)) < 0.0007) {
      diagnosis = "√(2·n_layer), not √n_layer: every layer writes twice, after attention and after the MLP";
    }
    if (std::abs(s.std / std::sqrt(want) - 1) < 0.07)
      diagnosis = "the second number is the deviation, not the variance";
    g.expect(std::abs(s.std / want - 1) < 0.06 && std::abs(s.mean) < 0.1 * want, name,
             fmt::format("mean {:.5f}, deviation {:.5f}", s.mean, s.std), fmt::format("mean 0, deviation {}", want),
             diagnosis);
    g.expect(std::abs(s.kurtosis - 3) < 0.5, name + ", shape of the distribution",
             fmt::format("kurtosis {:.2f}", s.kurtosis), "3, as a normal distribution has",
             s.kurtosis < 2 ? "this looks like a uniform distribution" : "");
  }
  g.note(fmt::format("{} tensors by name", named_parameters(model).size()));
}

// The result if the new positions of row b are stored from starts[b] on, and the first lengths[b] keys are used.
Tensor decode_at(const KvSlot& slot, const Qkv& x, const std::vector<int32_t>& starts, const Tensor& lengths) {
  const Tensor at = Tensor::from(starts, {static_cast<int64_t>(starts.size())});
  const KvSlot copy{slot.k.clone(), slot.v.clone(), at, lengths};
  copy.store(x.k, x.v);
  AttentionOptions options;
  options.kv_len = lengths;
  return pg::attention(x.q, copy.k, copy.v, options);
}

void check_decode(Grader& g, const Impl& impl) {
  const int64_t room = 9;
  const Qkv x = random_qkv({2, 2, room, 4}, 47);
  KvCache cache(2, 1, 2, room, 4, f64);
  // Row 0 already holds 5 positions, row 1 holds two. Unused slots hold values that must not be read.
  for (const Tensor& part : {cache.k[0], cache.v[0]}) part.fill(50);
  const int64_t known[] = {5, 2};
  for (int64_t b = 0; b < 2; ++b) {
    const auto fill = [&](const Tensor& to, const Tensor& from) {
      to.view_select(0, b).view_slice(1, 0, known[b]).copy_from(from.view_select(0, b).view_slice(1, 0, known[b]));
    };
    fill(cache.k[0], x.k);
    fill(cache.v[0], x.v);
    cache.lengths.data<int32_t>()[static_cast<size_t>(b)] = static_cast<int32_t>(known[b]);
  }
  for (int64_t count : {1, 3}) {
    const KvSlot slot = cache.slots(count)[0];
    const auto fresh = [&](const Tensor& from) {
      std::vector<Tensor> parts;
      for (int64_t b = 0; b < 2; ++b) {
        const int64_t at = slot.before.data<int32_t>()[static_cast<size_t>(b)];
        parts.push_back(from.view_select(0, b).view_slice(1, at, at + count));
      }
      return stack(parts);
    };
    const Tensor whole = pg::attention(x.q, x.k, x.v);
    const Qkv now{fresh(x.q), fresh(x.k), fresh(x.v)};
    const int32_t first = slot.before.data<int32_t>()[0];
    const Tensor everything = Tensor::full({2}, room, i32);
    const auto starts = slot.before.data<int32_t>();
    const std::vector<kit::Mistake> mistakes = {
        {"row 1 is written to where the end of the first row is: each row has its own slot.before[b]",
         decode_at(slot, now, {first, first}, slot.after)},
        {"the new positions are written at the start of the cache, over the oldest",
         decode_at(slot, now, {0, 0}, slot.after)},
        {"the unused room of the cache is read too: give kv_len",
         decode_at(slot, now, {starts[0], starts[1]}, everything)}};
    const Tensor got = impl.decode(slot, now.q, now.k, now.v);
    g.equal(fmt::format("rows that hold {} and {} positions, {} new", slot.before.data<int32_t>()[0],
                        slot.before.data<int32_t>()[1], count),
            got, fresh(whole), {.mistakes = mistakes});
    if (g.failed()) return;
    for (int64_t b = 0; b < 2; ++b) {
      const int64_t n = slot.after.data<int32_t>()[static_cast<size_t>(b)];
      g.equal(fmt::format("what row {} of the cache then holds of k", b),
              cache.k[0].view_select(0, b).view_slice(1, 0, n), x.k.view_select(0, b).view_slice(1, 0, n),
              {.mistakes = {{"the new positions are not in the cache: the next token will miss them", [&] {
                               Tensor missing = x.k.view_select(0, b).view_slice(1, 0, n).clone();
                               missing.view_slice(1, n - count, n).fill(50);
                               return Value(missing);
                             }()}}});
    }
    cache.advance(count);
  }
  g.note("two rows of different length, one token and then three");
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
       .solution = {"autograd/composed.cpp", "Tensor attention("},
       .run = check_attention},
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
       .harmless = {{"detached", "the result of a backward is not on the tape"}}},
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
       .harmless = {{"detached", "the result of a backward is not on the tape"}}},
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
       .harmless = {{"detached", "text is generated without a tape"}}},
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

Impl learner() { return {attention, attention_backward, layer_norm_backward, init_weights, decode}; }

}  // namespace pg::lesson04
