#pragma once
// Text tasks: a problem is a prompt, and a response gets a score. Trainers see token ids only; ids are never converted
// to text and back. The tasks with a name are at the end.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/data/tokenizer.h"
#include "tensor/base/fields.h"
#include "tensor/base/random.h"

namespace pg {

struct Puzzle;  // tasks/puzzles/puzzle.h
class PuzzleTask;

struct Problem {
  std::vector<int32_t> prompt = {};  // at least one id
  std::vector<int32_t> answer = {};  // a response with maximum reward, end of sequence included: to imitate, to score
  std::shared_ptr<const Puzzle> puzzle = nullptr;  // what score() compares with, for tasks whose answers are verified
  // For each token of `answer`: 0 if it is the environment's, from which nothing is learned. Empty: all 1.
  std::vector<uint8_t> action_mask = {};
};

// The score of a response.
struct Score {
  double reward = 0;
  std::vector<std::pair<std::string, double>> parts = {};  // the terms of the reward, which is their sum
  std::vector<double> per_token = {};  // the reward per token, if given per token; else the last token gets all of it
  bool solved = false;                 // whether the task is really done; a flawed reward may not measure that
  std::optional<bool> formatted = {};  // whether the answer has the form that was asked for; none: no form is asked for
};

class TextTask {
 public:
  virtual ~TextTask() = default;
  virtual std::string name() const = 0;
  virtual std::string about() const = 0;  // one line: the task, the reward, the maximum reward
  virtual const Tokenizer& tokenizer() const = 0;
  int64_t vocab_size() const { return tokenizer().vocab_size(); }
  // Ends a response. -1: responses always have max_response() tokens.
  virtual int32_t end_id() const { return tokenizer().end_id(); }
  // Texts that end a response as end_id does. They stay in the response.
  virtual std::vector<std::string> stop_texts() const { return {}; }
  virtual int64_t max_prompt() const = 0;
  virtual int64_t max_response() const = 0;          // including end_id, without the environment's answers
  virtual int64_t max_answers() const { return 0; }  // maximum number of environment tokens in an episode
  // A problem to train on.
  virtual Problem sample(Generator& generator) const = 0;
  // Problems that sample() never returns; every call returns the same ones: `count`, or fewer if there are no more.
  virtual std::vector<Problem> held_out(int64_t count) const = 0;
  // How held_out() problems differ from those of sample() besides being held out; empty if they do not.
  virtual std::string held_out_note() const { return ""; }
  // Scores the response as sampled, including its end_id if it has one.
  virtual Score score(const Problem& problem, std::span<const int32_t> response) const = 0;
  // The answer that a response gives, for a vote among responses; none if it gives none.
  std::optional<std::string> answer_of(std::span<const int32_t> response) const {
    const bool has_end = end_id() >= 0 && !response.empty() && response.back() == end_id();
    return answer_in(text(has_end ? response.first(response.size() - 1) : response), has_end || end_id() < 0);
  }
  // The same of a response's text without its end_id; `ended`: it had one, or needs none. Unless a task says more, the
  // text of a response that has ended.
  virtual std::optional<std::string> answer_in(std::string_view response, bool ended) const {
    return ended ? std::optional(std::string(response)) : std::nullopt;
  }
  // Whether score() compares the answer with the gold answer of the problem's puzzle by grade_answer()
  // (tasks/grade/grade.h).
  virtual bool uses_grader() const { return false; }
  // The text that the task is taken from, if any: the data of a bigram baseline.
  virtual std::span<const int32_t> corpus() const { return {}; }
  // One sentence if that text is not the requested one or was changed while reading, else empty.
  virtual std::string note() const { return {}; }
  // What a checkpoint of a model for this task needs to say besides its tokenizer: metadata by key.
  virtual std::map<std::string, std::string> metadata() const { return {}; }
  // A prompt without what all prompts have in common, for tables.
  virtual std::string shown(std::span<const int32_t> prompt) const { return text(prompt); }
  // The ids as text, for display.
  std::string text(std::span<const int32_t> ids) const { return tokenizer().decode(ids); }
  // The problem as text that a report can draw, of the problem's puzzle: its question, unless a task says more.
  virtual std::string described(const Puzzle& puzzle) const;
  // The environment's answer to a response so far, as ids that the model reads but is not trained on. Empty: the
  // episode is over.
  virtual std::vector<int32_t> respond(const Problem&, std::span<const int32_t>) const { return {}; }
  // Whether two answers of answer_of() are the same one, such as "1/2" and "0.5". They then vote together.
  virtual bool same_answer(const Problem&, std::string_view a, std::string_view b) const { return a == b; }
};

// A task's options at their defaults. Set the fields, then make the task.
struct TextTaskSetup {
  std::vector<Field> fields;  // they point into options that live as long as `make`
  std::function<std::unique_ptr<TextTask>()> make;
  // The task without a tokenizer, for chat models (tasks/puzzles/chat_task.h); empty for tasks that are not verified.
  std::function<std::unique_ptr<PuzzleTask>()> puzzles = {};
};
struct TextTaskRow {
  std::string name, about;  // about: one line, the task and its reward
  std::function<TextTaskSetup()> setup;
};
// The tasks with a name, of the library pg_tasks. A task of one's own needs no row: trainers take any TextTask.
const std::vector<TextTaskRow>& text_tasks();
// The task of that name, with the default options except those given by name: make_text_task("copy", {{"length",
// "5"}}). Throws Error with the known names for an unknown task or option.
std::unique_ptr<TextTask> make_text_task(std::string_view name, const std::map<std::string, std::string>& options = {});

// ---- digit_tasks.cpp: small enough to be learned in a minute, large enough to have held-out problems

// Strings of 1 to `length` digits that must be copied, reversed or sorted. The reward is the fraction of the answer
// (its end token included) that is right up to the first mistake; a tenth of all strings is held out.
struct DigitStringOptions {
  int64_t length = 6;
};
std::vector<Field> fields(DigitStringOptions& options);
std::unique_ptr<TextTask> copy_task(const DigitStringOptions& options = {});
std::unique_ptr<TextTask> reverse_task(const DigitStringOptions& options = {});
std::unique_ptr<TextTask> sort_task(const DigitStringOptions& options = {});

// The answer to "3,5:4" is the next 4 terms of the sequence, "7,9,1,3": each term adds the difference of the first two,
// modulo 10. 1000 problems, 200 of them held out; the reward is that of copy_task. After verl's digit
// completion.
std::unique_ptr<TextTask> digit_completion_task();

// The policy guesses a number from 0 to 99. The environment answers "<" or ">" (the number is smaller, larger) until
// the guess is right or five guesses are used. Reward 1 for a right guess. Multi-turn episodes.
std::unique_ptr<TextTask> guess_task();

// ---- adventure.cpp: multi-turn episodes in a map of rooms

struct AdventureOptions {
  int64_t rooms = 5;
  int64_t turns = 14;
};
std::vector<Field> fields(AdventureOptions& options);

// A random map without loops. The prompt says where the policy is: "hall north locked east key" is a room with an exit,
// a locked door and a key. A turn is one command and the end token: north, east, south, west, take (the key), unlock.
// The environment answers with the description, or "no" if the command is impossible. Reward 1, and the end, in the
// room behind the locked door; nothing for anything before. Maps are held out whatever the names of their rooms are.
std::unique_ptr<TextTask> adventure_task(const AdventureOptions& options = {});

// ---- imitate.cpp: continue a text of a corpus

struct ImitateOptions {
  int64_t length = 6;              // characters to write
  int64_t context = 16;            // characters of the prompt
  bool negative = false;           // -1 for a wrong character instead of 0
  std::string corpus = "stories";  // "tinyshakespeare", "stories", or a text file
};
std::vector<Field> fields(ImitateOptions& options);

// Each character that equals the corpus's at its position is rewarded by 1 / length. The last tenth of the corpus is
// held out. Throws Error if the corpus is too short.
std::unique_ptr<TextTask> imitate_task(const ImitateOptions& options = {});

// ---- keyword.cpp: write a sentence of the tiny language (tasks/data/tiny_language.h) that contains "moon"

struct KeywordOptions {
  double length_penalty = 0;
};
std::vector<Field> fields(KeywordOptions& options);

// A sentence earns 1 for each "moon" in it, minus length_penalty for each token past the eighth: a reward that invites
// reward hacking. It is solved by a correct sentence with a moon.
std::unique_ptr<TextTask> keyword_task(const KeywordOptions& options = {});

}  // namespace pg
