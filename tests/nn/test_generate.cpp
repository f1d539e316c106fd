// Generation: exact log-probabilities, stop conditions, seeds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "autograd/ops.h"
#include "nn/decode/generate.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;
using pg::testing::Threads;

namespace {

// A model whose probabilities are far from uniform, so that bitwise equality is a meaningful test.
Transformer make_model(DType dtype, uint64_t seed) {
  Generator g(seed);
  Transformer model({.vocab_size = 37,
                     .block_size = 48,
                     .n_layer = 3,
                     .n_head = 4,
                     .n_embd = 32,
                     .dropout = 0.1,
                     .bias = true,
                     .dtype = dtype},
                    g);
  for (const auto& [name, parameter] : named_parameters(model)) {
    const Tensor noise = Tensor::normal(parameter.shape(), 0, name.starts_with("w") ? 0.5 : 0.2, g, dtype);
    NoGrad no_grad;
    parameter.detach().copy_from(parameter + noise);
  }
  return model;
}

std::vector<std::vector<int32_t>> random_prompts(size_t rows, Generator& g, int64_t longest = 30) {
  std::vector<std::vector<int32_t>> prompts(rows);
  for (auto& prompt : prompts) {
    prompt.resize(static_cast<size_t>(1 + g.integer(longest)));
    for (int32_t& id : prompt) id = static_cast<int32_t>(g.integer(37));
  }
  return prompts;
}

// The log-probabilities of the new tokens from the training forward pass: all positions at once, with the tape on.
std::vector<std::vector<double>> training_log_probs(Transformer& model,
                                                    const std::vector<std::vector<int32_t>>& sequences,
                                                    const std::vector<std::vector<int32_t>>& prompts) {
  model.eval();  // disables dropout, which is random; everything else is as in training
  size_t longest = 0;
  for (const auto& s : sequences) longest = std::max(longest, s.size());
  const auto t = static_cast<int64_t>(longest) - 1, b = static_cast<int64_t>(sequences.size());
  Tensor ids = Tensor::zeros({b, t}, i32), targets = Tensor::zeros({b, t}, i32);  // padded on the right
  for (int64_t row = 0; row < b; ++row) {
    const auto& s = sequences[static_cast<size_t>(row)];
    std::copy(s.begin(), s.end() - 1, ids.data<int32_t>().begin() + row * t);
    std::copy(s.begin() + 1, s.end(), targets.data<int32_t>().begin() + row * t);
  }
  const Tensor logits = model(ids);
  REQUIRE(logits.requires_grad());
  const std::vector<double> all = token_log_prob(logits, targets).first.to_vector();
  std::vector<std::vector<double>> result;
  for (size_t row = 0; row < sequences.size(); ++row) {
    const auto from = all.begin() + static_cast<int64_t>(row) * t;
    result.emplace_back(from + static_cast<int64_t>(prompts[row].size()) - 1,
                        from + static_cast<int64_t>(sequences[row].size()) - 1);
  }
  return result;
}

std::vector<std::vector<int32_t>> joined(const std::vector<std::vector<int32_t>>& prompts,
                                         const std::vector<Generated>& rows) {
  auto sequences = prompts;
  for (size_t i = 0; i < rows.size(); ++i) {
    sequences[i].insert(sequences[i].end(), rows[i].tokens.begin(), rows[i].tokens.end());
  }
  return sequences;
}

void check_bits(DType dtype, uint64_t seed) {
  Transformer model = make_model(dtype, seed);
  Generator g(seed + 100);
  for (const size_t rows : {1, 2, 5, 9}) {
    const auto prompts = random_prompts(rows, g);
    GenerateOptions options;
    options.max_new_tokens = 1 + g.integer(30);
    options.stop_ids = {3};
    options.seed = seed;
    options.sampling.temperature = 1.2;
    std::vector<Generated> reference;
    {
      Threads one(1);
      reference = generate(model, prompts, options);
    }
    const auto sequences = joined(prompts, reference);
    for (const int threads : {1, 2, 3}) {
      Threads guard(threads);
      for (const bool cache : {true, false}) {
        options.kv_cache = cache;
        const auto again = generate(model, prompts, options);
        for (size_t i = 0; i < rows; ++i) {
          CHECK(again[i].tokens == reference[i].tokens);
          CHECK(again[i].log_probs == reference[i].log_probs);
          CHECK(again[i].finish == reference[i].finish);
        }
      }
      const auto trained = training_log_probs(model, sequences, prompts);
      for (size_t i = 0; i < rows; ++i) {
        INFO("rows " << rows << ", row " << i << ", prompt " << prompts[i].size() << ", threads " << threads);
        CHECK(trained[i] == reference[i].log_probs);
        CHECK(training_log_probs(model, {sequences[i]}, {prompts[i]})[0] == reference[i].log_probs);
      }
    }
  }
}

}  // namespace

