// pg tokenize: trains a byte-level BPE tokenizer, encodes and decodes with one, counts tokens, and writes token files.
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <optional>

#include "tasks/bpe/bpe_train.h"
#include "tasks/bpe/pretokenizer.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/text_data.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/clock.h"
#include "tensor/base/error.h"
#include "tensor/base/files/mapped_file.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/train/token_pack.h"

namespace pg::tools {
namespace {

struct TokenizeOptions {
  std::string action;               // a row of actions()
  std::vector<std::string> inputs;  // files of train and pack; texts of encode and count; ids of decode
  std::string tokenizer, pattern, file, out;
  std::vector<std::string> special;
  int64_t vocab_size = 32768, min_frequency = 0;
  int threads = 0;
  std::string separator = "none";  // of the texts in a file or standard input
  bool plain = false, ignore_special = false, json = false;
};

std::unique_ptr<Tokenizer> tokenizer_of(const TokenizeOptions& o) {
  check(!o.tokenizer.empty(), "tokenize {}: --tokenizer is missing: a file or folder of a tokenizer", o.action);
  return load_tokenizer(o.tokenizer, o.pattern);
}

std::string standard_input() { return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}; }

char separator_of(const TokenizeOptions& o) { return o.separator == "nul" ? '\0' : '\n'; }

// The texts of a command: its arguments, the file of --file, or standard input.
std::vector<std::string> texts_of(const TokenizeOptions& o) {
  check(o.file.empty() || o.inputs.empty(), "tokenize {}: --file and texts on the command line; give one of them",
        o.action);
  std::vector<std::string> texts = o.inputs;
  if (!o.file.empty()) texts = {read_file(o.file)};
  if (texts.empty()) texts = {standard_input()};
  if (o.separator == "none") return texts;
  std::vector<std::string> parts;
  for (const std::string& text : texts) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find(separator_of(o), begin), text.size());
      parts.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return parts;
}

std::vector<std::vector<int32_t>> encode(const TokenizeOptions& o, const Tokenizer& tokenizer,
                                         const std::vector<std::string>& texts) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  if (bpe) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    return bpe->encode_batch(views, {.surround = !o.plain, .special_tokens = !o.ignore_special});
  }
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& text : texts) ids.push_back(tokenizer.encode(text));
  return ids;
}

int run_encode(const TokenizeOptions& o) {
  const auto tokenizer = tokenizer_of(o);
  const std::vector<std::string> texts = texts_of(o);
  for (const auto& ids : encode(o, *tokenizer, texts)) {
    std::string line;
    for (const int32_t id : ids) line += fmt::format("{}{}", line.empty() ? "" : o.json ? "," : " ", id);
    fmt::print("{}\n", o.json ? fmt::format("[{}]", line) : line);
  }
  return 0;
}

// Whole numbers between anything else: "1 2", "1,2" and "[1, 2]".
std::vector<int32_t> ids_in(std::string_view text) {
  std::vector<int32_t> ids;
  constexpr std::string_view between = " \t\r\n,[]";
  for (size_t i = text.find_first_not_of(between); i < text.size(); i = text.find_first_not_of(between, i)) {
    const size_t end = std::min(text.find_first_of(between, i), text.size());
    Field{.name = "an id", .value = &ids.emplace_back(), .about = ""}.set(text.substr(i, end - i));
    i = end;
  }
  return ids;
}

