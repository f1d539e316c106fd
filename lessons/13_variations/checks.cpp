// The checks of lesson 13: the table, the reference, and what the checks share.
#include "lessons/13_variations/checks.h"

#include <cmath>

namespace pg::lesson13 {

using kit::Grader;

bool require(Grader& g, bool ok, const std::string& input, const std::string& got, const std::string& want,
             const std::string& diagnosis) {
  return ok ? !g.failed() : g.expect(false, input, got, want, diagnosis);
}

bool same_tensor(Grader& g, const std::string& input, const Tensor& got, const Tensor& want, const kit::Compare& how) {
  return require(g, got.defined(), input, "an undefined tensor", fmt::format("{} {}", want.dtype(), want.shape()),
                 "was the result ever returned?") &&
         require(g, got.dtype() == want.dtype(), input, fmt::format("{} {}", got.dtype(), got.shape()),
                 fmt::format("{} {}", want.dtype(), want.shape()),
                 "the result has another dtype than the input: convert with x.to(dtype)") &&
         g.equal(input, got.detach(), want.detach(), how);
}

Unchanged::Unchanged(const std::vector<Tensor>& tensors) : tensors_(tensors) {
  for (const Tensor& x : tensors_) copies_.push_back(x.clone());
}
bool Unchanged::expect(Grader& g, const std::string& input) const {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (g.failed()) return false;
    require(g, tensors_[i].shape() == copies_[i].shape() && tensors_[i].to_vector() == copies_[i].to_vector(),
            input + ": what went in", "was overwritten", "is as before",
            "an input was written to: others still read it; make a new tensor, or x.clone() first");
  }
  return !g.failed();
}

bool runs(Grader& g, const std::string& input, const std::function<void()>& call,
          const std::vector<std::pair<std::string, std::string>>& says) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    const std::string text = error.what();
    std::string diagnosis;
    if (text.find("dtype") != std::string::npos) {
      diagnosis =
          "two dtypes meet: make new tensors in the dtype of the input, with x.to(dtype) or zeros(shape, dtype)";
    }
    for (const auto& [words, sentence] : says) {
      if (text.find(words) == std::string::npos) continue;
      diagnosis = sentence;
      break;
    }
    return g.expect(false, input, "an Error: " + text, "a result", diagnosis);
  }
}

void refuses(Grader& g, const std::string& input, const std::function<void()>& call) {
  g.expect_error(input, call, "",
                 "refuse what cannot be right: check(condition, \"what is wrong\"), before anything is changed");
}

Tensor random_tensor(const Shape& shape, uint64_t seed, DType dtype) {
  Generator random = kit::draws(seed);
  return Tensor::normal(shape, 0, 1, random, dtype);
}

