// pg chat: a conversation with a chat model in the terminal.
#include "tasks/chat/chat.h"

#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <system_error>

#include "nn/decode/decoder.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tasks/puzzles/chat_task.h"
#include "tensor/base/clock.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/use/chat_input.h"
#include "tools/pg/use/prompt_text.h"

namespace pg::tools {
namespace {

struct ChatOptions {
  std::string model = "smollm2";
  std::string prompt, prompt_file;  // the only message
  bool json = false;
  std::string device = "cpu", chat_template, template_kwargs, system, adapter;
  std::optional<DType> dtype;
  bool int8 = false;
  std::vector<std::string> stops;  // texts that end an answer; they are not shown
  int threads = 0;
  uint64_t seed = 1;
  int64_t tokens = 512, context = 2048;
  SampleOptions sampling = {.temperature = 0.2, .top_p = 0.9};
};

// What can be changed during a conversation: /NAME VALUE sets it.
std::vector<Field> sampling_fields(ChatOptions& o) {
  return {{"temperature", &o.sampling.temperature, "divides the logits; 0: always the likeliest token", kNotNegative},
          {"top-k", &o.sampling.top_k, "choose among the k likeliest tokens; 0: all", whole_from(0)},
          {"top-p", &o.sampling.top_p, "choose among the likeliest tokens that make up this probability", kSomeShare},
          {"min-p", &o.sampling.min_p, "leave out tokens less likely than this times the likeliest", kShare},
          {"tokens", &o.tokens, "tokens of an answer at most", whole_from(1)},
          {"system", &o.system, "the system message; default: that of the chat template"}};
}

std::vector<Field> fields(ChatOptions& o) {
  return joined({sampling_fields(o),
                 {{"prompt", &o.prompt, "the only message; -: all of standard input"},
                  {"prompt-file", &o.prompt_file, "a file with the only message"},
                  json_field(o.json, "a line with a JSON object for each answer, and nothing else on standard output"),
                  chat_template_field(o.chat_template),
                  template_kwargs_field(o.template_kwargs),
                  {"context", &o.context, "tokens of the whole conversation at most", whole_from(16, INT32_MAX)},
                  adapter_field(o.adapter),
                  int8_field(o.int8),
                  dtype_field(o.dtype),
                  {"seed", &o.seed, "the same seed and the same messages give the same answers"},
                  device_field(o.device),
                  threads_field(o.threads)}});
}

struct ChatAnswer {
  std::string text;
  int64_t tokens = 0;  // the one that ends the turn included
  std::string limit;   // why the answer is cut; empty if the model ended its turn
};

// The messages of a conversation, and the model's cache of them. The template writes the whole conversation at each
// turn, because it may write older turns in another way; what the cache has of it is not read again.
class Conversation {
 public:
  Conversation(const ChatOptions& o, const RunModel& m, const BpeTokenizer& tokenizer, const ChatTemplate& format)
      : o_(o), m_(m), tokenizer_(tokenizer), chat_(tokenizer, format), random_(random_stream(o.seed, 0)) {
    reset();
  }

  // Forgets every message.
  void reset() {
    if (!o_.system.empty()) chat_.check_system(o_.system);
    messages_.clear();
    if (!o_.system.empty()) messages_.push_back({"system", o_.system});
    restart();
  }
  // For changed sampling options, with the messages of before.
  void restart() {
    const DecodingOptions decoding = {.greedy = o_.sampling.temperature == 0, .sampling = o_.sampling};
    decoder_.emplace(*m_.model, 1, room(), decoding);
    cached_.clear();
  }

  // The answer to a message, which is shown while it is generated. After an Error the conversation is as before.
  ChatAnswer answer(const std::string& message) {
    const size_t before = messages_.size();
    messages_.push_back({"user", message});
    try {
      read(chat_.prompt(messages_));
      ChatAnswer answer = finish_turn();
      messages_.push_back({"assistant", answer.text});
      return answer;
    } catch (...) {
      messages_.resize(before);
      if (!decoder_->all_taken()) restart();
      throw;
    }
  }

 private:
  int64_t room() const { return std::min(o_.context, m_.model->config.block_size); }

