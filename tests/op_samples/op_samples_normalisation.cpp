// Samples of layer norm, RMS norm and dropout.
#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

const std::vector<std::pair<std::string, Shape>>& row_shapes() {
  static const std::vector<std::pair<std::string, Shape>> shapes = {
      {"[4, 7]", {4, 7}}, {"[2, 3, 5]", {2, 3, 5}}, {"rank 1", {7}}, {"three columns", {4, 3}}, {"no rows", {0, 7}}};
  return shapes;
}

void layer_norm_samples(std::vector<OpSample>& out) {
  const TensorFunction both = fn([](In x) { return layer_norm(x[0], x[1], x[2]); });
  const TensorFunction both_twin = fn([](In x) { return composed::layer_norm(x[0], x[1], x[2]); });
  for (const auto& [label, shape] : row_shapes()) {
    const Shape c = {shape.back()};
    out.push_back({Op::layer_norm, label, normal({shape, c, c}), both, both_twin});
    out.push_back({Op::layer_norm, label + ", no bias", normal({shape, c}),
                   fn([](In x) { return layer_norm(x[0], x[1]); }),
                   fn([](In x) { return composed::layer_norm(x[0], x[1]); })});
    out.push_back({Op::layer_norm, label + ", no weight", normal({shape, c}),
                   fn([](In x) { return layer_norm(x[0], {}, x[1]); }),
                   fn([](In x) { return composed::layer_norm(x[0], {}, x[1]); })});
    out.push_back({Op::layer_norm, label + ", plain", normal({shape}), fn([](In x) { return layer_norm(x[0]); }),
                   fn([](In x) { return composed::layer_norm(x[0]); })});
  }
  out.push_back({Op::layer_norm, "one column", normal({{4, 1}, {1}, {1}}), both, both_twin});
  out.push_back({Op::layer_norm, "large eps", normal({{4, 7}}), fn([](In x) { return layer_norm(x[0], {}, {}, 0.5); }),
                 fn([](In x) { return composed::layer_norm(x[0], {}, {}, 0.5); })});
  out.push_back({Op::layer_norm, "far from zero", uniform({{4, 7}}, 30, 31), fn([](In x) { return layer_norm(x[0]); }),
                 fn([](In x) { return composed::layer_norm(x[0] - 30.5); })});
  out.push_back({Op::layer_norm, "weight is the bias", normal({{4, 7}, {7}}),
                 fn([](In x) { return layer_norm(x[0], x[1], x[1]); }),
                 fn([](In x) { return composed::layer_norm(x[0], x[1], x[1]); })});
  out.push_back({Op::layer_norm, "x is weight and bias", normal({{7}}),
                 fn([](In x) { return layer_norm(x[0], x[0], x[0]); }),
                 fn([](In x) { return composed::layer_norm(x[0], x[0], x[0]); })});
  out.push_back({Op::layer_norm, "weight is x's row", normal({{1, 7}}),
                 fn([](In x) { return layer_norm(x[0], reshape(x[0], {7}), reshape(x[0], {7})); }),
                 fn([](In x) { return composed::layer_norm(x[0], reshape(x[0], {7}), reshape(x[0], {7})); })});
  out.push_back({Op::layer_norm, "large", normal({{301, 257}, {257}, {257}}), both, both_twin, {}, true});
}

void add_layer_norm_samples(std::vector<OpSample>& out) {
  const TensorFunction both = fn([](In x) { return add_layer_norm(x[0], x[1], x[2], x[3]); });
  const TensorFunction both_twin = fn([](In x) { return composed::add_layer_norm(x[0], x[1], x[2], x[3]); });
  for (const auto& [label, shape] : row_shapes()) {
    const Shape c = {shape.back()};
    out.push_back({Op::add_layer_norm, label, normal({shape, shape, c, c}), both, both_twin});
    out.push_back({Op::add_layer_norm, label + ", no bias", normal({shape, shape, c}),
                   fn([](In x) { return add_layer_norm(x[0], x[1], x[2]); }),
                   fn([](In x) { return composed::add_layer_norm(x[0], x[1], x[2]); })});
    out.push_back({Op::add_layer_norm, label + ", no weight", normal({shape, shape, c}),
                   fn([](In x) { return add_layer_norm(x[0], x[1], {}, x[2]); }),
                   fn([](In x) { return composed::add_layer_norm(x[0], x[1], {}, x[2]); })});
    out.push_back({Op::add_layer_norm, label + ", plain", normal({shape, shape}),
                   fn([](In x) { return add_layer_norm(x[0], x[1]); }),
                   fn([](In x) { return composed::add_layer_norm(x[0], x[1]); })});
  }
  const Inputs four = normal({{4, 7}, {4, 7}, {7}, {7}});
  out.push_back({Op::add_layer_norm, "only the sum used", normal({{4, 7}, {4, 7}}),
                 fn([](In x) { return add_layer_norm(x[0], x[1]).first; }), fn([](In x) { return x[0] + x[1]; })});
  out.push_back({Op::add_layer_norm, "only the normalised used", four,
                 fn([](In x) { return add_layer_norm(x[0], x[1], x[2], x[3]).second; }),
                 fn([](In x) { return composed::add_layer_norm(x[0], x[1], x[2], x[3]).second; })});
  out.push_back({Op::add_layer_norm, "x with itself", normal({{4, 7}}),
                 fn([](In x) { return add_layer_norm(x[0], x[0]); }),
                 fn([](In x) { return composed::add_layer_norm(x[0], x[0]); })});
  // The residual stream of a transformer: the sum is passed on, and the normalised branch is added to it.
  out.push_back({Op::add_layer_norm, "residual stream", four, fn([](In x) {
                   auto [sum, y] = add_layer_norm(x[0], x[1], x[2], x[3]);
                   return add_layer_norm(sum, tanh(y), x[2], x[3]);
                 }),
                 fn([](In x) {
                   auto [sum, y] = composed::add_layer_norm(x[0], x[1], x[2], x[3]);
                   return composed::add_layer_norm(sum, tanh(y), x[2], x[3]);
                 })});
  out.push_back(
      {Op::add_layer_norm, "large", normal({{301, 257}, {301, 257}, {257}, {257}}), both, both_twin, {}, true});
}

