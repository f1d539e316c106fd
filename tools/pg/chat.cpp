// pg chat: a conversation with a chat model in the terminal.
#include "tasks/chat.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "nn/decoder.h"
#include "tasks/bpe/bpe_tokenizer.h"
#include "tensor/base/error.h"
#include "tensor/base/table.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

struct ChatOptions {
  std::string model = "smollm2";
  std::string device = "cpu", chat_template, system, adapter;
  DType dtype = f32;
  bool int8 = false;
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
  return joined(sampling_fields(o),
                {{"chat-template", &o.chat_template,
                  "the format of turns; default: the one that the model carries (" +
                      fmt::format("{}", fmt::join(names_of(chat_templates()), ", ")) + ")"},
                 {"context", &o.context, "tokens of the whole conversation at most", whole_from(16, INT32_MAX)},
                 adapter_field(o.adapter),
                 int8_field(o.int8),
                 {"dtype", float_type(o.dtype), "type of the weights in memory"},
                 {"seed", &o.seed, "the same seed and the same messages give the same answers"},
                 device_field(o.device),
                 threads_field(o.threads)});
}

// The model's state in a conversation: every token so far is in its cache, but the last sampled one.
class Conversation {
 public:
  Conversation(const ChatOptions& o, const RunModel& m, const BpeTokenizer& tokenizer, const ChatTemplate& format)
      : o_(o), m_(m), tokenizer_(tokenizer), format_(format), random_(random_stream(o.seed, 0)) {
    end_ = encode_chat(tokenizer, {{format.turn_end, true}}).ids[0];
    reset();
  }

  // Forgets every message. Also for changed sampling options, with the tokens of before.
  void reset() {
    ids_.clear();
    restart();
  }
  void restart() {
    const DecodingOptions decoding = {.greedy = o_.sampling.temperature == 0, .sampling = o_.sampling};
    decoder_.emplace(*m_.model, 1, room(), decoding);
    read_ = 0;
  }

  // Prints the answer to a message while it is generated.
  void answer(const std::string& message) {
    std::vector<ChatMessage> messages;
    if (ids_.empty() && !o_.system.empty()) messages.push_back({"system", o_.system});
    messages.push_back({"user", message});
    const std::vector<ChatPart> parts =
        ids_.empty() ? render_chat(format_, messages, /*answer=*/true) : render_reply(format_, messages);
    const std::vector<int32_t> turn = encode_chat(tokenizer_, parts).ids;
    const auto after = static_cast<int64_t>(ids_.size() + turn.size());
    check(after < room(),
          "chat: the conversation would have {} tokens of at most {} (--context); /reset begins a new one", after,
          room());
    ids_.insert(ids_.end(), turn.begin(), turn.end());

    const std::span<const int32_t> unread = std::span(ids_).subspan(read_);
    if (read_ == 0) {
      const double u = random_.uniform();
      decoder_->prefill(0, std::span(&unread, 1), 1, {&u, 1});
    } else {
      decoder_->extend(0, unread, random_.uniform());
    }
    read_ = ids_.size();
    StreamDecoder stream(tokenizer_);
    for (int64_t count = 0;; ++count) {
      const int32_t token = decoder_->take().tokens[0];
      ids_.push_back(token);
      if (token == end_ || token == tokenizer_.end_id()) {
        ids_.back() = end_;
        break;
      }
      fmt::print("{}", stream.push(token));
      flush_output();
      const bool full = static_cast<int64_t>(ids_.size()) >= room();
      if (full || count + 1 >= o_.tokens) {
        fmt::print("{}", stream.flush());
        flush_output();
        remark(stderr, " [{}]", full ? "the context is full" : "--tokens is reached");
        ids_.push_back(end_);
        break;
      }
      const double u = random_.uniform();
      decoder_->next({&u, 1});
      read_ = ids_.size();
    }
    fmt::print("{}\n", stream.flush());
    flush_output();
  }

 private:
  int64_t room() const { return std::min(o_.context, m_.model->config.block_size); }

  const ChatOptions& o_;
  const RunModel& m_;
  const BpeTokenizer& tokenizer_;
  const ChatTemplate& format_;
  Generator random_;
  int32_t end_ = -1;
  std::vector<int32_t> ids_;  // of the whole conversation
  size_t read_ = 0;           // the first of them, which the cache holds
  std::optional<Decoder> decoder_;
};

void print_help(ChatOptions& o) {
  fmt::print("/reset  begins a new conversation\n/quit   ends the program, as the end of the input does\n");
  for (const Field& field : sampling_fields(o)) fmt::print("/{} {}  {}\n", field.name, field.text(), field.about);
}

// A line that begins with '/'. False ends the program.
bool obey(const std::string& line, ChatOptions& o, Conversation& conversation) {
  const size_t space = line.find(' ');
  const std::string name = line.substr(1, space - 1);
  if (name == "quit" || name == "exit") return false;
  if (name == "help") {
    print_help(o);
  } else if (name == "reset") {
    conversation.reset();
  } else {
    const Field field = find_field(sampling_fields(o), "chat", name);
    check(space != std::string::npos, "chat: /{} is {}; /{} VALUE changes it", name, field.text(), name);
    field.set(line.substr(space + 1));
    name == "system" ? conversation.reset() : conversation.restart();
  }
  return true;
}

int chat(ChatOptions& o) {
  const Device device = parse_device(o.device);
  start_threads(o.threads);
  RunModel model = load_run_model(o.model, device, {.dtype = o.dtype, .adapter = o.adapter});
  const auto* tokenizer = dynamic_cast<const BpeTokenizer*>(model.tokenizer.get());
  check(tokenizer && (!model.chat_template.empty() || !o.chat_template.empty()),
        "chat: {} is not a chat model: it carries no chat template; pg sample continues a text with it, and "
        "--chat-template chooses one of {}",
        model.path, fmt::join(names_of(chat_templates()), ", "));
  const ChatTemplate& format = o.chat_template.empty() ? recognize_chat_template(model.chat_template, model.path)
                                                       : find_row(chat_templates(), "--chat-template", o.chat_template);
  if (o.int8) hold_int8(model);
  Conversation conversation(o, model, *tokenizer, format);
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) remark(stderr, "/help lists the commands, Ctrl-D ends.\n");
  const auto ask = [&] {
    if (terminal) remark(stderr, "> ");
  };
  ask();
  for (std::string line; std::getline(std::cin, line); ask()) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    try {
      if (!line.starts_with('/')) {
        conversation.answer(line);
      } else if (!obey(line, o, conversation)) {
        break;
      }
    } catch (const Error& e) {
      remark(stderr, "pg: {}\n", e.what());
    }
  }
  return 0;
}

}  // namespace

Command chat_command() {
  const auto o = std::make_shared<ChatOptions>();
  return {.name = "chat",
          .about = "talk with a chat model",
          .fields = fields(*o),
          .run = [o](Given&) { return chat(*o); },
          .arguments = {{"model", &o->model, "a Hugging Face folder, a GGUF file, or a run; default: smollm2",
                         /*required=*/false}},
          .notes = "Each line of the input is a message. Lines that begin with / are commands; /help lists them."};
}

}  // namespace pg::tools
