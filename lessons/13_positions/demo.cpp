// The demonstration of lesson 13: its parts in order, and two models that learn the stories.
#include "lessons/13_positions/lesson.h"
#include "lessons/13_positions/models.h"

namespace pg::lesson13 {
namespace {

void show_models(kit::Demo& demo) {
  demo.heading("Two models, equal in size");
  const Stories stories = read_stories();
  demo.say(
      "Each has 2 layers, 4 heads, 64 channels and about 100,000 parameters, and sees the same {} steps of {} windows "
      "of {} characters of the stories. Llama's parts: RoPE, RMS norms, SwiGLU, one head of keys for four of queries. "
      "The loss is measured on stories that no model has read, in nats per character.",
      steps_of(demo), kBatch, kContext);
  TransformerConfig rotating = llama(stories);
  rotating.rope = Rope(demo.setting("base"));
  std::vector<Variant> variants = {variant(demo, "GPT-2", gpt2(stories)), variant(demo, "Llama's parts", rotating)};
  if (demo.full()) {  // which of Llama's parts is it?
    TransformerConfig rotary = gpt2(stories);
    rotary.positions = Positions::rope;
    rotary.rope = rotating.rope;
    variants.push_back(variant(demo, "GPT-2 with RoPE", rotary));
  }
  compare(demo, stories, variants);
  demo.claim("loss, Llama's parts over GPT-2", variants[1].loss() / variants[0].loss(), "x",
             kit::at_most(demo.full() ? 0.97 : 0.9));
}

void demo(kit::Demo& demo, const Impl& impl) {
  const OneThread one_thread;
  show_positions(demo, impl);
  show_sharing(demo, impl);
  show_models(demo);
}

}  // namespace
}  // namespace pg::lesson13

int main(int argc, char** argv) {
  using namespace pg::lesson13;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{
          .number = "13",
          .folder = "lessons/13_positions",
          .title = "positions and caches",
          .reference = reference(),
          .checks = checks(),
          .demo = demo,
          .settings = {pg::kit::seed_setting(), {"base", 100, 2, 100000, "base of RoPE's angles in the trained model"}},
          .renamed = {{"13.7", "14.1"}, {"13.8", "14.2"}}},
      argc, argv);
}
