// The check of the matrix product: exact numbers, then the speed.
#include <cmath>

#include "lessons/01_tensors/checks.h"
#include "tensor/base/clock.h"

namespace pg::lesson01 {
namespace {

using kit::Grader;
using kit::Value;

std::vector<double> product(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n, int64_t k) {
  std::vector<double> c(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) c[i * n + j] += static_cast<double>(a[i * k + l]) * b[l * n + j];
    }
  }
  return c;
}

// The call before this one.
struct Before {
  Shape shape;
  std::vector<float> b;
  std::vector<double> product;
};

// Small integers: every summation order gives the same bits, so the comparison can be exact. None is 0, so that no
// product can be left out unseen, but for one row of a matrix a of 5 rows.
bool whole_numbers(Grader& g, const Impl& impl, int64_t m, int64_t n, int64_t k, Generator& random, Before& before) {
  constexpr int64_t kBeyond = 19;
  std::vector<float> a(m * k), b(k * n);
  for (auto* factor : {&a, &b}) {
    for (float& x : *factor) x = static_cast<float>((1 + random.integer(4)) * (random.integer(2) == 0 ? 1 : -1));
  }
  if (m == 5) std::fill_n(a.begin(), k, 0.0f);
  const Tensor ta = Tensor::from(a, {m, k}), tb = Tensor::from(b, {k, n});
  const Tensor memory = Tensor::full({m * n + kBeyond}, 1000);
  const Tensor c = memory.view_slice(0, 0, m * n).view_reshape({m, n});
  const std::vector<double> want = product(a, b, m, n, k);
  const Shape shape{m, n};
  auto mistakes = kit::values_of(matmul_mistakes(), [&](auto wrong) {
    const Tensor own = c.clone();
    wrong(own, ta, tb);
    return own;
  });
  const std::string kept = "something is kept between calls: this is made of numbers of the call before";
  if (before.shape == shape && before.b.size() == b.size()) {
    mistakes.push_back({kept, Value(shape, before.product)});
    mistakes.push_back({kept, Value(shape, product(a, before.b, m, n, k))});
  }
  before = {shape, b, want};
  impl.matmul(c, ta, tb);
  const std::string input = fmt::format("a [{}, {}], b [{}, {}], whole numbers, c full of 1000", m, k, k, n);
  if (!g.equal(input, c, Value(shape, want), {.rtol = 0, .mistakes = mistakes})) return false;
  const std::vector<double> beyond = memory.view_slice(0, m * n, m * n + kBeyond).to_vector();
  return g.expect(std::count(beyond.begin(), beyond.end(), 1000) == kBeyond, input + ": the memory after c",
                  "other numbers", "left alone", "a loop writes past the end of c: blocks end at min(j0 + 256, N)") &&
         g.expect(ta.to_vector() == Tensor::from(a, {m, k}).to_vector() &&
                      tb.to_vector() == Tensor::from(b, {k, n}).to_vector(),
                  input + ": a and b afterwards", "other numbers", "the numbers from before the call",
                  "a factor was overwritten: only c may be written to");
}

double seconds_of(void (*f)(View, View, View), const Tensor& c, const Tensor& a, const Tensor& b) {
  c.fill(NAN);
  const double start = thread_seconds();
  f(c, a, b);
  return thread_seconds() - start;
}

}  // namespace

void check_matmul(Grader& g, const Impl& impl) {
  Generator random = kit::draws(14);
  const int64_t sizes[][3] = {{2, 3, 4},   {2, 3, 4},     {65, 130, 67}, {64, 64, 64}, {7, 300, 129},
                              {3, 517, 2}, {130, 5, 201}, {100, 1, 5},   {1, 7, 70},   {3, 5, 0},
                              {0, 4, 3},   {4, 0, 3},     {1, 1, 1},     {5, 4, 3}};
  Before before;
  for (const auto& [m, n, k] : sizes) {
    if (!whole_numbers(g, impl, m, n, k, random, before)) return;
  }
  const Tensor zero_inf = Tensor::from<float>(std::vector<float>{0, 1}, {1, 2});
  const Tensor inf_two = Tensor::from<float>(std::vector<float>{INFINITY, 2}, {2, 1}), one = Tensor::zeros({1, 1});
  impl.matmul(one, zero_inf, inf_two);
  if (!g.equal("a {{0, 1}}, b {{inf}, {2}}", one, Value({1, 1}, {NAN}),
               {.mistakes = {{"0 times infinity is nan: a factor 0 must not be skipped", Value({1, 1}, {2})}}}))
    return;

  constexpr int64_t n = 320;
  const Tensor a = Tensor::uniform({n, n}, -1, 1, random), b = Tensor::uniform({n, n}, -1, 1, random);
  const Tensor c = Tensor::zeros({n, n}), want = Tensor::zeros({n, n});
  double naive = INFINITY, yours = INFINITY;
  for (int repeat = 0; repeat < (kit::optimized_build() ? 4 : 1); ++repeat) {
    naive = std::min(naive, seconds_of(matmul_naive, want, a, b));
    yours = std::min(yours, seconds_of(impl.matmul, c, a, b));
    const double error = kit::relative_error(c, want);
    if (!g.expect(error <= 1e-5, fmt::format("{0} x {0} numbers between -1 and 1, c full of nan", n),
                  fmt::format("relative error {:.2g}", error), "at most 1e-5",
                  std::isnan(c.view_select(0, 0).view_select(0, 0).item())
                      ? "nothing is written at this size: c still holds nan"
                      : "right for the small sizes only: is every block of every direction visited?"))
      return;
  }
  const std::string exact = fmt::format("{} sizes exact", std::size(sizes));
  if (!kit::optimized_build()) {
    g.note(exact + "; speed is not judged in this build");
    return;
  }
  g.expect(naive >= 1.5 * yours, fmt::format("{0} x {0} numbers, best of four", n),
           fmt::format("{:.1f} ms, {:.2f} x the speed of the naive loop", yours * 1e3, naive / yours),
           "at least 1.5 x the speed of the naive loop",
           "as slow as the naive loop: does the innermost loop walk down a column of b?");
  g.note(fmt::format("{}; {:.1f} x as fast as the naive loop", exact, naive / yours));
}

}  // namespace pg::lesson01
