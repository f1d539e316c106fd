// pg sample: text from a trained model.
#include <cstdio>

#include "nn/checkpoint.h"
#include "nn/generate.h"
#include "nn/gpt2.h"
#include "nn/remark.h"
#include "tasks/char_tokenizer.h"
#include "tensor/cuda/runtime.h"
#include "tensor/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/process.h"
#include "tools/pg/run.h"

namespace pg::tools {

int sample(const SampleCommandOptions& o) {
  const Device device = parse_device(o.device);
  cuda::set_exact(o.exact);
  if (o.exact && device.kind == Device::Kind::cpu) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  start_threads(o.threads);
  check(o.count >= 1, "sample: --count must be at least 1, got {}", o.count);
  const std::string path = checkpoint_of(o.run);
  const Checkpoint checkpoint = load_checkpoint(path);
  const CharTokenizer tokenizer = CharTokenizer::from_json(checkpoint.text("tokenizer"));
  Gpt2 model(checkpoint.gpt2_config());
  checkpoint.restore(model);
  model.to(device);
  model.eval();

  const std::vector<int32_t> prompt = tokenizer.encode(o.prompt);
  check(!prompt.empty(), "sample: the prompt must have at least one character");
  GenerateOptions options;
  options.max_new_tokens = o.tokens;
  options.greedy = o.greedy;
  options.sampling = {.temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p, .min_p = o.min_p};
  options.seed = o.seed;
  options.slide = true;
  if (o.count == 1) {
    fmt::print("{}", o.prompt);
    options.on_token = [&](int64_t, int32_t token) {
      fmt::print("{}", tokenizer.decode({&token, 1}));
      std::fflush(stdout);
    };
  }
  const auto rows = generate(model, std::vector(static_cast<size_t>(o.count), prompt), options);
  if (o.count == 1) {
    fmt::print("\n");
    return 0;
  }
  for (size_t i = 0; i < rows.size(); ++i)
    fmt::print("---- {}\n{}{}\n", i + 1, o.prompt, tokenizer.decode(rows[i].tokens));
  return 0;
}

}  // namespace pg::tools