  // Reads the conversation, and samples the first token of the answer.
  void read(const std::vector<int32_t>& ids) {
    check(std::ssize(ids) < room(),
          "chat: the conversation would have {} tokens of at most {} (--context); /reset begins a new one", ids.size(),
          room());
    // The last token is read in any case, because the answer follows from it.
    const auto same = std::mismatch(ids.begin(), ids.end() - 1, cached_.begin(), cached_.end()).first - ids.begin();
    const std::span<const int32_t> unread = std::span(ids).subspan(static_cast<size_t>(same));
    const double u = random_.uniform();
    cached_.resize(static_cast<size_t>(same));
    if (same == 0) {
      decoder_->prefill(0, std::span(&unread, 1), 1, {&u, 1});
    } else {
      decoder_->rewind(0, same);
      decoder_->extend(0, unread, u);
    }
    cached_ = ids;
  }

  ChatAnswer finish_turn() {
    ChatAnswer answer;
    StreamDecoder stream(tokenizer_);
    StopText stop(o_.stops);
    const auto show = [&](const std::string& text) {
      answer.text += text;
      if (o_.json) return;
      fmt::print("{}", for_terminal(stdout, text));
      flush_output();
    };
    for (;;) {
      const Decoder::Choices choice = decoder_->take();
      check(!std::isnan(choice.log_probs[0]), "chat: the logits of {} after {} tokens are not finite", m_.path,
            cached_.size());
      const int32_t token = choice.tokens[0];
      ++answer.tokens;
      if (token == chat_.end_id() || token == tokenizer_.end_id()) break;
      show(stop.take(stream.push(token)));
      if (stop.stopped()) break;
      const bool full = std::ssize(cached_) + 1 >= room();
      if (full || answer.tokens >= o_.tokens) {
        answer.limit = full ? "the context is full" : "--tokens is reached";
        break;
      }
      const double u = random_.uniform();
      decoder_->next({&u, 1});
      cached_.push_back(token);
    }
    show(stop.take(stream.flush()));
    show(stop.rest());
    return answer;
  }

  const ChatOptions& o_;
  const RunModel& m_;
  const BpeTokenizer& tokenizer_;
  const ChatEncoder chat_;
  Generator random_;
  std::vector<ChatMessage> messages_;
  std::vector<int32_t> cached_;  // what the decoder has read
  std::optional<Decoder> decoder_;
};

void print_help(ChatOptions& o) {
  fmt::print("/reset  begins a new conversation\n/quit   ends the program, as the end of the input does\n");
  for (const Field& field : sampling_fields(o)) fmt::print("/{} {}  {}\n", field.name, field.text(), field.about);
  fmt::print(
      "Other lines are messages. A message of several lines begins and ends with \"\"\", or its lines but the last end "
      "with \\.\n");
}

std::vector<std::string> command_names(ChatOptions& o) {
  std::vector<std::string> names = names_of(sampling_fields(o));
  names.insert(names.end(), {"help", "reset", "quit", "exit"});
  return names;
}

// "NAME" or "NAME VALUE"; blanks around the value are no part of it. False ends the program.
bool obey(const std::string& command, ChatOptions& o, Conversation& conversation) {
  const size_t blank = command.find_first_of(" \t");
  const std::string name = command.substr(0, blank);
  if (name == "quit" || name == "exit") return false;
  if (name == "help") {
    print_help(o);
  } else if (name == "reset") {
    conversation.reset();
  } else {
    const Field field = find_field(sampling_fields(o), "chat", name);
    check(blank != std::string::npos, "chat: /{} is {}; /{} VALUE changes it", name, field.text(), name);
    const size_t begin = std::min(command.size(), command.find_first_not_of(" \t", blank));
    const std::string before = field.text();
    field.set(command.substr(begin, command.find_last_not_of(" \t") + 1 - begin));
    try {
      name == "system" ? conversation.reset() : conversation.restart();
    } catch (const Error&) {  // the template writes no system message
      field.set(before);
      throw;
    }
  }
  return true;
}

void answer(const std::string& message, const ChatOptions& o, Conversation& conversation) {
  const Timer timer;
  const ChatAnswer answer = conversation.answer(message);
  if (o.json) {
    const Json line = {{"prompt", message},
                       {"text", answer.text},
                       {"tokens", answer.tokens},
                       {"finish", answer.limit.empty() ? "stop" : "length"},
                       {"seconds", timer.seconds()}};
    fmt::print("{}", line.dump(-1, Json::Utf8::replace));
  } else if (!answer.limit.empty()) {
    remark(stderr, " [{}]", answer.limit);
  }
  fmt::print("\n");
  flush_output();
}

// Says which command was meant by a message that begins with the misspelt name of one.
void remark_on_slash(const std::string& message, ChatOptions& o) {
  if (!message.starts_with('/')) return;
  const std::string name = message.substr(1, message.find_first_of(" \t\n") - 1);
  const std::vector<std::string> known = command_names(o);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  if (const std::string hint = did_you_mean(name, known); !hint.empty())
    remark(stderr, "pg: chat: /{} is no command{}, so the line is a message\n", name, hint);
}

// Whether a line that was pasted is there already.
bool pasted_more() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, /*timeout in ms=*/20) > 0 && (input.revents & POLLIN) != 0;
}

