// The task sentiment: continue the beginning of a review in the mood that the prompt asks for.
#include "tasks/puzzles/sentiment.h"

#include <array>

#include "tasks/data/text_data.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

struct MoodRow {
  Mood mood;
  char code;  // in short questions
  const char* name;
};
constexpr std::array<MoodRow, 3> kMoods = {
    {{Mood::positive, '+', "positive"}, {Mood::negative, '-', "negative"}, {Mood::neutral, '0', "neutral"}}};

class SentimentTask : public PuzzleTask {
 public:
  explicit SentimentTask(const SentimentOptions& options) : options_(options) {
    check_fields("sentiment", fields(options_));
    if (options_.file.empty()) return;
    beginnings_ = sentence_beginnings(read_file(options_.file));
    check(!beginnings_.empty(), "{}: no sentence has eight words", options_.file);
  }
  std::string name() const override { return "sentiment"; }
  std::string about() const override {
    return "continue a review in the mood that is asked for; reward: up to 1 by a lexicon, 0 for repetition";
  }
  std::string alphabet() const override { return "abcdefghijklmnopqrstuvwxyz0123456789 '.,+-"; }
  std::string answer_form() const override { return "the rest of the sentence"; }
  int64_t max_question() const override { return 62; }
  int64_t max_answer() const override { return 60; }
  int64_t max_request() const override { return 140; }
  Puzzle draw(Generator& generator) const override {
    const MoodRow& row = kMoods[static_cast<size_t>(generator.integer(std::ssize(kMoods)))];
    const std::string beginning = beginnings_.empty()
                                      ? review_beginning(generator)
                                      : beginnings_[static_cast<size_t>(generator.integer(std::ssize(beginnings_)))];
    return {.question = fmt::format("{} {}", row.code, beginning),
            .request = fmt::format("Continue this sentence so that the rest of it is {}: \"{}\".", row.name, beginning),
            .answer = review_end(generator, row.mood),
            .key = beginning,  // held out in all moods
            .gold = std::string(1, row.code),
            .subject = row.name,
            .level = 0};
  }
  // Only the continuation counts: a beginning that has words with sentiment gives nothing away.
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    Score score;
    for (const MoodRow& row : kMoods) {
      if (puzzle.gold == std::string_view(&row.code, 1)) {
        score.reward = mood_reward(answer, row.mood, static_cast<int>(options_.words));
        if (options_.fluency && score.reward > 0) score.reward *= review_fluency(answer);
      }
    }
    score.solved = score.reward == 1;
    score.parts = {{"sentiment", score.reward}};
    return score;
  }

 private:
  SentimentOptions options_;
  std::vector<std::string> beginnings_;  // of a file
};

}  // namespace

std::vector<Field> fields(SentimentOptions& o) {
  return {{"words", &o.words, "of a continuation, at most", whole_from(4, 200)},
          {"fluency", &o.fluency, "false, for chat models: words need not be those of the generated reviews"},
          {"file", &o.file, "a text whose sentences are begun; empty: generated"}};
}

std::unique_ptr<PuzzleTask> sentiment_puzzles(const SentimentOptions& options) {
  return std::make_unique<SentimentTask>(options);
}

}  // namespace pg
