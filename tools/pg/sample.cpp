// pg sample: text from a trained model.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "nn/generate.h"
#include "tasks/text_data.h"
#include "tensor/backend.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/remark.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/stop_text.h"

namespace pg::tools {
namespace {

struct Sample {
  std::string text;  // without the stop text
  int64_t tokens = 0;
  bool stopped = false;  // by a stop text or the tokenizer's end token
  double seconds = 0;
};

class Sampler {
 public:
  Sampler(const SampleCommandOptions& o, RunModel& m) : o_(o), m_(m) {
    StopText checked(o.stops);
    options_.max_new_tokens = std::min(o.tokens, int64_t{1} << 40);  // more never end, and sums overflow
    options_.greedy = o.greedy || o.temperature == 0;
    options_.sampling = {.temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p, .min_p = o.min_p};
    options_.seed = o.seed;
    options_.slide = true;
    if (m.tokenizer->end_id() >= 0) options_.stop_ids = {m.tokenizer->end_id()};
  }

  // Generates --count samples that continue `prompt` and prints each while it is generated.
  void run(const std::string& prompt, bool show_prompt) {
    const std::vector<int32_t> ids = read(prompt);
    int64_t tokens = 0;
    double seconds = 0;
    for (int64_t i = 1; i <= o_.count; ++i) {
      if (!o_.json && o_.count > 1) fmt::print("---- {}\n", i);
      if (!o_.json && show_prompt) fmt::print("{}", prompt);
      flush_output();
      const Sample sample = write(ids);
      tokens += sample.tokens;
      seconds += sample.seconds;
      if (o_.json) {
        const nlohmann::ordered_json line = {{"prompt", prompt},
                                             {"text", sample.text},
                                             {"tokens", sample.tokens},
                                             {"finish", sample.stopped ? "stop" : "length"},
                                             {"seconds", sample.seconds}};
        fmt::print("{}", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      }
      fmt::print("\n");
      flush_output();
    }
    if (!o_.json) {
      fmt::print(stderr, "{} tokens in {:.2f} s, {:.0f} tokens/s\n", tokens, seconds,
                 static_cast<double>(tokens) / std::max(seconds, 1e-9));
    }
  }

 private:
  // The tokens of a prompt; only the last ones if it is longer than the context.
  std::vector<int32_t> read(const std::string& prompt) const {
    std::vector<int32_t> ids = m_.tokenizer->encode(prompt);
    check(!ids.empty(), "sample: the prompt must have at least one token");
    const auto context = static_cast<size_t>(m_.model->config.block_size);
    if (ids.size() > context) {
      fmt::print(stderr, "sample: the prompt has {} tokens, the model reads {} at once: it sees the last {}\n",
                 ids.size(), context, context);
      ids.erase(ids.begin(), ids.end() - static_cast<int64_t>(context));
    }
    return ids;
  }

  Sample write(const std::vector<int32_t>& prompt) {
    Sample sample;
    StopText stop(o_.stops);
    int32_t before = prompt.back();
    const auto show = [&](const std::string& text) {
      sample.text += text;
      if (o_.json) return;
      fmt::print("{}", text);
      flush_output();
    };
    options_.first_row = row_++;
    options_.on_token = [&](int64_t, int32_t token) {
      show(stop.take(m_.tokenizer->continuation(before, token)));
      before = token;
    };
    options_.stop = [&](int64_t, std::span<const int32_t>) { return stop.stopped(); };
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Generated> rows = generate(*m_.model, {prompt}, options_);
    sample.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    sample.tokens = std::ssize(rows[0].tokens);
    sample.stopped = rows[0].finish == FinishReason::stop;
    show(stop.rest());
    return sample;
  }

  const SampleCommandOptions& o_;
  RunModel& m_;
  GenerateOptions options_;
  uint64_t row_ = 0;  // each sample draws from its own random stream
};

// Removes the newline at the end of files, pipes and lines, which is not meant as part of the prompt.
std::string prompt_in(std::string text, const std::string& name) {
  std::string note;
  text = unix_text(std::move(text), name, note);
  if (!note.empty()) remark(stderr, "{}\n", note);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

void interact(Sampler& sampler, const std::string& usual) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  const auto ask = [&] {
    if (terminal) fmt::print(stderr, "> ");
  };
  ask();
  for (std::string line; std::getline(std::cin, line); ask()) {
    if (line.ends_with('\r')) line.pop_back();
    try {
      sampler.run(line.empty() ? usual : line, /*show_prompt=*/false);
    } catch (const Error& e) {  // for example a character that is not in the model's vocabulary
      fmt::print(stderr, "pg: {}\n", e.what());
    }
  }
}

}  // namespace

int sample(const SampleCommandOptions& o) {
  const Device device = parse_device(o.device);
  backend(device).set_exact(o.exact);
  if (o.exact && device.on_host()) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  start_threads(o.threads);
  check(o.count >= 1, "sample: --count must be at least 1, got {}", o.count);
  std::string prompt = o.prompt;
  if (!o.prompt_file.empty()) prompt = prompt_in(read_file(o.prompt_file), o.prompt_file);
  if (o.prompt == "-") {
    prompt = prompt_in({std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}, "the prompt");
  }
  RunModel model = load_run_model(o.run, device, o.best);
  Sampler sampler(o, model);
  if (o.interactive) {
    interact(sampler, model.prompt);
  } else {
    sampler.run(prompt.empty() ? model.prompt : prompt, /*show_prompt=*/true);
  }
  return 0;
}

}  // namespace pg::tools
