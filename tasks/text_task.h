#pragma once
// Text tasks: a problem is a prompt, and a response gets a score. Trainers see token ids only; ids are never converted
// to text and back.
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
  std::vector<int32_t> answer;  // a response with maximum reward, end of sequence included: to imitate, to score
};

// The score of a response.
struct Score {
  double reward = 0;
  std::vector<std::pair<std::string, double>> parts = {};  // the terms of the reward, which is their sum
  std::vector<double> per_token = {};  // the reward per token, if given per token; else the last token gets all of it
  bool solved = false;                 // whether the task is really done; a flawed reward may not measure that
};

class TextTask {
 public:
  virtual ~TextTask() = default;
  virtual std::string name() const = 0;
  virtual std::string about() const = 0;  // one line: the task, the reward, the maximum reward
  virtual const Tokenizer& tokenizer() const = 0;
  int64_t vocab_size() const { return tokenizer().vocab_size(); }
  // Ends a response. -1: responses always have max_response() tokens.
  int32_t end_id() const { return tokenizer().end_id(); }
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
  // The text that the task is taken from, if any: the data of a bigram baseline.
  virtual std::span<const int32_t> corpus() const { return {}; }
  // One sentence if that text is not the requested one or was changed while reading, else empty.
  virtual std::string note() const { return {}; }
  // The ids as text, for display.
  std::string text(std::span<const int32_t> ids) const { return tokenizer().decode(ids); }
  // The environment's answer to a response so far, as ids that the model reads but is not trained on. Empty: the
  // episode is over.
  virtual std::vector<int32_t> respond(const Problem&, std::span<const int32_t>) const { return {}; }
};

struct TextTaskOptions {
  int64_t length = 6;              // copy, reverse, sort: maximum digits; imitate: characters to write (horizon)
  int64_t context = 16;            // imitate: characters of the prompt
  bool negative = false;           // imitate: -1 for a wrong character instead of 0
  std::string corpus = "stories";  // imitate: "tinyshakespeare", "stories", or a text file
  double length_penalty = 0;       // keyword: subtracted for each token past the eighth
};

// "copy", "reverse", "sort", "digits", "keyword", "guess", "imitate". For another name an Error lists them.
std::unique_ptr<TextTask> make_text_task(const std::string& name, const TextTaskOptions& options = {});

}  // namespace pg
