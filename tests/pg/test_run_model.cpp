// The model and the vocabulary of a run, for every version and way in which runs are or were stored.
#include <cmath>
#include <fstream>
#include <functional>

#include "nn/files/checkpoint.h"
#include "nn/train/trainer.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/data/tiny_language.h"
#include "tasks/data/tokenizer.h"
#include "tasks/text/text_task.h"
#include "tests/catch.h"
#include "tests/pg/chat_model.h"
#include "tools/pg/eval/eval.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/use/prompt_text.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using namespace pg::tools;
using pg::testing::TempDir;

namespace {

Transformer model_of(int64_t vocab_size) {
  Generator g(1);
  return Transformer({.vocab_size = vocab_size, .block_size = 8, .n_layer = 1, .n_head = 1, .n_embd = 4}, g);
}

// Writes a run folder whose checkpoint holds a model and these metadata strings.
void write_run(const std::string& folder, int64_t vocab_size, std::map<std::string, std::string> texts) {
  Transformer model = model_of(vocab_size);
  texts["model"] = to_json(model.config);
  save_checkpoint(folder + "/checkpoint.safetensors", model, nullptr, {7, {}, texts});
}

}  // namespace

TEST_CASE("every tokenizer survives its JSON", "[text][pg]") {
  for (const char* name : {"sort", "digits", "guess", "keyword", "imitate"}) {
    const auto task = make_text_task(name);
    const auto back = tokenizer_from_json(task->tokenizer().to_json());
    CHECK(back->vocab_size() == task->vocab_size());
    CHECK(back->end_id() == task->end_id());
    Generator g(3);
    for (int i = 0; i < 20; ++i) {
      const Problem p = task->sample(g);
      CHECK(back->encode(task->text(p.prompt)) == p.prompt);
      CHECK(back->encode(task->text(p.answer)) == p.answer);
      // Decoding token by token gives the same text as decoding all tokens at once.
      std::string text;
      for (size_t t = 0; t < p.answer.size(); ++t)
        text += back->continuation(t == 0 ? -1 : p.answer[t - 1], p.answer[t]);
      CHECK(text == task->text(p.answer));
    }
  }
  CHECK(contains(error_of([] { tokenizer_from_json(R"({"type":"bpe"})"); }), "known are: char list"));
  for (const char* bad :
       {"", "3", "{}", R"({"type":7})", R"({"type":"list"})", R"({"type":"list","tokens":[],"words":true,"end":-1})",
        R"({"type":"list","tokens":["a","a"],"words":true,"end":-1})",
        R"({"type":"list","tokens":["a",""],"words":true,"end":-1})",
        R"({"type":"list","tokens":["a",4],"words":true,"end":-1})",
        R"({"type":"list","tokens":["a"],"words":true,"end":1})",
        R"({"type":"list","tokens":["a"],"words":true,"end":1e30})",
        R"({"type":"list","tokens":["a"],"words":1,"end":0})"}) {
    CHECK(!error_of([&] { tokenizer_from_json(bad); }).empty());
  }
}

TEST_CASE("a list of words takes whole words only and names what it lacks", "[text][pg]") {
  const Tokenizer& words = tiny_tokenizer();
  CHECK(words.encode(" the  old\ncat sleeps.") == words.encode("the old cat sleeps ."));
  CHECK(words.decode(words.encode("a cat sings today.")) == "a cat sings today.");
  CHECK(contains(error_of([&] { words.encode("the catalogue"); }), "'catalogue' at byte 4"));
  CHECK(contains(error_of([&] { words.encode("the \u00e9"); }), "'\u00e9' at byte 4"));
  const TokenList digits({"1", "2", "12"}, false, -1);  // the longest matching token is taken
  CHECK(digits.encode("1121") == std::vector<int32_t>{0, 2, 0});
  CHECK(contains(error_of([&] { digits.encode("1x2"); }), "'x' at byte 1"));
}

TEST_CASE("a run that stores only the name of its task is read by that task's vocabulary", "[pg]") {
  const TempDir folder;
  write_run(folder.path, 16, {{"task", "sort"}, {"kl_beta", "0"}});
  const RunModel m = load_run_model(folder.path, Device{});
  CHECK(m.kind == "rl");
  CHECK(m.tokenizer->decode(m.tokenizer->encode("12=3.")) == "12=3.");
  CHECK(m.prompt.ends_with("="));
  // The options of the task, in the checkpoint.
  write_run(folder.path, 16, {{"task", "sort"}, {"task_options", R"({"length":2})"}, {"kl_beta", "0"}});
  CHECK(load_run_model(folder.path, Device{}).prompt.size() <= 3);
  write_run(folder.path, 16, {{"task", "sort"}, {"task_options", R"({"length":65})"}, {"kl_beta", "0"}});
  CHECK(contains(error_of([&] { load_run_model(folder.path, Device{}); }), "task_options: 'length' cannot be 65"));
  // For the imitate task, the run's config.yaml names the text.
  const TempDir imitating;
  std::ofstream(imitating.file("text.txt")) << "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc";
  std::ofstream(imitating.file("config.yaml"))
      << "corpus: " << imitating.file("text.txt") << "\nlength: 1\ncontext: 3\n";
  write_run(imitating.path, 3, {{"task", "imitate"}});
  CHECK(load_run_model(imitating.path, Device{}).tokenizer->encode("cab") == std::vector<int32_t>{2, 0, 1});
}

