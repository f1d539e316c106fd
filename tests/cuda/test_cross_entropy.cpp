// Cross-entropy on CUDA whose forward pass writes the gradient over the logits. The expected bits are those of a
// separate backward pass, which tests/kernels/test_rows.cpp compares with the plain backend.
#include <cmath>

#include "tests/autograd/loss_runs.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

Tensor targets_of(int64_t rows, int64_t v) {
  Generator g(2);
  std::vector<int32_t> ids;
  for (int64_t r = 0; r < rows; ++r) ids.push_back(r == 3 ? -100 : static_cast<int32_t>(g.integer(v)));
  return Tensor::from(ids, {rows}).to(device());
}

// More rows than blocks, so that a block copies a row while it works on another one.
int64_t many_rows() { return backend(Device::Kind::cuda).device_info(0).simulated ? 67 : 4003; }

// The columns of a matrix of NaN between its first `begin` and last `rest` ones.
struct Between {
  Between(const Tensor& x, int64_t begin, int64_t rest)
      : all(Tensor::full({x.size(0), begin + x.size(1) + rest}, NAN, x.dtype(), x.device())),
        rows(all.view_slice(1, begin, begin + x.size(1))),
        begin_(begin) {
    rows.copy_from(x);
  }
  bool others_untouched() const {
    const std::vector<double> v = all.to_vector();
    const auto width = static_cast<size_t>(all.size(1)), from = static_cast<size_t>(begin_);
    for (size_t i = 0; i < v.size(); ++i) {
      const size_t column = i % width;
      if ((column < from || column >= from + static_cast<size_t>(rows.size(1))) && !std::isnan(v[i])) return false;
    }
    return true;
  }
  Tensor all, rows;

 private:
  int64_t begin_;
};

// Long rows: of logits, some of which are -inf.
Tensor long_rows(int64_t rows, int64_t v, DType dtype) {
  std::vector<double> x = random({rows, v}, f64, 5).to_vector();
  for (size_t i = 0; i < x.size(); i += 7) x[i] = i % 3 == 0 ? -INFINITY : 4 * x[i];
  return Tensor::from(x, {rows, v}).to(dtype).to(device());
}

}  // namespace

TEST_CASE("CUDA: a gradient written over the logits has the bits of a backward pass", "[cuda][cross_entropy]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t v : {7, 1030, 1032}) {  // the rows of 1032 are held in shared memory
      Generator g(4);
      const Tensor weight = Tensor::uniform({v}, 0.5, 2, g, f64).to(dtype).to(device());
      check_written_over(random({5, v}, dtype, 1).to(device()), targets_of(5, v), weight);
    }
  }
}

TEST_CASE("CUDA: logits of linear with padded rows are written over", "[cuda][cross_entropy]") {
  const int64_t rows = 5, v = 29;  // whose rows of 29 elements begin at multiples of 16 bytes
  for (const DType dtype : {f32, bf16}) {
    const Tensor x = random({rows, 16}, dtype, 1).to(device()), w = random({v, 16}, dtype, 2).to(device());
    const Tensor targets = targets_of(rows, v), upstream = Tensor::scalar(0.125, f32, device());
    const auto slopes = [&](bool holds) {
      const Tensor weight = w.clone().set_requires_grad();
      Tensor logits = linear(x, weight);
      CHECK(!logits.contiguous());
      Tensor held = holds ? logits.detach() : Tensor{};
      const CrossEntropyOptions options{.reduction = Reduction::sum, .upstream = upstream};
      const Tensor loss = cross_entropy(std::move(logits), targets, options);
      held = {};  // so that backward() may write over the padded rows too
      backward(loss, upstream);
      return weight.grad();
    };
    CHECK(same_bits(slopes(false), slopes(true)));
  }
}

TEST_CASE("CUDA: upstream from which no other gradient can be computed gives NaN", "[cuda][cross_entropy]") {
  const Tensor x = random({2, 3}, f32, 1).to(device());
  const Tensor targets = Tensor::from(std::vector<int32_t>{0, 2}, {2}).to(device());
  for (const double expected : {0.0, double(INFINITY), double(NAN)}) {
    const Tensor upstream = Tensor::scalar(expected, f32, device());
    const CrossEntropyOptions options{.reduction = Reduction::sum, .upstream = upstream};
    const LossRun over = run_loss(x, targets, options, Tensor::scalar(2, f32, device()), false);
    CHECK(over.in_place);
    for (const double d : over.dlogits.to_vector()) CHECK(std::isnan(d));
    const LossRun same = run_loss(x, targets, options, upstream, false);
    CHECK(same_bits(same.dlogits, run_loss(x, targets, options, upstream, true).dlogits));
  }
}