bool same_gradients(Grader& g, const std::string& input, const Function& got, const Function& want,
                    const NamedInputs& inputs) {
  std::vector<std::vector<Tensor>> leaves(2);
  for (int of = 0; of < 2; ++of) {
    for (const auto& [name, x] : inputs) leaves[static_cast<size_t>(of)].push_back(x.clone().set_requires_grad());
    const Tensor y = (of == 0 ? got : want)(leaves[static_cast<size_t>(of)]);
    if (!require(g, y.defined() && y.requires_grad(), input + ": the gradient", "none arrives", "one for each input",
                 "the tape is cut: data(), item(), to_vector(), detach(), to(dtype) and NoGrad leave no gradient; use "
                 "operations on the inputs")) {
      return false;
    }
    backward(sum(y * random_tensor(y.shape(), 139, y.dtype())));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string what = fmt::format("{}: the gradient of {}", input, inputs[i].first);
    const Tensor mine = leaves[0][i].grad();
    if (!require(g, mine.defined(), what, "none arrives", "as of the formula",
                 "the tape is cut on this input's way: data(), detach() and to(dtype) leave no gradient") ||
        !g.equal(what, mine, leaves[1][i].grad(), {.rtol = 1e-9})) {
      return false;
    }
  }
  return true;
}

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "13.1",
       .title = "rotary positions",
       .piece = kit::piece<&Impl::rope>("rope"),
       .section = "Where am I?",
       .why = "Two layouts of the same rotation are in use, and a model of the one gives fluent nonsense with the "
              "other. A text read in pieces needs the same angles as a text read at once.",
       .hints =
           {"Which two channels form a point, by which angle does it turn per position, and which position has row b's "
            "first token?",
            "p = positions[b] + t; angle = p·base^(-2i/D), i = 0 ... D/2 - 1; u = x[..., i], w = x[..., i + D/2]: "
            "(u·cos - w·sin, u·sin + w·cos).",
            "Fill two std::vector<double> with cos and sin for all b, t, i; make tensors [B, 1, T, D/2] of them, "
            ".to(x.dtype()). u and w are slice(x, 3, 0, half) and slice(x, 3, half, 2 * half). cat the two results "
            "along dim 3."},
       .solution = {"autograd/check/composed.cpp", "Tensor rope("},
       .run = check_rope,
       .harmless = {{"rank 0", "x has rank 4 and positions rank 1"},
                    {"infinite", "activations are finite: an infinite one has no direction"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "13.2",
       .title = "rotated keys in a cache",
       .piece = kit::piece<&Impl::decode>("decode"),
       .section = "Where am I?",
       .why = "A chat begins at position 0 only once. If every new token is taken for position 0, all distances are "
              "wrong, and the text decays after its first word.",
       .hints =
           {"The cache holds 5 positions of row 0. Which position has the next token, and which of q, k and v must "
            "know it?",
            "k' = rope(k, before), q' = rope(q, before); the cache gets k' and v; attention over slot.after[b] "
            "keys of row b.",
            "slot.store(pg::rope(k, options, slot.before), v). An AttentionOptions with kv_len = slot.after. "
            "Return pg::attention(pg::rope(q, options, slot.before), slot.k, slot.v, it)."},
       .solution = {"nn/decode/transformer_cached.cpp",
                    "Tensor CausalSelfAttention::operator()(const Tensor& x, const KvSlot& slot) const"},
       .run = check_decode,
       .harmless = {{"detached", "text is generated without a tape"},
                    {"rank 0", "q, k and v have rank 4, before and after rank 1"},
                    {"infinite", "activations are finite: an infinite one has no direction"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "13.3",
       .title = "shared heads of keys",
       .piece = kit::piece<&Impl::repeat_heads>("repeat_heads"),
       .section = "Fewer heads to remember",
       .why =
           "0 0 1 1 and 0 1 0 1 have the same shape. A pretrained model that is loaded with the wrong one reads keys "
           "that other queries were trained for.",
       .hints = {"With 6 heads of queries and 2 of keys: which heads of queries read key head 1?",
                 "y[b, h, t, d] = x[b, h / (heads/Hkv), t, d]: [B, Hkv, T, D] → [B, Hkv, 1, T, D] → [B, Hkv, "
                 "heads/Hkv, T, D] → [B, heads, T, D].",
                 "check that heads % Hkv is 0. unsqueeze(x, 2), expand to {-1, -1, heads / Hkv, -1, -1}, reshape to "
                 "{B, heads, T, D}."},
       .solution = {"autograd/check/composed.cpp", "Tensor repeat_heads("},
       .run = check_repeat_heads,
       .harmless = {{{"count above 2^24", "count above 2^32"}, "the result has that many heads in memory"},
                    {{"rank 0", "rank 1"}, "x has rank 4"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
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
      {.id = "13.5",
       .title = "a new low-rank adapter",
       .piece = kit::piece<&Impl::add_lora>("add_lora"),
       .section = "Two thin matrices",
       .why = "A and B are multiplied with each other: if both begin as zero nothing is ever learned, if neither does "
              "the pretrained model is damaged before the first step.",
       .hints =
           {"The model must not change at first, and yet something must have a gradient. Which of the two may be "
            "zero?",
            "A [rank, in] uniform in ±1/√in, B [out, rank] = 0, scale = alpha/rank; dL/dB = scale·(dL/dy)ᵀ·(x·Aᵀ).",
            "in = weight.size(1), out = weight.size(0), bound = 1/√in. weight.set_requires_grad(false), the bias "
            "too if it is defined. a = Tensor::uniform({rank, in}, -bound, bound, generator, weight.dtype()), b = "
            "Tensor::zeros({out, rank}, weight.dtype()), both with set_requires_grad(); "
            "layer.lora.push_back(adapter)."},
       .solution = {"nn/variants/lora.cpp", "void attach_adapters("},
       .run = check_add_lora,
       .harmless = {{{"a size of 1", "other shapes", "white space"},
                     "config.targets chose this layer before the call"}}},
      {.id = "13.6",
       .title = "merging adapters",
       .piece = kit::piece<&Impl::merge_lora>("merge_lora"),
       .section = "Two thin matrices",
       .why = "A merged model costs nothing extra. A term that is merged and still added, or merged by two scripts, is "
              "a model nobody trained, and it runs.",
       .hints = {"After merging, who adds the term: the weight, the layer, or both? What if somebody calls it again?",
                 "W[begin:end] += scale·B·A, [end - begin, rank]·[rank, in], for each adapter; lora_merged = true; an "
                 "Error if it is true already.",
                 "check(!layer.lora.empty() && !layer.lora_merged, \"merge_lora: ...\"). For each adapter: rows = "
                 "layer.weight.detach().view_slice(0, begin, end); rows.copy_from(rows + matmul(b, a) * scale). Then "
                 "the flag."},
       .solution = {"nn/variants/lora.cpp", "void add_to_weights("},
       .run = check_merge_lora},
      {.id = "13.7",
       .title = "masks at time t",
       .piece = kit::piece<&Impl::mask_tokens>("mask_tokens"),
       .section = "Not from left to right",
       .why = "The model must have seen every share of masks, from one to all, or it cannot begin with an empty page. "
              "One time for the whole batch makes the loss jump from step to step.",
       .hints = {"How many random numbers does a batch of B rows of L tokens need, and what is each one for?",
                 "t_b = 1 - frac(u + b/B) in (0, 1]; token (b, i) is masked where r < t_b; ids = mask_id, target = the "
                 "token; else target = -100; weight = 1/t_b.",
                 "ids.contiguous_copy().data<const int32_t>() reads the ids. u first; for each row t; for each token "
                 "one uniform(), and three push_backs; three Tensor::from(…, {B, L})."},
       .solution = {"nn/variants/denoiser.cpp", "MaskedTokens mask_tokens("},
       .run = check_mask_tokens,
       .harmless = {{"detached", "ids, targets and weights are data, without a tape"},
                    {"always f64", "the weights are f64, and ids no floating numbers"},
                    {{"large", "infinite", "zero row"}, "ids are no floating numbers"},
                    {"only positive", "ids and weights are never negative"},
                    {{"rank 0", "rank 1", "rank 4"}, "ids have the shape [B, L]"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
      {.id = "13.8",
       .title = "the bound",
       .piece = kit::piece<&Impl::denoising_loss>("denoising_loss"),
       .section = "Not from left to right",
       .why = "Without 1/t, or with a mean over the masked tokens, the model trains, but its loss is no bound on "
              "anything and cannot be compared with another model's.",
       .hints = {"At t = 0.1 a tenth of the tokens is asked for. What must each of them count, so that all t weigh the "
                 "same?",
                 "loss = 1/(B·L)·Σ weight·(-log softmax(logits[:V])[target]) over targets that are not -100.",
                 "v = logits.size(2) - 1; rows = reshape(slice(logits, 2, 0, v), {B·L, v}); cross_entropy(rows, "
                 "targets reshaped to {B·L}, options with Reduction::none), times the weights in the logits' dtype; "
                 "sum, divided by B·L."},
       .solution = {"nn/variants/denoiser.cpp", "Tensor summed_denoising_loss("},
       .run = check_denoising_loss,
       .harmless = {{"only positive", "-log p is never negative, and neither are the weights"},
                    {{"rank 0", "rank 1", "rank 4"}, "logits have rank 3, ids, targets and weights rank 2"},
                    {"no elements", "a batch has a row, and a sequence a position"}}},
  };
}

Impl reference() {
  return {.rope = pg::rope,
          .decode = decode_by_rows,
          .repeat_heads =
              [](const Tensor& x, int64_t heads) {
                check(heads % x.size(1) == 0, "repeat_heads: {} does not divide {}", x.size(1), heads);
                std::vector<int32_t> of;
                for (int64_t h = 0; h < heads; ++h) of.push_back(static_cast<int32_t>(h * x.size(1) / heads));
                return index_select(x, 1, Tensor::from(of, {heads}));
              },
          .absorbed_attention =
              [](const LatentInputs& in, const Tensor& k_up, const Tensor& v_up) {
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
              },
          .add_lora =
              [](Linear& layer, const LoraConfig& config, Generator& generator) {
                const int64_t out = layer.weight.size(0), in = layer.weight.size(1);
                const double bound = 1 / std::sqrt(static_cast<double>(in));
                const DType dtype = layer.weight.dtype();
                LoraAdapter one;
                one.end = out;
                one.scale = config.alpha / static_cast<double>(config.rank);
                one.a = Tensor::uniform({config.rank, in}, -bound, bound, generator, dtype).set_requires_grad();
                one.b = Tensor::zeros({out, config.rank}, dtype).set_requires_grad();
                Visitor freeze([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(false); });
                layer.visit(freeze);
                layer.lora.push_back(one);
              },
          .merge_lora =
              [](Linear& layer) {
                check(!layer.lora.empty(), "merge_lora: the layer has no adapters");
                check(!layer.lora_merged, "merge_lora: the layer is merged already");
                // The rows of the unit matrix, sent through the layer without its bias, give the transposed sum.
                NoGrad no_grad;
                Linear unbiased = layer;
                unbiased.bias = Tensor();
                const Tensor ids = Tensor::arange(layer.weight.size(1), i32);
                const Tensor unit = one_hot(ids, layer.weight.size(1), layer.weight.dtype());
                layer.weight.detach().copy_from(transpose(unbiased(unit)));
                layer.lora_merged = true;
              },
          .mask_tokens = pg::mask_tokens,
          .denoising_loss =
              [](const Tensor& logits, const MaskedTokens& tokens) {
                const int64_t v = logits.size(2) - 1;
                const MaskedDenoiser given{v, [&](const Tensor&, const Tensor&) {
                                             return reshape(slice(logits, 2, 0, v), {-1, v});
                                           }};
                return summed_denoising_loss(given, tokens) / static_cast<double>(tokens.ids.numel());
              }};
}

}  // namespace pg::lesson13
