// make my_gpt, the end of track A: a small GPT, trained and sampled with the learner's pieces.
#include <cmath>

#include "lessons/kit/milestone.h"
#include "lessons/kit/plot.h"
#include "lessons/milestones/my_gpt.h"
#include "tasks/data/stories.h"
#include "tasks/data/text_data.h"
#include "tasks/data/tokenizer.h"

namespace pg::milestones {
namespace {

void before_training(kit::Demo& demo, const GptPieces& pieces, const MyGpt& model, const TextData& text, int64_t v) {
  demo.heading("Before training");
  Generator g(3);
  const double error = pieces.tape.gradcheck([&](std::span<const Tensor> in) { return model.block(in[0]); },
                                             {Tensor::normal({1, 3, MyGpt::kWidth}, 0, 1, g, f64)});
  demo.say(
      "Your matmul, tanh, mul, attention and layer norms are one block now. Your gradcheck compares its gradient with "
      "differences. The first loss should be ln V, {:.3f}: no character is preferred yet.",
      std::log(static_cast<double>(v)));
  demo.claim("your gradcheck of your block", error, "", kit::at_most(1e-6));
  demo.claim("first loss less ln V", std::abs(surprises(model, text.val).mean() - std::log(static_cast<double>(v))),
             "nats", kit::at_most(0.1));
}

void speak(kit::Demo& demo, const MyGpt& model, const CharTokenizer& tokenizer) {
  demo.heading("It writes");
  Generator g(5);
  for (const char* start : {"Once up", "The litt", "One day"}) {
    const std::vector<int32_t> ids = tokenizer.encode(std::string("\n") + start);
    const std::vector<int32_t> written =
        model.write(ids, MyGpt::kContext - std::ssize(ids), {.temperature = 0.7, .top_p = 0.9}, g);
    std::string words = tokenizer.decode(written).substr(1);
    std::replace(words.begin(), words.end(), '\n', '/');
    demo.line("{}", words);
  }
  demo.gap();
  // The same logits from the tape, which reads all at once, and from the cache, position by position.
  const std::vector<int32_t> ids = tokenizer.encode("\nOnce upon a time");
  std::vector<double> cached;
  model.write(ids, 0, {}, g, &cached);
  NoGrad guard;
  const std::vector<double> whole = model.logits(Tensor::from(ids, {1, std::ssize(ids)})).to_vector();
  double worst = 0;
  for (size_t i = 0; i < cached.size(); ++i) {
    worst = std::max(worst, std::abs(cached[i] - whole[whole.size() - cached.size() + i]));
  }
  demo.claim("logits with the cache from those without", worst, "", kit::at_most(1e-4));
}

// Returns the loss at the end, on the validation text.
double show(kit::Demo& demo, const GptPieces& pieces) {
  const std::string stories = generate_stories(300'000);
  const CharTokenizer tokenizer(stories);
  const TextData text = split_text(tokenizer.encode(stories));
  Generator g(1);
  MyGpt model(pieces, tokenizer.vocab_size(), g);
  before_training(demo, pieces, model, text, tokenizer.vocab_size());

  demo.heading("It learns");
  demo.say("The built-in stories, {} different characters:", tokenizer.vocab_size());
  train(demo, model, text.train, g);
  const double loss = surprises(model, text.val).mean();
  demo.claim("validation loss", loss, "nats", kit::at_most(1.8));
  speak(demo, model, tokenizer);
  return loss;
}

}  // namespace
}  // namespace pg::milestones

int main() {
  using namespace pg;
  const kit::Lesson<lesson01::Impl> tensors{"1", "lessons/01_tensors", "", lesson01::reference(),
                                            {},  lesson01::checks(),   {}};
  const kit::Lesson<lesson02::Impl> tape{"2", "lessons/02_autograd", "", lesson02::reference(),
                                         {},  lesson02::checks(),    {}};
  const kit::Lesson<lesson03::Impl> language{"3", "lessons/03_language_model", "", lesson03::reference(),
                                             {},  lesson03::checks(),          {}};
  const kit::Lesson<lesson04::Impl> gpt{"4", "lessons/04_gpt", "", lesson04::reference(), {}, lesson04::checks(), {}};
  const auto tokens = kit::with_pieces(
      kit::Lesson<lesson05::Impl>{"5", "lessons/05_tokens", "", lesson05::reference(), {}, lesson05::checks(), {}},
      {"best_pair", "merge_pair", "split", "encode_piece", "bits_per_byte"});
  const milestones::GptPieces pieces{kit::own_pieces(tensors), kit::own_pieces(tape), kit::own_pieces(language),
                                     kit::own_pieces(gpt)};
  double loss = 0;
  return kit::run_milestone(
      {.name = "my_gpt",
       .lessons = {kit::entry_of(tensors, tensors.learner), kit::entry_of(tape, tape.learner),
                   kit::entry_of(language, language.learner), kit::entry_of(gpt, gpt.learner)},
       .show = [&](kit::Demo& demo) { loss = milestones::show(demo, pieces); },
       .below = "storage, the tape's walk, sums, exp, changes of shape",
       .beside = {kit::entry_of(tokens, tokens.learner)},
       .show_beside = [&](kit::Demo& demo) { show_tokens(demo, pieces, kit::own_pieces(tokens), loss); }});
}
