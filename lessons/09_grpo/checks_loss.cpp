// The checks of lesson 9 on ratios and aggregation. Expected values are computed here element by element.
#include <algorithm>
#include <cmath>

#include "lessons/09_grpo/checks.h"

namespace pg::lesson09 {
namespace {

using kit::Grader, kit::gradient_of, kit::on_the_tape, kit::Value;

constexpr size_t kRows = 4, kSteps = 5;
const std::vector<uint8_t> kMask = {1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};  // lengths 5, 2, 1, 0
const std::vector<double> kLengths = {5, 2, 1, 0};

Tensor mask() { return Tensor::from(kMask, {kRows, kSteps}); }
Tensor log_probs(uint64_t seed) {
  Generator random = kit::draws(seed);
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
  const auto compare = [&](const std::string& input, const Tensor& now, const Tensor& old, const Tensor& kept,
                           const Value& want) {
    const auto known = kit::results_of(ratio_mistakes(), now, old, kept);
    g.equal(input, impl.token_ratio(now, old, kept), want, {.mistakes = known});
  };
  const Tensor now = log_probs(92), old = log_probs(93), ones = Tensor::ones({kRows, kSteps}, f64);
  const std::vector<double> a = now.to_vector(), b = old.to_vector();
  const auto masked = [&](double otherwise) {
    return table(
        [&](size_t r, size_t t) { return on(r, t) ? std::exp(a[r * kSteps + t] - b[r * kSteps + t]) : otherwise; });
  };
  const Value want = masked(1), slope = masked(0);
  const auto known = kit::results_of(ratio_mistakes(), now, old, mask());
  const auto got = kit::on_leaves(impl.token_ratio, kit::leaf(now), old, mask());
  g.equal("log_prob, old_log_prob [4, 5]; lengths 5, 2, 1, 0", got.result.detach(), want, {.mistakes = known});
  if (g.failed()) return;
  if (!on_the_tape(g, got.result)) return;
  backward(got.result, ones);
  g.equal("the gradient at log_prob: the ratio itself, 0 where masked", got.gradient(0), slope);
  compare("log_prob = -inf where mask is 0", endless(now), endless(old), mask(), want);
  if (g.failed()) return;
  const auto infinite = kit::on_leaves(impl.token_ratio, kit::leaf(endless(now)), endless(old), mask());
  backward(infinite.result, ones);
  g.equal(
      "the gradient at log_prob = -inf where mask is 0", infinite.gradient(0), slope,
      {.mistakes = kit::known_gradients(ratio_mistakes(), ones, kit::leaf(endless(now)), endless(old), mask()).at[0]});
  const Tensor one = Tensor::ones({1, 3}, u8), zero = Tensor::zeros({1, 3}, f64);
  const Tensor far = Tensor::from<double>(std::vector<double>{1000, -1000, 15}, {1, 3});
  for (const DType dtype : {f64, f32}) {  // exp(100) is infinite in f32, exp(1000) in f64
    const Tensor x = kit::leaf(dtype == f64 ? far : clamp(far, -100, 100).to(f32));
    const Tensor past = zero.to(dtype), d = Tensor::ones({1, 3}, dtype);
    const double rtol = dtype == f64 ? 1e-9 : 1e-5, e15 = std::exp(15.0);
    const auto wrong = kit::known_gradients(ratio_mistakes(), d, x, past, one);
    const auto ratio = kit::on_leaves(impl.token_ratio, x, past, one);
    const std::string input = dtype == f64 ? "log-ratios 1000, -1000, 15" : "log-ratios 100, -100, 15, f32";
    g.equal(input, ratio.result.detach(), Value({1, 3}, {std::exp(20.0), std::exp(-20.0), e15}),
            {.rtol = rtol, .mistakes = wrong.results});
    if (g.failed()) return;
    backward(ratio.result, d);
    g.equal(input + ": the gradient", ratio.gradient(0), Value({1, 3}, {0, 0, e15}),
            {.rtol = rtol, .mistakes = wrong.at[0]});
  }
  compare("log-ratio -1000", far.view_slice(1, 1, 2), zero.view_slice(1, 0, 1), one.view_slice(1, 0, 1),
          Value({1, 1}, {std::exp(-20.0)}));
  g.equal("log_prob, old_log_prob [4, 5] f32, every second element of a tensor",
          impl.token_ratio(kit::strided(now.to(f32)), kit::strided(old.to(f32)), kit::strided(mask())), want,
          {.rtol = 1e-5});
  g.note("values, gradients, infinity where nothing counts, and log-ratios of 1000");
}

void check_sequence_ratio(Grader& g, const Impl& impl) {
  const auto compare = [&](const std::string& input, const Tensor& now, const Tensor& old, const Tensor& kept,
                           const Value& want) {
    const auto known = kit::results_of(sequence_mistakes(), now, old, kept);
    g.equal(input, impl.sequence_ratio(now, old, kept), want, {.mistakes = known});
  };
  const Tensor now = log_probs(94), old = log_probs(95), ones = Tensor::ones({kRows, 1}, f64);
  const std::vector<double> a = now.to_vector(), b = old.to_vector();
  const auto d = [&](size_t row, size_t t) { return a[row * kSteps + t] - b[row * kSteps + t]; };
  const Value want = column([&](size_t r) { return std::exp(row_sum(r, d) / std::max(kLengths[r], 1.0)); });
  const Value slope = table([&](size_t r, size_t t) { return on(r, t) ? want.v[r] / kLengths[r] : 0; });
  const auto known = kit::results_of(sequence_mistakes(), now, old, mask());
  const auto got = kit::on_leaves(impl.sequence_ratio, kit::leaf(now), old, mask());
  g.equal("log_prob, old_log_prob [4, 5]; lengths 5, 2, 1, 0", got.result.detach(), want, {.mistakes = known});
  if (g.failed()) return;
  if (!on_the_tape(g, got.result)) return;
  backward(got.result, ones);
  g.equal("the gradient at log_prob: s / length", got.gradient(0), slope);
  compare("log_prob = -inf where mask is 0", endless(now), endless(old), mask(), want);
  if (g.failed()) return;
  const auto infinite = kit::on_leaves(impl.sequence_ratio, kit::leaf(endless(now)), endless(old), mask());
  backward(infinite.result, ones);
  g.equal("the gradient at log_prob = -inf where mask is 0", infinite.gradient(0), slope);
  const Tensor far = Tensor::from<double>(std::vector<double>{200, -80, 120}, {1, 3});
  for (const double scale : {1.0, -1.0, 10.0}) {
    const Tensor x = kit::leaf(far * scale), zero = Tensor::zeros({1, 3}, f64), one = Tensor::ones({1, 1}, f64);
    const auto wrong = kit::known_gradients(sequence_mistakes(), one, x, zero, Tensor::ones({1, 3}, u8));
    const auto ratio = kit::on_leaves(impl.sequence_ratio, x, zero, Tensor::ones({1, 3}, u8));
    const std::string input =
        fmt::format("log-ratios {}, {}, {}: their mean is {}", scale * 200, scale * -80, scale * 120, scale * 80);
    g.equal(input, ratio.result.detach(), Value({1, 1}, {std::exp(scale > 0 ? 20.0 : -20.0)}),
            {.mistakes = wrong.results});
    if (g.failed()) return;
    backward(ratio.result, one);
    g.equal(input + ": the gradient", ratio.gradient(0), zero, {.mistakes = wrong.at[0]});
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
  for (const Part& part : {Part{2, 7, {6, 3}, {.tokens = 40, .sequences = 11, .max_length = 13}},
                           Part{3, 2, {2, 0, 1}, {.tokens = 9, .sequences = 5, .max_length = 4}},
                           Part{1, 3, {3}, {.tokens = 3, .sequences = 1, .max_length = 3}}}) {
    std::vector<uint8_t> mask;
    double sum = 0, means = 0;
    for (int64_t b = 0; b < part.rows; ++b) {
      const int64_t length = part.lengths[static_cast<size_t>(b)];
      double row = 0;
      for (int64_t t = 0; t < part.steps; ++t) {
        mask.push_back(t < length);
        const double l = t < length ? static_cast<double>(b * part.steps + t) : 0;
        row += l;
      }
      sum += row;
      means += row / static_cast<double>(std::max<int64_t>(length, 1));
    }
    const Tensor loss = Tensor::arange(part.rows * part.steps, f64).view_reshape({part.rows, part.steps});
    const Tensor kept = Tensor::from(mask, {part.rows, part.steps});
    const Denominators& total = part.total;
    const std::string input =
        fmt::format("loss [{}, {}] = 0, 1, 2 ..., lengths {}, of an update of {} responses, {} tokens: ", part.rows,
                    part.steps, fmt::join(part.lengths, ", "), total.sequences, total.tokens);
    g.equal(input + "token_mean", impl.aggregate(loss, kept, Aggregation::token_mean, total), sum / total.tokens);
    g.equal(input + "sequence_mean", impl.aggregate(loss, kept, Aggregation::sequence_mean, total),
            means / total.sequences,
            {.mistakes = kit::results_of(aggregate_mistakes(), loss, kept, Aggregation::sequence_mean, total)});
    g.equal(input + "constant", impl.aggregate(loss, kept, Aggregation::constant, total),
            sum / (total.sequences * total.max_length));
    g.equal(input + "sequence_sum", impl.aggregate(loss, kept, Aggregation::sequence_sum, total),
            sum / total.sequences);
    if (g.failed()) return;
  }
}

}  // namespace

void check_aggregate(Grader& g, const Impl& impl) {
  Generator random = kit::draws(96);
  const Tensor loss = Tensor::normal({kRows, kSteps}, 0, 1, random, f64);
  const std::vector<double> l = loss.to_vector();
  const auto at = [&](size_t b, size_t t) { return l[b * kSteps + t]; };
  // These four rows are part of an update of 7 responses and 23 tokens.
  const Denominators total{.tokens = 23, .sequences = 7, .max_length = 9};
  double sum = 0, by_length = 0;
  for (size_t b = 0; b < kRows; ++b) {
    sum += row_sum(b, at);
    by_length += row_sum(b, at) / std::max(kLengths[b], 1.0);
  }
  const std::string input = "loss [4, 5], lengths 5, 2, 1, 0, of an update of 7 responses, 23 tokens: ";
  struct How {
    std::string name, more;
    Aggregation how;
    double want;
  };
  const How all[] = {{"token_mean", "", Aggregation::token_mean, sum / 23},
                     {"sequence_mean", "", Aggregation::sequence_mean, by_length / 7},
                     {"constant", ", max_length 9", Aggregation::constant, sum / (7 * 9)},
                     {"sequence_sum", "", Aggregation::sequence_sum, sum / 7}};
  for (const auto& [name, more, how, want] : all) {
    const auto known = kit::results_of(aggregate_mistakes(), loss, mask(), how, total);
    g.equal(input + name + more, impl.aggregate(loss, mask(), how, total), want, {.mistakes = known});
  }
  const auto slope_of = [](Aggregation how) {
    const double divisor = how == Aggregation::token_mean ? 23 : how == Aggregation::constant ? 7 * 9 : 7;
    const bool by_row = how == Aggregation::sequence_mean;
    return table([&](size_t b, size_t t) { return on(b, t) ? 1 / (divisor * (by_row ? kLengths[b] : 1)) : 0; });
  };
  for (const auto& [name, more, how, want] : all) {
    if (g.failed()) return;
    Tensor leaf = loss.clone().set_requires_grad();
    const Tensor got = impl.aggregate(leaf, mask(), how, total);
    if (!on_the_tape(g, got, kit::kUseOps, name + ": the result")) return;
    backward(got);
    g.equal(name + ", the gradient at the loss", gradient_of(leaf), slope_of(how));
  }
  check_other_shapes(g, impl);
  const Tensor thousands = kit::strided((loss * 1000.0).to(f32));
  for (const auto& [name, more, how, want] : all) {
    const std::string large = name + ", the loss in thousands, f32, every second element of a tensor";
    const auto got = kit::on_leaves(impl.aggregate, kit::leaf(thousands), kit::strided(mask()), how, total);
    g.equal(large, got.result.detach(), 1000 * want, {.rtol = 1e-4});
    if (g.failed()) return;
    backward(got.result);
    g.equal(large + ": the gradient", got.gradient(0), slope_of(how), {.rtol = 1e-5});
  }
  for (const auto& [name, more, how, want] : all) {
    auto known = kit::results_of(aggregate_mistakes(), endless(loss), mask(), how, total);
    known.insert(known.begin(), {known[0].says, Value(-INFINITY)});
    g.equal(name + ", the loss infinite where mask is 0", impl.aggregate(endless(loss), mask(), how, total), want,
            {.mistakes = known});
  }
  g.note("four aggregations of parts of four updates, their gradients, infinity where nothing counts");
}

}  // namespace pg::lesson09
