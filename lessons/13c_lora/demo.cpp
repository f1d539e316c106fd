// The demonstration of lesson 13c: a trained model learns a dialect with two per cent of its parameters.
#include <algorithm>
#include <bit>

#include "lessons/13_positions/models.h"
#include "lessons/13c_lora/lesson.h"
#include "nn/decode/generate.h"

namespace pg::lesson13c {
namespace {

using namespace lesson13;

// The number of elements whose bits differ in two f32 tensors of equal shape.
int64_t different_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous_copy(), y = b.detach().contiguous_copy();
  const auto xs = x.data<const float>(), ys = y.data<const float>();
  int64_t count = 0;
  for (size_t i = 0; i < xs.size(); ++i) count += std::bit_cast<uint32_t>(xs[i]) != std::bit_cast<uint32_t>(ys[i]);
  return count;
}

// a and o are exchanged.
std::vector<int32_t> in_dialect(const Stories& stories, std::span<const int32_t> ids) {
  const int32_t a = stories.tokenizer.encode("a")[0], o = stories.tokenizer.encode("o")[0];
  std::vector<int32_t> result(ids.begin(), ids.end());
  for (int32_t& id : result) id = id == a ? o : id == o ? a : id;
  return result;
}

std::vector<Linear*> linear_layers(Transformer& model) {
  std::vector<Linear*> layers;
  for (TransformerBlock& block : model.h) {
    for (Linear* layer :
         {&block.attn->c_attn, &block.attn->c_proj, &*block.mlp.c_gate, &block.mlp.c_fc, &block.mlp.c_proj}) {
      layers.push_back(layer);
    }
  }
  return layers;
}

std::string continued(Transformer& model, const Stories& stories, const std::string& prompt) {
  GenerateOptions options;
  options.max_new_tokens = 44;
  options.sampling.temperature = 0.5;
  options.slide = true;
  options.seed = 4;
  const auto tokens = generate(model, {stories.tokenizer.encode(prompt)}, options)[0].tokens;
  return prompt + shown(stories, Tensor::from(tokens, {std::ssize(tokens)}));
}

void show_lora(kit::Demo& demo, const Impl& impl, const Stories& stories, Variant& variant) {
  demo.heading("Two thin matrices");
  Transformer& model = variant.model;
  const Tensor probe = Tensor::from(window_batch(stories.ids.val, 0, 4, kContext).x, {4, kContext});
  const auto logits = [&] {
    NoGrad guard;
    return model(probe).detach();
  };
  const Tensor before = logits();
  const double whole = static_cast<double>(count_parameters(model));
  const LoraConfig config{.rank = demo.whole("rank"), .alpha = demo.setting("alpha")};
  Visitor freeze([](const std::string&, Tensor& parameter) { parameter.set_requires_grad(false); });
  model.visit(freeze);
  Generator random(17);
  double adapters = 0;
  for (Linear* layer : linear_layers(model)) {
    impl.add_lora(*layer, config, random);
    for (const LoraAdapter& one : layer->lora) adapters += static_cast<double>(one.a.numel() + one.b.numel());
  }
  demo.say(
      "The model gets adapters of rank {} in its {} linear layers: {} numbers. Everything else is "
      "frozen. It is to learn a dialect of the stories, in which a and o are exchanged.",
      config.rank, linear_layers(model).size(), grouped(adapters));
  demo.claim("parameters that are trained", 100 * adapters / whole, "%", kit::at_most(3));
  demo.claim("logits that a new adapter has changed", static_cast<double>(different_bits(logits(), before)), "",
             kit::equals(0));

  const std::vector<int32_t> learn = in_dialect(stories, stories.ids.train), val = in_dialect(stories, stories.ids.val);
  const double dialect_before = loss_of(model, val, next_character()), stories_before = variant.loss();
  const std::string spoken_before = continued(model, stories, "The ");
  TrainConfig recipe;
  recipe.max_steps = demo.full() ? 400 : 100;
  recipe.schedule = {.lr = 2e-2, .min_lr = 2e-3, .warmup_steps = 10, .decay_steps = recipe.max_steps};
  recipe.adamw.weight_decay = 0;
  recipe.eval_interval = recipe.checkpoint_interval = 0;
  {
    Trainer trainer(model, recipe, [&](Generator& g) { return batch_of(random_batch(learn, kBatch, kContext, g)); });
    TrainHooks hooks;
    hooks.on_step = [&](const StepReport& report) {
      if (report.step % 10 == 0) demo.status(fmt::format("LoRA: step {} of {}", report.step, recipe.max_steps));
    };
    trainer.run(hooks);
  }
  const double dialect_after = loss_of(model, val, next_character());
  const double stories_after = loss_of(model, stories.ids.val, next_character());
  const std::string spoken_after = continued(model, stories, "The ");
  const Tensor adapted = logits();
  for (Linear* layer : linear_layers(model)) layer->lora_merged = true;  // so that none adds its term
  const Tensor without = logits();
  for (Linear* layer : linear_layers(model)) layer->lora_merged = false;
  double layer_difference = 0;
  for (Linear* layer : linear_layers(model)) {
    NoGrad guard;
    const Tensor x = Tensor::normal({16, layer->weight.size(1)}, 0, 1, random), y = (*layer)(x);
    impl.merge_lora(*layer);
    layer_difference = std::max(layer_difference, relative_difference((*layer)(x), y));
  }
  demo.gap();
  demo.line("loss, nats per character      stories     dialect");
  demo.line("without adapters             {:8.3f}    {:8.3f}", stories_before, dialect_before);
  demo.line("with, after {:3} steps         {:8.3f}    {:8.3f}", recipe.max_steps, stories_after, dialect_after);
  demo.gap();
  demo.line("before | {}", spoken_before);
  demo.line("after  | {}", spoken_after);
  demo.gap();
  demo.claim("loss on the dialect, after over before", dialect_after / dialect_before, "x", kit::at_most(0.85));
  demo.claim("logits that differ without the terms again", static_cast<double>(different_bits(without, before)), "",
             kit::equals(0));
  demo.claim("a layer, merged and not: difference", layer_difference, "", kit::at_most(2e-6));
  demo.claim("logits, merged and not: difference", relative_difference(logits(), adapted), "", kit::at_most(1e-5));
}

void demo(kit::Demo& demo, const Impl& impl) {
  const OneThread one_thread;
  demo.heading("A model to begin with");
  const Stories stories = read_stories();
  Variant model = variant(demo, "Llama's parts", llama(stories));
  train(demo, stories, model, steps_of(demo));
  demo.say("The model with Llama's parts of lesson 13 learns the stories in {} steps, to {:.3f} nats per character.",
           steps_of(demo), model.loss());
  show_lora(demo, impl, stories, model);
}

}  // namespace
}  // namespace pg::lesson13c

int main(int argc, char** argv) {
  using namespace pg::lesson13c;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{.number = "13c",
                            .folder = "lessons/13c_lora",
                            .title = "LoRA",
                            .reference = reference(),
                            .checks = checks(),
                            .demo = demo,
                            .settings = {pg::kit::seed_setting(),
                                         {"rank", 1, 1, 16, "rank of the adapters", true},
                                         {"alpha", 4, 0.1, 64, "an adapter counts alpha / rank times"}}},
      argc, argv);
}
