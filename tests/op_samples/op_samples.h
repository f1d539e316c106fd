#pragma once
// A registry of calls that drives the tests, `pg gradcheck` and the benchmarks. A new operation needs an entry here: a
// test iterates over `enum class Op` and names the operations without one.
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/check/gradcheck.h"
#include "autograd/ops.h"

namespace pg {

struct OpSample {
  Op op;
  std::string label;  // unique within the op
  // Random inputs. Floating-point inputs have dtype `dtype`, and their distance to kinks exceeds the stencil of
  // gradcheck.
  std::function<std::vector<Tensor>(Generator&, DType)> inputs;
  TensorFunction call;
  TensorFunction composed = {};    // optional: the same function composed of other operations
  std::vector<int> constant = {};  // indices of floating-point inputs that have no gradient
  bool large = false;              // large enough for the thread pool: compared by bits and norms, no gradcheck
  double flops = 0;                // per forward call, for benchmarks; 0 if the work is moving memory
  double tolerance = 1e-12;        // relative, compared with the composed form in f64
  double tolerance_bf16 = 1e-2;    // relative, bf16 compared with f64; larger for calls of several rounded steps
};

// A call that must fail. The message must contain each of `words`.
struct OpError {
  Op op;
  std::string label;
  std::function<void()> call;
  std::vector<std::string> words;
};

const std::vector<OpSample>& op_samples();
const std::vector<OpError>& op_errors();

// Helpers of the op_samples_*.cpp files.
namespace samples {

using In = std::span<const Tensor>;
using Inputs = std::function<std::vector<Tensor>(Generator&, DType)>;

// Wraps a function of the inputs that returns a Tensor, a pair or a vector of them.
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
Inputs with_constants(Inputs inputs, std::vector<Tensor> constants);  // the inputs, followed by `constants`

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
