// Benchmarks of single ops and of the tape.
#include "autograd/tape.h"
#include "tensor/base/parallel.h"
#include "tests/op_samples/op_samples.h"
#include "tools/pg/bench/bench.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

namespace {

double bytes_of(const std::vector<Tensor>& tensors) {
  double bytes = 0;
  for (const Tensor& t : tensors) bytes += static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
  return bytes;
}

// Times forward alone, then forward and backward, in f32.
std::vector<Entry> bench_op(const OpSample& sample, int repeat) {
  Generator generator(1);
  std::vector<Tensor> inputs = sample.inputs(generator, f32);
  Entry forward{name_of(sample.op), sample.label, "forward"};
  {
    const NoGrad no_grad;
    const double bytes = bytes_of(inputs) + bytes_of(sample.call(inputs));
    if (sample.flops > 0)
      forward.flops = sample.flops;
    else
      forward.bytes = bytes;
    forward.timing = time_of([&] { sample.call(inputs); }, repeat);
  }

  bool differentiable = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool constant = inputs[i].dtype() != f32;
    for (int c : sample.constant) constant |= static_cast<size_t>(c) == i;
    if (!constant) inputs[i].set_requires_grad();
    differentiable |= !constant;
  }
  if (!differentiable) return {forward};
  Tensor cotangent;
  Entry both{forward.name, forward.label, "with backward"};
  both.flops = 3 * forward.flops;  // backward has two products of the forward's size
  both.bytes = 0;
  both.timing = time_of(
      [&] {
        for (const Tensor& x : inputs) {
          if (x.requires_grad()) x.zero_grad();
        }
        const Tensor y = sample.call(inputs)[0];
        if (!cotangent.defined()) cotangent = Tensor::ones(y.shape(), y.dtype());
        backward(y, cotangent);
      },
      repeat);
  return {forward, both};
}

// The overhead of the tape: forward, backward and freeing of multiplies so small that their arithmetic is negligible.
Entry bench_tape(int repeat) {
  constexpr int length = 1000;
  const int threads = num_threads();
  set_num_threads(1);
  Tensor x = Tensor::ones({16});
  const Tensor w = Tensor::ones({16}), cotangent = Tensor::ones({16});
  x.set_requires_grad();
  Entry entry{"tape", "16-element multiply", "per op"};
  const Timing all = time_of(
      [&] {
        x.zero_grad();
        Tensor y = x;
        for (int i = 0; i < length; ++i) y = mul(y, w);
        backward(y, cotangent);
      },
      repeat);
  entry.timing = {all.median / length, all.fastest / length};
  set_num_threads(threads);
  return entry;
}

}  // namespace

void add_op_benchmarks(Benchmarks& all) {
  all.push_back({"tape", "16-element multiply", [](int repeat) { return std::vector{bench_tape(repeat)}; }});
  for (const OpSample& sample : op_samples()) {
    if (!sample.large) continue;
    all.push_back({name_of(sample.op), sample.label, [&sample](int repeat) { return bench_op(sample, repeat); }});
  }
}

}  // namespace pg::tools
