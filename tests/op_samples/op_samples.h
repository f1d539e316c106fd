#pragma once
// One registry of calls drives the tests, `pg gradcheck` and the benchmarks. A new operation needs an entry here: a
// test walks `enum class Op` and names what is missing.
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/ops.h"

namespace pg {

struct OpSample {
  Op op;
  std::string label;  // unique within the op
  // Random inputs; floating ones of `dtype`, away from kinks by more than the stencil of gradcheck.
  std::function<std::vector<Tensor>(Generator&, DType)> inputs;
  TensorFunction call;
  TensorFunction composed = {};    // optional: the same from other operations
  std::vector<int> constant = {};  // floating inputs that have no gradient
  bool large = false;              // work that the thread pool splits: compared by bits and norms, no gradcheck
  double flops = 0;                // of a forward call, for benchmarks; 0 when moving memory is the work
  double tolerance = 1e-12;        // relative, against the composed twin in f64
  double tolerance_bf16 = 1e-2;    // relative, in bf16 against f64; more where rounded steps follow one another
};

// A call that must fail; each of `words` must be in the message.
struct OpError {
  Op op;
  std::string label;
  std::function<void()> call;
  std::vector<std::string> words;
};

const std::vector<OpSample>& op_samples();
const std::vector<OpError>& op_errors();

// Helpers of the files beside this one.
namespace samples {

using In = std::span<const Tensor>;
using Inputs = std::function<std::vector<Tensor>(Generator&, DType)>;

// A function of the inputs returning a Tensor, a pair or a vector of them.
template <class F>
TensorFunction fn(F f) {
  return [f](In x) -> std::vector<Tensor> {
    using Result = std::invoke_result_t<F, In>;
    if constexpr (std::is_same_v<Result, Tensor>) {
      return {f(x)};
    } else if constexpr (std::is_same_v<Result, std::pair<Tensor, Tensor>>) {
      auto pair = f(x);
      return {pair.first, pair.second};
    } else {
      return f(x);
    }
  };
}

Inputs normal(std::vector<Shape> shapes);  // N(0, 1)
Inputs uniform(std::vector<Shape> shapes, double low, double high);
Inputs away(std::vector<Shape> shapes, std::vector<double> kinks);  // N(0, 1) moved 0.1 away from each kink
Inputs distinct(std::vector<Shape> shapes);  // all elements of all tensors 1/16 apart or more, in random order
Inputs with_constants(Inputs inputs, std::vector<Tensor> constants);  // the same followed by `constants`

Tensor ids(std::vector<int32_t> values, const Shape& shape);
Tensor bytes(std::vector<uint8_t> values, const Shape& shape);
Tensor random_ids(int64_t n, int64_t below, uint64_t seed);  // i32 [n]

void elementwise(std::vector<OpSample>& out);
void reductions(std::vector<OpSample>& out);
void products(std::vector<OpSample>& out);
void shapes(std::vector<OpSample>& out);
void indexing(std::vector<OpSample>& out);
void probability(std::vector<OpSample>& out);
void normalisation(std::vector<OpSample>& out);
void attention(std::vector<OpSample>& out);
void errors(std::vector<OpError>& out);

}  // namespace samples
}  // namespace pg
