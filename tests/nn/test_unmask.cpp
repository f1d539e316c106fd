// Sampling from a masked denoiser: what stays, what becomes visible, orders, distributions.
#include <algorithm>
#include <cmath>
#include <limits>

#include "nn/variants/unmask.h"
#include "tests/nn/denoiser_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

Tensor all_masks(int64_t rows, int64_t length, int64_t mask_id) {
  return Tensor::full({rows, length}, static_cast<double>(mask_id), i32);
}

std::vector<int32_t> ids_of(const Tensor& ids) {
  const auto values = ids.data<const int32_t>();
  return {values.begin(), values.end()};
}

// Pearson's statistic of the rows of `samples` against the joint distribution.
double chi_square(const Joint& joint, const Tensor& samples) {
  const auto rows = static_cast<double>(samples.size(0));
  std::vector<double> counts(joint.p.size());
  const auto values = samples.data<const int32_t>();
  const auto width = static_cast<size_t>(joint.length);
  for (size_t row = 0; row < static_cast<size_t>(samples.size(0)); ++row) {
    ++counts[joint.index(values.subspan(row * width, width))];
  }
  double sum = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    sum += std::pow(counts[i] - rows * joint.p[i], 2) / (rows * joint.p[i]);
  }
  return sum;
}

}  // namespace

TEST_CASE("unmask: the share of masks falls evenly, and a visible token never changes", "[nn][denoiser]") {
  Transformer model = small_denoiser();
  for (const std::string order : {"confidence", "random"}) {
    for (int64_t prompt = 0; prompt < 8; ++prompt) {
      const int64_t masks = 8 - prompt;
      const Tensor begin = masks_after(ids_of(integers({1, 8}, 3, 11).view_slice(1, 0, prompt).clone()), 8, 11);
      for (int64_t steps = 1; steps <= masks; ++steps) {
        INFO(order << ", prompt " << prompt << ", steps " << steps);
        std::vector<int32_t> before = ids_of(begin);
        int64_t calls = 0;
        UnmaskOptions options{.steps = steps, .order = order, .seed = 5};
        options.on_step = [&](int64_t step, const Tensor& ids) {
          CHECK(step == ++calls);
          const std::vector<int32_t> now = ids_of(ids);
          for (size_t i = 0; i < now.size(); ++i) CHECK((before[i] == 11 || before[i] == now[i]));
          CHECK(std::count(now.begin(), now.end(), 11) == masks - masks * step / steps);
          before = now;
        };
        const std::vector<int32_t> result = ids_of(unmask(model, begin, options));
        CHECK(calls == steps);
        CHECK(result == before);
        CHECK(*std::max_element(result.begin(), result.end()) < 11);
        CHECK(*std::min_element(result.begin(), result.end()) >= 0);
      }
    }
  }
}

TEST_CASE("unmask: masks in the middle are filled and the given ids are not written", "[nn][denoiser]") {
  Transformer model = small_denoiser();
  Tensor ids = integers({2, 8}, 3, 11);
  for (const size_t i : {2, 5, 8, 14, 15}) ids.data<int32_t>()[i] = 11;
  const std::vector<int32_t> before = ids_of(ids), after = ids_of(unmask(model, ids, {.steps = 2}));
  CHECK(ids_of(ids) == before);
  for (size_t i = 0; i < 16; ++i) CHECK((before[i] == 11 ? after[i] < 11 : after[i] == before[i]));
}

TEST_CASE("unmask: confidence keeps the most probable predictions", "[nn][denoiser]") {
  // Position i predicts token i with a probability that grows in the order 2, 0, 3, 1.
  const std::vector<double> sureness = {3, 1, 4, 2};
  const MaskedDenoiser model{4, [&](const Tensor&, const Tensor& indices) {
                               std::vector<double> logits;
                               for (const int32_t i : indices.data<const int32_t>()) {
                                 for (int32_t token = 0; token < 4; ++token)
                                   logits.push_back(token == i ? sureness[static_cast<size_t>(i)] : 0);
                               }
                               return Tensor::from(logits, {indices.numel(), 4});
                             }};
  std::vector<std::vector<int32_t>> seen;
  UnmaskOptions options{.steps = 4, .greedy = true};
  options.on_step = [&](int64_t, const Tensor& ids) { seen.push_back(ids_of(ids)); };
  unmask(model, all_masks(1, 4, 4), options);
  CHECK(seen == std::vector<std::vector<int32_t>>{{4, 4, 2, 4}, {0, 4, 2, 4}, {0, 4, 2, 3}, {0, 1, 2, 3}});
  // In random order each position is the first one equally often.
  constexpr int64_t rows = 4000;
  std::vector<double> first(4);
  const MaskedDenoiser many{4, [&](const Tensor& ids, const Tensor& indices) {
                              return Tensor::zeros({indices.defined() ? indices.numel() : ids.numel(), 4});
                            }};
  UnmaskOptions random{.steps = 4, .order = "random"};
  random.on_step = [&](int64_t step, const Tensor& ids) {
    if (step > 1) return;
    for (size_t i = 0; i < static_cast<size_t>(rows * 4); ++i) first[i % 4] += ids.data<const int32_t>()[i] < 4;
  };
  unmask(many, all_masks(rows, 4, 4), random);
  double statistic = 0;
  for (const double count : first) statistic += std::pow(count - rows / 4, 2) / (rows / 4);
  CHECK(statistic < chi_square_bar(3, 5));
}