TEST_CASE("a tokenizer that is not the model's is an error when the run is loaded", "[pg]") {
  const TempDir folder;
  write_run(folder.path, 10, {{"kind", "train"}, {"tokenizer", CharTokenizer("abc").to_json()}});
  CHECK(contains(error_of([&] { load_run_model(folder.path, Device{}); }), "3 tokens and the model 10"));
  write_run(folder.path, 10, {{"kind", "train"}});
  CHECK(contains(error_of([&] { load_run_model(folder.path, Device{}); }), "neither a tokenizer nor a task"));
  write_run(folder.path, 16, {{"task", "sort"}, {"score_mean", "0"}});
  CHECK(contains(error_of([&] { load_run_model(folder.path, Device{}); }), "a reward model scores"));
  CHECK(contains(error_of([&] { load_run_model(folder.path, Device{}, {.best = true}); }), "no best.safetensors"));
}

TEST_CASE("a checkpoint whose step and optimizer disagree is refused", "[pg][checkpoint]") {
  const TempDir folder;
  const std::string path = folder.file("checkpoint.safetensors");
  Transformer model = model_of(3);
  const auto batch = [](Generator&) {
    return TokenBatch{Tensor::from(std::vector<int32_t>{0, 1}, {1, 2}),
                      Tensor::from(std::vector<int32_t>{1, 2}, {1, 2})};
  };
  Trainer trainer(model, TrainConfig{}, batch);
  trainer.step();
  trainer.save(path);
  const auto with_state = [&](const std::string& from, const std::string& to) {
    SafetensorsFile file = load_safetensors(path);
    std::string& state = file.metadata.at("policygrad");
    const size_t at = state.find(from);
    REQUIRE(at != std::string::npos);
    state.replace(at, from.size(), to);
    const std::string changed = folder.file("changed.safetensors");
    NamedTensors tensors(file.tensors.begin(), file.tensors.end());
    save_safetensors(changed, tensors, {file.metadata.begin(), file.metadata.end()});
    return error_of([&] { trainer.resume(load_checkpoint(changed)); });
  };
  CHECK(with_state("\"step\":1", "\"step\":1").empty());
  CHECK(contains(with_state("\"step\":1", "\"step\":2"), "of step 2, its optimizer of step 1"));
  for (const char* step : {"-5", "1e30", "1.5", "\"1\"", "18446744073709551615"}) {
    CHECK(contains(with_state("\"step\":1", fmt::format("\"step\":{}", step)), "must be an integer"));
    CHECK(contains(with_state("{\"\":1}", fmt::format("{{\"\":{}}}", step)), "must be an integer"));
  }
}

TEST_CASE("a vocabulary that lacks characters of a text names them", "[pg]") {
  const CharTokenizer tokenizer("abc");
  CHECK(error_of([&] { check_vocabulary(tokenizer, "cab", "RUN"); }).empty());
  const std::string error = error_of([&] { check_vocabulary(tokenizer, "axbyz\n", "RUN"); });
  CHECK(contains(error, "RUN (3 tokens) lacks 4 of the text's 6 characters: '\\n', 'x', 'y', 'z'"));
  CHECK(contains(error_of([&] { check_vocabulary(tiny_tokenizer(), "the bird", "RUN"); }), "'bird' at byte 4"));
}

TEST_CASE("a stop text is found across pieces and never shown", "[pg]") {
  // For every way to split the text, the output is the text before the first stop text.
  const std::string text = "one two tenten ENDing", want = "one two ten";
  for (size_t size = 1; size <= text.size(); ++size) {
    StopText stop({"END", "ten "});
    std::string shown;
    for (size_t at = 0; at < text.size() && !stop.stopped(); at += size) {
      shown += stop.take(std::string_view(text).substr(at, size));
      CHECK(want.starts_with(shown));
    }
    CHECK(stop.stopped());
    CHECK(shown == want);
  }
  StopText stop({"abc"});
  CHECK(stop.take("xab") == "x");
  CHECK(stop.take("ab") == "ab");
  CHECK(!stop.stopped());
  CHECK(stop.rest() == "ab");
  CHECK(contains(error_of([] { StopText({""}); }), "empty"));
}

