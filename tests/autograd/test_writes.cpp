// Writes between the forward pass and backward(): the gradient is right, or backward() throws an Error naming the op.
#include <set>

#include "tests/catch.h"
#include "tests/op_runs.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;
using namespace pg::testing;

namespace {

using Values = std::vector<double>;

Tensor leaf(const Values& values, const Shape& shape) { return Tensor::from(values, shape).set_requires_grad(); }

// Overwrites every element of `x` with another value of a valid kind, without recording it on the tape.
void overwrite(const Tensor& x) {
  if (x.dtype() == u8) {
    x.copy_from(eq(x.to(f32), Tensor::scalar(0)));  // 0 becomes 1, anything else 0
  } else {
    x.copy_from(affine(x.to(f64), 0.5, 0.25));
  }
}

struct Overwritten {
  std::string message;  // the message of backward's Error; "" if backward succeeded
  Run run;
};

// Like testing::run, but tensor `i` of the list inputs + outputs is overwritten before backward.
Overwritten run_overwritten(const OpSample& s, size_t i) {
  Overwritten result;
  const std::vector<Tensor> inputs = [&] {
    std::vector<Tensor> copies;
    for (const Tensor& x : inputs_of(s, f64)) copies.push_back(x.defined() ? x.clone() : x);
    return copies;
  }();
  bool forward_done = false;
  try {
    result.run = run(
        s,
        [&](std::span<const Tensor> x) {
          std::vector<Tensor> outputs = s.call(x);
          forward_done = true;
          NoGrad guard;
          const Tensor& chosen = i < x.size() ? x[i] : outputs[i - x.size()];
          if (chosen.defined()) overwrite(chosen.detach());
          return outputs;
        },
        inputs);
  } catch (const Error& e) {
    CHECK(forward_done);
    result.message = e.what();
  }
  return result;
}

}  // namespace

TEST_CASE("a write before backward gives an error or changes no gradient, for every op", "[ops][writes]") {
  std::set<Op> refused;
  for (const OpSample& s : op_samples()) {
    if (s.large) continue;
    const std::vector<Tensor> inputs = inputs_of(s, f64);
    const Run clean = run(s, s.call, inputs);
    for (size_t i = 0; i < inputs.size() + clean.outputs.size(); ++i) {
      INFO(title(s) << ", tensor " << i << " of inputs and outputs");
      // A repeated element (expand) cannot be written to.
      const Tensor& written = i < inputs.size() ? inputs[i] : clean.outputs[i - inputs.size()];
      bool repeats = false;
      for (int d = 0; d < written.rank(); ++d) repeats = repeats || (written.strides()[d] == 0 && written.size(d) > 1);
      if (repeats) continue;
      const Overwritten result = run_overwritten(s, i);
      if (result.message.empty()) {
        for (size_t j = 0; j < inputs.size(); ++j) CHECK(same_bits(result.run.gradients[j], clean.gradients[j]));
      } else {
        INFO(result.message);
        CHECK(contains(result.message, "backward of "));
        CHECK(contains(result.message, "written after the forward pass"));
        refused.insert(s.op);
      }
    }
  }
  for (Op op : {Op::mul, Op::exp, Op::log, Op::matmul, Op::linear, Op::embedding, Op::gather, Op::cross_entropy,
                Op::token_log_prob, Op::layer_norm, Op::attention, Op::where}) {
    INFO(name_of(op));
    CHECK(refused.count(op) == 1);
  }
}

TEST_CASE("a factor overwritten before backward is an error that names mul", "[writes]") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor w = Tensor::from(Values{10, 20, 30}, {3});
  const Tensor product = mul(x, w), loss = sum(product);
  w.fill(0);
  CHECK(contains(error_of([&] { backward(loss); }), "backward of mul"));
  CHECK(!static_cast<const Node&>(*product.node()).first.grad.defined());  // no gradient is left for a later backward
  CHECK(!x.grad().defined());
}

TEST_CASE("values that mul's backward does not read may be overwritten", "[writes]") {
  const Tensor x = leaf({1, 2, 3}, {3});
  const Tensor w = Tensor::from(Values{10, 20, 30}, {3});
  const Tensor copy = x.clone();
  const Tensor loss = sum(mul(x, w));
  x.detach().fill(7);  // the gradient of x reads w only
  backward(loss);
  CHECK(x.grad().to_vector() == Values{10, 20, 30});
}

TEST_CASE("the result of exp overwritten through data() is an error", "[writes]") {
  const Tensor x = leaf({1, 2}, {2});
  Tensor y = exp(x);
  const Tensor loss = sum(y);
  CHECK(y.data<const double>()[1] > 7.3);  // reading is not a write
  backward(loss);
  x.zero_grad();
  Tensor z = exp(x);
  const Tensor again = sum(z);
  z.data<double>()[0] = 0;
  CHECK(contains(error_of([&] { backward(again); }), "backward of exp"));
}