void rms_norm_samples(std::vector<OpSample>& out) {
  const TensorFunction weighted = fn([](In x) { return rms_norm(x[0], x[1]); });
  const TensorFunction weighted_twin = fn([](In x) { return composed::rms_norm(x[0], x[1]); });
  for (const auto& [label, shape] : row_shapes()) {
    out.push_back({Op::rms_norm, label, normal({shape, {shape.back()}}), weighted, weighted_twin});
    out.push_back({Op::rms_norm, label + ", no weight", normal({shape}), fn([](In x) { return rms_norm(x[0]); }),
                   fn([](In x) { return composed::rms_norm(x[0]); })});
  }
  out.push_back({Op::rms_norm, "x is the weight", normal({{7}}), fn([](In x) { return rms_norm(x[0], x[0]); }),
                 fn([](In x) { return composed::rms_norm(x[0], x[0]); })});
  out.push_back({Op::rms_norm, "one column", uniform({{4, 1}, {1}}, 0.01, 0.02),
                 fn([](In x) { return rms_norm(x[0], x[1], 1e-3); }),
                 fn([](In x) { return composed::rms_norm(x[0], x[1], 1e-3); })});
  out.push_back({Op::rms_norm, "large eps", normal({{4, 7}, {7}}), fn([](In x) { return rms_norm(x[0], x[1], 0.5); }),
                 fn([](In x) { return composed::rms_norm(x[0], x[1], 0.5); })});
  out.push_back({Op::rms_norm, "large", normal({{301, 257}, {257}}), weighted, weighted_twin, {}, true});
}

void add_rms_norm_samples(std::vector<OpSample>& out) {
  const TensorFunction weighted = fn([](In x) { return add_rms_norm(x[0], x[1], x[2]); });
  const TensorFunction weighted_twin = fn([](In x) { return composed::add_rms_norm(x[0], x[1], x[2]); });
  for (const auto& [label, shape] : row_shapes()) {
    out.push_back({Op::add_rms_norm, label, normal({shape, shape, {shape.back()}}), weighted, weighted_twin});
    out.push_back({Op::add_rms_norm, label + ", no weight", normal({shape, shape}),
                   fn([](In x) { return add_rms_norm(x[0], x[1]); }),
                   fn([](In x) { return composed::add_rms_norm(x[0], x[1]); })});
  }
  const Inputs three = normal({{4, 7}, {4, 7}, {7}});
  out.push_back({Op::add_rms_norm, "large eps", three, fn([](In x) { return add_rms_norm(x[0], x[1], x[2], 0.5); }),
                 fn([](In x) { return composed::add_rms_norm(x[0], x[1], x[2], 0.5); })});
  out.push_back({Op::add_rms_norm, "only the sum used", normal({{4, 7}, {4, 7}}),
                 fn([](In x) { return add_rms_norm(x[0], x[1]).first; }), fn([](In x) { return x[0] + x[1]; })});
  out.push_back({Op::add_rms_norm, "only the normalised used", three,
                 fn([](In x) { return add_rms_norm(x[0], x[1], x[2]).second; }),
                 fn([](In x) { return composed::add_rms_norm(x[0], x[1], x[2]).second; })});
  out.push_back({Op::add_rms_norm, "x with itself", normal({{4, 7}}), fn([](In x) { return add_rms_norm(x[0], x[0]); }),
                 fn([](In x) { return composed::add_rms_norm(x[0], x[0]); })});
  out.push_back({Op::add_rms_norm, "residual stream", three, fn([](In x) {
                   auto [sum, y] = add_rms_norm(x[0], x[1], x[2]);
                   return add_rms_norm(sum, tanh(y), x[2]);
                 }),
                 fn([](In x) {
                   auto [sum, y] = composed::add_rms_norm(x[0], x[1], x[2]);
                   return composed::add_rms_norm(sum, tanh(y), x[2]);
                 })});
  out.push_back(
      {Op::add_rms_norm, "large", normal({{301, 257}, {301, 257}, {257}}), weighted, weighted_twin, {}, true});
}

}  // namespace

void normalisation(std::vector<OpSample>& out) {
  layer_norm_samples(out);
  add_layer_norm_samples(out);
  rms_norm_samples(out);
  add_rms_norm_samples(out);
}

}  // namespace pg::samples
