#pragma once
// Tasks that are answered with tokens: a problem is a prompt, a response earns a score. Trainers see ids, never text
// made from ids and back.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tasks/tokenizer.h"
#include "tensor/base/random.h"

namespace pg {

struct Problem {
  std::vector<int32_t> prompt;  // at least one id
  std::vector<int32_t>
      answer;  // a response that earns the most, its end of sequence included: to imitate, and to score
};

// What a response earned.
struct Score {
  double reward = 0;
  std::vector<std::pair<std::string, double>> parts = {};  // the reward, broken down; they add up to it
  std::vector<double> per_token = {};  // the reward by token, if it is earned so; else all of it comes with the last
  bool solved = false;                 // whether the task is done, which a badly made reward may not see
};

class TextTask {
 public:
  virtual ~TextTask() = default;
  virtual std::string name() const = 0;
  virtual std::string about() const = 0;  // one line: the task, the reward, the most it can be
  virtual const Tokenizer& tokenizer() const = 0;
  int64_t vocab_size() const { return tokenizer().vocab_size(); }
  // Ends a response; -1: responses always run to max_response().
  int32_t end_id() const { return tokenizer().end_id(); }
  virtual int64_t max_prompt() const = 0;
  virtual int64_t max_response() const = 0;          // end_id included, the world's answers not
  virtual int64_t max_answers() const { return 0; }  // tokens of the world in an episode, at most
  // A problem to train on.
  virtual Problem sample(Generator& generator) const = 0;
  // Problems that sample() never gives, always the same: `count`, or fewer where there are no more.
  virtual std::vector<Problem> held_out(int64_t count) const = 0;
  // How those differ from the problems of sample() beside being held out; empty: they do not.
  virtual std::string held_out_note() const { return ""; }
  // The response as sampled, with its end_id if it came to one.
  virtual Score score(const Problem& problem, std::span<const int32_t> response) const = 0;
  // The text that the task is taken from, if any: what a bigram reference counts.
  virtual std::span<const int32_t> corpus() const { return {}; }
  // One sentence when that text is not what was asked for or not as it was stored, else empty.
  virtual std::string note() const { return {}; }
  // For people.
  std::string text(std::span<const int32_t> ids) const { return tokenizer().decode(ids); }
  // What the world says to a response so far, in ids that are read and not learned; nothing: the episode is over.
  virtual std::vector<int32_t> respond(const Problem&, std::span<const int32_t>) const { return {}; }
};

struct TextTaskOptions {
  int64_t length = 6;              // copy, reverse, sort: digits at most; imitate: characters to write (horizon)
  int64_t context = 16;            // imitate: characters given
  bool negative = false;           // imitate: -1 for a wrong character instead of 0
  std::string corpus = "stories";  // imitate: "tinyshakespeare", "stories", or a text file
  double length_penalty = 0;       // keyword: taken off for each token past the eighth
};

// "copy", "reverse", "sort", "digits", "keyword", "guess", "imitate". Error listing them for another name.
std::unique_ptr<TextTask> make_text_task(const std::string& name, const TextTaskOptions& options = {});

}  // namespace pg