TEST_CASE("the loss of a text counts every token but the first once", "[pg]") {
  // A model with zero embeddings has zero logits: log V nats for each token, for every way to split the text.
  for (const size_t size : {2, 8, 9, 10, 16, 17, 30, 600}) {
    Transformer uniform = model_of(5);
    uniform.wte.weight.fill(0);
    const double nats = text_loss(uniform, std::vector<int32_t>(size, 3));
    CHECK(std::abs(nats - static_cast<double>(size - 1) * std::log(5.0)) < 1e-5 * static_cast<double>(size));
  }
  // Computed token by token: -log softmax at the last position, given the earlier tokens in its window.
  Transformer model = model_of(5);
  std::vector<int32_t> ids;
  Generator g(4);
  for (int i = 0; i < 21; ++i) ids.push_back(static_cast<int32_t>(g.integer(5)));
  double nats = 0;
  for (int64_t t = 1; t < 21; ++t) {
    const std::vector<int32_t> seen(ids.begin() + (t - 1) / 8 * 8, ids.begin() + t);
    const auto logits = model(Tensor::from(seen, {1, std::ssize(seen)})).to_vector();
    double total = 0;
    for (size_t v = logits.size() - 5; v < logits.size(); ++v) total += std::exp(logits[v]);
    nats += std::log(total) - logits[logits.size() - 5 + static_cast<size_t>(ids[static_cast<size_t>(t)])];
  }
  CHECK(std::abs(text_loss(model, ids) - nats) < 1e-5);
  CHECK(contains(error_of([&] { text_loss(model, {1}); }), "1 tokens"));
}

TEST_CASE("evaluation of a denoiser: every token counts once for each draw", "[pg][denoiser]") {
  // A model that predicts nothing: log 5 nats per token, whatever the masks and the length of the last window.
  TransformerConfig config{.vocab_size = 6, .block_size = 4, .n_layer = 1, .n_head = 1, .n_embd = 4, .causal = false};
  Transformer uniform = Transformer::zeros(config);
  for (const size_t size : {1, 3, 4, 5, 300}) {
    INFO(size << " tokens");
    // k masks of weight L/k add up to L in each window: the draws do not differ.
    const TextBound bound = text_bound(uniform, std::vector<int32_t>(size, 3), 3);
    CHECK(bound.nats == Approx(static_cast<double>(size) * std::log(5.0)).epsilon(1e-5));
    CHECK(bound.standard_error < 1e-5 * bound.nats);
  }
  // Another model: the draws differ, and more of them have a smaller error.
  Generator g(1);
  Transformer model(config, g);
  for (const auto& [name, parameter] : named_parameters(model)) {
    NoGrad no_grad;
    parameter.detach().copy_from(parameter + Tensor::normal(parameter.shape(), 0, 0.5, g));
  }
  const std::vector<int32_t> ids = {0, 1, 2, 3, 4, 0, 2, 4, 1, 3};
  const TextBound few = text_bound(model, ids, 10), many = text_bound(model, ids, 1000);
  CHECK(text_bound(model, ids, 10).nats == few.nats);
  CHECK(std::abs(few.nats - many.nats) < 5 * few.standard_error);
  CHECK(few.standard_error / many.standard_error == Approx(10).epsilon(0.5));
  CHECK(std::isnan(text_bound(model, ids, 1).standard_error));
  CHECK(contains(error_of([&] { text_bound(model, {}, 1); }), "no tokens"));
  config.causal = true;
  Transformer causal = Transformer::zeros(config);
  CHECK(contains(error_of([&] { text_bound(causal, ids, 1); }), "attention is causal"));
}

TEST_CASE("the chat template of a folder has the tokens that the folder names", "[pg][chat]") {
  const TempDir dir;
  const std::string folder = dir.file("model");
  pg::testing::write_chat_model(folder);
  const auto format = [&] { return chat_format_of(folder)->format; };
  const auto write = [&](const std::string& file, const std::string& text) {
    std::ofstream(folder + "/" + file) << text;
  };
  CHECK(format().row()->name == "chatml");
  write("tokenizer_config.json",
        R"({"bos_token": "<a>", "eos_token": {"content": "<b>", "special": true}, "pad_token": null,
    "chat_template": [{"name": "tool_use", "template": "no"},
                      {"name": "default", "template": "yes {{ bos_token }}"}]})");
  CHECK(format().program() == "yes {{ bos_token }}");
  CHECK(format().variables().dump() == R"({"bos_token":"<a>","eos_token":"<b>"})");
  write("special_tokens_map.json", R"({"bos_token": "<other>", "unk_token": "<u>"})");
  CHECK(format().variables().dump() == R"({"bos_token":"<a>","eos_token":"<b>","unk_token":"<u>"})");
  write("chat_template.jinja", "file");
  CHECK(format().program() == "file");
  write("tokenizer_config.json", "[]");
  CHECK(contains(error_of(format), "tokenizer_config.json: expected a JSON object"));
  // A base model has none, but the tokens are there for the template that an option names.
  write("chat_template.jinja", "");
  write("tokenizer_config.json", R"({"bos_token": "<a>"})");
  CHECK_FALSE(format());
  CHECK(format().chosen("chatml").variables()["bos_token"] == "<a>");
}
