// Ids out of range, which only CUDA's kernels accept: they read NaN, or 0 for integers, and are not written.
#include <cmath>

#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("CUDA: ids out of range read NaN and are not written", "[cuda]") {
  const Device cuda = device();
  const Tensor ids = Tensor::from(std::vector<int32_t>{1, -1, 4, 2000000000}, {4}).to(cuda);
  const Tensor w = Tensor::ones({4, 3}, f32, cuda).set_requires_grad();
  const Tensor y = embedding(w, ids);
  const auto values = y.to_vector();
  for (size_t i = 0; i < 12; ++i) CHECK((i < 3 ? values[i] == 1 : std::isnan(values[i])));
  backward(y, Tensor::ones({4, 3}, f32, cuda));
  CHECK(w.grad().to_vector() == std::vector<double>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0});
  const Tensor x = Tensor::ones({4}, f32, cuda).set_requires_grad(), z = gather(x, 0, ids);
  CHECK(z.to_vector()[0] == 1);
  for (size_t i = 1; i < 4; ++i) CHECK(std::isnan(z.to_vector()[i]));
  backward(z, Tensor::ones({4}, f32, cuda));
  CHECK(x.grad().to_vector() == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("CUDA: rows at ids out of range are NaN for any alignment and stride", "[cuda]") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{3, -1, 9, 2000000000}, {4}).to(device());
  for (const DType dtype : {f32, f64, bf16, i32, u8}) {
    for (const auto& [columns, spare, skip] : {std::array<int64_t, 3>{32, 0, 0},
                                               {32, 16, 16},
                                               {33, 0, 0},
                                               {32, 1, 0},
                                               {32, 0, 1},
                                               {1, 0, 0},
                                               {1040, 0, 0}}) {
      INFO(name_of(dtype) << ", " << columns << " + " << spare << " columns from " << skip << " on");
      const auto rows = [&, c = columns, step = columns + spare, from = skip](int64_t n) {
        const Tensor all = Tensor::full({n * step + from}, 77, dtype, device());
        return all.view_slice(0, from, n * step + from).view_reshape({n, step}).view_slice(1, 0, c);
      };
      const Tensor table = rows(9), y = rows(4), z = rows(4);
      table.fill(6);
      kernels(device()).embedding(y, table, ids);
      kernels(device()).gather(z, table, ids.view_reshape({4, 1}).view_expand({4, columns}), 0);
      for (const Tensor& got : {y, z}) {
        CHECK(all_equal(got.view_slice(0, 0, 1), 6));
        for (const double v : got.view_slice(0, 1, 4).to_vector()) {
          if (!(is_floating(dtype) ? std::isnan(v) : v == 0)) FAIL_CHECK(v);
        }
      }
    }
  }
}

TEST_CASE("CUDA: an id out of range gives NaN in its row only", "[cuda]") {
  for (const int64_t v : {9, 1030, 1032}) {
    const std::vector<int32_t> given{2, -1, static_cast<int32_t>(v), -100, 2147483647};
    const auto nothing = [](const Shape& shape) { return Tensor::full(shape, NAN, f32, device()); };
    const Tensor x = uniform({5, v}, 1).to(device()), ids = Tensor::from(given, {5}).to(device());
    const Tensor one = Tensor::ones({5}, f32, device()), weight = uniform({v}, 2, 0.5, 2).to(device());
    const Tensor loss = nothing({5}), stats = nothing({5, 2}), log_prob = nothing({5}), entropy = nothing({5});
    const Tensor dloss = nothing({5, v}), dlog_prob = nothing({5, v}), over = x.clone(), loss_too = nothing({5});
    const CrossEntropyArgs args{.label_smoothing = 0.1, .weight = weight};
    const Kernels& k = kernels(device());
    k.cross_entropy(loss, stats, x, ids, args);
    k.cross_entropy_backward(dloss, one, x, stats, ids, args, 0);
    k.token_log_prob(log_prob, entropy, stats, x, ids);
    k.token_log_prob_backward(dlog_prob, one, {}, x, stats, entropy, ids, 0);
    k.cross_entropy_with_gradient(loss_too, over, one, ids, args);
    CHECK(same_bits(over, dloss));
    CHECK(same_bits(loss_too, loss));
    const auto losses = loss.to_vector(), lps = log_prob.to_vector();
    const auto d = dloss.to_vector(), dl = dlog_prob.to_vector();
    for (size_t r = 0; r < 5; ++r) {
      const bool token = given[r] == 2, target = token || given[r] == -100;
      CHECK(std::isnan(losses[r]) != target);
      CHECK(std::isnan(lps[r]) != token);
      for (size_t i = r * static_cast<size_t>(v); i < (r + 1) * static_cast<size_t>(v); ++i) {
        if (std::isnan(d[i]) == target) FAIL_CHECK("dloss " << i);
        if (std::isnan(dl[i]) == token) FAIL_CHECK("dlog_prob " << i);
      }
    }
    CHECK(losses[3] == 0);
  }
}
