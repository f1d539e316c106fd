// Tests generated from the registry: properties that hold for every operation and every sample of it.
#include <set>

#include "tests/op_runs.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("every operation has a sample", "[ops]") {
  std::set<Op> seen;
  std::set<std::string> titles;
  for (const OpSample& s : op_samples()) {
    seen.insert(s.op);
    INFO(title(s) << " appears twice");
    CHECK(titles.insert(title(s)).second);
  }
  for (int i = static_cast<int>(Op::leaf) + 1; i < static_cast<int>(Op::count); ++i) {
    INFO("tests/op_samples/ has no sample of " << name_of(static_cast<Op>(i)));
    CHECK(seen.count(static_cast<Op>(i)) == 1);
  }
}

TEST_CASE("samples record the operation that they are registered for", "[ops]") {
  static Op watched;
  std::set<Op> recorded;
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    watched = s.op;
    std::vector<Tensor> leaves = inputs_of(s, f64);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (differentiable(s, leaves, i)) leaves[i] = leaves[i].detach().set_requires_grad();
    }
    std::vector<Ref<GradNode>> open;
    for (const Tensor& y : s.call(leaves)) open.push_back(y.node());
    while (!open.empty()) {
      const Ref<GradNode> ref = open.back();
      open.pop_back();
      if (!ref) continue;
      auto& node = static_cast<Node&>(*ref);
      if (node.op == watched) recorded.insert(watched);
      for (int i = 0; i < node.num_inputs; ++i) open.push_back(node.input(i).node);
    }
  }
  for (int i = static_cast<int>(Op::leaf) + 1; i < static_cast<int>(Op::count); ++i) {
    INFO("no sample of " << name_of(static_cast<Op>(i)) << " records it");
    CHECK(recorded.count(static_cast<Op>(i)) == 1);
  }
}

TEST_CASE("gradients agree with differences", "[ops][gradcheck]") {
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    Generator g(17);
    const std::vector<Tensor> inputs = s.inputs(g, f64);
    GradcheckOptions options;
    options.op = name_of(s.op);
    options.label = s.label;
    options.constant = s.constant;
    const GradcheckResult r = gradcheck(s.call, inputs, options);
    INFO(r.message);
    CHECK(r.ok);
  }
}

TEST_CASE("fused operations equal their composed twins", "[ops]") {
  for (const OpSample& s : op_samples()) {
    if (!s.composed) continue;
    INFO(title(s));
    const std::vector<Tensor> inputs = inputs_of(s, f64);
    check_close(run(s, s.call, inputs), run(s, s.composed, inputs), s.tolerance);
  }
}

TEST_CASE("f32 agrees with f64", "[ops]") {
  for (const OpSample& s : op_samples()) {
    INFO(title(s));
    check_close(run(s, s.call, inputs_of(s, f32)), run(s, s.call, inputs_of(s, f64)), 1e-5);
  }
}

// The inputs are bitwise equal. Two things may differ: the rounding of the results to 8 bits of precision, and the
// rounding of intermediate values between the steps of composed operations.
TEST_CASE("bf16 agrees with f64", "[ops][bf16]") {
  for (const OpSample& s : op_samples()) {
    INFO(title(s));
    std::vector<Tensor> narrow = inputs_of(s, bf16), wide;
    for (const Tensor& x : narrow) wide.push_back(x.defined() && x.dtype() == bf16 ? x.to(f64) : x);
    const Run r = run(s, s.call, narrow);
    check_close(r, run(s, s.call, wide), s.tolerance_bf16);
    for (const Tensor& gradient : r.gradients) CHECK((!gradient.defined() || gradient.dtype() == f32));
  }
}

TEST_CASE("strides of inputs change no value", "[ops]") {
  for (const OpSample& s : op_samples()) {
    INFO(title(s));
    for (DType dtype : {f32, f64, bf16}) {
      const std::vector<Tensor> inputs = inputs_of(s, dtype);
      std::vector<Tensor> scattered;
      for (const Tensor& x : inputs) scattered.push_back(strided(x));
      check_close(run(s, s.call, scattered), run(s, s.call, inputs),
                  dtype == f64   ? 1e-13
                  : dtype == f32 ? 1e-5
                                 : 4e-3);  // another summation order may round differently
    }
  }
}

TEST_CASE("bits do not depend on threads or on the run", "[ops]") {
  for (const OpSample& s : op_samples()) {
    INFO(title(s));
    for (DType dtype : {f32, f64, bf16}) {
      const std::vector<Tensor> inputs = inputs_of(s, dtype);
      const Threads alone(1);
      const Run one = run(s, s.call, inputs);
      for (int threads : {1, 2, 3}) {
        INFO(threads << " threads, " << name_of(dtype));
        const Threads guard(threads);
        check_same_bits(run(s, s.call, inputs), one);
      }
    }
  }
}

TEST_CASE("every element of a result is written", "[ops]") {
  for (const OpSample& s : op_samples()) {
    for (DType dtype : {f32, bf16}) {
      INFO(title(s) << " " << name_of(dtype));
      const std::vector<Tensor> inputs = inputs_of(s, dtype);
      const Run clean = run(s, s.call, inputs);
      // Blocks of the sizes that results and what lies between them may take.
      int64_t largest = 0;
      for (const Tensor& x : inputs) largest = std::max(largest, x.defined() ? x.numel() : 0);
      for (const Tensor& y : clean.outputs) largest = std::max(largest, y.numel());
      poison_free_memory({}, std::clamp<int64_t>(64 * largest, 4096, 4 << 20));
      check_same_bits(run(s, s.call, inputs), clean);
    }
  }
}

