// The checks of lesson 9 on ratios and aggregation. Expected values are computed here element by element.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson09 {
namespace {

using kit::Grader;
using kit::gradient_of;
using kit::on_the_tape;
using kit::Value;

constexpr size_t kRows = 4, kSteps = 5;
const std::vector<uint8_t> kMask = {1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // lengths 5, 2, 1, 0
const std::vector<double> kLengths = {5, 2, 1, 0};

Tensor mask() { return Tensor::from(kMask, {kRows, kSteps}); }
Tensor log_probs(uint64_t seed) {
  Generator random(seed);
  return neg(abs(Tensor::normal({kRows, kSteps}, 0, 0.8, random, f64)));
}
// log_prob with -inf where the mask is 0.
Tensor endless(const Tensor& x) { return where(mask(), x, Tensor::scalar(-INFINITY, f64)); }

// f(b, t) at every position.
template <class F>
Value table(F f) {
  Value v{{kRows, kSteps}, {}};
  for (size_t b = 0; b < kRows; ++b) {
    for (size_t t = 0; t < kSteps; ++t) v.v.push_back(f(b, t));
  }
  return v;
}
template <class F>
Value column(F f) {
  Value v{{kRows, 1}, {}};
  for (size_t b = 0; b < kRows; ++b) v.v.push_back(f(b));
  return v;
}
bool on(size_t b, size_t t) { return kMask[b * kSteps + t] != 0; }
template <class F>
double row_sum(size_t b, F f) {  // over the response's own tokens
  double sum = 0;
  for (size_t t = 0; t < kSteps; ++t) sum += on(b, t) ? f(b, t) : 0;
  return sum;
}

}  // namespace

void check_token_ratio(Grader& g, const Impl& impl) {
  const Tensor now = log_probs(92), old = log_probs(93);
  const std::vector<double> a = now.to_vector(), b = old.to_vector();
  const auto d = [&](size_t row, size_t t) { return a[row * kSteps + t] - b[row * kSteps + t]; };
  const auto masked = [&](double otherwise, auto f) {
    return table([&, f](size_t row, size_t t) { return on(row, t) ? f(row, t) : otherwise; });
  };
  const auto ratio = [&](size_t row, size_t t) { return std::exp(d(row, t)); };
  const Value want = masked(1, ratio);
  Tensor leaf = now.clone().set_requires_grad();
  const Tensor got = impl.token_ratio(leaf, old, mask());
  g.equal("log_prob, old_log_prob [4, 5]; lengths 5, 2, 1, 0", got.detach(), want,
          {.mistakes = {
               {"the two are exchanged: new over old", masked(1, [&](size_t r, size_t t) { return 1 / ratio(r, t); })},
               {"one log-probability divided by the other: subtract them, then take exp",
                masked(1, [&](size_t r, size_t t) { return a[r * kSteps + t] / b[r * kSteps + t]; })},
               {"this is the log of the ratio: exp is missing", masked(0, d)},
               {"this is the log of the ratio: exp is missing", masked(1, d)},
               {"the mask is not used", table(ratio)},
               {"masked places are 0: mask the log-ratio, before exp, and they are 1", masked(0, ratio)}}});
  if (g.failed()) return;
  if (!on_the_tape(g, got)) return;
  backward(got, Tensor::ones({kRows, kSteps}, f64));
  g.equal("the gradient at log_prob: the ratio itself, 0 where masked", gradient_of(leaf), masked(0, ratio));
  g.equal(
      "log_prob = -inf where mask is 0", impl.token_ratio(endless(now), endless(old), mask()), want,
      {.mistakes = {{"-inf minus -inf is no number: choose with where(mask, ...) instead of multiplying by the mask",
                     masked(NAN, ratio)}}});
  if (g.failed()) return;
  Tensor infinite = endless(now).set_requires_grad();
  backward(impl.token_ratio(infinite, endless(old), mask()), Tensor::ones({kRows, kSteps}, f64));
  g.equal("the gradient at log_prob = -inf where mask is 0", gradient_of(infinite), masked(0, ratio),
          {.mistakes = {{"0 times infinity, in the gradient: mask the log-ratio, before exp, not the ratio behind it",
                         masked(NAN, ratio)}}});
  const Tensor one = Tensor::ones({1, 3}, u8), zero = Tensor::zeros({1, 3}, f64);
  const Tensor far = Tensor::from<double>(std::vector<double>{1000, -1000, 15}, {1, 3});
  g.equal("log-ratios 1000, -1000, 15", impl.token_ratio(far, zero, one),
          Value({1, 3}, {std::exp(20.0), std::exp(-20.0), std::exp(15.0)}),
          {.mistakes = {{"not held within ±20: e^100 is infinite in f32, and infinity times advantage 0 is no number",
                         Value({1, 3}, {INFINITY, 0, std::exp(15.0)})},
                        {"the ratio is held within ±20: hold the log-ratio, not the ratio", Value({1, 3}, {20, 0, 20})},
                        {"the ratio is held within ±20: hold the log-ratio, not the ratio",
                         Value({1, 3}, {20, std::exp(-20.0), 20})}}});
  g.equal("log-ratio -1000",
          impl.token_ratio(far.view_slice(1, 1, 2), zero.view_slice(1, 0, 1), one.view_slice(1, 0, 1)),
          Value({1, 1}, {std::exp(-20.0)}),
          {.mistakes = {{"held from above, not from below: the log-ratio is at least -20", Value({1, 1}, {0})}}});
  g.equal("log_prob, old_log_prob [4, 5] f32, every second element of a tensor",
          impl.token_ratio(kit::strided(now.to(f32)), kit::strided(old.to(f32)), kit::strided(mask())), want,
          {.rtol = 1e-5});
  g.note("values, gradients, infinity where nothing counts, and log-ratios of 1000");
}

void check_sequence_ratio(Grader& g, const Impl& impl) {
  const Tensor now = log_probs(94), old = log_probs(95);
  const std::vector<double> a = now.to_vector(), b = old.to_vector();
  const auto d = [&](size_t row, size_t t) { return a[row * kSteps + t] - b[row * kSteps + t]; };
  const auto length = [](size_t row) { return std::max(kLengths[row], 1.0); };
  const Value want = column([&](size_t r) { return std::exp(row_sum(r, d) / length(r)); });
  const auto all = [&](size_t r) {
    double sum = 0;
    for (size_t t = 0; t < kSteps; ++t) sum += d(r, t);
    return sum;
  };
  Tensor leaf = now.clone().set_requires_grad();
  const Tensor got = impl.sequence_ratio(leaf, old, mask());
  g.equal("log_prob, old_log_prob [4, 5]; lengths 5, 2, 1, 0", got.detach(), want,
          {.mistakes = {
               {"the log-ratios are summed; take their mean, or long responses leave every clip range",
                column([&](size_t r) { return std::exp(row_sum(r, d)); })},
               {"divided by T in place of the response's own length",
                column([&](size_t r) { return std::exp(row_sum(r, d) / kSteps); })},
               {"padding is in the mean: mask the log-ratios first",
                column([&](size_t r) { return std::exp(all(r) / kSteps); })},
               {"padding is in the sum: mask the log-ratios first",
                column([&](size_t r) { return std::exp(all(r) / length(r)); })},
               {"the mean of the ratios; it is exp of the mean log-ratio, their geometric mean", column([&](size_t r) {
                  return row_sum(r, [&](size_t x, size_t t) { return std::exp(d(x, t)); }) / length(r) +
                         (kLengths[r] == 0);
                })},
               {"the mean of the ratios; it is exp of the mean log-ratio, their geometric mean", column([&](size_t r) {
                  return row_sum(r, [&](size_t x, size_t t) { return std::exp(d(x, t)); }) / length(r);
                })},
               {"the two are exchanged: new over old",
                column([&](size_t r) { return std::exp(-row_sum(r, d) / length(r)); })},
               {"a response without a token gives 0/0: divide by at least 1", [&] {
                  Value v = want;
                  v.v.back() = NAN;
                  return v;
                }()}}});
  if (g.failed()) return;
  if (!on_the_tape(g, got)) return;
  backward(got, Tensor::ones({kRows, 1}, f64));
  g.equal("the gradient at log_prob: s / length", gradient_of(leaf),
          table([&](size_t r, size_t t) { return on(r, t) ? want.v[r] / kLengths[r] : 0; }));
  const Value lost({kRows, 1}, {want.v[0], NAN, NAN, NAN});
  g.equal(
      "log_prob = -inf where mask is 0", impl.sequence_ratio(endless(now), endless(old), mask()), want,
      {.mistakes = {
           {"-inf minus -inf is no number: choose with where(mask, ...) instead of multiplying by the mask", lost}}});
  if (g.failed()) return;
  Tensor infinite = endless(now).set_requires_grad();
  backward(impl.sequence_ratio(infinite, endless(old), mask()), Tensor::ones({kRows, 1}, f64));
  g.equal("the gradient at log_prob = -inf where mask is 0", gradient_of(infinite),
          table([&](size_t r, size_t t) { return on(r, t) ? want.v[r] / kLengths[r] : 0; }));
  const Tensor far = Tensor::from<double>(std::vector<double>{200, -80, 120}, {1, 3}),
               none = Tensor::zeros({1, 3}, f64);
  const auto is = [](double log_ratio) { return Value({1, 1}, {std::exp(log_ratio)}); };
  for (const double sign : {1.0, -1.0}) {
    g.equal(fmt::format("log-ratios {}, {}, {}: their mean is {}", sign * 200, sign * -80, sign * 120, sign * 80),
            impl.sequence_ratio(far * sign, none, Tensor::ones({1, 3}, u8)), is(sign * 20),
            {.mistakes = {{"not held within ±20: hold the mean log-ratio before exp, or the ratio may be infinite",
                           is(sign * 80)},
                          {"each token's log-ratio is held within ±20: hold the mean", is(sign * 20 / 3)}}});
  }
  const Tensor short_log_prob = Tensor::from<double>(std::vector<double>{-1, -2, -3, -1, -1, -1}, {2, 3});
  const Tensor short_mask = Tensor::from<uint8_t>(std::vector<uint8_t>{1, 1, 1, 1, 1, 0}, {2, 3});
  g.equal("log_prob {{-1, -2, -3}, {-1, -1, -1}}, old_log_prob 0; lengths 3, 2",
          impl.sequence_ratio(short_log_prob, Tensor::zeros({2, 3}, f64), short_mask),
          Value({2, 1}, {std::exp(-2.0), std::exp(-1.0)}));
  g.equal("log_prob, old_log_prob [4, 5] f32, every second element of a tensor",
          impl.sequence_ratio(kit::strided(now.to(f32)), kit::strided(old.to(f32)), kit::strided(mask())), want,
          {.rtol = 1e-5});
  g.note("three shapes, gradients, far log-ratios, and infinity where nothing counts");
}

namespace {

// loss = 0, 1, 2, ..., of which each response has its first tokens: part of an update with these totals.
struct Part {
  int64_t rows, steps;
  std::vector<int64_t> lengths;
  Denominators total;
};
void check_other_shapes(Grader& g, const Impl& impl) {
  const char* five = "only the first 5 steps are summed: T is loss.size(1)";
  for (const Part& part : {Part{2, 7, {6, 3}, {.tokens = 40, .sequences = 11, .max_length = 13}},
                           Part{3, 2, {2, 0, 1}, {.tokens = 9, .sequences = 5, .max_length = 4}},
                           Part{1, 3, {3}, {.tokens = 3, .sequences = 1, .max_length = 3}}}) {
    std::vector<uint8_t> mask;
    double sum = 0, means = 0, of_five = 0;
    for (int64_t b = 0; b < part.rows; ++b) {
      const int64_t length = part.lengths[static_cast<size_t>(b)];
      double row = 0, begin = 0;
      for (int64_t t = 0; t < part.steps; ++t) {
        mask.push_back(t < length);
        const double l = t < length ? static_cast<double>(b * part.steps + t) : 0;
        row += l;
        begin += t < 5 ? l : 0;
      }
      sum += row;
      means += row / static_cast<double>(std::max<int64_t>(length, 1));
      of_five += begin / static_cast<double>(std::clamp<int64_t>(length, 1, 5));
    }
    const Tensor loss = Tensor::arange(part.rows * part.steps, f64).view_reshape({part.rows, part.steps});
    const Tensor kept = Tensor::from(mask, {part.rows, part.steps});
    const Denominators& total = part.total;
    const std::string input =
        fmt::format("loss [{}, {}] = 0, 1, 2 ..., lengths {}, of an update of {} responses, {} tokens: ", part.rows,
                    part.steps, fmt::join(part.lengths, ", "), total.sequences, total.tokens);
    g.equal(input + "token_mean", impl.aggregate(loss, kept, Aggregation::token_mean, total), sum / total.tokens);
    g.equal(input + "sequence_mean", impl.aggregate(loss, kept, Aggregation::sequence_mean, total),
            means / total.sequences, {.mistakes = {{five, Value(of_five / total.sequences)}}});
    g.equal(input + "constant", impl.aggregate(loss, kept, Aggregation::constant, total),
            sum / (total.sequences * total.max_length));
    g.equal(input + "sequence_sum", impl.aggregate(loss, kept, Aggregation::sequence_sum, total),
            sum / total.sequences);
    if (g.failed()) return;
  }
}

}  // namespace

void check_aggregate(Grader& g, const Impl& impl) {
  Generator random(96);
  const Tensor loss = Tensor::normal({kRows, kSteps}, 0, 1, random, f64);
  const std::vector<double> l = loss.to_vector();
  const auto at = [&](size_t b, size_t t) { return l[b * kSteps + t]; };
  // These four rows are part of an update of 7 responses and 23 tokens.
  const Denominators total{.tokens = 23, .sequences = 7, .max_length = 9};
  double sum = 0, by_length = 0, by_steps = 0, padded = 0;
  for (size_t b = 0; b < kRows; ++b) {
    sum += row_sum(b, at);
    by_length += row_sum(b, at) / std::max(kLengths[b], 1.0);
    by_steps += row_sum(b, at) / kSteps;
    for (size_t t = 0; t < kSteps; ++t) padded += at(b, t);
  }
  const double token_mean = sum / 23, sequence_mean = by_length / 7, constant = sum / (7 * 9), sequence_sum = sum / 7;
  const std::string input = "loss [4, 5], lengths 5, 2, 1, 0, of an update of 7 responses, 23 tokens: ";
  const char* micro =
      "divided by what is in this micro-batch; then eight small ones are not one large one: divide by `total`";
  const char* late = "the mask comes after the mean: divide by the response's own tokens, not by T";
  const kit::Mistake no_mask{"the mask is not used", Value(padded / 23)};
  g.equal(
      input + "token_mean", impl.aggregate(loss, mask(), Aggregation::token_mean, total), token_mean,
      {.mistakes = {no_mask,
                    {micro, Value(sum / 8)},
                    {"0: is 1 / tokens a division of whole numbers? Divide the sum by total.tokens", Value(0.0)},
                    {"this is the sequence mean: token_mean gives every token the same weight", Value(sequence_mean)},
                    {"divided by all places, padding too", Value(sum / (kRows * kSteps))}}});
  g.equal(
      input + "sequence_mean", impl.aggregate(loss, mask(), Aggregation::sequence_mean, total), sequence_mean,
      {.mistakes = {{late, Value(by_steps / 7)},
                    {micro, Value(by_length / 3)},
                    {micro, Value(by_length / 4)},
                    {"this is the token mean: sequence_mean gives every response the same weight", Value(token_mean)},
                    {"a response without a token gives 0/0: divide by at least 1", Value(NAN)}}});
  g.equal(input + "constant, max_length 9", impl.aggregate(loss, mask(), Aggregation::constant, total), constant,
          {.mistakes = {{micro, Value(sum / (4 * 9))},
                        {micro, Value(sum / (3 * 9))},
                        {"divided by the longest response here; max_length is the same for every batch",
                         Value(sum / (7 * 5))}}});
  g.equal(input + "sequence_sum", impl.aggregate(loss, mask(), Aggregation::sequence_sum, total), sequence_sum,
          {.mistakes = {{micro, Value(sum / 4)},
                        {micro, Value(sum / 3)},
                        {"not divided: divide the sum by total.sequences", Value(sum)}}});
  struct How {
    std::string name;
    Aggregation how;
    double want;
  };
  const How all[] = {{"token_mean", Aggregation::token_mean, token_mean},
                     {"sequence_mean", Aggregation::sequence_mean, sequence_mean},
                     {"constant", Aggregation::constant, constant},
                     {"sequence_sum", Aggregation::sequence_sum, sequence_sum}};
  for (const auto& [name, how, want] : all) {
    if (g.failed()) return;
    Tensor leaf = loss.clone().set_requires_grad();
    const Tensor got = impl.aggregate(leaf, mask(), how, total);
    if (!on_the_tape(g, got, kit::kUseOps, name + ": the result")) return;
    backward(got);
    const double divisor = how == Aggregation::token_mean ? 23 : how == Aggregation::constant ? 7 * 9 : 7;
    const bool by_row = how == Aggregation::sequence_mean;
    g.equal(name + ", the gradient at the loss", gradient_of(leaf), table([&, by_row = by_row](size_t b, size_t t) {
              return on(b, t) ? 1 / (divisor * (by_row ? kLengths[b] : 1)) : 0;
            }));
  }
  check_other_shapes(g, impl);
  const Tensor thousands = kit::strided((loss * 1000.0).to(f32));
  for (const auto& [name, how, want] : all) {
    g.equal(name + ", the loss in thousands, f32, every second element of a tensor",
            impl.aggregate(thousands, kit::strided(mask()), how, total), 1000 * want, {.rtol = 1e-4});
  }
  for (const auto& [name, how, want] : all) {
    g.equal(
        name + ", the loss infinite where mask is 0", impl.aggregate(endless(loss), mask(), how, total), want,
        {.mistakes = {{"0 times infinity is no number: choose with where(mask, ...) instead of multiplying by the mask",
                       Value(NAN)},
                      {"0 times infinity is no number: choose with where(mask, ...) instead of multiplying by the mask",
                       Value(-INFINITY)}}});
  }
  g.note("four aggregations of parts of four updates, their gradients, infinity where nothing counts");
}

}  // namespace pg::lesson09
