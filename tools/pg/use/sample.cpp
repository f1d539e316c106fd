// pg sample: text from a trained model.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>

#include "nn/decode/generate.h"
#include "nn/variants/unmask.h"
#include "tensor/backend.h"
#include "tensor/base/clock.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/use/prompt_text.h"

namespace pg::tools {
namespace {

struct SampleCommandOptions {
  std::string run;     // a run's folder, a checkpoint, a Hugging Face folder or a GGUF file
  std::string model;   // the same, as an option
  bool best = false;   // use the checkpoint of the lowest validation loss
  std::string prompt;  // "-": standard input; "": the run's default prompt
  std::string prompt_file;
  bool interactive = false;        // each line of standard input is a prompt
  std::vector<std::string> stops;  // texts that end a sample; they are not shown
  bool json = false;               // one object per sample
  bool log_probs = false;          // in that object
  std::string device = "cpu", adapter;
  std::optional<DType> dtype;
  int threads = 0;
  uint64_t seed = 1;
  int64_t tokens = 500, count = 1;
  SampleOptions sampling = {.temperature = 0.8};
  bool greedy = false, exact = false, int8 = false;
  // For a masked denoiser.
  int64_t steps = 0;
  Choice<UnmaskOrder> order = "confidence";
};

std::vector<Field> fields(SampleCommandOptions& o) {
  SampleOptions& s = o.sampling;
  return {
      best_field(o.best),
      adapter_field(o.adapter),
      int8_field(o.int8),
      dtype_field(o.dtype),
      {"model", &o.model, "the same as the argument without a name"},
      {"prompt", &o.prompt, "the text to continue; -: standard input; default: a new line, or a problem of the task"},
      {"prompt-file", &o.prompt_file, "a file with the text to continue"},
      flag("interactive", o.interactive, "each line of standard input is a prompt, until it ends"),
      {"tokens", &o.tokens, "tokens to write; a masked denoiser fills its context unless this is given", whole_from(1)},
      {"count", &o.count, "texts to write", whole_from(1)},
      {"seed", &o.seed, "the same seed gives the same text"},
      {"temperature", &s.temperature, "divides the logits; 0: always the likeliest token", kNotNegative},
      {"top-k", &s.top_k, "choose among the k likeliest tokens; 0: all", whole_from(0)},
      {"top-p", &s.top_p, "choose among the likeliest tokens that make up this probability", kSomeShare},
      {"min-p", &s.min_p, "leave out tokens less likely than this times the likeliest", kShare},
      flag("greedy", o.greedy, "always the likeliest token"),
      {"steps", &o.steps, "of a masked denoiser, from all masks to none; 0: one for each token", whole_from(0)},
      {"order", row_field(o.order), "in which a masked denoiser's tokens become visible"},
      json_field(o.json, "a line with a JSON object for each sample, and nothing else on standard output"),
      flag("log-probs", o.log_probs, "with --json: the ids of the tokens, and their log-probabilities without filters"),
      device_field(o.device),
      threads_field(o.threads),
      exact_field(o.exact)};
}

struct Sample {
  std::string text;  // without the stop text
  std::vector<int32_t> tokens;
  std::vector<double> log_probs;
  bool stopped = false;  // by a stop text or the tokenizer's end token
  double seconds = 0;
};

class SampleWriter {
 public:
  SampleWriter(const SampleCommandOptions& o, const Given& given, RunModel& m)
      : o_(o), tokens_given_(given.has("tokens")), m_(m) {
    check(!m.model->config.causal || (!given.has("steps") && !given.has("order")),
          "sample: --steps and --order are for a masked denoiser; {} predicts the next token", o.run);
    StopText checked(o.stops);
    check(!o.log_probs || (o.json && m.model->config.causal),
          "sample: --log-probs is for --json, and not for a masked denoiser, whose tokens have none");
    options_.max_new_tokens = std::min(o.tokens, int64_t{1} << 40);  // more never end, and sums overflow
    options_.greedy = o.greedy || o.sampling.temperature == 0;
    options_.sampling = o.sampling;
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
      if (!o_.json && show_prompt) fmt::print("{}", for_terminal(stdout, prompt));
      flush_output();
      const Sample sample = write(ids);
      tokens += std::ssize(sample.tokens);
      seconds += sample.seconds;
      if (o_.json) {
        Json line = {{"prompt", prompt},
                     {"text", sample.text},
                     {"tokens", std::ssize(sample.tokens)},
                     {"finish", sample.stopped ? "stop" : "length"},
                     {"seconds", sample.seconds}};
        if (o_.log_probs) {
          line["token_ids"] = sample.tokens;
          line["log_probs"] = sample.log_probs;
        }
        fmt::print("{}", line.dump(-1, Json::Utf8::replace));
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
    if (!m_.model->config.causal && prompt.empty()) return {};
    std::vector<int32_t> ids = m_.tokenizer->encode(prompt);
    if (!m_.model->config.causal) {
      masks_after_prompt(ids);
      return ids;
    }
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
    StreamDecoder decoder(*m_.tokenizer, prompt.empty() ? -1 : prompt.back());
    const auto show = [&](const std::string& text) {
      sample.text += text;
      if (o_.json) return;
      fmt::print("{}", for_terminal(stdout, text));
      flush_output();
    };
    options_.first_row = row_++;
    options_.on_token = [&](int64_t, int32_t token) { show(stop.take(decoder.push(token))); };
    options_.stop = [&](int64_t, std::span<const int32_t>) { return stop.stopped(); };
    const Timer timer;
    const Generated row = m_.model->config.causal ? sampler_.generate({prompt}, options_)[0] : fill(prompt);
    sample.seconds = timer.seconds();
    sample.tokens = row.tokens;
    sample.log_probs = row.log_probs;
    sample.stopped = row.finish == FinishReason::stop;
    show(stop.take(decoder.flush()));
    show(stop.rest());
    return sample;
  }

  // The number of tokens that a masked denoiser writes after a prompt.
  int64_t masks_after_prompt(const std::vector<int32_t>& prompt) const {
    const int64_t context = m_.model->config.block_size, given = std::ssize(prompt), room = context - given;
    check(room >= 1, "sample: the prompt has {} tokens; the model fills a context of {} and needs a mask in it", given,
          context);
    check(!tokens_given_ || o_.tokens <= room,
          "sample: --tokens {} after a prompt of {} tokens; the model has a context of {}, which leaves {}", o_.tokens,
          given, context, room);
    const int64_t masks = tokens_given_ ? o_.tokens : room;
    check(o_.steps <= masks, "sample: --steps {} for {} tokens; each step must make at least one visible", o_.steps,
          masks);
    return masks;
  }

  // generate() for a masked denoiser: the tokens come from masks after the prompt, all at once.
  Generated fill(const std::vector<int32_t>& prompt) {
    const int64_t masks = masks_after_prompt(prompt), given = std::ssize(prompt);
    const auto mask_id = static_cast<int32_t>(m_.model->config.vocab_size - 1);
    const Tensor ids = unmask(*m_.model, masks_after(prompt, given + masks, mask_id),
                              {.steps = o_.steps == 0 ? masks : o_.steps,
                               .order = o_.order,
                               .greedy = options_.greedy,
                               .sampling = options_.sampling,
                               .seed = options_.seed,
                               .first_row = options_.first_row});
    Generated row;
    for (const int32_t token : ids.data<const int32_t>().subspan(prompt.size())) {
      row.tokens.push_back(token);
      options_.on_token(0, token);
      const auto& ends = options_.stop_ids;
      if (options_.stop(0, row.tokens) || std::find(ends.begin(), ends.end(), token) != ends.end()) {
        row.finish = FinishReason::stop;
        break;
      }
    }
    return row;
  }

  const SampleCommandOptions& o_;
  const bool tokens_given_;
  RunModel& m_;
  pg::Sampler sampler_{*m_.model};
  GenerateOptions options_;
  uint64_t row_ = 0;  // each sample draws from its own random stream
};

void interact(SampleWriter& sampler, const std::string& usual) {
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

int sample(const SampleCommandOptions& o, const Given& given) {
  check((o.prompt.empty() ? 0 : 1) + (o.prompt_file.empty() ? 0 : 1) + (o.interactive ? 1 : 0) <= 1,
        "sample: --prompt, --prompt-file and --interactive each state the prompt; give one of them");
  check(o.run.empty() != o.model.empty(), "sample: name one model, as in pg sample RUN or pg sample --model PATH");
  const Device device = parse_device(o.device);
  backend(device).set_exact(o.exact);
  if (o.exact && device.on_host()) {
    remark(stderr, "--exact has no effect on the CPU: there log-probabilities are always equal to the bit\n");
  }
  start_threads(o.threads);
  const std::string prompt = given_prompt(o.prompt, o.prompt_file);
  RunModel model = load_run_model(o.run.empty() ? o.model : o.run, device,
                                  {.best = o.best, .dtype = o.dtype, .denoisers = true, .adapter = o.adapter});
  if (model.model->config.causal) {  // a denoiser has a row for its mask
    model.model = without_unused_rows(std::move(model.model), model.tokenizer->vocab_size());
  }
  SampleWriter sampler(o, given, model);
  if (o.int8) hold_int8(model, prompt);
  if (o.interactive) {
    interact(sampler, model.prompt);
  } else {
    sampler.run(prompt.empty() ? model.prompt : prompt, /*show_prompt=*/true);
  }
  return 0;
}

}  // namespace

Command sample_command() {
  const auto o = std::make_shared<SampleCommandOptions>();
  return {.name = "sample",
          .about = "text from a trained model",
          .fields = fields(*o),
          .run = [o](Given& given) { return sample(*o, given); },
          .arguments = {{"run", &o->run, "a run's folder, a checkpoint, a Hugging Face folder, a GGUF file, or smollm2",
                         /*required=*/false},
                        {"--stop", &o->stops, "a text that ends a sample and is not shown; may be given several times",
                         /*required=*/false}}};
}

}  // namespace pg::tools