// Rows that begin at multiples of 16 bytes are held in shared memory, others are not.
TEST_CASE("CUDA: softmax of rows in shared memory has the same bits", "[cuda][softmax]") {
  const Kernels& k = kernels(device());
  const int64_t rows = many_rows();
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t v : {1025, 1096}) {
      INFO(name_of(dtype) << ", V = " << v);
      const Tensor x = long_rows(rows, v, dtype);
      const Between aligned(x, 8, (8 - v % 8) % 8), apart(x, 1, 0);
      for (const bool log : {false, true}) {
        for (const DType result : {dtype, sum_type(dtype)}) {
          const Tensor none = Tensor::full(x.shape(), NAN, result, x.device());
          const Between y(none, 0, (8 - v % 8) % 8), want(none, 1, 0);
          k.softmax(y.rows.view(), aligned.rows.view(), log);
          k.softmax(want.rows.view(), apart.rows.view(), log);
          CHECK(same_bits(y.rows, want.rows));
          CHECK(y.others_untouched());
        }
        const Between over(x, 8, (8 - v % 8) % 8), want(x, 1, 0);
        k.softmax(over.rows.view(), over.rows.view(), log);
        k.softmax(want.rows.view(), apart.rows.view(), log);
        CHECK(same_bits(over.rows, want.rows));
      }
    }
  }
}

TEST_CASE("CUDA: a gradient written over rows in shared memory has the same bits", "[cuda][cross_entropy]") {
  const Kernels& k = kernels(device());
  const int64_t rows = many_rows();
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t v : {1025, 1096}) {
      // Ignored rows: the first rows of some blocks, the last ones of others, and all rows of some.
      Generator g(6);
      std::vector<int32_t> ids;
      for (int64_t r = 0; r < rows; ++r) {
        ids.push_back(r % 3 == 0 || (r > 20 && r < 28) ? -100 : static_cast<int32_t>(g.integer(v)));
      }
      ids[1] = static_cast<int32_t>(v);
      ids[rows - 2] = static_cast<int32_t>(v - 1);
      ids[rows - 1] = -1;
      const Tensor targets = Tensor::from(ids, {rows}).to(device()), x = long_rows(rows, v, dtype);
      const Tensor dloss = random({rows}, sum_type(dtype), 7).to(device());
      const Tensor weights = Tensor::uniform({v + 1}, 0.5, 2, g, f64).to(dtype).to(device());
      const Tensor weight = weights.view_slice(0, 0, v), unaligned = weights.view_slice(0, 1, v + 1);
      for (const auto& [smoothing, w] : {std::pair(0.0, Tensor{}), std::pair(0.1, Tensor{}), std::pair(0.0, weight),
                                         std::pair(0.1, weight), std::pair(0.1, unaligned)}) {
        INFO(name_of(dtype) << ", V = " << v << ", smoothing " << smoothing << ", weights " << w.defined());
        const CrossEntropyArgs args{.ignore_index = -100, .label_smoothing = smoothing, .weight = w};
        const auto per_row = [&](const Shape& shape) { return Tensor::full(shape, NAN, sum_type(dtype), x.device()); };
        const Between aligned(x, 8, (8 - v % 8) % 8), apart(x, 1, 0);
        const Tensor loss = per_row({rows}), stats = per_row({rows, 2}), want = per_row({rows});
        k.cross_entropy(want, stats, apart.rows, targets, args);
        k.cross_entropy_backward(apart.rows, dloss, apart.rows, stats, targets, args, 0);
        k.cross_entropy_with_gradient(loss, aligned.rows, dloss, targets, args);
        CHECK(same_bits(loss, want));
        CHECK(same_bits(aligned.rows, apart.rows));
        CHECK(aligned.others_untouched());
      }
    }
  }
}
