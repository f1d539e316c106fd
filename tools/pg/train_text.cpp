// Loads the text and tokenizer for pg train.
#include <numbers>

#include "tasks/bpe/tokenizer_files.h"
#include "tasks/fetch.h"
#include "tasks/tokenizer.h"
#include "tensor/base/error.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/train.h"

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

}  // namespace

TrainText load_train_text(const TrainOptions& o, const Checkpoint* source, bool resumed) {
  const Corpus corpus = load(o.data), val = o.val.empty() ? Corpus{} : load(o.val);
  TrainText t;
  t.name = corpus.name;
  t.texts = {{"kind", "train"}, {"corpus", corpus.name}, {"corpus_sha256", sha256(corpus.text)}};
  if (!o.val.empty()) {
    t.texts["validation"] = val.name;
    t.texts["validation_sha256"] = sha256(val.text);
  }
  if (!o.init.empty()) t.texts["init"] = o.init;
  if (resumed) {
    for (const auto& [name, text] : {std::pair{"corpus_sha256", corpus.name}, {"validation_sha256", val.name}}) {
      if (!t.texts.contains(name)) continue;
      check(source->text(name) == t.texts.at(name), "train: the text ({}) is not the one that {} was trained on", text,
            o.run.resume);
    }
  }
  if (source) {
    t.tokenizer = tokenizer_of(*source);
    const std::string owner = resumed ? o.run.resume : o.init;
    check_vocabulary(*t.tokenizer, corpus.text, owner);
    if (!o.val.empty()) check_vocabulary(*t.tokenizer, val.text, owner);
  } else if (!o.tokenizer.empty()) {
    t.tokenizer = load_tokenizer(o.tokenizer);
    check_vocabulary(*t.tokenizer, corpus.text, o.tokenizer);
    if (!o.val.empty()) check_vocabulary(*t.tokenizer, val.text, o.tokenizer);
  } else {
    t.tokenizer = std::make_unique<CharTokenizer>(corpus.text + val.text);
  }
  t.texts["tokenizer"] = t.tokenizer->to_json();

  std::vector<int32_t> tokens = encode(*t.tokenizer, corpus.text);
  if (o.val.empty()) {
    const auto size = tokens.size();
    t.tokens = split_text(std::move(tokens));
    check(window_count(t.tokens.val, o.model.block_size) > 0,
          "train: the text has {} tokens, too few for a context of {}; use a longer text or a smaller --context", size,
          o.model.block_size);
  } else {
    t.tokens = {std::move(tokens), encode(*t.tokenizer, val.text)};
    check_length(t.tokens.train, "the text", o.model.block_size);
    check_length(t.tokens.val, "the validation text", o.model.block_size);
  }
  const double bytes = static_cast<double>(t.tokenizer->decode(t.tokens.val).size());
  t.bits_per_nat = static_cast<double>(t.tokens.val.size()) / bytes / std::numbers::ln2;
  return t;
}

}  // namespace pg::tools