TEST_CASE("unmask: random order with one token per step samples the joint distribution", "[nn][denoiser]") {
  const Joint joint(3, 3, 21);
  const auto sample = [&](int64_t steps, const char* order) {
    return chi_square(joint,
                      unmask(joint.denoiser(), all_masks(6000, 3, 3), {.steps = steps, .order = order, .seed = 8}));
  };
  const double bar = chi_square_bar(26, 5);  // passed by chance once in 3 million
  CHECK(sample(3, "random") < bar);
  // Tokens that become visible at once are independent, and confidence favours likely tokens.
  CHECK(sample(1, "random") > bar);
  CHECK(sample(2, "random") > bar);
  CHECK(sample(3, "confidence") > bar);
}

TEST_CASE("unmask: temperature and filters are those of the sampling kernel", "[nn][denoiser]") {
  const Joint joint(3, 3, 21);
  const Tensor begin = all_masks(200, 3, 3);
  const std::vector<int32_t> greedy = ids_of(unmask(joint.denoiser(), begin, {.steps = 3, .greedy = true}));
  for (size_t i = 0; i < greedy.size(); ++i) CHECK(greedy[i] == greedy[i % 3]);
  CHECK(ids_of(unmask(joint.denoiser(), begin, {.steps = 3, .sampling = {.top_k = 1}})) == greedy);
  CHECK(ids_of(unmask(joint.denoiser(), begin, {.steps = 3, .sampling = {.top_p = 1e-9}})) == greedy);
  CHECK(ids_of(unmask(joint.denoiser(), begin, {.steps = 3, .sampling = {.temperature = 1e-3}})) == greedy);
  CHECK(ids_of(unmask(joint.denoiser(), begin, {.steps = 3})) != greedy);
}

TEST_CASE("unmask: a seed repeats, rows are independent, and threads change nothing", "[nn][denoiser]") {
  Transformer model = small_denoiser(f32, 0.3);
  for (const std::string order : {"confidence", "random"}) {
    const UnmaskOptions options{.steps = 3, .order = order, .seed = 4};
    const Tensor begin = all_masks(5, 8, 11);
    const std::vector<int32_t> whole = ids_of(unmask(model, begin, options));
    CHECK(model.training);  // dropout is off while sampling only
    UnmaskOptions other = options;
    other.seed = 5;
    CHECK(ids_of(unmask(model, begin, other)) != whole);
    for (const int threads : {1, 2, 3}) {
      const Threads guard(threads);
      CHECK(ids_of(unmask(model, begin, options)) == whole);
      for (int64_t row = 0; row < 5; ++row) {
        UnmaskOptions one = options;
        one.first_row = static_cast<uint64_t>(row);
        CHECK(ids_of(unmask(model, begin.view_slice(0, 0, 1), one)) ==
              std::vector<int32_t>(whole.begin() + row * 8, whole.begin() + (row + 1) * 8));
      }
    }
  }
}

TEST_CASE("unmask: wrong options and ids are errors", "[nn][denoiser]") {
  Transformer model = small_denoiser();
  const Tensor begin = all_masks(1, 8, 11);
  const auto wrong = [&](const Tensor& ids, const UnmaskOptions& options, const char* text) {
    INFO(text);
    CHECK(contains(error_of([&] { unmask(model, ids, options); }), text));
  };
  wrong(begin, {.steps = 0}, "steps must be from 1 to the 8 masks of row 0");
  wrong(begin, {.steps = -1}, "got -1");
  wrong(begin, {.steps = 9}, "one token per step, got 9");
  Tensor two = all_masks(2, 8, 11);
  two.data<int32_t>()[9] = 0;
  wrong(two, {.steps = 8}, "the 7 masks of row 1");
  wrong(integers({1, 8}, 1, 11), {}, "the 0 masks of row 0");
  wrong(all_masks(1, 9, 11), {}, "9 positions, block_size is 8");
  wrong(all_masks(1, 8, 12), {}, "12");
  wrong(Tensor::zeros({8}, i32), {}, "expected ids i32 [B, L]");
  wrong({}, {}, "an undefined tensor");
  wrong(begin, {.sampling = {.temperature = 0}}, "temperature");
  wrong(begin, {.sampling = {.top_p = 2}}, "top_p");
  CHECK(error_of([] { Choice<UnmaskOrder>("left"); }) == "order: expected confidence, random, got \"left\"");
  Transformer causal(TransformerConfig{.vocab_size = 12, .block_size = 8, .n_layer = 1, .n_head = 2, .n_embd = 16});
  CHECK(contains(error_of([&] { unmask(causal, begin, {}); }), "attention is causal"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const MaskedDenoiser broken{3, [&](const Tensor&, const Tensor& i) { return Tensor::full({i.numel(), 3}, nan); }};
  CHECK(contains(error_of([&] { unmask(broken, all_masks(1, 2, 3), {}); }), "row 0 at position 0 are not finite"));
  const MaskedDenoiser wide{3, [](const Tensor&, const Tensor& i) { return Tensor::zeros({i.numel(), 4}); }};
  CHECK(contains(error_of([&] { unmask(wide, all_masks(1, 2, 3), {}); }), "expected logits [2, 3], got [2, 4]"));
}

TEST_CASE("unmask: a prompt stays at the beginning and must leave a mask", "[nn][denoiser]") {
  const std::vector<int32_t> prompt = {4, 2};
  CHECK(ids_of(masks_after(prompt, 4, 9)) == std::vector<int32_t>{4, 2, 9, 9});
  CHECK(ids_of(masks_after({}, 2, 9)) == std::vector<int32_t>{9, 9});
  CHECK(contains(error_of([&] { masks_after(prompt, 2, 9); }), "leaves no mask in a length of 2"));
  CHECK(contains(error_of([&] { masks_after(prompt, 1, 9); }), "the prompt has 2 tokens"));
}
