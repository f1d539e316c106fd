// The checks of lesson 14: masks with their weights, and the loss.
#include <cmath>

#include "lessons/14_denoiser/checks.h"

namespace pg::lesson14 {
namespace {

using kit::Grader;

// Random ids [rows, length] below `count`.
Tensor random_ids(int64_t rows, int64_t length, int64_t count, uint64_t seed) {
  Generator random = kit::draws(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < rows * length; ++i) ids.push_back(static_cast<int32_t>(random.integer(count)));
  return Tensor::from(ids, {rows, length});
}

// ids, targets and weights as one list of numbers [3, B, L].
kit::Value all_of(const MaskedTokens& x) { return stack({x.ids.to(f64), x.targets.to(f64), x.weights.to(f64)}); }

// Whether the ids, targets and weights of a row could be those of some random numbers.
bool consistent(const MaskedTokens& x, const Tensor& ids, int32_t mask_id) {
  const int64_t length = ids.size(1);
  const auto token = ids.data<const int32_t>(), seen = x.ids.data<const int32_t>();
  const auto target = x.targets.data<const int32_t>();
  const auto weight = x.weights.data<const double>();
  bool fits = true;
  for (size_t i = 0; i < token.size(); ++i) {
    const bool visible = seen[i] == token[i] && target[i] == -100, hidden = seen[i] == mask_id && target[i] == token[i];
    fits = fits && (visible || hidden) && weight[i] >= 1 && weight[i] == weight[i / length * length];
  }
  return fits;
}

std::string described(const Tensor& x) {
  return x.defined() ? fmt::format("{} {}", x.dtype(), x.shape()) : "undefined";
}

}  // namespace

void check_mask_tokens(Grader& g, const Impl& impl) {
  struct Case {
    int64_t rows, length;
    int32_t mask_id;
    uint64_t seed;
  };
  for (const Case& one : {Case{5, 7, 11, 191}, Case{1, 9, 20, 192}, Case{3, 4, 11, 193}, Case{2, 1, 12, 194}}) {
    const uint64_t seed = one.seed;
    const Tensor ids = random_ids(one.rows, one.length, 11, seed + 10);
    const std::string input = fmt::format("ids [{}, {}], mask {}", one.rows, one.length, one.mask_id);
    const Unchanged inputs({ids});
    Generator mine = kit::draws(seed), engine = kit::draws(seed);
    const MaskedTokens want = pg::mask_tokens(ids, one.mask_id, engine), got = impl.mask_tokens(ids, one.mask_id, mine);
    if (!inputs.expect(g, input)) return;
    const auto fits = [&](const std::string& name, const Tensor& x, DType dtype) {
      return require(g, x.defined() && x.dtype() == dtype && x.shape() == ids.shape(), input + ": " + name,
                     described(x), fmt::format("{} {}", dtype, ids.shape()),
                     "three tensors of ids' shape: ids and targets i32, weights f64");
    };
    if (!fits("ids", got.ids, i32) || !fits("targets", got.targets, i32) || !fits("weights", got.weights, f64)) return;
    auto mistakes = kit::values_of(mask_mistakes(), [&](auto mask) {
      Generator same = kit::draws(seed);
      return all_of(mask(ids, one.mask_id, same));
    });
    if (consistent(got, ids, one.mask_id)) {
      mistakes.push_back(
          {"three tensors that fit together, but of other random numbers: from `generator`, one for u, "
           "then one for each token, row after row",
           all_of(got)});
    }
    if (!g.equal(input + ": ids, targets, weights", all_of(got), all_of(want), {.mistakes = mistakes}) ||
        !require(g, mine.uniform() == engine.uniform(), input + ": the generator's next number", "another",
                 "that after 1 + B·L numbers", "one number for u, then one for each token, masked or not")) {
      return;
    }
  }
  const Tensor ids = random_ids(3, 4, 11, 197);
  Generator mine = kit::draws(198), engine = kit::draws(198);
  g.equal("ids [3, 4], every second element of a tensor: ids, targets, weights",
          all_of(impl.mask_tokens(kit::strided(ids), 12, mine)), all_of(pg::mask_tokens(ids, 12, engine)));
  g.note("five batches, every number as the engine draws it");
}

void check_denoising_loss(Grader& g, const Impl& impl) {
  struct Case {
    int64_t rows, length;
    int32_t mask_id;
    uint64_t seed;
    double mask_logit;
  };
  for (const Case& one : {Case{3, 5, 11, 201, 1}, Case{4, 7, 6, 202, 300}, Case{1, 6, 13, 208, INFINITY}}) {
    const int32_t mask_id = one.mask_id;
    const Tensor ids = random_ids(one.rows, one.length, mask_id, one.seed);
    Generator random = kit::draws(one.seed);
    const MaskedTokens tokens = pg::mask_tokens(ids, mask_id, random);
    const Tensor logits = random_tensor({one.rows, one.length, mask_id + 1}, one.seed + 1);
    logits.view_slice(2, mask_id, mask_id + 1).fill(one.mask_logit);
    const std::string input = fmt::format("logits [{}, {}, {}], mask {}", one.rows, one.length, mask_id + 1, mask_id);
    const auto mistakes = kit::results_of(loss_mistakes(), logits, tokens);
    const Unchanged inputs({logits, tokens.ids, tokens.targets, tokens.weights});
    const Tensor want = loss_of(logits, tokens);
    const Tensor got = impl.denoising_loss(logits, tokens);
    if (!inputs.expect(g, input) ||
        !require(g, got.defined() && got.rank() == 0, input, described(got), "one number, a tensor of rank 0",
                 "the loss is one number: sum it up") ||
        !same_tensor(g, input, got, want, {.mistakes = mistakes})) {
      return;
    }
    // The engine's own: the same sum from a denoiser without the mask's logit.
    const MaskedDenoiser denoiser{mask_id, [&](const Tensor&, const Tensor&) {
                                    return reshape(slice(logits, 2, 0, mask_id), {-1, mask_id});
                                  }};
    g.equal(input + ": summed_denoising_loss / (B·L)", got,
            summed_denoising_loss(denoiser, tokens).item() / static_cast<double>(ids.numel()));
    same_gradients(
        g, input, [&](const auto& in) { return impl.denoising_loss(in[0], tokens); },
        [&](const auto& in) { return loss_of(in[0], tokens); }, {{"logits", logits}});
    if (g.failed()) return;
  }
  const Tensor ids = random_ids(2, 3, 11, 204), logits = random_tensor({2, 3, 12}, 205);
  const MaskedTokens none{ids, Tensor::full({2, 3}, -100, i32), Tensor::full({2, 3}, 40, f64)};
  g.equal("a batch in which nothing is masked", impl.denoising_loss(logits, none), 0.0);
  Generator random = kit::draws(206);
  const MaskedTokens tokens = pg::mask_tokens(ids, 11, random);
  const MaskedTokens apart{kit::strided(tokens.ids), kit::strided(tokens.targets), kit::strided(tokens.weights)};
  same_tensor(g, "logits [2, 3, 12], every second element of tensors", impl.denoising_loss(kit::strided(logits), apart),
              loss_of(logits, tokens));
  const Tensor narrow = kit::with_zero_row(logits).to(f32);
  same_tensor(g, "logits [2, 3, 12] f32, a row of 0", impl.denoising_loss(narrow, tokens), loss_of(narrow, tokens),
              {.rtol = 1e-6});
  g.note("three batches and one without masks, with gradients");
}

}  // namespace pg::lesson14