TEST_CASE("an ids buffer reused for a second micro-batch is an error", "[writes]") {
  const Tensor w = leaf(Values(8, 1), {4, 2});
  Tensor ids = Tensor::from(std::vector<int32_t>{0, 1}, {2});
  const auto buffer = ids.data<int32_t>();  // the span is taken once, before any forward pass
  for (int op = 0; op < 4; ++op) {
    const auto forward = [&] {
      if (op == 0) return sum(embedding(w, ids));
      if (op == 1) return sum(index_select(w, 0, ids));
      if (op == 2) return sum(gather(w, 0, ids.view_reshape({1, 2})));
      return cross_entropy(w.view_slice(0, 0, 2).requires_grad() ? w : slice(w, 0, 0, 2), ids);
    };
    INFO("op " << op);
    buffer[0] = 0, buffer[1] = 1;
    const Tensor first = forward();
    buffer[0] = 1;
    const Tensor second = forward();
    const std::string message = error_of([&] { backward(first + second); });
    CHECK(contains(message, "the ids were written after the forward pass"));
    w.zero_grad();
    // Writing the same ids again is not an error.
    buffer[0] = 0;
    const Tensor loss = forward();
    buffer[0] = 0;
    backward(loss);
    CHECK(has_grad(w));
    w.zero_grad();
  }
}

TEST_CASE("an id that is overwritten out of range before backward never reaches a kernel", "[writes]") {
  const Tensor w = leaf(Values(8, 1), {4, 2});
  Tensor ids = Tensor::from(std::vector<int32_t>{3, 1}, {2});
  const auto buffer = ids.data<int32_t>();
  const Tensor loss = sum(embedding(w, ids));
  buffer[0] = 500000000;
  CHECK(contains(error_of([&] { backward(loss); }), "backward of embedding"));
}

TEST_CASE("an exception in a backward leaves no half-written gradient", "[writes]") {
  const Tensor x = leaf({1, 2, 3}, {3}), other = leaf({1, 1, 1}, {3});
  const Tensor y = record(Op::add, x.clone(), {&x, &other}, [](const Tensor&, Grads& g) {
    (void)g[0];  // takes the buffer, whose contents are undefined, and fails before writing to it
    fail("thrown by the test");
  });
  CHECK(error_of([&] { backward(sum(y)); }) == "thrown by the test");
  CHECK(!x.grad().defined());
  // An earlier complete gradient is discarded too, so that it is never mixed with an incomplete one.
  backward(sum(x * x));
  const Tensor z = record(Op::add, x.clone(), {&x}, [](const Tensor& dy, Grads& g) {
    g.pass(0, dy);
    fail("thrown by the test");
  });
  CHECK(error_of([&] { backward(sum(z)); }) == "thrown by the test");
  CHECK(!x.grad().defined());
  backward(sum(x * x));
  CHECK(x.grad().to_vector() == Values{2, 4, 6});
}

TEST_CASE("after an exception a node that two graphs share starts without a gradient", "[writes]") {
  const Tensor x = leaf({1, 2}, {2});
  const Tensor shared = x * 3;
  const Tensor failing = record(Op::add, shared.clone(), {&shared}, [](const Tensor& dy, Grads& g) {
    g.pass(0, dy);
    fail("thrown by the test");
  });
  CHECK(!error_of([&] { backward(sum(failing)); }).empty());
  backward(sum(shared));
  CHECK(x.grad().to_vector() == Values{3, 3});
}

TEST_CASE("checkpoint restores the generator when the recomputation throws", "[writes][checkpoint]") {
  const auto stream = std::make_shared<Generator>(5);
  const Tensor x = leaf({1, 2, 3, 4}, {4});
  int calls = 0;
  const Tensor y = checkpoint(
      [&](const Tensor& t) {
        if (++calls == 2) fail("thrown by the test");
        return dropout(t, 0.5, true, *stream);
      },
      x, stream);
  const Generator before = *stream;
  CHECK(error_of([&] { backward(sum(y)); }) == "thrown by the test");
  CHECK(stream->offset() == before.offset());
}

TEST_CASE("checkpoint calls nested too deeply are an error", "[writes][checkpoint]") {
  const std::function<Tensor(const Tensor&, int)> nest = [&](const Tensor& x, int depth) -> Tensor {
    if (depth == 0) return x * 2;
    return checkpoint([&nest, depth](const Tensor& t) { return nest(t, depth - 1); }, x);
  };
  const Tensor x = leaf({1}, {1});
  CHECK(contains(error_of([&] { nest(x, 20000); }), "checkpoint: more than 256"));
  backward(sum(nest(x, 12)));
  CHECK(x.grad().item() == 2);
}

TEST_CASE("grad() is the live buffer and clone() keeps it", "[writes]") {
  const Tensor x = leaf({1, 2}, {2});
  backward(sum(x * 3));
  const Tensor live = x.grad(), kept = live.clone();
  x.zero_grad();
  backward(sum(x * 5));
  CHECK(live.to_vector() == Values{5, 5});
  CHECK(kept.to_vector() == Values{3, 3});
}