TEST_CASE("generate: log-probs have the bits of the training forward pass in f32", "[nn][generate]") {
  for (uint64_t seed : {1, 2}) check_bits(f32, seed);
}
TEST_CASE("generate: log-probs have the bits of the training forward pass in f64", "[nn][generate]") {
  check_bits(f64, 4);
}

TEST_CASE("generate: log-probs have the bits of the training forward pass in bf16", "[nn][generate][bf16]") {
  for (uint64_t seed : {1, 2}) check_bits(bf16, seed);
}

TEST_CASE("generate: a row does not depend on the other rows", "[nn][generate]") {
  Transformer model = make_model(f32, 5);
  Generator g(5);
  const auto prompts = random_prompts(6, g);
  GenerateOptions options;
  options.max_new_tokens = 15;
  options.seed = 9;
  const auto all = generate(model, prompts, options);
  for (size_t i = 0; i < prompts.size(); ++i) {
    options.first_row = i;
    const auto alone = generate(model, {prompts[i]}, options);
    CHECK(alone[0].tokens == all[i].tokens);
    CHECK(alone[0].log_probs == all[i].log_probs);
  }
  options.first_row = 0;
  options.seed = 10;
  CHECK(generate(model, prompts, options)[0].tokens != all[0].tokens);
}

TEST_CASE("generate: rows end by a stop id, by their token count, by the context length", "[nn][generate]") {
  Transformer model = make_model(f32, 6);
  Generator g(6);
  const auto prompts = random_prompts(20, g, 48);
  GenerateOptions options;
  options.max_new_tokens = 12;
  options.stop_ids = {0, 1, 2, 3, 4, 5};
  int stopped = 0, counted = 0, full = 0;
  const auto rows = generate(model, prompts, options);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& tokens = rows[i].tokens;
    REQUIRE(!tokens.empty());
    CHECK(tokens.size() == rows[i].log_probs.size());
    const auto is_stop = [](int32_t id) { return id <= 5; };
    CHECK(std::none_of(tokens.begin(), tokens.end() - 1, is_stop));
    CHECK((rows[i].finish == FinishReason::stop) == is_stop(tokens.back()));
    if (rows[i].finish == FinishReason::stop) {
      ++stopped;
    } else if (tokens.size() == 12) {
      ++counted;
    } else {
      CHECK(prompts[i].size() + tokens.size() == 49);  // the last token needs no position
      ++full;
    }
    for (double x : rows[i].log_probs) CHECK(x <= 0);
  }
  CHECK(stopped > 0);
  CHECK(counted > 0);
  CHECK(full > 0);
  CHECK(model.training);  // restored to its value before the call

  options.max_new_tokens = 0;
  CHECK(generate(model, prompts, options)[0].tokens.empty());
  CHECK(generate(model, {}, options).empty());
  CHECK(error_of([&] { generate(model, {{}}, options); }).find("prompt 0 has 0 tokens") != std::string::npos);
  CHECK(error_of([&] {
          generate(model, {{1}, std::vector<int32_t>(49)}, options);
        }).find("prompt 1 has 49 tokens") != std::string::npos);
}

TEST_CASE("generate: greedy takes the largest logit and streams its tokens", "[nn][generate]") {
  Transformer model = make_model(f32, 7);
  std::vector<int32_t> sequence = {4, 8};
  std::vector<int32_t> streamed;
  GenerateOptions options;
  options.greedy = true;
  options.max_new_tokens = 10;
  options.on_token = [&](int64_t row, int32_t token) {
    CHECK(row == 0);
    streamed.push_back(token);
  };
  const auto tokens = generate(model, {sequence}, options)[0].tokens;
  CHECK(streamed == tokens);
  NoGrad no_grad;
  model.eval();
  for (int32_t token : tokens) {
    const Tensor logits = model(Tensor::from(sequence, {1, static_cast<int64_t>(sequence.size())}));
    CHECK(token == argmax(logits).to_vector().back());
    sequence.push_back(token);
  }
}

