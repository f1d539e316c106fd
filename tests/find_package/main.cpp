// A program of another project that uses the installed headers and the installed library: y = sum(a·b), so dy/da = row
// sums of b; then one step of GRPO on a text task with a small GPT-2.
#include <autograd/ops.h>
#include <autograd/tape.h>
#include <fmt/core.h>
#include <nn/gpt2.h>
#include <rl/algorithm.h>
#include <rl/text/trainer.h>
#include <tasks/text_task.h>

#include <cmath>

bool tape_is_right() {
  pg::Tensor a = pg::Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  pg::Tensor b = pg::Tensor::from(std::vector<float>{1, 0, 2, 1, 0, 3}, {3, 2});
  a.set_requires_grad();
  pg::Tensor y = pg::sum(pg::matmul(a, b));
  pg::backward(y);
  const std::vector<double> want = {1, 3, 3, 1, 3, 3};
  return y.item() == 53 && a.grad().to_vector() == want;
}

bool trains() {
  const auto task = pg::make_text_task("copy", {{"length", "2"}});
  pg::Generator generator(1);
  pg::Gpt2 policy({.vocab_size = task->vocab_size(), .block_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 16},
                  generator);
  pg::rl::RlConfig config;
  config.algorithm = pg::rl::algorithm("grpo");
  config.batch = {.prompts = 4, .samples = 4};
  pg::rl::RlTrainer trainer(policy, *task, config);
  return std::isfinite(trainer.step().at("loss")) && trainer.steps() == 1;
}

int main() {
  if (!tape_is_right()) fmt::print("the gradient of a matmul is wrong\n");
  if (!trains()) fmt::print("a step of GRPO did not happen\n");
  return tape_is_right() && trains() ? 0 : 1;
}
