// The demonstration of lesson 3.
#include <algorithm>
#include <cmath>

#include "lessons/03_language_model/lesson.h"
#include "lessons/kit/plot.h"
#include "nn/layers.h"
#include "nn/param_slab.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"

namespace pg::lesson03 {
namespace {

struct Text {
  CharTokenizer tokenizer;
  TextData data;
  int64_t v() const { return tokenizer.vocab_size(); }
};

// Mean of -log p[b | a] over all pairs of a text. p [V, V] is a flat vector.
double pair_loss(const std::vector<double>& p, const std::vector<int32_t>& ids, int64_t v) {
  double loss = 0;
  for (size_t i = 0; i + 1 < ids.size(); ++i) loss -= std::log(p[static_cast<size_t>(ids[i] * v + ids[i + 1])]);
  return loss / static_cast<double>(ids.size() - 1);
}

double show_bigrams(kit::Demo& demo, const Impl& impl, const Text& text) {
  demo.heading("Counting, and a network that finds the counts");
  const int64_t v = text.v();
  std::vector<double> count(static_cast<size_t>(v * v), 1);  // adds one to each count, so that no pair is impossible
  for (size_t i = 0; i + 1 < text.data.train.size(); ++i) {
    ++count[static_cast<size_t>(text.data.train[i] * v + text.data.train[i + 1])];
  }
  const Tensor counts = Tensor::from(count, {v, v}), q = counts / sum(counts, {1}, true);

  // One score per pair, starting at 0. The loss is the mean over a of the cross-entropy of row a with q[a, :]. Its
  // gradient is softmax - q, and its second derivative is about diag(softmax): Newton's step is their quotient.
  Tensor w = Tensor::zeros({v, v}, f64);
  std::vector<double> distance;
  for (int step = 0; step < 60; ++step) {
    const Tensor p = impl.softmax(w), gradient = p - q;
    distance.push_back(std::max(1e-16, amax(abs(gradient)).item()));
    w = w - clamp(gradient / p, -1, 1);
  }
  demo.say(
      "Two ways to guess the next character from the one before: count all pairs in the text, or train a network with "
      "one score per pair. The largest difference between its {} probabilities and the counted ones, step by step:",
      v * v);
  demo.show(
      kit::line_plot({{.name = "largest difference", .y = distance}}, {.x_label = "step", .height = 8, .log_y = true}));
  demo.watch("largest difference from the counts", distance);
  demo.gap();
  const std::vector<double> learned = impl.softmax(w).to_vector();
  demo.claim("largest difference, network against counts", amax(abs(impl.softmax(w) - q)).item(), "",
             kit::at_most(1e-6));
  return pair_loss(learned, text.data.val, v);
}

// Predicts from the kContext previous characters: one embedding each, then one hidden layer. It is f64, because the
// exercise functions are.
struct Mlp : Module {
  static constexpr int64_t kContext = 8, kEmbedding = 12;
  Embedding characters;
  Linear hidden, out;