void converse(ChatOptions& o, Conversation& conversation) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) remark(stderr, "/help lists the commands, Ctrl-D ends.\n");
  ChatReader reader(std::cin, command_names(o), [terminal] { return terminal && pasted_more(); });
  for (;;) {
    if (terminal) remark(stderr, "> ");
    const std::optional<ChatInput> input = reader.next();
    if (!input) break;
    try {
      if (input->command) {
        if (!obey(input->text, o, conversation)) break;
      } else {
        remark_on_slash(input->text, o);
        answer(input->text, o, conversation);
      }
    } catch (const std::system_error&) {  // nobody reads the answers
      throw;
    } catch (const std::exception& e) {
      remark(stderr, "pg: {}\n", sentence_of(e));
    }
  }
}

int chat(ChatOptions& o) {
  const bool only_message = !o.prompt.empty() || !o.prompt_file.empty();
  check(o.prompt.empty() || o.prompt_file.empty(), "chat: --prompt and --prompt-file each state the message; give one");
  StopText checked(o.stops);
  const Device device = parse_device(o.device);
  start_threads(o.threads);
  RunModel model = load_run_model(o.model, device, {.dtype = o.dtype, .adapter = o.adapter});
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(model.tokenizer.get());
  const ChatTemplate format = model.chat_template.chosen(o.chat_template);
  check(tokenizer,
        "chat: {} has a tokenizer of characters, and a chat needs one of byte pairs; pg sample continues a text",
        model.path);
  check(static_cast<bool>(format),
        "chat: {} is not a chat model: it carries no chat template; pg sample continues a text with it, and "
        "--chat-template chooses one of {}, or a file that ends in .jinja",
        model.path, fmt::join(names_of(chat_templates()), ", "));
  model.model = without_unused_rows(std::move(model.model), tokenizer->vocab_size());
  if (!only_message) {
    const TransformerConfig& c = model.model->config;
    print_memory(isatty(STDIN_FILENO) ? stderr : nullptr,
                 {.model = c, .cache_rows = 1, .cache_columns = std::min(o.context, c.block_size)}, device,
                 weight_bytes(*model.model), "a smaller --context, or --dtype bf16");
  }
  if (o.int8) hold_int8(model);
  Conversation conversation(o, model, *tokenizer, format.with(o.template_kwargs));
  if (only_message) {
    answer(given_prompt(o.prompt, o.prompt_file), o, conversation);
  } else {
    converse(o, conversation);
  }
  return 0;
}

}  // namespace

Command chat_command() {
  const auto o = std::make_shared<ChatOptions>();
  return {
      .name = "chat",
      .about = "talk with a chat model",
      .fields = fields(*o),
      .run = [o](Given&) { return chat(*o); },
      .arguments = {{"model", &o->model, "a Hugging Face folder, a GGUF file, or a run; default: smollm2",
                     /*required=*/false},
                    {"--stop", &o->stops, "a text that ends an answer and is not shown; may be given several times",
                     /*required=*/false}},
      .notes = "Each line of the input is a message. /help lists the commands, and how a message has several lines."};
}

}  // namespace pg::tools
