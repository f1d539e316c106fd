// The demonstration of lesson 6, second part: a policy that writes sentences, a reward that can be hacked, and
// remedies.
#include <algorithm>

#include "lessons/06_reinforce/lesson.h"
#include "lessons/kit/plot.h"
#include "nn/decode/generate.h"
#include "nn/train/trainer.h"
#include "tasks/data/tiny_language.h"

namespace pg::lesson06 {
namespace {

constexpr int64_t kRows = 64, kLongest = 16;

// Sentences as rows: the inputs, the targets, and the mask of the positions that count.
struct Rows {
  Tensor ids, targets, mask;  // i32, i32, u8: [B, T]
};
Rows to_rows(const std::vector<std::vector<int32_t>>& sentences) {
  const int64_t rows = static_cast<int64_t>(sentences.size());
  int64_t longest = 0;
  for (const auto& s : sentences) longest = std::max(longest, static_cast<int64_t>(s.size()));
  const Rows r{Tensor::zeros({rows, longest}, i32), Tensor::zeros({rows, longest}, i32),
               Tensor::zeros({rows, longest}, u8)};
  for (int64_t b = 0; b < rows; ++b) {
    const auto& s = sentences[static_cast<size_t>(b)];
    for (size_t t = 0; t < s.size(); ++t) {
      const size_t at = static_cast<size_t>(b * longest) + t;
      r.ids.data<int32_t>()[at] = t == 0 ? 0 : s[t - 1];  // "." comes before the first word
      r.targets.data<int32_t>()[at] = s[t];
      r.mask.data<uint8_t>()[at] = 1;
    }
  }
  return r;
}

TransformerConfig config() {
  return {.vocab_size = static_cast<int64_t>(tiny_words().size()),
          .block_size = kLongest,
          .n_layer = 1,
          .n_head = 2,
          .n_embd = 32};
}

// Trains the reference: a GPT that learns the language.
void read_language(Transformer& model) {
  TrainConfig train;
  train.max_steps = 400;
  train.schedule = {.lr = 5e-3, .min_lr = 5e-4, .warmup_steps = 20, .decay_steps = 400};
  Trainer trainer(model, train, [](Generator& g) {
    std::vector<std::vector<int32_t>> sentences;
    for (int i = 0; i < kRows; ++i) sentences.push_back(tiny_sentence(g));
    const Rows rows = to_rows(sentences);
    const Tensor targets = rows.targets.clone();
    for (size_t i = 0; i < targets.data<int32_t>().size(); ++i) {
      if (!rows.mask.data<uint8_t>()[i]) targets.data<int32_t>()[i] = -100;
    }
    return TokenBatch{rows.ids, targets};
  });
  while (trainer.steps() < train.max_steps) trainer.step();
}

std::vector<std::vector<int32_t>> write(Transformer& model, int64_t count, uint64_t seed) {
  GenerateOptions options;
  options.max_new_tokens = kLongest;
  options.stop_ids = {0};
  options.seed = seed;
  std::vector<std::vector<int32_t>> sentences;
  for (auto& row : generate(model, std::vector<std::vector<int32_t>>(static_cast<size_t>(count), {0}), options)) {
    sentences.push_back(std::move(row.tokens));
  }
  return sentences;
}

Tensor log_probs(const Impl& impl, const Transformer& model, const Rows& rows) {  // [B, T]
  const Tensor logits = model(rows.ids);
  const int64_t places = rows.ids.numel();
  return reshape(impl.token_log_prob(reshape(logits, {places, logits.size(-1)}), rows.targets.view_reshape({places})),
                 rows.ids.shape());
}

struct Reward {
  double per_extra_word = 0;  // subtracted for each word after the eighth
  double kl = 0;              // times log π - log reference, subtracted at each word
};

struct Writing {
  double keywords, length, grammatical, kl;
  std::string sample;
};
Writing judge(const Impl& impl, Transformer& model, const Transformer& reference) {
  NoGrad guard;
  const auto sentences = write(model, 256, 99);
  const Rows rows = to_rows(sentences);
  const Tensor difference = impl.k1(log_probs(impl, model, rows), log_probs(impl, reference, rows));
  Writing w{0, 0, 0, sum(where(rows.mask, difference, Tensor::scalar(0))).item() / 256, ""};
  for (const auto& s : sentences) {
    w.keywords += static_cast<double>(std::count(s.begin(), s.end(), tiny_word("moon"))) / 256;
    w.length += static_cast<double>(s.size()) / 256;
    w.grammatical += 100 * is_tiny_sentence(s) / 256.0;
  }
  w.sample = tiny_text(sentences[0]);
  return w;
}

// A run, one value for each iteration. The entropy, the KL and the advantage are means over the tokens that count.
struct Run {
  std::vector<double> keywords, gradient_norm, entropy, kl, advantage;
};

// REINFORCE, starting from the reference.
Run improve(const Impl& impl, Transformer& model, const Transformer& reference, const Reward& reward, double lr,
            uint64_t seed) {
  ParamSlab slab(model);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  Baseline baseline;
  Run run;
  for (uint64_t iteration = 0; iteration < 150; ++iteration) {
    const auto sentences = write(model, kRows, seed * 1000 + iteration);
    const Rows rows = to_rows(sentences);
    slab.zero_grad();
    const Tensor log_prob = log_probs(impl, model, rows);
    const Tensor rewards = Tensor::zeros(rows.ids.shape(), f64);
    const auto mean_of = [&](const Tensor& x) {
      NoGrad guard;
      return sum(where(rows.mask, x.to(f64), Tensor::scalar(0, f64))).item() / sum(rows.mask.to(f64)).item();
    };
    {
      NoGrad guard;
      const Tensor kl = impl.k1(log_prob.detach(), log_probs(impl, reference, rows)).to(f64);
      rewards.copy_from(where(rows.mask, neg(kl * reward.kl), Tensor::scalar(0, f64)));
      run.kl.push_back(mean_of(kl));
    }
    double keywords = 0;
    for (size_t b = 0; b < sentences.size(); ++b) {
      const auto& s = sentences[b];
      const double found = static_cast<double>(std::count(s.begin(), s.end(), tiny_word("moon")));
      const double extra = std::max(0.0, static_cast<double>(s.size()) - 8);
      rewards.data<double>()[b * static_cast<size_t>(rewards.size(1)) + s.size() - 1] +=
          found - reward.per_extra_word * extra;
      keywords += found / static_cast<double>(sentences.size());
    }
    const Tensor advantage = impl.advantage(baseline, impl.return_to_go(rewards, 1)).to(f32);
    backward(impl.reinforce_loss(log_prob, advantage, rows.mask));
    const double norm = grad_norm(slab);
    optimizer.step(lr, clip_scale(norm, 1));
    run.keywords.push_back(keywords);
    run.gradient_norm.push_back(norm);
    run.entropy.push_back(-mean_of(log_prob.detach()));
    run.advantage.push_back(mean_of(advantage));
  }
  return run;
}

void print(kit::Demo& demo, const std::string& name, const Writing& w) {
  demo.line("{:<24}{:>6.2f}{:>8.1f}{:>11.0f} %{:>8.1f}", name, w.keywords, w.length, w.grammatical, w.kl);
  demo.line("    \"{}\"", w.sample.size() > 72 ? w.sample.substr(0, 69) + "..." : w.sample);
}

// What an engineer looks at besides the reward, in the run whose reward has all three terms.
void watch(kit::Demo& demo, const Run& run, const Writing& w) {
  demo.watch("and KL: mean advantage", run.advantage);
  demo.watch("and KL: gradient norm", run.gradient_norm);
  demo.watch("and KL: entropy in nats per token", run.entropy);
  demo.watch("and KL: k1 in nats per token", run.kl);
  demo.watch("A sentence at the end of \"and KL\": " + w.sample);
}

}  // namespace

void show_writer(kit::Demo& demo, const Impl& impl) {
  demo.heading("A writer who is paid by the word \"moon\"");
  Generator g(62);
  Transformer reference(config(), g);
  read_language(reference);
  const std::vector<uint64_t> seeds = demo.seeds(demo.full() ? 10 : 4);
  const double penalty = demo.setting("penalty"), beta = demo.setting("beta");
  demo.say(
      "A small GPT has read a language of 21 tokens, in which every sentence can be checked. Now it is paid 1 for each "
      "\"moon\" it writes. Then {:g} are taken off for each token past the eighth. Then, in addition, {:g} times log π "
      "- "
      "log reference at each token: k1, an estimate of the KL from the reference. (The first of {} seeds; grammatical: "
      "of the worst seed.)",
      penalty, beta, seeds.size());
  demo.line("{:<24}{:>6}{:>8}{:>13}{:>8}", "", "moons", "tokens", "grammatical", "KL");
  const Writing before = judge(impl, reference, reference);
  print(demo, "as it was", before);
  const std::pair<const char*, Reward> rewards[] = {{"paid by the moon", {}},
                                                    {"and a length penalty", {.per_extra_word = penalty}},
                                                    {"and KL", {.per_extra_word = penalty, .kl = beta}}};
  std::vector<kit::Series> curves;
  std::vector<Writing> after;
  for (const auto& [name, reward] : rewards) {
    for (const uint64_t seed : seeds) {
      demo.status(fmt::format("{}, seed {} of {} ...", name, seed, seeds.size()));
      Transformer policy(config(), g);
      load_state_dict(policy, state_dict(reference));
      const Run run = improve(impl, policy, reference, reward, demo.setting("lr"), seed);
      const std::vector<double>& curve = run.keywords;
      const Writing w = judge(impl, policy, reference);
      if (seed == seeds[0]) {
        if (&reward == &rewards[2].second) watch(demo, run, w);
        curves.push_back({.name = name, .y = curve});
        after.push_back(w);
      }
      kit::Series& s = curves.back();
      if (seed == seeds[0]) s.low = s.high = curve;
      for (size_t i = 0; i < s.low.size(); ++i) {
        s.low[i] = std::min(s.low[i], curve[i]);
        s.high[i] = std::max(s.high[i], curve[i]);
      }
      after.back().grammatical = std::min(after.back().grammatical, w.grammatical);
    }
    print(demo, name, after.back());
  }
  demo.gap();
  for (kit::Series& curve : curves) curve = demo.on_band(curve);
  demo.show(kit::line_plot(curves, {.x_label = "iteration", .y_label = "moons per sentence", .height = 12}));
  demo.gap();
  demo.say(
      "The first reward became as large as it can be, and the sentences became nonsense: that is reward hacking. The "
      "reward asked for moons and for no sense. The KL asks for sentences like those that it had read.");
  demo.claim("grammatical before", before.grammatical, "%", kit::at_least(85));
  demo.claim("moons per sentence, paid by the moon", after[0].keywords, "", kit::at_least(7));
  demo.claim("grammatical, paid by the moon", after[0].grammatical, "%", kit::at_most(10));
  demo.claim("tokens per sentence with the length penalty", after[1].length, "", kit::at_most(10));
  demo.claim("moons per sentence with penalty and KL / before", after[2].keywords / before.keywords, "x",
             kit::at_least(3));
  demo.claim("grammatical with penalty and KL", after[2].grammatical, "%", kit::at_least(75));
}

}  // namespace pg::lesson06
