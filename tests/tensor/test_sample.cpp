// Sampling on the CPU: each token has the interval of the cumulative probability that its distribution gives it.
#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "tensor/base/random.h"
#include "tensor/kernels.h"
#include "tensor/sample.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::kInf;

namespace {

std::vector<double> samples_of(const Tensor& logits, const std::vector<double>& u, const SampleOptions& options) {
  const Tensor ids = Tensor::full({std::ssize(u)}, -7, i32);
  cpu_kernels().sample(ids, logits, Tensor::from(u, {std::ssize(u)}), options);
  return ids.to_vector();
}

// The softmax of logits / temperature, in long double.
std::vector<long double> softmax_of(const std::vector<double>& logits, double temperature) {
  const long double top = *std::max_element(logits.begin(), logits.end());
  std::vector<long double> p;
  long double sum = 0;
  for (const double x : logits) {
    p.push_back(std::exp((static_cast<long double>(x) - top) / static_cast<long double>(temperature)));
    sum += p.back();
  }
  for (long double& x : p) x /= sum;
  return p;
}

}  // namespace

TEST_CASE("sample: u chooses the token whose interval it is in", "[tensor][sample]") {
  const DType dtype = GENERATE(f32, f64, bf16);
  const double tolerance = dtype == f64 ? 1e-12 : 1e-6;
  Generator g(5);
  for (const int64_t vocab : {1, 2, 7, 1023, 1024, 1025, 3000, 49152}) {
    for (const double temperature : {1.0, 0.6, 2.5, 1e-3, 1e-60, 1e60}) {
      for (const double removed : {0.0, 0.5}) {  // share of the logits that are -inf
        INFO(name_of(dtype) << ", vocabulary " << vocab << ", temperature " << temperature << ", removed " << removed);
        std::vector<double> x;
        for (int64_t i = 0; i < vocab; ++i) x.push_back(g.uniform() < removed ? -kInf : 100 + 4 * g.normal());
        x[static_cast<size_t>(g.integer(static_cast<uint64_t>(vocab)))] = 101;
        const std::vector<double> u = {0, 1e-9, 0.25, 0.5, 0.75, 0.999999, std::nextafter(1.0, 0.0), g.uniform()};
        const Tensor row = Tensor::from(x, {1, vocab}).to(dtype), logits = expand(row, {std::ssize(u), vocab}).clone();
        const auto p = softmax_of(row.to_vector(), temperature);
        const std::vector<double> ids = samples_of(logits, u, {.temperature = temperature});
        for (size_t i = 0; i < u.size(); ++i) {
          const auto id = static_cast<size_t>(ids[i]);
          REQUIRE(id < p.size());
          long double before = 0;
          for (size_t k = 0; k < id; ++k) before += p[k];
          CHECK(p[id] > 0);
          CHECK(before <= u[i] + tolerance);
          CHECK(u[i] <= before + p[id] + tolerance);
        }
      }
    }
  }
}

TEST_CASE("sample: logits that are not finite give id 0 in every dtype", "[tensor][sample]") {
  const DType dtype = GENERATE(f32, f64, bf16);
  for (const SampleOptions& options : {SampleOptions{}, SampleOptions{.top_k = 2}}) {
    for (const int64_t vocab : {3, 40, 2000}) {
      Tensor logits = Tensor::zeros({4, vocab}, f64);
      logits.data<double>()[static_cast<size_t>(vocab - 1)] = kInf;
      logits.data<double>()[static_cast<size_t>(2 * vocab - 1)] = NAN;
      logits.view_slice(0, 2, 3).fill(-kInf);
      logits.data<double>()[static_cast<size_t>(3 * vocab + 1)] = NAN;
      CHECK(samples_of(logits.to(dtype), {0.9, 0.9, 0.9, 0.9}, options) == std::vector<double>{0, 0, 0, 0});
    }
  }
}

TEST_CASE("sample: a row does not depend on the other rows or on the threads", "[tensor][sample]") {
  Generator g(9);
  const Tensor logits = Tensor::normal({37, 5000}, 0, 3, g);
  std::vector<double> u;
  for (int i = 0; i < 37; ++i) u.push_back(g.uniform());
  const std::vector<double> together = samples_of(logits, u, {.temperature = 0.9});
  std::vector<double> alone;
  for (int64_t i = 0; i < 37; ++i) {
    alone.push_back(samples_of(logits.view_slice(0, i, i + 1), {u[static_cast<size_t>(i)]}, {.temperature = 0.9})[0]);
  }
  CHECK(together == alone);
  const testing::Threads guard(3);
  CHECK(samples_of(logits, u, {.temperature = 0.9}) == together);
}