TEST_CASE("generate: sliding continues past block_size with the last tokens", "[nn][generate]") {
  Transformer model = make_model(f32, 8);
  GenerateOptions options;
  options.slide = true;
  options.max_new_tokens = 70;
  Generator g(8);
  const auto prompts = random_prompts(3, g);
  const auto rows = generate(model, prompts, options);
  NoGrad no_grad;
  model.eval();
  for (size_t i = 0; i < 3; ++i) {
    REQUIRE(rows[i].tokens.size() == 70);
    std::vector<int32_t> sequence = prompts[i];
    for (size_t n = 0; n < 70; ++n) {
      const auto length = std::min<int64_t>(48, static_cast<int64_t>(sequence.size()));
      const std::vector<int32_t> context(sequence.end() - length, sequence.end());
      const Tensor logits = select(model(Tensor::from(context, {1, length})), 1, length - 1);
      const Tensor token = Tensor::full({1}, rows[i].tokens[n], i32);
      CHECK(token_log_prob(logits, token).first.item() == rows[i].log_probs[n]);
      sequence.push_back(rows[i].tokens[n]);
    }
  }
  options.kv_cache = false;
  CHECK(generate(model, prompts, options)[1].log_probs == rows[1].log_probs);
}

TEST_CASE("sample: filters compared with enumeration", "[nn][generate]") {
  // softmax of these logits is 0.4, 0.3, 0.15, 0.1, 0.05 in the order of ids 2, 0, 4, 1, 3
  const std::vector<double> p = {0.3, 0.1, 0.4, 0.05, 0.15};
  std::vector<double> logits(5);
  std::transform(p.begin(), p.end(), logits.begin(), [](double x) { return std::log(x) + 7; });
  const auto is = [](const std::vector<double>& got, const std::vector<double>& want) {
    REQUIRE(got.size() == want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i] == Approx(want[i]).epsilon(1e-12));
      CHECK((got[i] == 0) == (want[i] == 0));
    }
  };
  is(filtered_probs(logits, {}), p);
  is(filtered_probs(logits, {.top_k = 2}), {3. / 7, 0, 4. / 7, 0, 0});
  is(filtered_probs(logits, {.top_k = 9}), p);
  is(filtered_probs(logits, {.top_p = 0.6}), {3. / 7, 0, 4. / 7, 0, 0});
  is(filtered_probs(logits, {.top_p = 0.75}), {.3 / .85, 0, .4 / .85, 0, .15 / .85});
  is(filtered_probs(logits, {.top_p = 1e-9}), {0, 0, 1, 0, 0});
  is(filtered_probs(logits, {.min_p = 0.3}), {.3 / .85, 0, .4 / .85, 0, .15 / .85});
  is(filtered_probs(logits, {.min_p = 1}), {0, 0, 1, 0, 0});
  // Order of the filters: after top_k 3 the masses are .4/.85, .3/.85, .15/.85, so top_p 0.8 keeps two tokens. Applied
  // to all five it would keep three.
  is(filtered_probs(logits, {.top_k = 3, .top_p = 0.8}), {3. / 7, 0, 4. / 7, 0, 0});
  // The temperature 1/2 is applied first and squares the probabilities.
  is(filtered_probs(logits, {.temperature = 0.5, .top_k = 2}), {.09 / .25, 0, .16 / .25, 0, 0});
  is(filtered_probs(logits, {.temperature = 0.5, .min_p = 0.5}), {.09 / .25, 0, .16 / .25, 0, 0});
  // Ties: top_k keeps all tokens that equal the k-th; top_p takes the lower id first.
  is(filtered_probs(std::vector<double>{1, 1, 1, 0}, {.top_k = 1}), {1. / 3, 1. / 3, 1. / 3, 0});
  is(filtered_probs(std::vector<double>{1, 1, 1, 1}, {.top_p = 0.5}), {0.5, 0.5, 0, 0});
  is(filtered_probs(std::vector<double>{-INFINITY, 0}, {}), {0, 1});
  is(filtered_probs(std::vector<double>{1e4, -1e4}, {}), {1, 0});

  CHECK(sample_token(std::vector<double>{0, 0.25, 0, 0.75}, 0.0) == 1);
  CHECK(sample_token(std::vector<double>{0, 0.25, 0, 0.75}, 0.2499) == 1);
  CHECK(sample_token(std::vector<double>{0, 0.25, 0, 0.75}, 0.25) == 3);
  CHECK(sample_token(std::vector<double>{0.5, 0.4999, 0}, 0.99999) == 1);  // a token of probability 0 is never sampled

  CHECK(error_of([&] { filtered_probs(logits, {.temperature = 0}); }).find("greedy") != std::string::npos);
  CHECK(error_of([&] { filtered_probs(logits, {.top_k = -1}); }).find("top_k") != std::string::npos);
  CHECK(error_of([&] { filtered_probs(logits, {.top_p = 0}); }).find("top_p") != std::string::npos);
  CHECK(error_of([&] { filtered_probs(logits, {.min_p = 1.5}); }).find("min_p") != std::string::npos);
  CHECK(error_of([&] { filtered_probs(std::vector<double>{NAN, 1}, {}); }).find("finite") != std::string::npos);
}