TEST_CASE("a second backward adds in f32 too", "[ops]") {
  for (const OpSample& s : op_samples()) {
    INFO(title(s));
    const std::vector<Tensor> inputs = inputs_of(s, f32);
    const Run once = run(s, s.call, inputs);
    const Run twice = run(
        s,
        [&](std::span<const Tensor> x) {
          for (size_t i = 0; i < x.size(); ++i) {  // as if an earlier backward had left the gradient there
            if (!once.gradients[i].defined()) continue;
            set_grad_buffer(x[i], once.gradients[i].clone());
            static_cast<Node&>(*x[i].node()).has_grad = true;
          }
          return s.call(x);
        },
        inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!once.gradients[i].defined()) continue;
      INFO("gradient of input " << i);
      CHECK(relative_error(twice.gradients[i], once.gradients[i] * 2) <= 1e-5);
    }
  }
}

TEST_CASE("invalid calls give errors that name the problem", "[ops]") {
  for (const OpError& e : op_errors()) {
    std::string message;
    try {
      e.call();
    } catch (const Error& error) {
      message = error.what();
    }
    INFO(name_of(e.op) << ", " << e.label << ": \"" << message << "\"");
    CHECK(!message.empty());
    for (const std::string& word : e.words) {
      INFO("lacks \"" << word << "\"");
      CHECK(message.find(word) != std::string::npos);
    }
  }
}

// Their backward writes the gradient of the inputs into that of the sum, if nothing else uses its memory.
TEST_CASE("norms of a sum leave gradients alone that others use", "[ops]") {
  Generator g(1);
  const auto random = [&] { return Tensor::normal({3, 8}, 0, 1, g, f64); };
  const Tensor x = random().set_requires_grad(), residual = random().set_requires_grad(), given = random();
  const std::vector<double> before = given.to_vector();
  const auto both = [&](bool rms) { return rms ? add_rms_norm(x, residual) : add_layer_norm(x, residual); };
  const auto gradients = [&](const Tensor& y) {
    x.zero_grad(), residual.zero_grad();
    backward(y, given);
    std::vector<double> all = x.grad().to_vector();
    for (const double d : residual.grad().to_vector()) all.push_back(d);
    return all;
  };
  for (const bool rms : {false, true}) {
    // In the first of each two the gradient of the sum is `given` or shares memory with that of y, in the second it is
    // alone.
    const auto [sum, y] = both(rms);
    const std::vector<double> shared = gradients(sum + y);
    CHECK(given.to_vector() == before);
    const auto [sum2, y2] = both(rms);
    CHECK(gradients(sum2 * 1.0 + y2 * 1.0) == shared);
    // The sum is also used by an older operation, whose gradient is complete only later.
    const auto [sum3, y3] = both(rms);
    const std::vector<double> thrice = gradients((sum3 + sum3) + y3);
    CHECK(given.to_vector() == before);
    const auto [sum4, y4] = both(rms);
    CHECK(gradients(sum4 * 2.0 + y4) == thrice);
  }
}

TEST_CASE("a norm of a sum has the bits of the sum and its norm", "[ops]") {
  NoGrad no_grad;
  Generator g(1);
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t c : {7, 64, 1500}) {
      INFO(name_of(dtype) << ", C = " << c);
      const auto random = [&](const Shape& shape) { return Tensor::normal(shape, 0, 1, g).to(dtype); };
      const Tensor x = random({3, c}), residual = random({3, c}), w = random({c}), b = random({c});
      const auto [sum, y] = add_layer_norm(x, residual, w, b);
      CHECK(same_bits(sum, x + residual));
      CHECK(same_bits(y, layer_norm(x + residual, w, b)));
      const auto [rms_sum, rms_y] = add_rms_norm(x, residual, w);
      CHECK(same_bits(rms_sum, sum));
      CHECK(same_bits(rms_y, rms_norm(sum, w)));
    }
  }
}

TEST_CASE("attention reads the lengths of its keys with any stride", "[ops]") {
  Generator g(6);
  const Tensor q = Tensor::normal({2, 2, 3, 4}, 0, 1, g, f64), k = Tensor::normal({2, 2, 8, 4}, 0, 1, g, f64);
  const Tensor v = Tensor::normal({2, 2, 8, 4}, 0, 1, g, f64);
  const Tensor table = Tensor::from(std::vector<int32_t>{5, 1, 7, 2}, {2, 2});
  AttentionOptions used;
  used.kv_len = table.view_select(1, 0);
  const Tensor y = attention(q, k, v, used);
  for (const int64_t row : {0, 1}) {
    const int64_t length = row == 0 ? 5 : 7;
    const auto part = [row](const Tensor& x, int64_t count) {
      return x.view_slice(0, row, row + 1).view_slice(2, 0, count);
    };
    CHECK(part(y, 3).to_vector() == attention(part(q, 3), part(k, length), part(v, length)).to_vector());
  }
  used.kv_len = table.view_select(1, 1);
  CHECK(contains(error_of([&] { attention(q, k, v, used); }), "3 queries but kv_len is 1"));
}
