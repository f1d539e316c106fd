// The checks of lesson 1.
#include <cmath>

#include "lessons/01_tensors/lesson.h"
#include "lessons/kit/clock.h"

namespace pg::lesson01 {
namespace {

using kit::Grader;
using kit::Value;

Value strides_of(const Tensor& x) { return Value(x.strides()); }

void check_transpose(Grader& g, const Impl& impl) {
  const Tensor x = Tensor::arange(24, f64).view_reshape({2, 3, 4});
  const struct { int a, b; } pairs[] = {{0, 1}, {1, 2}, {0, 2}, {-2, -1}};
  for (const auto [a, b] : pairs) {
    const Tensor want = x.view_transpose(a, b), got = impl.view_transpose(x, a, b);
    const std::string input = fmt::format("x [2, 3, 4] with strides [12, 4, 1], dims {} and {}", a, b);
    Tensor shape_only = Tensor::view_of(x.storage(), 0, want.shape(), contiguous_strides(want.shape()), f64);
    if (!g.equal(input + ": shape", Value(got.shape()), Value(want.shape()),
                 {.mistakes = {{"the sizes are not exchanged", Value(x.shape())}}}))
      return;
    if (!g.equal(
            input + ": strides", strides_of(got), strides_of(want),
            {.mistakes = {
                 {"the sizes are exchanged, the strides are not: the same steps walk another way", strides_of(x)},
                 {"these are the strides of a fresh copy: exchange the two strides instead", strides_of(shape_only)}}}))
      return;
    if (!g.expect(got.storage() == x.storage(), input + ": storage", "memory of its own", "x's own storage",
                  "a view shares its storage: pass x.storage() on"))
      return;
  }
  const Tensor part = x.view_slice(0, 1, 2);
  g.equal("a slice that starts at element 12, dims 0 and 2: its numbers", impl.view_transpose(part, 0, 2),
          part.view_transpose(0, 2),
          {.mistakes = {
               {"the view's own beginning is lost: pass x.offset() on", x.view_slice(0, 0, 1).view_transpose(0, 2)}}});
  g.expect_error(
      "dim 3 of a tensor with three", [&] { impl.view_transpose(x, 0, 3); }, "dim");
  g.note("4 pairs of dims, a slice, a wrong dim; not a byte copied");
}

void check_broadcast(Grader& g, const Impl& impl) {
  const std::pair<Shape, Shape> pairs[] = {{{3, 1}, {1, 4}}, {{5}, {2, 5}},          {{4, 1, 3}, {2, 1}}, {{}, {7, 2}},
                                           {{0, 3}, {1, 3}}, {{6, 1, 2}, {6, 5, 2}}, {{8, 3}, {8, 3}},    {{1}, {0}}};
  for (const auto& [a, b] : pairs) {
    const Shape want = pg::broadcast_shapes(a, b, "add");
    Shape largest = a, left = a.rank() > b.rank() ? a : b;
    for (int d = 0; d < std::min(a.rank(), b.rank()); ++d) left[d] = std::max(a[d], b[d]);
    if (a.rank() == b.rank()) {
      for (int d = 0; d < a.rank(); ++d) largest[d] = std::max(a[d], b[d]);
    }
    g.equal(fmt::format("a {}, b {}", a, b), Value(impl.broadcast_shapes(a, b, "add")), Value(want),
            {.mistakes = {
                 {"a size of 1 gives way to any size, to 0 as well: the larger is not always right", Value(largest)},
                 {"shapes are aligned at the last dimension, not at the first", Value(left)},
                 {"this is only a's shape", Value(a)},
                 {"this is only b's shape", Value(b)}}});
  }
  g.expect_error(
      "a [2, 3], b [2, 4]",
      [&] {
        impl.broadcast_shapes({2, 3}, {2, 4}, "add");
      },
      "add");
  g.expect_error(
      "a [3, 2], b [3]",
      [&] {
        impl.broadcast_shapes({3, 2}, {3}, "add");
      },
      "add");
  g.note("8 pairs of shapes, 2 that do not fit");
}

void check_offset(Grader& g, const Impl& impl) {
  const Tensor memory = Tensor::arange(60, f64).view_reshape({3, 4, 5});
  const std::pair<const char*, Tensor> views[] = {
      {"contiguous [3, 4, 5]", memory},
      {"transposed to [3, 5, 4]", memory.view_transpose(1, 2)},
      {"every second column [3, 4, 3]", memory.view_slice(2, 0, 5, 2)},
      {"a row seen four times [4, 5] (stride 0)",
       memory.view_slice(0, 0, 1).view_slice(1, 0, 1).view_reshape({1, 5}).view_expand({4, 5})}};
  for (const auto& [name, x] : views) {
    std::vector<double> got, reversed;
    for (int64_t n = 0; n < x.numel(); ++n) {
      got.push_back(static_cast<double>(impl.offset_of(n, x.shape(), x.strides())));
      int64_t rest = n, offset = 0;  // with the first index as the fastest
      for (int d = 0; d < x.rank(); ++d) {
        offset += rest % x.shape()[d] * x.strides()[d];
        rest /= x.shape()[d];
      }
      reversed.push_back(static_cast<double>(offset));
    }
    std::vector<double> plain(x.numel());
    for (int64_t n = 0; n < x.numel(); ++n) plain[n] = static_cast<double>(n);
    // The storage holds 0, 1, 2, …: the value of an element is its offset.
    g.equal(fmt::format("{}, strides {}: offsets of elements 0, 1, 2, ...", name, x.strides()), Value(got),
            Value(x.to_vector()),
            {.mistakes = {{"the first index runs fastest in yours; the last one should", Value(reversed)},
                          {"this is n itself: right only when the view is contiguous", Value(plain)}}});
  }
  g.note("4 views, every element");
}

double seconds_of(void (*f)(View, View, View), const Tensor& c, const Tensor& a, const Tensor& b) {
  const double start = kit::thread_seconds();
  f(c, a, b);
  return kit::thread_seconds() - start;
}

void check_matmul(Grader& g, const Impl& impl) {
  Generator random(14);
  const int64_t sizes[][3] = {{1, 1, 1}, {2, 3, 4}, {64, 64, 64}, {65, 130, 67}, {7, 300, 129}, {100, 1, 5}};
  for (const auto& [m, n, k] : sizes) {
    // Small integers: every summation order gives the same bits, so the comparison can be exact.
    std::vector<float> a(m * k), b(k * n);
    for (float& x : a) x = static_cast<float>(random.integer(9) - 4);
    for (float& x : b) x = static_cast<float>(random.integer(9) - 4);
    const Tensor ta = Tensor::from(a, {m, k}), tb = Tensor::from(b, {k, n}), c = Tensor::full({m, n}, 1000);
    std::vector<double> want(m * n), garbage(m * n), whole_blocks(m * n);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t l = 0; l < k; ++l) want[i * n + j] += static_cast<double>(a[i * k + l]) * b[l * n + j];
        garbage[i * n + j] = want[i * n + j] + 1000;
      }
    }
    impl.matmul(c, ta, tb);
    const std::string input = fmt::format("a [{}, {}], b [{}, {}], whole numbers, c full of 1000", m, k, k, n);
    if (!g.equal(
            input, c, Value({m, n}, want),
            {.rtol = 0,
             .mistakes = {{"c held 1000 before: start from 0, not from what lies there", Value({m, n}, garbage)}}}))
      return;
  }
  if (!kit::optimized_build()) {
    g.note("6 sizes exact; speed is not judged in this build");
    return;
  }
  constexpr int64_t n = 320;
  const Tensor a = Tensor::uniform({n, n}, -1, 1, random), b = Tensor::uniform({n, n}, -1, 1, random);
  const Tensor c = Tensor::zeros({n, n});
  double naive = INFINITY, yours = INFINITY;
  for (int repeat = 0; repeat < 4; ++repeat) {
    naive = std::min(naive, seconds_of(matmul_naive, c, a, b));
    yours = std::min(yours, seconds_of(impl.matmul, c, a, b));
  }
  g.expect(naive >= 1.5 * yours, fmt::format("{0} x {0} numbers, best of four", n),
           fmt::format("{:.1f} ms, {:.2f} x the speed of the naive loop", yours * 1e3, naive / yours),
           "at least 1.5 x the speed of the naive loop",
           "as slow as the naive loop: does the innermost loop walk down a column of b?");
  g.note(fmt::format("6 sizes exact; {:.1f} x as fast as the naive loop", naive / yours));
}

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "01.1",
       .title = "strides of a transpose",
       .piece = kit::piece<&Impl::view_transpose>("view_transpose"),
       .section = "A transpose moves nothing",
       .why = "A view that copies is slow and, worse, wrong: writing through it no longer changes the original. So the "
              "check looks at shape, strides and storage separately, and at a slice, whose first element is not the "
              "storage's first.",
       .hints = {"Element [i, j] of the transpose is element [j, i] of x. If x steps s0 per row and s1 per column, how "
                 "far does the transpose step per row?",
                 "shape' = shape with entries a and b exchanged; strides' = strides with entries a and b exchanged; "
                 "storage and offset stay.",
                 "Normalise both dims. Copy shape and strides. Exchange entries a and b in each. Return "
                 "Tensor::view_of(x.storage(), x.offset(), shape, strides, x.dtype())."},
       .solution = {"tensor/tensor.cpp", "Tensor Tensor::view_transpose("},
       .run = check_transpose,
       .harmless = {{"detached", "the views of Tensor have no tape; those of autograd/ops.h have"}}},
      {.id = "01.2",
       .title = "the shape of a sum",
       .piece = kit::piece<&Impl::broadcast_shapes>("broadcast_shapes"),
       .section = "Small tensors stretch",
       .why = "Broadcasting is behind every bias and every mask, and its edge cases are where programs go wrong in "
              "silence: a missing dimension, an empty tensor, and shapes that must be refused.",
       .hints = {"Write the two shapes under each other, right-aligned. Which two sizes may be in one column?",
                 "From the last dimension: result = x when x == y; the other one when one is 1; an error otherwise. A "
                 "missing size is 1. Mind that 1 with 0 gives 0.",
                 "Make a result of the larger rank, all 1. For each dimension counted from the end, fetch x and y (1 "
                 "when that shape has ended), refuse what differs without a 1, store x == 1 ? y : x."},
       .solution = {"tensor/shape.cpp", "Shape broadcast_shapes("},
       .run = check_broadcast},
      {.id = "01.3",
       .title = "from index to memory",
       .piece = kit::piece<&Impl::offset_of>("offset_of"),
       .section = "From an index to an address",
       .why = "Every kernel that accepts any view does this sum for each element. The check walks a transpose, a slice "
              "with a step and a view with stride 0, where counting along the memory fails.",
       .hints =
           {"Element 7 of a [2, 4] tensor: which row, and which column? How did you compute the two?",
            "index[d] = (n / product of the sizes after d) mod shape[d]; offset = sum over d of index[d]·strides[d].",
            "From the last dimension to the first: add (n mod shape[d])·strides[d] to the offset, then divide n by "
            "shape[d] and go on."},
       .solution = {"autograd/gradcheck.cpp", "double& element(const Tensor& x, int64_t flat)"},
       .run = check_offset},
      {.id = "01.4",
       .title = "a blocked matmul",
       .piece = kit::piece<&Impl::matmul>("matmul"),
       .section = "The matmul race",
       .why = "The same multiplications in another order run many times faster, as the memory is read along its rows "
              "and each number loaded is used often. The check wants exact results for odd sizes first, speed second.",
       .hints =
           {"In the naive loop, how many different cache lines does one pass over k touch in b? And if the "
            "innermost loop ran over j instead?",
            "c[i, j] += a[i, k]·b[k, j] for i, k, j in any order of loops; keep k and j inside blocks [k0, k0+64), "
            "[j0, j0+256) so that the block of b (64 x 256 floats) stays in the cache for all M rows.",
            "Fill c with 0. For each k0, for each j0, for each i, for each k in the block, for each j in the block: "
            "c[i·N+j] += a[i·K+k]·b[k·N+j]. Blocks end at min(k0+64, K) and min(j0+256, N)."},
       .solution = {"tensor/cpu/gemm/gemm.cpp", "void run(const Product<S, C>& g, int threads)"},
       .run = check_matmul},
  };
}

Impl reference() {
  return {.view_transpose = [](const Tensor& x, int a, int b) { return x.view_transpose(a, b); },
          .broadcast_shapes = pg::broadcast_shapes,
          .offset_of =
              [](int64_t n, const Shape& shape, const Strides& strides) {
                // Uses the engine's own indexing: reads a storage that holds 0, 1, 2, … through the view.
                int64_t reach = 1;
                for (int d = 0; d < shape.rank(); ++d) reach += (shape[d] - 1) * strides[d];
                const Tensor memory = Tensor::arange(reach, f64);
                return static_cast<int64_t>(
                    Tensor::view_of(memory.storage(), 0, shape, strides, f64).to_vector()[static_cast<size_t>(n)]);
              },
          .matmul = matmul_blocked};
}

Impl learner() { return {view_transpose, broadcast_shapes, offset_of, matmul}; }

}  // namespace pg::lesson01