int run_decode(const TokenizeOptions& o) {
  const auto tokenizer = tokenizer_of(o);
  check(o.file.empty() || o.inputs.empty(), "tokenize decode: --file and ids on the command line; give one of them");
  std::string text;
  for (const std::string& input : o.inputs) text += input + " ";
  if (o.inputs.empty()) text = o.file.empty() ? standard_input() : read_file(o.file);
  std::string decoded;
  if (o.separator == "none") {
    StreamDecoder stream(*tokenizer);
    for (const int32_t id : ids_in(text)) decoded += stream.push(id);
    decoded += stream.flush();
  } else {
    for (std::string_view rest = text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      decoded += tokenizer->decode(ids_in(rest.substr(0, end))) + separator_of(o);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  decoded = for_terminal(stdout, decoded);
  std::fwrite(decoded.data(), 1, decoded.size(), stdout);
  if (isatty(STDOUT_FILENO) == 1 && !decoded.ends_with('\n')) fmt::print("\n");
  return 0;
}

int run_count(const TokenizeOptions& o) {
  const auto tokenizer = tokenizer_of(o);
  const std::vector<std::string> texts = texts_of(o);
  int64_t bytes = 0, tokens = 0;
  for (const std::string& text : texts) bytes += std::ssize(text);
  const Timer timer;
  const auto encoded = encode(o, *tokenizer, texts);
  const double seconds = timer.seconds();
  for (const auto& ids : encoded) tokens += std::ssize(ids);
  const double per_token = tokens > 0 ? static_cast<double>(bytes) / static_cast<double>(tokens) : 0;
  if (o.json) {
    const Json line = {{"tokens", tokens}, {"bytes", bytes}, {"bytes_per_token", per_token}, {"seconds", seconds}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{} tokens, {} bytes, {:.3f} bytes per token\n", tokens, bytes, per_token);
    remark(stderr, "{:.2f} s, {:.1f} MB/s\n", seconds, static_cast<double>(bytes) / 1e6 / std::max(seconds, 1e-9));
  }
  return 0;
}

int run_train(const TokenizeOptions& o) {
  check(!o.inputs.empty(), "tokenize train: name the files of the text to learn from");
  const std::string path = o.out.empty() ? "tokenizer.json" : o.out;
  check(!o.out.empty() || !std::filesystem::exists(std::filesystem::symlink_status(path)),
        "tokenize train: {0} is here already; --out {0} replaces it, --out FILE writes another one", path);
  std::vector<std::unique_ptr<MappedFile>> files;
  std::vector<std::string_view> texts;
  for (const std::string& input : o.inputs) {
    files.push_back(std::make_unique<MappedFile>(input));
    const auto bytes = files.back()->bytes();
    texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  BpeTrainOptions options = {.vocab_size = o.vocab_size,
                             .special = o.special,
                             .pattern = o.pattern.empty() ? "gpt2" : o.pattern,
                             .min_frequency = o.min_frequency};
  const bool terminal = isatty(STDERR_FILENO) == 1;
  options.progress = [&](int64_t done, int64_t total) {
    if (terminal) remark(stderr, "\r{} of {} tokens\x1b[K", done, total);
  };
  const Timer timer;
  const BpeTokenizer tokenizer = train_bpe(texts, options);
  if (terminal) remark(stderr, "\r\x1b[K");
  write_file_atomically(path, tokenizer.to_json() + "\n");
  fmt::print("{}: {} tokens\n", path, tokenizer.vocab_size());
  remark(stderr, "{:.2f} s\n", timer.seconds());
  if (tokenizer.vocab_size() < o.vocab_size) {
    remark(stderr, "the text has no more pairs: {} tokens instead of {}\n", tokenizer.vocab_size(), o.vocab_size);
  }
  return 0;
}

// A line on a terminal that shows how much is encoded. Nothing is written where there is no terminal.
class PackProgress {
 public:
  ~PackProgress() { erase(); }
  void update(int64_t done, int64_t all, int64_t tokens) {
    const double seconds = timer_.seconds();
    if (!terminal_ || seconds - last_ < 0.1) return;
    last_ = seconds;
    const double share = static_cast<double>(done) / static_cast<double>(all);
    erase();
    remark(stderr, "{:3.0f}%  {:.0f} of {:.0f} MB  {} tokens  {:.1f} MB/s  {} left", 100 * share,
           static_cast<double>(done) / 1e6, static_cast<double>(all) / 1e6, tokens,
           static_cast<double>(done) / 1e6 / seconds, format_duration(seconds / share - seconds));
    drawn_ = true;
  }

 private:
  void erase() {
    if (drawn_) remark(stderr, "\r\x1b[K");
    drawn_ = false;
  }
  bool terminal_ = isatty(STDERR_FILENO) == 1, drawn_ = false;
  Timer timer_;
  double last_ = -1;  // seconds when the line was drawn
};

int run_pack(const TokenizeOptions& o) {
  check(!o.inputs.empty(), "tokenize pack: name the files of the text to encode");
  check(o.out.ends_with(kTokenFileEnding), "tokenize pack: --out must name a file that ends with {}, got '{}'",
        kTokenFileEnding, o.out);
  const auto tokenizer = tokenizer_of(o);
  catch_interrupt();
  const Timer timer;
  std::optional<PackProgress> progress(std::in_place);
  PackOptions options = {.paths = o.inputs, .end_texts = !o.plain, .special_tokens = !o.ignore_special};
  if (o.separator != "none") options.separator = separator_of(o);
  options.progress = [&](int64_t done, int64_t all, int64_t tokens) {
    check(!interrupted(), "tokenize pack: stopped after {} of {} bytes; {} is not written", done, all, o.out);
    progress->update(done, all, tokens);
  };
  PackResult result;
  try {
    result = pack_tokens(o.out, *tokenizer, options);
  } catch (const Error& e) {
    if (!interrupted()) throw;
    progress.reset();
    remark(stderr, "{}\n", e.what());
    return interrupt_status();
  }
  progress.reset();
  const TokenFileHeader& h = result.header;
  for (const std::string& note : result.notes) remark(stderr, "{}\n", note);
  if (o.json) {
    const Json line = {{"file", o.out},
                       {"tokens", h.tokens},
                       {"bytes", h.bytes},
                       {"texts", h.texts},
                       {"vocabulary", h.vocab_size},
                       {"bytes_per_id", h.width},
                       {"seconds", timer.seconds()}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{}: {} tokens of {} texts, {} bytes of text, {} bytes per id\n", o.out, h.tokens, h.texts, h.bytes,
               h.width);
    remark(stderr, "{:.2f} s\n", timer.seconds());
  }
  return 0;
}

struct Action {
  const char* name;
  int (*run)(const TokenizeOptions&);
};
const std::vector<Action>& actions() {
  static const std::vector<Action> all = {
      {"train", run_train}, {"encode", run_encode}, {"decode", run_decode}, {"count", run_count}, {"pack", run_pack}};
  return all;
}

int tokenize(const TokenizeOptions& o) {
  const Action& action = find_row(actions(), "pg tokenize", o.action);
  start_threads(o.threads);
  return action.run(o);
}

}  // namespace

Command tokenize_command() {
  const auto o = std::make_shared<TokenizeOptions>();
  return {
      .name = "tokenize",
      .about = "train a byte-level BPE tokenizer; encode, decode and count with one; write token files",
      .fields = {{"tokenizer", &o->tokenizer, "file or folder: tokenizer.json, vocab.json with merges.txt, *.tiktoken"},
                 {"pattern", &o->pattern,
                  fmt::format("how text is split ({}); empty: as the file says, else gpt2",
                              fmt::join(names_of(split_patterns()), ", "))},
                 {"file", &o->file, "the file to encode, decode or count"},
                 {"vocab-size", &o->vocab_size, "train: tokens with the special ones", whole_from(257, 0x1p30)},
                 {"min-frequency", &o->min_frequency, "train: rarer pairs are not merged", whole_from(0)},
                 {"out", &o->out,
                  fmt::format("train: the tokenizer.json to write (empty: tokenizer.json); pack: the token file, *{}",
                              kTokenFileEnding)},
                 {"separator", one_of(o->separator, {"none", "newline", "nul"}),
                  "what ends each text of the input; decode: each line of ids is a text, and this ends it"},
                 flag("plain", o->plain,
                      "without the special tokens that the tokenizer puts around a text; pack: without the end-of-text "
                      "token after each text"),
                 flag("ignore-special", o->ignore_special, "special tokens in a text are text like any other"),
                 json_field(o->json, "encode: a JSON list per text; count and pack: one JSON object"),
                 threads_field(o->threads)},
      .run = [o](Given&) { return tokenize(*o); },
      .arguments = {
          {"action", &o->action, "train, encode, decode, count or pack"},
          {"inputs", &o->inputs, "train and pack: files; encode and count: texts; decode: ids; else standard input",
           /*required=*/false},
          {"--special", &o->special, "train: a special token; may be given several times",
           /*required=*/false}}};
}

}  // namespace pg::tools
