// Loads the text or token files and the tokenizer for pg train.
#include <filesystem>
#include <numbers>
#include <tuple>

#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/fetch.h"
#include "tasks/data/tokenizer.h"
#include "tensor/base/error.h"
#include "tensor/base/sha256.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/train/train.h"

namespace pg::tools {
namespace {

Corpus load(const std::string& name) {
  Corpus corpus = load_corpus(name);
  if (!corpus.note.empty()) remark(stderr, "{}\n", corpus.note);
  return corpus;
}

void check_length(const std::vector<int32_t>& tokens, const char* what, int64_t context) {
  check(window_count(tokens, context) > 0,
        "train: {} has {} tokens, too few for a context of {}; use a longer text or a smaller --context", what,
        tokens.size(), context);
}

// The tokens of a text, special tokens of the text included, without those that surround a whole text.
std::vector<int32_t> encode(const Tokenizer& tokenizer, const std::string& text) {
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
  return bpe ? bpe->encode(text, {.surround = false, .special_tokens = true}) : tokenizer.encode(text);
}

// Error if a checkpoint was trained on something else than `texts` says.
void check_same_data(const std::map<std::string, std::string>& texts, const Checkpoint& checkpoint,
                     const std::string& run) {
  for (const auto& [key, name] : {std::pair{"corpus_sha256", "corpus"}, {"validation_sha256", "validation"}}) {
    if (!texts.contains(key)) continue;
    check(checkpoint.text(key) == texts.at(key), "train: the text ({}) is not the one that {} was trained on",
          texts.at(name), run);
  }
}

bool is_tokens(const std::string& path) { return std::filesystem::is_directory(path) || is_token_file(path); }

// A checksum of the headers, which have a hash of the ids: the files themselves may be larger than memory.
std::string sha256_of(const std::vector<TokenRange>& ranges) {
  std::string headers;
  for (const TokenRange& range : ranges) {
    headers += range.file->header().to_bytes() + fmt::format("{} {}\n", range.begin, range.end);
  }
  return sha256(headers);
}

// Sets the batches of a text in memory.
void set_batches(TrainText& t, TextData data, int64_t length) {
  t.tokens = std::ssize(data.train) + std::ssize(data.val);
  t.val_windows = window_count(data.val, length);
  const auto shared = std::make_shared<const TextData>(std::move(data));
  t.train_batch = [shared, length](int64_t rows, Generator& g) { return random_batch(shared->train, rows, length, g); };
  t.val_batch = [shared, length](int64_t rows, Generator& g) { return random_batch(shared->val, rows, length, g); };
  t.val_window_batch = [shared, length](int64_t first, int64_t rows) {
    return window_batch(shared->val, first, rows, length);
  };
}

// Sets the batches of token files.
void set_batches(TrainText& t, const TokenSplit& split, int64_t length, uint64_t seed) {
  t.tokens = count_tokens(split.train) + count_tokens(split.val);
  const auto val = std::make_shared<const TokenWindows>(split.val, length);
  TokenWindows train(split.train, length);
  for (const auto& [windows, tokens, what] : {std::tuple{train.count(), count_tokens(split.train), "training"},
                                              {val->count(), count_tokens(split.val), "validation"}}) {
    check(windows > 0, "train: {} tokens for {} are too few for a context of {}; use more text or a smaller --context",
          tokens, what, length);
  }
  t.val_windows = val->count();
  const auto shuffled = t.shuffled = std::make_shared<ShuffledWindows>(std::move(train), seed);
  t.train_batch = [shuffled](int64_t rows, Generator&) { return shuffled->next(rows); };
  t.val_batch = [val](int64_t rows, Generator& g) {
    std::vector<int64_t> windows;
    for (int64_t b = 0; b < rows; ++b) windows.push_back(g.integer(val->count()));
    return val->batch(windows);
  };
  t.val_window_batch = [val](int64_t first, int64_t rows) { return val->batch(first, rows); };
}

// The tokenizer of the run that goes on or of the model of --init; null if there is neither.
std::unique_ptr<Tokenizer> tokenizer_at_start(const TrainOptions& o, const Checkpoint* source) {
  if (source) return tokenizer_of(*source, /*denoisers=*/true);
  return o.init.empty() ? nullptr : load_tokenizer(pretrained_path(o.init));
}

TrainText load_token_files(const TrainOptions& o, const Checkpoint* source, bool resumed) {
  check(o.val.empty() || is_tokens(o.val), "train: --data {} holds tokens, so --val must too; {} is a text", o.data,
        o.val);
  const TokenSplit split = open_tokens(o.data, o.val);
  TrainText t;
  t.name = o.data;
  t.texts = {{"kind", "train"}, {"corpus", o.data}, {"corpus_sha256", sha256_of(split.train)}};
  t.texts["validation"] = o.val.empty() ? o.data : o.val;
  t.texts["validation_sha256"] = sha256_of(split.val);
  if (!o.init.empty()) t.texts["init"] = o.init;
  if (resumed) check_same_data(t.texts, *source, o.run.resume);
  t.tokenizer = tokenizer_at_start(o, source);
  check(t.tokenizer || !o.tokenizer.empty(),
        "train: --data {} holds the tokens of a tokenizer; name it with --tokenizer", o.data);
  const std::string owner = resumed ? o.run.resume : t.tokenizer ? o.init : o.tokenizer;
  if (!t.tokenizer) t.tokenizer = load_tokenizer(o.tokenizer);
  const TokenTexts texts(*t.tokenizer);
  check_tokenizer(split, texts, owner);
  t.texts["tokenizer"] = t.tokenizer->to_json();
  set_batches(t, split, o.model.block_size, o.train.seed);
  const auto bytes = static_cast<double>(count_bytes(split.val, texts));
  check(bytes > 0, "train: the validation tokens of {} stand for no text", t.texts.at("validation"));
  t.bits_per_nat = static_cast<double>(count_tokens(split.val)) / bytes / std::numbers::ln2;
  return t;
}

}  // namespace

TrainText load_train_text(const TrainOptions& o, const Checkpoint* source, bool resumed) {
  if (is_tokens(o.data)) return load_token_files(o, source, resumed);
  check(o.val.empty() || !is_tokens(o.val), "train: --val {} holds tokens, so --data must too; {} is a text", o.val,
        o.data);
  const Corpus corpus = load(o.data), val = o.val.empty() ? Corpus{} : load(o.val);
  TrainText t;
  t.name = corpus.name;
  t.texts = {{"kind", "train"}, {"corpus", corpus.name}, {"corpus_sha256", sha256(corpus.text)}};
  if (!o.val.empty()) {
    t.texts["validation"] = val.name;
    t.texts["validation_sha256"] = sha256(val.text);
  }
  if (!o.init.empty()) t.texts["init"] = o.init;
  if (resumed) check_same_data(t.texts, *source, o.run.resume);
  t.tokenizer = tokenizer_at_start(o, source);
  const std::string owner = resumed ? o.run.resume : t.tokenizer ? o.init : o.tokenizer;
  if (!t.tokenizer && !o.tokenizer.empty()) t.tokenizer = load_tokenizer(o.tokenizer);
  if (t.tokenizer) {
    check_vocabulary(*t.tokenizer, corpus.text, owner);
    if (!o.val.empty()) check_vocabulary(*t.tokenizer, val.text, owner);
  } else {
    t.tokenizer = std::make_unique<CharTokenizer>(corpus.text + val.text);
  }
  t.texts["tokenizer"] = t.tokenizer->to_json();

  std::vector<int32_t> tokens = encode(*t.tokenizer, corpus.text);
  TextData data;
  if (o.val.empty()) {
    const auto size = tokens.size();
    data = split_text(std::move(tokens));
    check(window_count(data.val, o.model.block_size) > 0,
          "train: the text has {} tokens, too few for a context of {}; use a longer text or a smaller --context", size,
          o.model.block_size);
  } else {
    data = {std::move(tokens), encode(*t.tokenizer, val.text)};
    check_length(data.train, "the text", o.model.block_size);
    check_length(data.val, "the validation text", o.model.block_size);
  }
  const double bytes = static_cast<double>(t.tokenizer->decode(data.val).size());
  t.bits_per_nat = static_cast<double>(data.val.size()) / bytes / std::numbers::ln2;
  set_batches(t, std::move(data), o.model.block_size);
  return t;
}

}  // namespace pg::tools
