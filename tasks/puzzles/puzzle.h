#pragma once
// Tasks whose answers can be verified, as text. A task is written once here and serves both kinds of models: those that
// read characters (character_task) and chat models (tasks/puzzles/chat_task.h).
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/puzzles/problem_file.h"
#include "tasks/text/text_task.h"

namespace pg {

// Which puzzles are for evaluation only.
enum class Split : uint8_t { by_key, train, held_out };  // by_key: one of ten, by a hash

struct Puzzle {
  std::string question;  // the short form, for models of characters, in the task's alphabet: "27+48"
  std::string request;   // the same in English, for chat models, without a word about the form of the answer
  std::string answer;    // a right answer: of a solver. For models of characters ascii_of() it
  std::string key;   // equal for puzzles that give each other's answer away, such as 27+48 and 48+27; empty: question
  std::string gold;  // what grade() needs to know besides; it never reaches the model
  std::string subject;  // for tables of results, with level; may be empty
  int level = 0;        // of difficulty, 1 the easiest; 0: none
  Split split = Split::by_key;
};

class PuzzleTask {
 public:
  virtual ~PuzzleTask() = default;
  virtual std::string name() const = 0;
  virtual std::string about() const = 0;        // one line: the task and its reward
  virtual std::string alphabet() const = 0;     // of short questions and answers: distinct ASCII characters
  virtual std::string answer_form() const = 0;  // for requests: "the number", "the expression"
  virtual int64_t max_question() const = 0;     // characters of a short question
  virtual int64_t max_answer() const = 0;       // characters that a right answer may need
  virtual int64_t max_request() const = 0;      // bytes of a request
  // All requests, if the puzzles are those of a file, so that their tokens can be counted; else none.
  virtual std::vector<std::string> requests() const { return {}; }
  // Leaves out the problems of a file whose request `fits` refuses because it is too long, and returns how many. Error
  // if none is left.
  virtual int64_t keep(const std::function<bool(const std::string& request)>&) { return 0; }
  // Sentences about the problems of a file that the user should know, else empty.
  virtual std::string note() const { return ""; }
  // Any puzzle. Callers keep those apart that are held out.
  virtual Puzzle draw(Generator& generator) const = 0;
  // The score of an answer, from 0 to 1; 1 and `solved` only if it is right. Parts of the reward for answers that are
  // nearly right stay below 1. Every answer has the same parts; "" earns
  // nothing. The text may be anything: it comes from a model.
  virtual Score grade(const Puzzle& puzzle, std::string_view answer) const = 0;
  // Whether grade() compares the answer with the puzzle's gold answer by grade_answer() (tasks/grade/grade.h).
  virtual bool uses_grader() const { return false; }
  // Whether two answers, right or wrong, are the same one and vote together. Unless a task says more, the same text.
  virtual bool same_answer(const Puzzle&, std::string_view a, std::string_view b) const { return a == b; }
};

// Whether a puzzle is for evaluation only: as its split says, or one of ten by a hash of its key. The same for every
// model and seed.
bool is_held_out(const Puzzle& puzzle);
// A puzzle to train on, or one that is held out. Error if 100,000 draws find none.
Puzzle draw_puzzle(const PuzzleTask& task, Generator& generator, bool held_out);
// Distinct puzzles that are held out: `count`, or fewer if there are no more. Every call returns the same ones.
std::vector<Puzzle> held_out_puzzles(const PuzzleTask& task, int64_t count);

// The task for a model of characters: the prompt is the short question and "=", the response the answer and an end
// token. A response without its end has no score.
std::unique_ptr<TextTask> character_task(std::unique_ptr<PuzzleTask> puzzles);

// A task's options at their defaults. Set the fields, then make the task.
struct PuzzleSetup {
  std::vector<Field> fields;  // they point into options that live as long as `make`
  std::function<std::unique_ptr<PuzzleTask>()> make;
};
struct PuzzleRow {
  std::string name, about;
  std::function<PuzzleSetup()> setup;
};
// The tasks with a name, of the library pg_tasks. text_tasks() has them too, for models of characters.
const std::vector<PuzzleRow>& puzzle_tasks();

// ---- arithmetic.cpp

struct ArithmeticOptions {
  std::string operations = "+";  // of "+-*"
  int64_t digits = 2;            // of each number, at most
  // For a response that is not the number alone, but whose last number is right: this times the number's share of the
  // response's characters, so that fewer other words earn more.
  double in_words = 0;
};
std::vector<Field> fields(ArithmeticOptions& options);

// One operation on two numbers that are not negative: "27+48" is "75". Reward 1 for the right number in any usual way
// to write it ("075", "75.0", "+75", "150/2"), otherwise 0.
std::unique_ptr<PuzzleTask> arithmetic_puzzles(const ArithmeticOptions& options = {});

// ---- countdown.cpp

struct CountdownOptions {
  int64_t count = 3, fewest = 2;  // numbers of a puzzle, at most and at least
  int64_t largest = 20;           // number
  int64_t target = 100;           // at most
  bool all = false;               // every number must be used
  double near = 0;                // below 1: of the reward for an expression with another value
};
std::vector<Field> fields(CountdownOptions& options);

// "3,5,7:22" is 22 by + - * / and parentheses, each number at most once: "3*5+7". Reward 1 for an expression whose
// exact value is the target. Another value that follows the rules earns near / (1 + distance from the target).
std::unique_ptr<PuzzleTask> countdown_puzzles(const CountdownOptions& options = {});

// ---- hanoi.cpp

struct HanoiOptions {
  int64_t disks = 4, fewest = 2;  // of a puzzle, at most and at least
  std::string start = "random";   // any position; "standard": all disks on one peg
  bool shortest = false;          // longer solutions earn less
  double progress = 0;            // below 1: of the reward for coming nearer to the goal
};
std::vector<Field> fields(HanoiOptions& options);

// "121:3" has disk 1, the smallest, on peg 1, disk 2 on peg 2 and disk 3 on peg 1; all shall be on peg 3: "13 12 ...".
// Reward 1 for moves that solve it and end there. With `shortest`, a solution earns the length of a shortest one
// divided by its own. Moves that do not solve it earn progress * (distance before - distance after) / distance before,
// at least 0, in shortest solutions; they earn nothing if one of them breaks the rules or follows the solution. With
// both, a solution earns progress + (1 - progress) * that quotient. Random positions that differ only in the names of
// the pegs are held out together. For the standard start, one of the six pairs of pegs is held out for every number of
// disks.
std::unique_ptr<PuzzleTask> hanoi_puzzles(const HanoiOptions& options = {});

// ---- connections.cpp

struct ConnectionsOptions {
  std::string file = {};  // with puzzles (tasks/puzzles/connections.h); empty: built-in lists of words
  double soft = 0;        // share of the reward that is for overlaps
};
std::vector<Field> fields(ConnectionsOptions& options);

// Sixteen words in random order, "red,ant,…", are four groups: "red,blue,green,black;ant,bee,…", in any order and case,
// with ; or line ends between groups. The reward is the number of groups that are exactly right divided by four,
// whatever the number of groups in the answer. With `soft`, that share of the reward is the mean over the four groups
// of (most words in common with a group of four words in the answer - 1) / 3. An answer with more than four groups or
// with a word twice has no reward. Built-in categories, and groups of a file, that are in a held-out puzzle are in no
// other one.
std::unique_ptr<PuzzleTask> connections_puzzles(const ConnectionsOptions& options = {});

// ---- word_problems.cpp

struct WordProblemOptions {
  int64_t problem_steps = 4;  // operations that lead to the answer, at most
  std::string file = {};      // like GSM8K's (tasks/puzzles/word_problems.h); empty: generated problems
  ProblemColumns columns = {};
};
std::vector<Field> fields(WordProblemOptions& options);

// "Anna has 12 apples. Anna buys 5 more. … How many apples does Anna have now?" Reward 1 for the right number, which
// is_answer() reads, otherwise 0. Problems that differ only in names and things are held out together. Generated
// problems have letters, digits and .,?'$- in their alphabet; those of a file all of ASCII but '=', and a model of
// characters sees '~' for what is not in it.
std::unique_ptr<PuzzleTask> word_problems(const WordProblemOptions& options = {});

// ---- math.cpp

struct MathOptions {
  int64_t easiest = 1, hardest = 5;  // levels; those of a file that are unknown are taken too
  std::string file = {};             // like MATH's (tasks/puzzles/math.h); empty: generated problems
  std::string held_out_file = {};    // whose problems are the held-out ones; empty: one of ten of `file`
  ProblemColumns columns = {};
  bool skip_unreadable = false;  // leave out problems of files whose answer grade_answer() cannot read
};
std::vector<Field> fields(MathOptions& options);

// Problems of mathematics: "What is $\frac{1}{2} + \frac{1}{3}$?", for models of characters "1/2+1/3". Reward 1 for an
// answer that grade_answer() (tasks/grade/grade.h) finds equal, otherwise 0. An answer to a generated problem must be
// in simplified form (tasks/grade/grade.h), so that the question is no answer. In files of problems it need not.
std::unique_ptr<PuzzleTask> math_puzzles(const MathOptions& options = {});

// ---- sentiment.cpp

struct SentimentOptions {
  int64_t words = 20;     // of a continuation, at most
  bool fluency = true;    // the reward is multiplied by review_fluency(); false for chat models
  std::string file = {};  // a text whose sentences are begun; empty: generated reviews
};
std::vector<Field> fields(SentimentOptions& options);

// "+ the soup we had on monday" asks for a positive continuation, "-" for a negative, "0" for a neutral one: "was
// wonderful and we stayed for an hour." The reward is mood_reward() (tasks/puzzles/sentiment.h), by a lexicon with
// graded words and negation; with `fluency` it loses the share of word pairs that reviews do not have. A beginning is
// held out in all three moods.
std::unique_ptr<PuzzleTask> sentiment_puzzles(const SentimentOptions& options = {});

}  // namespace pg
