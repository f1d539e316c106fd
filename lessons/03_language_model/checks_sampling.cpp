// The checks of the filters and of the draw.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/03_language_model/checks.h"

namespace pg::lesson03 {
namespace {

using kit::Grader;

std::vector<double> plain_probs(const std::vector<double>& logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (double x : logits) p.push_back(std::exp((x - largest) / temperature));
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= total;
  return p;
}
std::vector<double> keep(std::vector<double> p, const std::vector<int>& ids) {
  std::vector<double> kept(p.size(), 0);
  double total = 0;
  for (int id : ids) total += p[static_cast<size_t>(id)];
  for (int id : ids) kept[static_cast<size_t>(id)] = p[static_cast<size_t>(id)] / total;
  return kept;
}

}  // namespace

void check_filtered_probs(Grader& g, const Impl& impl) {
  const std::vector<double> logits = {1, 3, 2, 0, -1};  // descending order: 1, 2, 0, 3, 4
  const auto p = plain_probs(logits, 1);                // 0.087, 0.643, 0.237, 0.032, 0.012... in the order of ids
  struct Row {
    const char* name;
    std::vector<double> logits;
    SampleOptions options;
    std::vector<double> want;
  };
  std::vector<double> first21(40, 0);
  std::fill_n(first21.begin(), 21, 1. / 21);
  const Row rows[] = {
      {"logits {1, 3, 2, 0, -1}, temperature 0.5", logits, {.temperature = 0.5}, plain_probs(logits, 0.5)},
      {"the same logits, top_k 2", logits, {.top_k = 2}, keep(p, {1, 2})},
      {"the same logits, top_p 0.7", logits, {.top_p = 0.7}, keep(p, {1, 2})},
      // Within the best two, token 1 has 0.73 of the mass: top-p must be applied to what top-k kept.
      {"the same logits, top_k 2 and top_p 0.7", logits, {.top_k = 2, .top_p = 0.7}, keep(p, {1})},
      {"the same logits, temperature 2 and top_p 0.7",
       logits,
       {.temperature = 2, .top_p = 0.7},
       keep(plain_probs(logits, 2), {1, 2, 0})},
      {"the same logits, top_k 10", logits, {.top_k = 10}, p},
      {"the same logits, top_p 0.001", logits, {.top_p = 0.001}, keep(p, {1})},
      {"the same logits, no filter", logits, {}, p},
      {"logits {1000, 999}", {1000, 999}, {}, plain_probs({1, 0}, 1)},
      {"logits {1000, 999}, temperature 0.5", {1000, 999}, {.temperature = 0.5}, plain_probs({2, 0}, 1)},
      {"logits {-2000, -2001}", {-2000, -2001}, {}, plain_probs({1, 0}, 1)},
      {"logits {1, 2, 2, 0}, top_k 1: both best stay", {1, 2, 2, 0}, {.top_k = 1}, {0, 0.5, 0.5, 0}},
      {"logits {0, 0, 0, 0}, top_p 0.5", {0, 0, 0, 0}, {.top_p = 0.5}, {0.5, 0.5, 0, 0}},
      {"40 logits of 0, top_p 0.51", std::vector<double>(40), {.top_p = 0.51}, first21},
      {"logits {0, -inf, log 3}, top_k 2", {0, -INFINITY, std::log(3)}, {.top_k = 2}, {0.25, 0, 0.75}},
      {"one logit, every filter", {-7}, {.temperature = 0.1, .top_k = 1, .top_p = 0.1}, {1}}};
  for (const Row& row : rows) {
    if (!g.equal(row.name, impl.filtered_probs(row.logits, row.options), row.want,
                 {.mistakes = kit::results_of(filter_mistakes(), row.logits, row.options)}))
      return;
  }
  Generator random = kit::draws(34);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::vector<double> many = Tensor::normal({11 + 7 * repeat}, 0, 3, random, f64).to_vector();
    const SampleOptions options{
        .temperature = 0.5 + random.uniform(), .top_k = random.integer(9), .top_p = 0.2 + 0.7 * random.uniform()};
    if (!g.equal(fmt::format("{} random logits, temperature {:.3f}, top_k {}, top_p {:.3f}", many.size(),
                             options.temperature, options.top_k, options.top_p),
                 impl.filtered_probs(many, options), pg::filtered_probs(many, options)))
      return;
  }
  g.note(fmt::format("{} by hand, 20 with random logits", std::size(rows)));
}

void check_sample_token(Grader& g, const Impl& impl) {
  const std::vector<double> gaps = {0, 0.25, 0, 0.5, 0.25, 0}, tenths(10, 0.1);
  std::vector<double> tenths_and_0(10, 0.1), zeros_first(7, 0), many(50'000, 1. / 50'000);
  const std::vector<double> one = {1};
  tenths_and_0.push_back(0);
  zeros_first.push_back(1);
  constexpr double kLargest = 0.99999999999999989;  // below 1
  struct Row {
    const char* name;
    const std::vector<double>& probs;
    double u;
    int32_t want;
    const char* says = "";
  };
  const char* rest =
      "the probabilities sum to a hair less than 1: the last token of positive probability must catch the rest";
  const char* narrow = "added up in float: after thousands of tokens the sum is wrong; use double";
  const Row rows[] = {{"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.2, 1},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.6, 3},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0, 1},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.25, 3,
                       "at u = 0.25 the first quarter is used up: compare with <, not <="},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.74, 3},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.75, 4},
                      {"p = {0, 0.25, 0, 0.5, 0.25, 0}", gaps, 0.9999999, 4},
                      {"ten times 0.1", tenths, kLargest, 9, rest},
                      {"ten times 0.1, then 0", tenths_and_0, kLargest, 9, rest},
                      {"seven times 0, then 1", zeros_first, 0, 7},
                      {"50,000 equal ones", many, 24'999.5 / 50'000, 24'999, narrow},
                      {"50,000 equal ones", many, 49'998.5 / 50'000, 49'998, narrow},
                      {"p = {1}", one, 0.5, 0}};
  for (const auto& [name, probs, u, want, says] : rows) {
    const int32_t token = impl.sample_token(probs, u), n = static_cast<int32_t>(probs.size());
    std::string diagnosis = says;
    if (token < 0 || token >= n) {
      diagnosis = "there is no such token: where the sum stays below u, take the last token of positive probability";
    } else if (probs[static_cast<size_t>(token)] == 0 && diagnosis != rest) {
      diagnosis = "a token of probability 0 is drawn: skip those";
    } else if (probs[static_cast<size_t>(token)] == 0) {
      diagnosis = fmt::format("a token of probability 0 is drawn; {}", rest);
    } else if (diagnosis.empty()) {
      diagnosis = token == 3 && u < 0.25   ? "the most probable token is taken, whatever u is"
                  : token == 4 && u < 0.25 ? "the pieces are laid out from the end: begin from token 0 on"
                  : token > want           ? "one token too far: take the first one at which the sum exceeds u"
                                           : "too early: take the first token at which the sum exceeds u";
    }
    if (!g.expect(token == want, fmt::format("{}, u = {}", name, u), fmt::format("token {}", token),
                  fmt::format("token {}", want), diagnosis))
      return;
  }
  g.note("borders, gaps, a sum of 0.9999999999999999 and 50,000 tokens");
}

}  // namespace pg::lesson03
