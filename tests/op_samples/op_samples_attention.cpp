// Samples of attention and rotary embedding.
#include "autograd/check/composed.h"
#include "tests/op_samples/op_samples.h"

namespace pg::samples {
namespace {

void attention_samples(std::vector<OpSample>& out) {
  const auto on_device_of = [](AttentionOptions options, const Tensor& x) {  // moves its tensors to the device of x
    options.key_mask = options.key_mask.to(x.device());
    options.kv_len = options.kv_len.to(x.device());
    return options;
  };
  auto push = [&](const std::string& label, const Shape& q, const Shape& kv, AttentionOptions options = {},
                  bool large = false) {
    out.push_back(
        {Op::attention,
         label,
         normal({q, kv, kv}),
         fn([options, on_device_of](In x) { return pg::attention(x[0], x[1], x[2], on_device_of(options, x[0])); }),
         fn([options](In x) { return composed::attention(x[0], x[1], x[2], options); }),
         {},
         large,
         4.0 * static_cast<double>(numel(q)) * static_cast<double>(kv[2])});
  };
  AttentionOptions full, scaled, masked, row_without_keys, filled, filled_full;
  full.causal = filled_full.causal = false;
  scaled.scale = 0.7;
  masked.causal = false;
  masked.key_mask = bytes({1, 1, 0, 1, 0, 0, 1, 1, 1, 1}, {2, 5});
  row_without_keys.key_mask = bytes({0, 0, 1, 1, 0, 0, 0, 0, 0, 0}, {2, 5});
  filled.kv_len = filled_full.kv_len = ids({4, 6}, {2});

  push("causal", {2, 3, 5, 4}, {2, 3, 5, 4});
  push("full", {2, 3, 5, 4}, {2, 3, 5, 4}, full);
  push("more keys than queries, causal", {2, 2, 3, 4}, {2, 2, 6, 4});
  push("more keys than queries, full", {2, 2, 3, 4}, {2, 2, 6, 4}, full);
  push("more queries than keys, full", {1, 2, 6, 4}, {1, 2, 3, 4}, full);
  push("one query", {2, 2, 1, 4}, {2, 2, 6, 4});
  push("head size 1", {1, 2, 4, 1}, {1, 2, 4, 1});
  push("odd head size", {1, 2, 4, 7}, {1, 2, 4, 7});
  push("two query heads per key head", {2, 4, 5, 3}, {2, 2, 5, 3});
  push("one key head", {2, 4, 5, 3}, {2, 1, 5, 3}, full);
  push("scale", {2, 3, 5, 4}, {2, 3, 5, 4}, scaled);
  push("key mask", {2, 3, 4, 4}, {2, 3, 5, 4}, masked);
  push("queries without any key", {2, 2, 5, 4}, {2, 2, 5, 4}, row_without_keys);
  push("cache with room", {2, 4, 3, 4}, {2, 2, 8, 4}, filled);
  push("cache with room, full", {2, 2, 3, 4}, {2, 2, 8, 4}, filled_full);
  push("no batch", {0, 2, 3, 4}, {0, 2, 3, 4});
  push("no queries", {1, 2, 0, 4}, {1, 2, 3, 4}, full);
  push("large causal", {2, 4, 150, 33}, {2, 4, 150, 33}, {}, true);
  push("large full with groups", {2, 6, 130, 16}, {2, 2, 190, 16}, full, true);
  out.push_back({Op::attention, "x three times", normal({{2, 2, 5, 4}}),
                 fn([](In x) { return pg::attention(x[0], x[0], x[0]); }),
                 fn([](In x) { return composed::attention(x[0], x[0], x[0]); })});
  out.push_back(
      {Op::attention, "[B, T, H, D] by strides", normal({{2, 5, 3, 4}, {2, 5, 3, 4}, {2, 5, 3, 4}}),
       fn([](In x) { return pg::attention(transpose(x[0], 1, 2), transpose(x[1], 1, 2), transpose(x[2], 1, 2)); }),
       fn([](In x) {
         return composed::attention(transpose(x[0], 1, 2), transpose(x[1], 1, 2), transpose(x[2], 1, 2));
       })});
  auto packed = [&](const std::string& label, const Shape& shape, int heads, bool causal, bool large = false) {
    out.push_back({Op::attention,
                   "packed " + label,
                   normal({shape}),
                   fn([=](In x) { return attention_qkv(x[0], heads, causal); }),
                   fn([=](In x) { return composed::attention_qkv(x[0], heads, causal); }),
                   {},
                   large});
  };
  packed("causal", {2, 5, 24}, 2, true);
  packed("full", {2, 5, 24}, 4, false);
  packed("one token", {2, 1, 24}, 2, true);
  packed("large", {3, 129, 384}, 4, true, true);
}

void rope_samples(std::vector<OpSample>& out) {
  auto push = [&](const std::string& label, const Shape& shape, const Rope& base, const Tensor& positions,
                  bool large = false) {
    out.push_back({Op::rope,
                   label,
                   normal({shape}),
                   fn([=](In x) { return rope(x[0], base, positions.to(x[0].device())); }),
                   fn([=](In x) { return composed::rope(x[0], base, positions); }),
                   {},
                   large});
  };
  push("[2, 3, 5, 8]", {2, 3, 5, 8}, 10000, {});
  push("two elements", {1, 1, 4, 2}, 10000, {});
  push("another base", {2, 1, 5, 6}, 100, {});
  push("first positions", {2, 2, 3, 4}, 10000, ids({7, 100}, {2}));
  push("one token", {2, 2, 1, 4}, 10000, ids({7, 3}, {2}));
  push("empty", {0, 2, 3, 4}, 10000, {});
  push("large", {2, 4, 150, 64}, 10000, {}, true);
  Rope longer(500);  // of its eight frequencies some are kept, some stretched and some between
  longer.factor = 8;
  longer.original_length = 100;
  push("frequencies for longer texts", {1, 2, 5, 16}, longer, ids({90}, {1}));
  out.push_back({Op::rope, "x twice", normal({{1, 2, 3, 4}}), fn([](In x) { return rope(x[0]) * rope(x[0], 10); }),
                 fn([](In x) { return composed::rope(x[0]) * composed::rope(x[0], 10); })});
  out.push_back({Op::rope, "[B, T, H, D] by strides", normal({{2, 5, 3, 4}}),
                 fn([](In x) { return rope(transpose(x[0], 1, 2)); }),
                 fn([](In x) { return composed::rope(transpose(x[0], 1, 2)); })});
}

void dropout_samples(std::vector<OpSample>& out) {
  auto call = [](double p, bool training) {
    return fn([=](In x) {
      Generator g(5);
      return dropout(x[0], p, training, g);
    });
  };
  // Gets the dropout mask, already scaled, by applying dropout to a tensor of ones.
  auto twin = [](double p) {
    return fn([=](In x) {
      Generator g(5);
      return x[0] * dropout(Tensor::ones(x[0].shape(), x[0].dtype()), p, true, g);
    });
  };
  out.push_back({Op::dropout, "p 0.3", normal({{5, 7}}), call(0.3, true), twin(0.3)});
  out.push_back({Op::dropout, "p 0", normal({{5, 7}}), call(0, true), fn([](In x) { return x[0] * 1; })});
  out.push_back({Op::dropout, "not training", normal({{5, 7}}), call(0.3, false), fn([](In x) { return x[0] * 1; })});
  out.push_back({Op::dropout, "one element", normal({{1}}), call(0.1, true), twin(0.1)});
  out.push_back({Op::dropout, "empty", normal({{0, 3}}), call(0.3, true), twin(0.3)});
  out.push_back({Op::dropout, "large", normal({{301, 701}}), call(0.3, true), twin(0.3), {}, true});
  out.push_back({Op::dropout, "one stream, used twice", normal({{5, 7}}), fn([](In x) {
                   Generator g(5);
                   const Tensor y = dropout(x[0], 0.5, true, g);
                   return y * dropout(x[0], 0.2, true, g) + x[0];
                 })});
}

void checkpoint_samples(std::vector<OpSample>& out) {
  auto block = [](const Tensor& x, const Tensor& w) { return tanh(matmul(x, w)) * x; };
  out.push_back({Op::before_backward, "of a product", normal({{3, 4}}),
                 fn([](In x) { return exp(before_backward(x[0] * x[0], [] {})) * x[0]; })});
  out.push_back({Op::checkpoint, "a block that captures its weight", normal({{3, 4}, {4, 4}}), fn([block](In x) {
                   return checkpoint([block, w = x[1]](const Tensor& h) { return block(h, w); }, x[0]);
                 }),
                 fn([block](In x) { return block(x[0], x[1]); })});
  out.back().tolerance_bf16 = 2e-2;
  out.push_back({Op::checkpoint, "two blocks share a weight", normal({{3, 4}, {4, 4}}), fn([block](In x) {
                   auto f = [block, w = x[1]](const Tensor& h) { return block(h, w); };
                   return checkpoint(f, checkpoint(f, x[0])) + x[0];
                 }),
                 fn([block](In x) { return block(block(x[0], x[1]), x[1]) + x[0]; })});
  out.push_back({Op::checkpoint, "with dropout", normal({{5, 7}}), fn([](In x) {
                   const auto g = std::make_shared<Generator>(5);
                   return checkpoint([g](const Tensor& h) { return dropout(exp(h), 0.4, true, *g); }, x[0], g);
                 }),
                 fn([](In x) {
                   Generator g(5);
                   return dropout(exp(x[0]), 0.4, true, g);
                 })});
  out.push_back(
      {Op::checkpoint, "inside a checkpoint", normal({{3, 4}}), fn([](In x) {
         return checkpoint(
             [](const Tensor& h) { return checkpoint([](const Tensor& u) { return tanh(u) * u; }, sin(h)) * h; }, x[0]);
       }),
       fn([](In x) { return tanh(sin(x[0])) * sin(x[0]) * x[0]; })});
}

}  // namespace

void attention(std::vector<OpSample>& out) {
  attention_samples(out);
  rope_samples(out);
  dropout_samples(out);
  checkpoint_samples(out);
}

}  // namespace pg::samples