  Mlp(int64_t v, int64_t width, Generator& g)
      : characters(v, kEmbedding, {g, f64}),
        hidden(kContext * kEmbedding, width, true, {g, f64}),
        out(width, v, true, {g, f64}) {}
  void visit(Visitor& visitor) override {
    visitor("characters", characters);
    visitor("hidden", hidden);
    visitor("out", out);
  }
  Tensor operator()(const Tensor& ids) const {  // [R, kContext] → [R, V]
    return out(tanh(hidden(reshape(characters(ids), {ids.size(0), kContext * kEmbedding}))));
  }
};

struct Examples {
  Tensor ids, targets;
};
Examples examples(const std::vector<int32_t>& text, const std::vector<int64_t>& starts) {
  std::vector<int32_t> ids, targets;
  for (int64_t at : starts) {
    ids.insert(ids.end(), text.begin() + at, text.begin() + at + Mlp::kContext);
    targets.push_back(text[static_cast<size_t>(at + Mlp::kContext)]);
  }
  const int64_t rows = static_cast<int64_t>(starts.size());
  return {Tensor::from(ids, {rows, Mlp::kContext}), Tensor::from(targets, {rows})};
}
Examples random_examples(const std::vector<int32_t>& text, int64_t rows, Generator& g) {
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < rows; ++i) starts.push_back(g.integer(static_cast<int64_t>(text.size()) - Mlp::kContext));
  return examples(text, starts);
}

// Cross-entropy whose backward is the exercise function.
Tensor loss_of(const Impl& impl, const Tensor& logits, const Tensor& targets) {
  return record(Op::cross_entropy, pg::cross_entropy(logits.detach(), targets), {&logits},
                [&impl, logits = logits.detach(), targets](const Tensor& dy, Grads& g) {
                  g.pass(0, impl.cross_entropy_backward(logits, targets) * dy.item());
                });
}

double validation_loss(const Mlp& model, const std::vector<int32_t>& text) {
  NoGrad guard;
  const int64_t rows = 4096;
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < rows; ++i) {
    starts.push_back(i * (static_cast<int64_t>(text.size()) - Mlp::kContext) / rows);
  }
  const Examples e = examples(text, starts);
  return pg::cross_entropy(model(e.ids), e.targets).item();
}

struct Run {
  std::vector<double> steps, losses, gradient_norm, weight_norm;
};
Run train(const Impl& impl, Mlp& model, const Text& text, int steps, double most, Generator& g) {
  ParamSlab slab(model);
  const Tensor m = slab.zeros(), v = slab.zeros();
  Run run;
  for (int step = 1; step <= steps; ++step) {
    const Examples e = random_examples(text.data.train, 64, g);
    slab.zero_grad();
    backward(loss_of(impl, model(e.ids), e.targets));
    run.gradient_norm.push_back(grad_norm(slab));
    const double lr = most * std::min(1.0, 2.0 * (steps - step + 1) / steps);  // constant, then linear decay to 0
    impl.adamw(slab.params().data<double>(), slab.grads().data<double>(), m.data<double>(), v.data<double>(),
               {.lr = lr,
                .beta1 = 0.9,
                .beta2 = 0.99,
                .eps = 1e-8,
                .weight_decay = 0,
                .bias_correction1 = 1 - std::pow(0.9, step),
                .bias_correction2 = 1 - std::pow(0.99, step),
                .grad_scale = 1});
    slab.bump_version();
    run.weight_norm.push_back(std::sqrt(sum(slab.params() * slab.params()).item()));
    if (step % (steps / 20) == 0) {
      run.steps.push_back(step);
      run.losses.push_back(validation_loss(model, text.data.val));
    }
  }
  return run;
}

double worst_of(const std::vector<Run>& runs) {
  double worst = 0;
  for (const Run& run : runs) worst = std::max(worst, run.losses.back());
  return worst;
}

std::string speak(const Impl& impl, const Mlp& model, const Text& text, const SampleOptions& options, int64_t length) {
  NoGrad guard;
  Generator g(5);
  const std::string start = "Once up";
  std::vector<int32_t> ids = text.tokenizer.encode("\n" + start);
  for (int64_t i = 0; i < length; ++i) {
    const std::vector<int32_t> last(ids.end() - Mlp::kContext, ids.end());
    const std::vector<double> logits = model(Tensor::from(last, {1, Mlp::kContext})).to_vector();
    ids.push_back(impl.sample_token(impl.filtered_probs(logits, options), g.uniform()));
  }
  std::string words = text.tokenizer.decode(ids).substr(1);
  std::replace(words.begin(), words.end(), '\n', '/');
  return words;
}