TEST_CASE("sample: top-p was taken of probabilities that top-k had not normalised", "[nn][generate]") {
  const std::vector<double> logits = {std::log(0.5), std::log(0.3), std::log(0.2)};
  CHECK(filtered_probs(logits, {.top_k = 2, .top_p = 0.6}) == std::vector<double>{1, 0, 0});  // 0.5 / 0.8 is enough
  CHECK(filtered_probs(logits, {.temperature = 1e-30}) == std::vector<double>{1, 0, 0});
  for (const double p : filtered_probs(logits, {.temperature = 1e30})) CHECK(p == Approx(1. / 3).epsilon(1e-12));
  CHECK(filtered_probs(logits, {.top_k = 0}) == filtered_probs(logits, {}));  // 0 is all, not none
}

TEST_CASE("sample: a token outside of the kept set was drawn by the last random numbers", "[nn][generate]") {
  Generator g(8);
  for (const SampleOptions& o : {SampleOptions{.top_k = 5}, SampleOptions{.top_p = 0.7}, SampleOptions{.min_p = 0.2},
                                 SampleOptions{.temperature = 0.3, .top_k = 7, .top_p = 0.95, .min_p = 1e-3}}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<double> logits;
      for (int i = 0; i < 300; ++i) logits.push_back(3 * g.normal());
      const std::vector<double> probs = filtered_probs(logits, o);
      REQUIRE(std::count(probs.begin(), probs.end(), 0.0) > 0);
      bool kept = true;
      const auto draw = [&](double u) { kept = kept && probs[static_cast<size_t>(sample_token(probs, u))] > 0; };
      for (const double u : {0.0, 1e-300, 1 - 0x1p-53, 1 - 0x1p-52, 1 - 0x1p-50, 1 - 1e-13}) draw(u);
      for (int i = 0; i < 2000; ++i) draw(g.uniform());
      CHECK(kept);
    }
  }
}

TEST_CASE("generate: frequencies of sampled tokens are the filtered probabilities", "[nn][generate]") {
  Transformer model = make_model(f64, 9);
  GenerateOptions options;
  options.max_new_tokens = 1;
  options.sampling = {.temperature = 1.5, .top_k = 12, .top_p = 0.9, .min_p = 0.02};
  options.seed = 11;
  const std::vector<int32_t> prompt = {5, 6, 7};
  constexpr size_t draws = 20000;
  std::vector<double> expected;
  {
    NoGrad no_grad;
    model.eval();
    const Tensor logits = select(model(Tensor::from(prompt, {1, 3})), 1, 2);
    expected = filtered_probs(logits.to_vector(), options.sampling);
  }
  std::vector<double> counts(37);
  for (const Generated& row : generate(model, std::vector<std::vector<int32_t>>(draws, prompt), options)) {
    ++counts[static_cast<size_t>(row.tokens[0])];
  }
  double chi_squared = 0;
  int kept = 0;
  for (size_t i = 0; i < 37; ++i) {
    if (expected[i] == 0) {
      CHECK(counts[i] == 0);
    } else {
      const double mean = expected[i] * draws;
      chi_squared += (counts[i] - mean) * (counts[i] - mean) / mean;
      ++kept;
    }
  }
  REQUIRE(kept >= 4);
  REQUIRE(kept <= 12);
  CHECK(chi_squared < 31.3);  // 99.9th percentile for 11 degrees of freedom; it is lower for fewer tokens
}

TEST_CASE("random_stream: streams of one seed and of neighbours differ", "[nn][generate]") {
  std::map<uint64_t, int> seeds;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    for (uint64_t row = 0; row < 30; ++row) ++seeds[random_stream(seed, row).seed()];
  }
  CHECK(seeds.size() == 900);
  CHECK(random_stream(1, 2).seed() == random_stream(1, 2).seed());
}
