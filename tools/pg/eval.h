#pragma once
// pg eval: how well a model of text predicts another text.
#include <cstdint>
#include <string>
#include <vector>

#include "nn/gpt2.h"

namespace CLI {
class App;
}

namespace pg::tools {

struct EvalOptions {
  std::string run, text;  // a run's folder or a checkpoint; a file, "stories" or "tinyshakespeare"
  std::string device = "cpu";
  int threads = 0;
  bool best = false, exact = false, json = false;
};
void add_eval_options(CLI::App& app, EvalOptions& options);
int evaluate(const EvalOptions& options);

// The sum over ids[1], ids[2], … of -log p(id), in nats. The ids are cut into windows of the model's context, as in
// training, and the last window may be shorter: the first token of each is predicted from the last of the window
// before alone. Error for fewer than two ids.
double text_loss(Gpt2& model, const std::vector<int32_t>& ids);

}  // namespace pg::tools
