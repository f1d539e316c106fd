// pg sample: text from a trained model.
#include <cstdio>
#include <filesystem>

#include "nn/checkpoint.h"
#include "nn/generate.h"
#include "nn/gpt2.h"
#include "tasks/char_tokenizer.h"
#include "tensor/cuda/runtime.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tools/pg/commands.h"

namespace pg::tools {

int sample(const SampleCommandOptions& o) {
  const Device device = parse_device(o.device);
  cuda::set_exact(o.exact);
  if (o.threads > 0) set_num_threads(o.threads);
  check(o.count >= 1, "sample: --count must be at least 1, got {}", o.count);
  const std::string path = std::filesystem::is_directory(o.run) ? checkpoint_path(o.run) : o.run;
  const Checkpoint checkpoint = load_checkpoint(path);
  const CharTokenizer tokenizer = CharTokenizer::from_json(checkpoint.text("tokenizer"));
  Gpt2 model(gpt2_config_from_json(checkpoint.text("model")));
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
