// Collects the samples of all operations.
#include "tests/op_samples/op_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pg {

const std::vector<OpSample>& op_samples() {
  static const std::vector<OpSample> all = [] {
    std::vector<OpSample> out;
    for (auto list : {samples::elementwise, samples::reductions, samples::products, samples::shapes, samples::indexing,
                      samples::probability, samples::normalisation, samples::attention}) {
      list(out);
    }
    std::stable_sort(out.begin(), out.end(), [](const OpSample& a, const OpSample& b) { return a.op < b.op; });
    return out;
  }();
  return all;
}

const std::vector<OpError>& op_errors() {
  static const std::vector<OpError> all = [] {
    std::vector<OpError> out;
    samples::errors(out);
    return out;
  }();
  return all;
}

namespace samples {
namespace {

Tensor fill(const Shape& shape, DType dtype, const std::function<double()>& next) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  std::generate(values.begin(), values.end(), next);
  return Tensor::from(values, shape).to(dtype);
}

template <class Next>
Inputs each(std::vector<Shape> shapes, Next next) {
  return [shapes = std::move(shapes), next](Generator& g, DType dtype) {
    std::vector<Tensor> result;
    for (const Shape& shape : shapes) result.push_back(fill(shape, dtype, [&] { return next(g); }));
    return result;
  };
}

}  // namespace

Inputs normal(std::vector<Shape> shapes) {
  return each(std::move(shapes), [](Generator& g) { return g.normal(); });
}
Inputs uniform(std::vector<Shape> shapes, double low, double high) {
  return each(std::move(shapes), [=](Generator& g) { return low + (high - low) * g.uniform(); });
}
Inputs away(std::vector<Shape> shapes, std::vector<double> kinks) {
  return each(std::move(shapes), [kinks = std::move(kinks)](Generator& g) {
    double x = g.normal();
    for (double kink : kinks) {
      if (std::abs(x - kink) < 0.1) x = kink + std::copysign(0.1, x - kink);
    }
    return x;
  });
}
Inputs distinct(std::vector<Shape> shapes) {
  return [shapes = std::move(shapes)](Generator& g, DType dtype) {
    int64_t total = 0;
    for (const Shape& shape : shapes) total += numel(shape);
    std::vector<double> values(static_cast<size_t>(total));
    std::iota(values.begin(), values.end(), -static_cast<double>(total / 2));
    for (int64_t i = total; i > 1; --i) std::swap(values[i - 1], values[g.integer(i)]);
    std::vector<Tensor> result;
    size_t at = 0;
    for (const Shape& shape : shapes) result.push_back(fill(shape, dtype, [&] { return values[at++] / 16; }));
    return result;
  };
}
Inputs with_constants(Inputs inputs, std::vector<Tensor> constants) {
  return [inputs = std::move(inputs), constants = std::move(constants)](Generator& g, DType dtype) {
    std::vector<Tensor> result = inputs(g, dtype);
    for (const Tensor& c : constants) result.push_back(c.defined() && is_floating(c.dtype()) ? c.to(dtype) : c);
    return result;
  };
}

Tensor ids(std::vector<int32_t> values, const Shape& shape) { return Tensor::from(values, shape); }
Tensor bytes(std::vector<uint8_t> values, const Shape& shape) { return Tensor::from(values, shape); }
Tensor random_ids(int64_t n, int64_t below, uint64_t seed) {
  Generator g(seed);
  std::vector<int32_t> values(static_cast<size_t>(n));
  for (int32_t& value : values) value = static_cast<int32_t>(g.integer(below));
  return Tensor::from(values, {n});
}

}  // namespace samples
}  // namespace pg
