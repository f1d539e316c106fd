// The bits of kernels do not depend on the number of threads (of the CPU, or of the simulator of CUDA) or on what the
// memory of the results held, and kernels accept tensors without elements.
#include "tests/kernels/case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// f(side) returns results, which must have the same bits for 1, 2 and 3 threads on every device.
template <class F>
void check_repeats(DType dtype, F f) {
  INFO(name_of(dtype));
  const auto run = [&] { return f(Side(device(), dtype, kContiguous)); };
  const Results once = run();
  for (const int threads : {1, 2, 3}) {
    const Threads guard(threads);
    poison_free_memory(device(), 4096);
    const Results again = run();
    for (size_t i = 0; i < once.size(); ++i) {
      if (!same_bits(again[i], once[i])) FAIL_CHECK("result " << i << " differs for " << threads << " threads");
    }
  }
}

}  // namespace

TEST_CASE("elementwise kernels repeat their bits for any number of threads", "[kernels][repeats]") {
  for (const DType dtype : {f32, f64}) {
    check_repeats(dtype, [](const Side& s) {
      const Tensor x = s.in(uniform({70001}, 3, 0.1, 4));
      Results results;
#define UNARY(name, ...)                      \
  results.push_back(s.out(Shape{x.numel()})); \
  s.k().unary(Unary::name, results.back(), x, {0.5, 2});
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
      results.push_back(s.out({40001}));
      s.k().random_normal(results.back(), 0, 1, 77, 3);
      return results;
    });
  }
}

TEST_CASE("sums repeat their bits for any number of threads", "[kernels][repeats]") {
  for (const DType dtype : {f32, f64}) {
    check_repeats(dtype, [](const Side& s) {
      const Tensor x = s.in(uniform({70, 9001}, 5)), ids = s.in(integers({500}, 2, 10)),
                   few = s.in(integers({2000}, 3, 3));
      Results results;
      for (const Shape& shape : {Shape{1, 9001}, Shape{70, 1}, Shape{1, 1}}) {
        results.push_back(s.out(shape));
        s.k().reduce(Reduce::sum, results.back(), x, 3, 0);
      }
      for (const int64_t n : {15, 40000, 100003}) {
        results.push_back(s.out({1}, f64, kContiguous));
        s.k().sum_of_squares(results.back(), s.in(uniform({n}, 1)));
      }
      for (const double beta : {0.0, 1.0, 0.5}) {
        results.push_back(s.result({11, 70}, beta));
        s.k().embedding_backward(results.back(), s.in(uniform({500, 70}, 3)), ids, beta);
      }
      results.push_back(s.out({4, 9}));
      s.k().embedding_backward(results.back(), s.in(uniform({2000, 9}, 14)), few, 0);
      return results;
    });
  }
}

TEST_CASE("kernels of rows repeat their bits for any number of threads", "[kernels][repeats]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const Shape& shape : {Shape{300, 70}, Shape{6, 10007}, Shape{90, 700}}) {
      check_repeats(dtype, [&](const Side& s) {
        const Shape rows{shape[0]}, columns{shape[1]};
        const Tensor x = s.in(uniform(shape, 1)), dy = s.in(uniform(shape, 2)), w = s.in(uniform(columns, 3, 0.5, 2));
        const Tensor ids = s.in(integers(rows, 4, shape[1])), d = s.per_row(uniform(rows, 5));
        const Tensor p = s.out(shape), dx = s.out(shape), loss = s.per_row(rows), stats = s.per_row(Shape{shape[0], 2});
        const Tensor de = s.out(shape), log_prob = s.per_row(rows), entropy = s.per_row(rows), dt = s.out(shape);
        const Tensor sum = s.out(shape), y = s.out(shape), mean = s.per_row(rows), rstd = s.per_row(rows);
        const Tensor dn = s.out(shape), dw = s.per_row(columns), db = s.per_row(columns);
        const CrossEntropyArgs args{.label_smoothing = 0.1, .weight = w};
        s.k().softmax(p, x, true);
        s.k().softmax_backward(dx, dy, p, true, 0);
        s.k().cross_entropy(loss, stats, x, ids, args);
        s.k().cross_entropy_backward(de, d, x, stats, ids, args, 0);
        s.k().token_log_prob(log_prob, entropy, stats, x, ids);
        s.k().token_log_prob_backward(dt, d, d, x, stats, entropy, ids, 0);
        s.k().layer_norm(y, mean, rstd, sum, x, dy, w, w, 1e-5);
        s.k().layer_norm_backward(dn, dw, db, dy, sum, w, mean, rstd, 0, 0, 0);
        return Results{p, dx, loss, stats, de, log_prob, entropy, dt, sum, y, mean, rstd, dn, dw, db};
      });
    }
  }
}

TEST_CASE("kernels on tensors without elements do nothing", "[kernels]") {
  const Kernels& k = kernels(device());
  const auto none = [](const Shape& shape, DType dtype = f32) { return Tensor::empty(shape, dtype, device()); };
  const Tensor no_rows = none({0, 4}), w = Tensor::ones({4, 4}, f32, device());
  k.random_uniform(none({0}), 0, 1, 1, 3);
  k.random_normal(none({0}), 0, 1, 1, 3);
  k.dropout(none({0}), none({0}), 0.5, 1, 3, 0);
  k.reduce(Reduce::sum, none({1, 0}), none({4, 0}), 1, 0);
  k.cumsum(no_rows, no_rows, 0, true, 0);
  k.cumsum(no_rows, no_rows, 1, true, 0);
  k.argmax(none({0}, i32), no_rows);
  k.gather(no_rows, w, none({0, 4}, i32), 0);
  k.scatter_add(w, none({0, 4}, i32), no_rows, 0);
  k.embedding(no_rows, w, none({0}, i32));
  k.embedding_backward(w, no_rows, none({0}, i32), 1);
  k.rope(none({2, 0, 3, 4}), none({2, 0, 3, 4}), {}, 0);
  CHECK(all_equal(w, 1));
}