void show_mlp(kit::Demo& demo, const Impl& impl, const Text& text, double bigram) {
  demo.heading("A network that sees eight characters");
  const int steps = demo.full() ? 6000 : 1200;
  const std::vector<uint64_t> seeds = demo.seeds(10);
  std::vector<Mlp> models;
  std::vector<Run> runs;
  for (const uint64_t seed : seeds) {
    Generator g(299 + seed);
    models.emplace_back(text.v(), demo.whole("width"), g);
    demo.status(fmt::format("seed {} of {} ...", seed, seeds.size()));
    runs.push_back(train(impl, models.back(), text, steps, demo.setting("lr"), g));
  }
  const kit::Series series =
      demo.on_band({.name = "validation loss of the first seed", .y = runs[0].losses, .x = runs[0].steps});
  demo.watch("gradient norm", runs[0].gradient_norm);
  demo.watch("norm of the weights", runs[0].weight_norm);
  demo.say("Embeddings of the last {} characters, {} hidden units, {} parameters, {} steps of 64 examples:",
           Mlp::kContext, demo.whole("width"), count_parameters(models[0]), steps);
  demo.show(kit::line_plot({series}, {.x_label = "step", .y_label = "nats per character", .height = 10}));
  demo.gap();

  const double floor = stories_entropy_per_char(), worst = worst_of(runs);
  demo.say(
      "No model can do better than the entropy of the process that wrote the text. For this text we know the "
      "entropy: the stories come from a grammar whose choices can be counted.");
  const auto bar = [](const std::string& label, double value) {
    return kit::Bar{label, value, fmt::format("{:.3f} nats", value)};
  };
  demo.show(kit::bars({bar("any character alike", std::log(static_cast<double>(text.v()))),
                       bar("pairs counted", bigram), bar("MLP, worst of ten seeds", worst), bar("the floor", floor)}));
  demo.gap();
  demo.claim("bigram loss minus MLP loss, worst of ten seeds", bigram - worst, "nats", kit::at_least(0.5));
  demo.claim("MLP loss, worst of ten seeds", worst, "nats", kit::at_most(1.3));

  demo.heading("Letting it speak");
  demo.say("The same network, five ways to choose the next character (/ is the end of a line):");
  const double hot = demo.setting("temperature"), p = demo.setting("top_p");
  const int64_t k = demo.whole("top_k");
  const std::pair<std::string, SampleOptions> ways[] = {
      {"temperature 0.3", {.temperature = 0.3}},
      {"temperature 1", {}},
      {fmt::format("temperature {:g}", hot), {.temperature = hot}},
      {fmt::format("{:g} with top-k {}", hot, k), {.temperature = hot, .top_k = k}},
      {fmt::format("{:g} with top-p {:g}", hot, p), {.temperature = hot, .top_p = p}}};
  for (const auto& [name, options] : ways) {
    const std::string words = speak(impl, models[0], text, options, 45);
    demo.line("{:<19}{}", name, words);
    demo.watch(fmt::format("{}: {}", name, words));
  }
  demo.gap();
}

}  // namespace

void demo(kit::Demo& demo, const Impl& impl) {
  const std::string stories = generate_stories();
  CharTokenizer tokenizer(stories);
  const Text text{tokenizer, split_text(tokenizer.encode(stories))};
  demo.heading("The text");
  demo.say("{} characters of built-in stories, {} different; a tenth is kept for validation. They begin:",
           stories.size(), text.v());
  for (size_t at = 0, lines = 0; lines < 3; ++lines) {
    const size_t end = stories.find('\n', at);
    demo.line("| {}", stories.substr(at, std::min<size_t>(end - at, 74)));
    at = end + 1;
  }
  demo.gap();
  const double bigram = show_bigrams(demo, impl, text);
  show_mlp(demo, impl, text, bigram);
}

}  // namespace pg::lesson03

int main(int argc, char** argv) {
  using namespace pg::lesson03;
  return pg::kit::run_lesson<Impl>(
      {.number = "3",
       .folder = "lessons/03_language_model",
       .title = "a language model",
       .reference = reference(),
       .checks = checks(),
       .demo = demo,
       .settings = {pg::kit::seed_setting(),
                    {"lr", 0.01, 0.0001, 1, "learning rate of AdamW"},
                    {"width", 128, 1, 512, "hidden units", true},
                    {"temperature", 1.7, 0.05, 5, "temperature of the last three ways to choose a character"},
                    {"top_k", 3, 1, 27, "characters that top-k keeps", true},
                    {"top_p", 0.8, 0.01, 1, "probability that top-p keeps"}}},
      argc, argv);
}
