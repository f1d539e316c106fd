// Generation as rollouts use it: groups that share a prompt, rows that finish and make room for others, stop
// conditions, and responses of an environment. The reference is always the plain path: every row alone, with every
// position recomputed.
#include <algorithm>
#include <numeric>

#include "autograd/ops.h"
#include "nn/decode/generate.h"
#include "tests/catch.h"

using namespace pg;

namespace {

Transformer make_model() {
  Generator g(5);
  Transformer model({.vocab_size = 23, .block_size = 40, .n_layer = 2, .n_head = 2, .n_embd = 16}, g);
  for (const auto& [name, parameter] : named_parameters(model)) {
    parameter.detach().copy_from((parameter.detach() + Tensor::normal(parameter.shape(), 0, 0.3, g)).detach());
  }
  return model;
}

std::vector<std::vector<int32_t>> make_prompts(size_t count, int64_t longest) {
  Generator g(11);
  std::vector<std::vector<int32_t>> prompts(count);
  for (auto& prompt : prompts) {
    prompt.resize(static_cast<size_t>(1 + g.integer(longest)));
    for (int32_t& id : prompt) id = static_cast<int32_t>(g.integer(23));
  }
  return prompts;
}

void check_same(const std::vector<Generated>& got, const std::vector<Generated>& want) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].tokens == want[i].tokens);
    CHECK(got[i].log_probs == want[i].log_probs);
    CHECK(got[i].action_mask == want[i].action_mask);
    CHECK(got[i].finish == want[i].finish);
  }
}

}  // namespace

TEST_CASE("generate: a prompt that is read once per group gives the bits of reading it for every row",
          "[nn][generate]") {
  Transformer model = make_model();
  const auto prompts = make_prompts(5, 12);
  GenerateOptions options{.max_new_tokens = 15, .stop_ids = {3, 7}, .seed = 2};
  std::vector<std::vector<int32_t>> repeated;
  for (const auto& prompt : prompts) repeated.insert(repeated.end(), 3, prompt);
  options.kv_cache = false;
  const auto plain = generate(model, repeated, options);
  options.kv_cache = true;
  options.samples = 3;
  check_same(generate(model, prompts, options), plain);
  for (const int64_t rows : {1, 2, 3, 4, 5, 7, 14, 15, 100}) {  // remaining rows wait until others finish
    options.max_rows = rows;
    check_same(generate(model, prompts, options), plain);
  }
  options.max_rows = -1;
  CHECK(testing::contains(testing::error_of([&] { generate(model, prompts, options); }), "max_rows 0 or more"));
}

TEST_CASE("generate: a slot that is free is taken by the next row", "[nn][generate]") {
  Transformer model = make_model();
  const auto prompts = make_prompts(20, 12);
  GenerateStats stats;
  GenerateOptions options{.max_new_tokens = 15, .samples = 6, .stop_ids = {3, 7, 9}, .seed = 2, .stats = &stats};
  int64_t chosen = 0, prompt_tokens = 0;
  for (const Generated& row : generate(model, prompts, options)) chosen += std::ssize(row.tokens);
  for (const auto& prompt : prompts) prompt_tokens += std::ssize(prompt);
  for (const int64_t slots : {0, 1, 4, 8, 20, 120}) {
    INFO("slots " << slots);
    options.max_rows = slots;
    generate(model, prompts, options);
    CHECK(stats.prompt_tokens == prompt_tokens);
    // The first token of each row comes from reading its prompt.
    const auto& rows = stats.rows_of_pass;
    CHECK(std::accumulate(rows.begin(), rows.end(), int64_t{0}) == chosen - std::ssize(prompts) * options.samples);
    CHECK(*std::max_element(rows.begin(), rows.end()) <= (slots == 0 ? 120 : slots));
    CHECK(stats.slots_busy == 1);  // while any row waits
    CHECK((stats.crowded_passes > 0) == (slots > 0 && slots < 100));
  }
}

TEST_CASE("generate: stop sees all new tokens and ends its row only", "[nn][generate]") {
  Transformer model = make_model();
  const auto prompts = make_prompts(6, 12);
  GenerateOptions options{.max_new_tokens = 15, .seed = 2};
  const auto free = generate(model, prompts, options);
  options.stop = [](int64_t row, std::span<const int32_t> tokens) {
    return row % 2 == 0 && tokens.size() >= 2 && (tokens[tokens.size() - 2] + tokens.back()) % 4 == 0;
  };
  const auto stopped = generate(model, prompts, options);
  size_t ended = 0;
  for (size_t i = 0; i < prompts.size(); ++i) {
    auto want = free[i].tokens;
    for (size_t n = 2; i % 2 == 0 && n <= want.size(); ++n) {
      if ((want[n - 2] + want[n - 1]) % 4 == 0) want.resize(n), ++ended;
    }
    CHECK(stopped[i].tokens == want);
    CHECK((stopped[i].finish == FinishReason::stop) == (want.size() < free[i].tokens.size()));
  }
  CHECK(ended > 0);
}

TEST_CASE("generate: rows with answers of the environment have the bits of rows read anew", "[nn][generate]") {
  Transformer model = make_model();
  const auto prompts = make_prompts(7, 10);
  GenerateOptions options{.max_new_tokens = 14, .samples = 2, .stop_ids = {1, 2, 3, 4}, .seed = 4};
  // Environment responses of 0 to 4 tokens, a function of the row and of its tokens so far.
  options.respond = [](int64_t row, std::span<const int32_t> tokens) {
    std::vector<int32_t> answer(static_cast<size_t>((row + tokens.back()) % 5));
    for (size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<int32_t>((tokens.size() * 3 + i) % 23);
    return answer;
  };
  options.kv_cache = false;
  const auto plain = generate(model, prompts, options);
  options.kv_cache = true;
  check_same(generate(model, prompts, options), plain);
  options.max_rows = 3;
  check_same(generate(model, prompts, options), plain);

  size_t answered = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const Generated& row = plain[i];
    CHECK(std::count(row.action_mask.begin(), row.action_mask.end(), 1) <= 14);
    CHECK(prompts[i / 2].size() + row.tokens.size() <= 41);
    for (size_t t = 0; t < row.tokens.size(); ++t) {
      if (row.action_mask[t]) continue;
      ++answered;
      CHECK(row.log_probs[t] == 0);
    }
  }
  CHECK(answered > 10);
}

TEST_CASE("generate: log-probs at the sampling temperature have the bits of the training pass at that temperature",
          "[nn][generate]") {
  Transformer model = make_model();
  const auto prompts = make_prompts(4, 12);
  GenerateOptions options{
      .max_new_tokens = 12, .sampling = {.temperature = 0.7}, .seed = 3, .log_prob_at_temperature = true};
  const auto rows = generate(model, prompts, options);
  for (size_t i = 0; i < rows.size(); ++i) {
    auto ids = prompts[i];
    ids.insert(ids.end(), rows[i].tokens.begin(), rows[i].tokens.end());
    const auto t = static_cast<int64_t>(ids.size()) - 1;
    const Tensor inputs = Tensor::from(std::span<const int32_t>(ids).first(ids.size() - 1), {1, t});
    const Tensor targets = Tensor::from(std::span<const int32_t>(ids).subspan(1), {1, t});
    const std::vector<double> all = token_log_prob(model(inputs) / 0.7, targets).first.to_vector();
    CHECK(std::vector<double>(all.begin() + static_cast<int64_t>(prompts[i].size()) - 1, all.end()) ==
          rows[i].log_probs);
  }
}
