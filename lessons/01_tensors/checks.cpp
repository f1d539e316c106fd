// The checks of lesson 1.
#include "lessons/01_tensors/checks.h"

#include <cmath>

namespace pg::lesson01 {
namespace {

using kit::Grader;
using kit::Value;

// One transpose. Returns whether the check goes on.
bool transpose_once(Grader& g, const Impl& impl, const std::string& name, const Tensor& x, int a, int b) {
  const Tensor want = x.view_transpose(a, b), got = impl.view_transpose(x, a, b);
  const std::string input = fmt::format("{} {} with strides {}, dims {} and {}", name, x.shape(), x.strides(), a, b);
  if (a < 0 || b < 0) {
    return g.expect(got.shape() == want.shape() && got.strides() == want.strides(), input,
                    fmt::format("shape {}, strides {}", got.shape(), got.strides()),
                    fmt::format("shape {}, strides {}", want.shape(), want.strides()),
                    "a negative dim counts from the end: give each dim to normalize_dim first");
  }
  Shape reversed = x.shape(), last = x.shape();
  for (int i = 0; i < x.rank(); ++i) reversed[i] = x.shape()[x.rank() - 1 - i];
  if (x.rank() >= 2) std::swap(last[x.rank() - 2], last[x.rank() - 1]);
  if (!g.equal(input + ": shape", Value(got.shape()), Value(want.shape()),
               {.mistakes = {{"the sizes are not exchanged", Value(x.shape())},
                             {"these are the last two dims, not the two that were asked for", Value(last)},
                             {"without elements the sizes still count", Value(Shape{0})},
                             {"all dims are in reversed order; exchange only the two", Value(reversed)}}}))
    return false;
  if (!g.expect(got.storage() == x.storage(), input + ": storage", "memory of its own", "x's own storage",
                "a view shares its storage: pass x.storage() on"))
    return false;
  Strides computed = contiguous_strides(x.shape());
  std::swap(computed[a], computed[b]);
  if (!g.equal(
          input + ": strides", Value(got.strides()), Value(want.strides()),
          {.mistakes = {
               {"the sizes are exchanged, the strides are not: the same steps walk another way", Value(x.strides())},
               {"these are the strides of a fresh copy: exchange the two strides instead",
                Value(contiguous_strides(want.shape()))},
               {"the strides are computed from the sizes, but x may be a view: exchange two of x.strides()",
                Value(computed)}}}))
    return false;
  const double offset = static_cast<double>(x.offset());
  return g.equal(input + ": offset", static_cast<double>(got.offset()), offset,
                 {.mistakes = {{"the view's own beginning is lost: pass x.offset() on", 0.0},
                               {"an offset counts elements, not bytes: pass x.offset() on as it is",
                                offset * static_cast<double>(size_of(x.dtype()))}}}) &&
         g.expect(got.dtype() == x.dtype(), input + ": dtype", fmt::format("{}", got.dtype()),
                  fmt::format("{}", x.dtype()), "the bytes would be read as other numbers: pass x.dtype() on");
}

void check_transpose(Grader& g, const Impl& impl) {
  const Tensor x = Tensor::arange(24, f64).view_reshape({2, 3, 4});
  const Tensor deep = Tensor::arange(210, f32).view_reshape({2, 3, 5, 7});
  struct Row {
    const char* name;
    Tensor x;
    int a, b;
  };
  const Row rows[] = {{"x", x, 0, 1},
                      {"x", x, 1, 2},
                      {"x", x, 0, 2},
                      {"a transposed x", x.view_transpose(0, 2), 0, 1},
                      {"every second column", x.view_slice(2, 0, 4, 2), 0, 2},
                      {"a slice that starts at element 12", x.view_slice(0, 1, 2), 0, 2},
                      {"one row seen five times", x.view_select(0, 1).view_slice(0, 2, 3).view_expand({5, 4}), 0, 1},
                      {"x in f32", deep, 1, 3},
                      {"x in f32, sliced", deep.view_slice(1, 1, 3), 3, 0},
                      {"no elements", Tensor::zeros({3, 0, 2}), 0, 1},
                      {"rows of 0", Tensor::zeros({2, 3}, f64), 0, 1},
                      {"infinite numbers", Tensor::full({3, 2}, INFINITY, f64), 0, 1},
                      {"a column", x.view_slice(2, 1, 2).view_select(0, 1), 1, 0},
                      {"a vector", Tensor::arange(5, f64), 0, 0},
                      {"x", x, -2, -1},
                      {"x", x, -1, -2},
                      {"x in f32", deep, -4, 2},
                      {"x in f32", deep, 3, -3}};
  for (const Row& row : rows) {
    if (!transpose_once(g, impl, row.name, row.x, row.a, row.b)) return;
  }
  struct Wrong {
    Tensor x;
    int a, b;
  };
  const Wrong wrong[] = {{x, 0, 3}, {x, 3, 0}, {x, -4, 1}, {x, 1, 17}, {Tensor::scalar(1, f64), 0, 0}};
  for (const auto& [tensor, a, b] : wrong) {
    const auto call = [&, t = tensor, a = a, b = b] { impl.view_transpose(t, a, b); };
    if (!g.expect_error(fmt::format("x {}, dims {} and {}", tensor.shape(), a, b), call, "",
                        "a dim that does not exist is accepted: normalize_dim refuses it"))
      return;
  }
  g.note(fmt::format("{} views, {} wrong dims; not a byte copied", std::size(rows), std::size(wrong)));
}

// The two shapes are refused, in the words that the exercise gives.
bool refused_pair(Grader& g, const Impl& impl, const Shape& a, const Shape& b, const char* op,
                  const std::string& diagnosis) {
  const std::string input = fmt::format("a {}, b {}", a, b),
                    want = fmt::format("{}: shapes {} and {} do not …", op, a, b);
  try {
    const Shape got = impl.broadcast_shapes(a, b, op);
    return g.expect(false, input, fmt::format("{}", got), want, diagnosis);
  } catch (const Error& error) {
    const std::string text = error.what();
    const size_t first = text.find(fmt::format("{}", a));
    return g.expect(text.find(op) != std::string::npos && first != std::string::npos &&
                        text.find(fmt::format("{}", b), first + 1) != std::string::npos,
                    input, text, want, "an error is right, but its text must name op, a and b, in this order");
  } catch (const std::exception&) {
    return g.expect(false, input, kit::describe_exception(), want, kit::kForeignError);
  }
}

void check_broadcast(Grader& g, const Impl& impl) {
  const std::pair<Shape, Shape> pairs[] = {{{3, 1}, {1, 4}},
                                           {{5}, {2, 5}},
                                           {{2, 5}, {5}},
                                           {{4, 1, 3}, {2, 1}},
                                           {{}, {7, 2}},
                                           {{6}, {}},
                                           {{0, 3}, {1, 3}},
                                           {{6, 1, 2}, {6, 5, 2}},
                                           {{8, 3}, {8, 3}},
                                           {{1}, {0}},
                                           {{2, 0, 1}, {3, 1, 1, 7}},
                                           {{}, {}},
                                           {{1, 1, 1}, {1}},
                                           {{5, 0}, {1, 1}},
                                           {{1, 1, 1, 3}, {11, 2, 1}},
                                           {{5'000'000'000, 1}, {7}}};
  for (const auto& [a, b] : pairs) {
    const Shape want = pg::broadcast_shapes(a, b, "add");
    const std::string input = fmt::format("a {}, b {}", a, b);
    Shape got;
    try {
      got = impl.broadcast_shapes(a, b, "add");
    } catch (const Error& error) {
      g.expect(false, input, fmt::format("an error: {}", error.what()), fmt::format("{}", want),
               "these two shapes fit: in each column the sizes are equal, or one is 1 or missing");
      return;
    }
    auto mistakes =
        kit::values_of(broadcast_mistakes(), [&, a = a, b = b](auto wrong) { return Value(wrong(a, b, "add")); });
    mistakes.push_back({"this is only a's shape", Value(a)});
    mistakes.push_back({"this is only b's shape", Value(b)});
    if (!g.equal(input, Value(got), Value(want), {.rtol = 0, .mistakes = mistakes})) return;
  }
  const std::string neither = "in one column the sizes differ and neither is 1: such shapes must be refused";
  const std::string every = "refuse what does not fit in any column, not only in the last one";
  refused_pair(g, impl, {2, 3}, {2, 4}, "add", neither) && refused_pair(g, impl, {3, 2}, {3}, "mul", neither) &&
      refused_pair(g, impl, {2, 3}, {5, 3}, "add", every) &&
      refused_pair(g, impl, {5, 1, 3}, {2, 4, 3}, "sub", every) &&
      refused_pair(g, impl, {6, 2, 1}, {3, 7}, "div", every) &&
      refused_pair(g, impl, {0}, {3}, "add", "0 and 3 differ and neither is 1: only a size of 1 stretches") &&
      refused_pair(g, impl, {2, 5}, {0, 5}, "add", "2 and 0 differ and neither is 1: only a size of 1 stretches") &&
      refused_pair(g, impl, {3, 4}, {2}, "add", "a multiple does not fit: only a size of 1 stretches");
  g.note(fmt::format("{} pairs of shapes, 8 that do not fit", std::size(pairs)));
}

void check_offset(Grader& g, const Impl& impl) {
  const Tensor memory = Tensor::arange(60, f64).view_reshape({3, 4, 5});
  const Tensor deep = Tensor::arange(210, f64).view_reshape({2, 3, 5, 7});
  const std::pair<const char*, Tensor> views[] = {
      {"contiguous [3, 4, 5]", memory},
      {"transposed to [3, 5, 4]", memory.view_transpose(1, 2)},
      {"every second column [3, 4, 3]", memory.view_slice(2, 0, 5, 2)},
      {"a row seen four times [4, 5] (stride 0)", memory.view_select(0, 0).view_slice(0, 0, 1).view_expand({4, 5})},
      {"one row of each three seen four times [3, 4, 5] (stride 0)", memory.view_slice(1, 0, 1).view_expand({3, 4, 5})},
      {"a column seen four times [3, 4] (stride 0)", memory.view_select(1, 0).view_slice(1, 0, 1).view_expand({3, 4})},
      {"[7, 3, 2, 5], four dims in another order", deep.view_permute({3, 1, 0, 2})},
      {"sizes of 1 [1, 4, 1]", memory.view_slice(0, 0, 1).view_slice(2, 0, 1)},
      {"every third number [20]", memory.view_reshape({60}).view_slice(0, 0, 60, 3)},
      {"a single number []", Tensor::arange(1, f64).view_reshape({})}};
  for (const auto& [name, x] : views) {
    const auto offsets = [&, x = x](auto offset_of) {
      std::vector<double> all;
      for (int64_t n = 0; n < x.numel(); ++n) all.push_back(offset_of(n, x.shape(), x.strides()));
      return Value(all);
    };
    // The storage holds 0, 1, 2, …: the value of an element is its offset.
    if (!g.equal(fmt::format("{}, strides {}: offsets of elements 0, 1, 2, ...", name, x.strides()),
                 offsets(impl.offset_of), Value(x.to_vector()),
                 {.mistakes = kit::values_of(offset_mistakes(), offsets)}))
      return;
  }
  struct Far {
    int64_t n;
    Shape shape;
    Strides strides;
    int64_t want;
  };
  // 9,999,999,999 is the last element, index [99999, 99999]: 99,999·200,003 + 99,999·2.
  const Far far[] = {{11, {3, 4}, {3'000'000'000, 1}, 6'000'000'003},
                     {9'999'999'999, {100'000, 100'000}, {200'003, 2}, 20'000'299'995}};
  for (const auto& [n, shape, strides, want] : far) {
    const int64_t got = impl.offset_of(n, shape, strides);
    if (!g.expect(got == want, fmt::format("shape {}, strides {}: offset of element {}", shape, strides, n),
                  fmt::format("{}", got), fmt::format("{}", want),
                  "right for small numbers only: an offset does not fit into an int, so count in int64_t"))
      return;
  }
  g.note(fmt::format("{} views, every element; offsets of billions", std::size(views)));
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
       .harmless = {{"detached", "the views of Tensor have no tape; those of autograd/ops.h have"},
                    {"rank 0", "a single number has no dims to exchange"}}},
      {.id = "01.2",
       .title = "the shape of a sum",
       .piece = kit::piece<&Impl::broadcast_shapes>("broadcast_shapes"),
       .section = "Small tensors stretch",
       .why = "Broadcasting is behind every bias and every mask, and its edge cases are where programs go wrong in "
              "silence: a missing dimension, an empty tensor, and shapes that must be refused.",
       .hints = {"Write the two shapes under each other, right-aligned. Which two sizes may be in one column?",
                 "From the last dimension: result = x when x == y; the other one when one is 1; an error otherwise. A "
                 "missing size is 1. Note that 1 with 0 gives 0.",
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
       .solution = {"autograd/check/gradcheck.cpp", "double& element(const Tensor& x, int64_t flat)"},
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
       .run = check_matmul,
       .harmless = {{{"rank 0", "rank 1", "rank 4"}, "c, a and b are matrices"},
                    {"strides", "the exercise says that all three are contiguous"}}},
  };
}

Impl reference() {
  return {.view_transpose = [](const Tensor& x, int a, int b) { return x.view_transpose(a, b); },
          .broadcast_shapes = pg::broadcast_shapes,
          .offset_of =
              [](int64_t n, const Shape& shape, const Strides& strides) {
                int64_t offset = 0, block = numel(shape);  // block: the elements of one index of dim d
                for (int d = 0; d < shape.rank(); ++d) {
                  block /= shape[d];
                  offset += n / block * strides[d];
                  n %= block;
                }
                return offset;
              },
          .matmul = matmul_blocked};
}

}  // namespace pg::lesson01
