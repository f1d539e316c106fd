// Tensors without a tape: values, views of shared memory, conversions, the storage pool.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/ops.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::contains;
using pg::testing::error_of;

namespace {

using Values = std::vector<double>;

Tensor count_up(const Shape& shape, DType dtype = f32) {
  return Tensor::arange(numel(shape), dtype).view_reshape(shape);
}

// The element of `t` at `index`, by index arithmetic alone.
double at(const Tensor& t, const std::vector<int64_t>& index) {
  int64_t offset = t.offset();
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * t.strides()[static_cast<int>(d)];
  return static_cast<const float*>(t.storage()->data)[offset];
}

}  // namespace

TEST_CASE("factory functions fill their tensors", "[tensor]") {
  CHECK(Tensor::zeros({2, 2}).to_vector() == Values{0, 0, 0, 0});
  CHECK(Tensor::ones({3}, i32).to_vector() == Values{1, 1, 1});
  CHECK(Tensor::full({2}, 2.5, f64).to_vector() == Values{2.5, 2.5});
  CHECK(Tensor::full({2}, 2.5, bf16).to_vector() == Values{2.5, 2.5});
  CHECK(Tensor::arange(4, i32).to_vector() == Values{0, 1, 2, 3});
  CHECK(Tensor::arange(0).numel() == 0);
  CHECK(Tensor::scalar(3).rank() == 0);
  CHECK(Tensor::scalar(3).item() == 3);
  CHECK(Tensor::from(std::vector<int32_t>{1, 2}, {2, 1}).dtype() == i32);
  CHECK(Tensor::empty({3, 0, 2}).numel() == 0);
  const Tensor undefined;
  CHECK(!undefined.defined());
  CHECK(undefined.to_vector().empty());
  CHECK(contains(error_of([] { Tensor::from(Values{1, 2, 3}, {2, 2}); }), "3 values do not fill shape [2, 2]"));
  CHECK(contains(error_of([] { Tensor::empty({2, -1}); }), "empty: invalid size -1 in shape [2, -1]"));
  CHECK(contains(error_of([] { Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}); }), "too large"));
  CHECK(contains(error_of([] { Shape{1, 2, 3, 4, 5, 6, 7}; }), "at most 6"));
}

TEST_CASE("random factory functions repeat and have their moments", "[tensor]") {
  Generator a(1), b(1);
  const int64_t n = 100000;
  const Tensor x = Tensor::normal({n}, 2, 3, a), again = Tensor::normal({n}, 2, 3, b);
  CHECK(x.to_vector() == again.to_vector());
  CHECK(a.offset() == b.offset());
  CHECK(Tensor::normal({n}, 2, 3, a).to_vector() != x.to_vector());
  CHECK(std::abs(mean(x).item() - 2) < 5 * 3 / std::sqrt(double(n)));
  CHECK(std::abs(var(x).item() / 9 - 1) < 5 * std::sqrt(2.0 / n));
  const Tensor u = Tensor::uniform({n}, -1, 3, a, f64);
  CHECK(amax(u).item() < 3);
  CHECK(amax(neg(u)).item() <= 1);
  CHECK(std::abs(mean(u).item() - 1) < 5 * 4 / std::sqrt(12.0 * n));
}

TEST_CASE("views share memory and never copy", "[tensor]") {
  const Tensor x = count_up({4, 6});
  const Tensor views[] = {
      x.view_reshape({2, 12}),  x.view_transpose(0, 1), x.view_permute({1, 0}),   x.view_slice(0, 1, 3),
      x.view_slice(1, 0, 6, 2), x.view_select(1, 3),    x.view_expand({5, 4, 6}), x.detach(),
      reshape(x, {24}),         transpose(x),           slice(x, 0, 1, 3),        select(x, 0, 1),
      expand(x, {5, 4, 6}),     unsqueeze(x, 0),        permute(x, {1, 0})};
  for (const Tensor& view : views) CHECK(view.storage() == x.storage());
  CHECK(x.view_transpose(0, 1).strides() == Strides{1, 6});
  CHECK(x.view_slice(1, 1, 6, 2).strides() == Strides{6, 2});
  CHECK(x.view_slice(1, 1, 6, 2).shape() == Shape{4, 3});
  CHECK(x.view_slice(1, 1, 6, 2).offset() == 1);
  CHECK(x.view_expand({5, 4, 6}).strides() == Strides{0, 6, 1});
  CHECK(x.view_select(0, 2).offset() == 12);
  x.view_transpose(0, 1).view_select(0, 5).fill(-1);  // column 5
  CHECK(x.to_vector()[5] == -1);
  CHECK(x.to_vector()[23] == -1);
  // This also holds for a leaf: a view of a parameter shares its memory.
  const Tensor leaf = count_up({2, 3}).set_requires_grad();
  CHECK(reshape(leaf, {6}).storage() == leaf.storage());
}

TEST_CASE("views follow index arithmetic", "[tensor]") {
  const Tensor x = count_up({3, 4, 5});
  const Tensor t = x.view_transpose(0, -1), p = x.view_permute({2, 0, 1}), s = x.view_slice(1, 1, 4, 2);
  const Tensor r = x.view_reshape({6, -1}), c = x.view_select(-2, -1), e = x.view_slice(0, 1, 2).view_expand({3, 4, 5});
  REQUIRE(t.shape() == Shape{5, 4, 3});
  REQUIRE(p.shape() == Shape{5, 3, 4});
  REQUIRE(s.shape() == Shape{3, 2, 5});
  REQUIRE(r.shape() == Shape{6, 10});
  REQUIRE(c.shape() == Shape{3, 5});
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      for (int64_t k = 0; k < 5; ++k) {
        const double value = static_cast<double>(20 * i + 5 * j + k);
        REQUIRE(at(x, {i, j, k}) == value);
        REQUIRE(at(t, {k, j, i}) == value);
        REQUIRE(at(p, {k, i, j}) == value);
        const int64_t flat = 20 * i + 5 * j + k;
        REQUIRE(at(r, {flat / 10, flat % 10}) == value);
        if (j % 2 == 1) REQUIRE(at(s, {i, j / 2, k}) == value);
        if (j == 3) REQUIRE(at(c, {i, k}) == value);
        REQUIRE(at(e, {i, j, k}) == static_cast<double>(20 + 5 * j + k));
      }
    }
  }
  CHECK(t.to_vector() == t.clone().to_vector());
  CHECK(t.clone().contiguous());
  CHECK(t.contiguous_copy().storage() != x.storage());
  CHECK(x.contiguous_copy().storage() == x.storage());
}

TEST_CASE("slices follow Python's rules", "[tensor]") {
  const Tensor x = Tensor::arange(7);
  CHECK(x.view_slice(0, -3, -1).to_vector() == Values{4, 5});
  CHECK(x.view_slice(0, -100, 2).to_vector() == Values{0, 1});
  CHECK(x.view_slice(0, 5, 100).to_vector() == Values{5, 6});
  CHECK(x.view_slice(0, 4, 2).numel() == 0);
  CHECK(x.view_slice(0, 1, 7, 3).to_vector() == Values{1, 4});
  CHECK(x.view_slice(0, 0, 7, 100).to_vector() == Values{0});
  CHECK(x.view_slice(0, 1, 7, 2).view_slice(0, 1, 3).to_vector() == Values{3, 5});
  CHECK(contains(error_of([&] { x.view_slice(0, 0, 7, 0); }), "step must be at least 1"));
  CHECK(contains(error_of([&] { x.view_slice(1, 0, 7); }), "dim 1 is out of range for 1 dimensions"));
}

TEST_CASE("reshape copies only where the strides require it", "[tensor]") {
  const Tensor x = count_up({4, 6});
  const Tensor t = x.view_transpose(0, 1);
  CHECK(!t.can_view_reshape({24}));
  CHECK(t.can_view_reshape({2, 3, 4}));  // splitting a dim is always possible
  CHECK(t.can_view_reshape({6, 1, 4, 1}));
  CHECK(t.view_reshape({2, 3, 4}).to_vector() == t.to_vector());
  CHECK(reshape(t, {24}).to_vector() == t.to_vector());
  CHECK(reshape(t, {24}).storage() != x.storage());
  const Tensor rows = x.view_slice(0, 0, 4, 2);  // [2, 6], row stride 12
  CHECK(!rows.can_view_reshape({12}));
  CHECK(rows.can_view_reshape({2, 2, 3}));
  CHECK(rows.view_reshape({2, 2, 3}).to_vector() == rows.to_vector());
  const Tensor block = x.view_slice(0, 1, 3);  // whole rows are contiguous
  CHECK(block.can_view_reshape({12}));
  CHECK(block.view_reshape({3, 4}).to_vector() == block.to_vector());
  const Tensor expanded = x.view_slice(0, 0, 1).view_expand({3, 6});
  CHECK(!expanded.can_view_reshape({18}));
  CHECK(expanded.can_view_reshape({3, 2, 3}));
  CHECK(expanded.can_view_reshape({3, 1, 6}));
  CHECK(expanded.view_reshape({3, 2, 3}).to_vector() == expanded.to_vector());
  CHECK(Tensor::empty({0, 3}).view_reshape({5, 0}).shape() == Shape{5, 0});
  CHECK(Tensor::scalar(2).view_reshape({1, 1}).item() == 2);
  CHECK(contains(error_of([&] { t.view_reshape({24}); }), "use contiguous() first"));
  CHECK(contains(error_of([&] { x.view_reshape({5, 5}); }), "24 elements"));
  CHECK(contains(error_of([&] { x.view_reshape({-1, -1}); }), "more than one -1"));
  CHECK(contains(error_of([&] { Tensor::empty({0, 3}).view_reshape({0, -1}); }), "does not fit"));
}

TEST_CASE("expand repeats only sizes of 1", "[tensor]") {
  const Tensor row = count_up({1, 3});
  CHECK(row.view_expand({2, -1}).to_vector() == Values{0, 1, 2, 0, 1, 2});
  CHECK(row.view_expand({0, 3}).numel() == 0);
  CHECK(contains(error_of([&] { row.view_expand({2, 4}); }), "3 vs 4"));
  CHECK(contains(error_of([&] { row.view_expand({3}); }), "fewer dimensions"));
  CHECK(contains(error_of([&] { row.view_expand({-1, 1, 3}); }), "-1 for a new dimension"));
}

TEST_CASE("an empty slice of a transposed matrix can be copied", "[tensor]") {
  for (DType dtype : {f32, f64, bf16, i32}) {
    const Tensor x = Tensor::ones({8, 8}, dtype).view_transpose(0, 1);
    const Tensor none = x.view_slice(0, 0, 0), block = Tensor::ones({3, 5, 4}, dtype).view_permute({2, 0, 1});
    CHECK(none.clone().shape() == Shape{0, 8});
    CHECK(none.to(dtype == f64 ? f32 : f64).numel() == 0);
    CHECK(none.to_vector().empty());
    CHECK(x.view_slice(1, 8, 8).clone().shape() == Shape{8, 0});
    for (int d : {0, 1, 2}) CHECK(block.view_slice(d, 1, 1).clone().numel() == 0);
    x.view_slice(0, 0, 0).copy_from(Tensor::zeros({0, 8}, dtype));
    CHECK(x.clone().to_vector() == std::vector<double>(64, 1.0));
    const Tensor padded = Tensor::ones({0, 3, 16}, dtype).view_slice(2, 0, 12);  // rows with gaps between them
    CHECK(padded.contiguous());
    CHECK(padded.view_reshape({0, 12}).shape() == Shape{0, 12});
  }
}

TEST_CASE("negative sizes and products beyond 64 bits are refused", "[tensor]") {
  constexpr int64_t big = int64_t{1} << 30, huge = std::numeric_limits<int64_t>::max();
  const Tensor six = Tensor::zeros({6}), one = Tensor::zeros({1}), none = Tensor::zeros({0});
  using Call = std::function<void()>;
  const std::vector<std::pair<Call, std::string>> calls = {
      {[&] {
         six.view_reshape({-2, -3});
       },
       "reshape: invalid size -2 in shape [-2, -3]"},
      {[&] {
         six.view_reshape({-1, -2});
       },
       "reshape: invalid size -2"},
      {[&] {
         six.view_reshape({-1, -3, -2});
       },
       "reshape: invalid size -3"},
      {[&] {
         six.can_view_reshape({-2, -3});
       },
       "reshape: invalid size -2"},
      {[&] {
         none.view_reshape({big, big, 16});
       },
       "reshape: shape [1073741824, 1073741824, 16] is too large"},
      {[&] {
         none.view_reshape({0, huge, 2});
       },
       "reshape: shape [0, 9223372036854775807, 2] is too large"},
      {[&] {
         none.view_reshape({-1, huge, 2});
       },
       "too large"},
      {[&] { one.view_expand({-5}); }, "expand: invalid size -5 in shape [-5]"},
      {[&] {
         one.view_expand({huge, 2});
       },
       "expand: shape [9223372036854775807, 2] is too large"},
      {[&] {
         Tensor::zeros({3, -2});
       },
       "invalid size -2 in shape [3, -2]"},
      {[&] {
         Tensor::empty({0, -2});
       },
       "invalid size -2"},
      {[&] {
         Tensor::empty({huge, 0, huge});
       },
       "too large"},
      {[&] { Tensor::empty({huge / 2}, f32); }, "too large"},
      {[&] {
         Tensor::from(Values{1, 2, 3, 4, 5, 6}, {-2, -3});
       },
       "from: invalid size -2"},
      {[&] {
         Tensor::from(Values{}, {big, big, 16});
       },
       "from: shape [1073741824, 1073741824, 16] is too large"},
      {[&] { Tensor::arange(-1); }, "arange: invalid size -1"},
      {[&] { Tensor::arange(huge); }, "arange: shape [9223372036854775807] is too large"},
      {[&] {
         reshape(six, {-2, -3});
       },
       "reshape: invalid size -2"},
      {[&] { expand(one, {-5}); }, "expand: invalid size -5"},
      {[&] {
         add(expand(one, {huge, 1}), expand(one, {1, 2}));
       },
       "add: shape [9223372036854775807, 2] is too large"},
  };
  for (const auto& [call, words] : calls) {
    const std::string message = error_of(call);
    INFO("expected \"" << words << "\", got \"" << message << "\"");
    CHECK(contains(message, words));
  }
  CHECK(six.view_reshape({-1, 2}).shape() == Shape{3, 2});
  CHECK(none.view_reshape({-1, 2}).shape() == Shape{0, 2});
  CHECK(one.view_expand({huge}).numel() == huge);
}

TEST_CASE("an undefined tensor is an error that names it", "[tensor]") {
  const Tensor none, x = Tensor::ones({1}), y = (Tensor::ones({1}).set_requires_grad() * 2);
  CHECK(none.numel() == 0);
  CHECK(none.contiguous_copy().numel() == 0);
  using Call = std::function<void()>;
  const std::vector<std::pair<Call, std::string>> calls = {
      {[&] { none.fill(1); }, "fill: "},
      {[&] { none.clone(); }, "clone: "},
      {[&] { none.view_expand({3}).fill(1); }, "expand: "},
      {[&] { none.view_reshape({1}); }, "reshape: "},
      {[&] { none.view_reshape(Shape{}); }, "reshape: "},
      {[&] { none.view_permute({}); }, "permute: "},
      {[&] { none.view_transpose(0, 1); }, "transpose: "},
      {[&] { none.view_slice(0, 0, 1); }, "slice: "},
      {[&] { none.view_select(0, 0); }, "select: "},
      {[&] { none.data<float>(); }, "data: "},
      {[&] { none.item(); }, "item: "},
      {[&] { x.copy_from(none); }, "copy_from: the source is undefined"},
      {[&] { none.copy_from(x); }, "copy_from: the destination is undefined"},
      {[&] { Tensor{}.set_requires_grad(); }, "set_requires_grad: "},
      {[&] { backward(none); }, "backward: the loss is undefined"},
      {[&] { backward(none, x); }, "backward: the output is undefined"},
      {[&] { backward(y, none); }, "backward: the gradient is undefined"},
      {[&] { backward(sum(y), none); }, "backward: the gradient is undefined"},
      {[&] { set_grad_buffer(Tensor::scalar(1).set_requires_grad(), none); }, "set_grad_buffer: "},
      {[&] { checkpoint({}, x); }, "checkpoint: "},
      {[&] { checkpoint([](const Tensor& t) { return t; }, none); }, "checkpoint: "},
      {[&] { checkpoint([](const Tensor&) { return Tensor{}; }, y); }, "checkpoint: "},
      {[&] { unsqueeze(none, 0); }, "unsqueeze: "},
      {[&] { squeeze(none, 0); }, "squeeze: "},
      {[&] { one_hot(none, 3); }, "one_hot: "},
      {[&] { argmax(none); }, "argmax: "},
      {[&] { eq(none, x); }, "eq: "},
      {[&] { neg(none); }, "neg: "}};
  for (const auto& [call, words] : calls) {
    const std::string message = error_of(call);
    INFO("expected \"" << words << "\", got \"" << message << "\"");
    CHECK(message.rfind(words, 0) == 0);
  }
}

TEST_CASE("a step far beyond the size takes the first element", "[tensor]") {
  const Tensor x = count_up({3, 4});
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t step : {int64_t{4}, int64_t{5}, most - 1, most}) {
    CHECK(x.view_slice(1, 1, 4, step).to_vector() == Values{1, 5, 9});
    CHECK(x.view_slice(0, 2, most, step).to_vector() == Values{8, 9, 10, 11});
    CHECK(x.view_slice(1, 4, 4, step).shape() == Shape{3, 0});
  }
}

TEST_CASE("errors of item and data", "[tensor]") {
  const Tensor x = count_up({2, 3});
  CHECK(x.size(-1) == 3);
  CHECK(x.size(0) == 2);
  CHECK(contains(error_of([&] { x.size(2); }), "dim 2"));
  CHECK(contains(error_of([&] { x.item(); }), "expected one element, got shape [2, 3]"));
  CHECK(count_up({1, 1, 1}).item() == 0);
  CHECK(contains(error_of([&] { x.data<double>(); }), "the tensor is f32, but was requested as f64"));
  CHECK(contains(error_of([&] { x.view_transpose(0, 1).data<float>(); }), "contiguous()"));
  CHECK(contains(error_of([] { Tensor().data<float>(); }), "undefined"));
  CHECK(contains(error_of([] { Tensor().clone(); }), "undefined"));
  x.data<float>()[4] = 9;
  CHECK(x.view_transpose(0, 1).to_vector() == Values{0, 3, 1, 9, 2, 5});
}

TEST_CASE("tensors print as nested lists", "[tensor]") {
  CHECK(contains(Tensor::from(std::vector<int32_t>{1, -2, 3}, {3}).to_string(), "[1, -2, 3]"));
  const std::string matrix = count_up({2, 2}).view_transpose(0, 1).to_string();
  CHECK(contains(matrix, "[0, 2]"));
  CHECK(contains(matrix, "[1, 3]"));
  CHECK(contains(matrix, "f32"));
  CHECK(contains(Tensor::scalar(2.5).to_string(), "2.5"));
  const std::string narrow = Tensor::arange(1000, i32).to_string();
  CHECK(contains(narrow, "[0, 1, 2"));
  CHECK(contains(narrow, "999]"));
  CHECK(narrow.size() < 80);
  CHECK(contains(Tensor().to_string(), "undefined"));
  CHECK(contains(Tensor::full({1}, NAN).to_string(), "nan"));
}

TEST_CASE("conversions between types", "[tensor]") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from(Values{1.9, -1.9, 300, -5}, {4});
  CHECK(x.to(i32).to_vector() == Values{1, -1, 300, -5});  // rounds towards zero
  CHECK(x.to(f32).dtype() == f32);
  CHECK(x.to(f64).storage() == x.storage());  // returns the tensor itself
  CHECK(x.view_slice(0, 0, 4, 2).to(i32).to_vector() == Values{1, 300});
  CHECK(Tensor::from(Values{NAN, 1e20, -1e20}, {3}).to(i32).to_vector() == Values{0, 2147483647, -2147483648.0});
  CHECK(Tensor::from(Values{-3, 255, 256, 7.7}, {4}).to(u8).to_vector() == Values{0, 255, 255, 7});
  CHECK(Tensor::from(Values{1e300, -1e300}, {2}).to(f32).to_vector() == Values{inf, -inf});
  Tensor y = Tensor::zeros({2, 3}, i32);
  y.copy_from(Tensor::from(Values{1.5, 2.5, 3.5}, {3}));  // broadcasts and converts
  CHECK(y.to_vector() == Values{1, 2, 3, 1, 2, 3});
}

TEST_CASE("bf16 rounds to nearest and ties to even", "[tensor]") {
  auto rounded = [](double value) { return Tensor::scalar(value, f32).to(bf16).to(f32).item(); };
  const double step = std::ldexp(1, -7);           // distance of 1 to the next larger bf16
  CHECK(rounded(1 + step / 2) == 1);               // tie: 1 is even
  CHECK(rounded(1 + 1.5 * step) == 1 + 2 * step);  // tie: up to even
  CHECK(rounded(-(1 + 1.5 * step)) == -(1 + 2 * step));
  CHECK(rounded(1 + 0.51 * step) == 1 + step);
  CHECK(rounded(1 + 0.49 * step) == 1);
  CHECK(rounded(3.3895313892515355e38) == 3.3895313892515355e38);  // the largest finite bf16
  CHECK(std::isinf(rounded(3.4e38)));
  CHECK(rounded(std::ldexp(1, -133)) == std::ldexp(1, -133));  // the smallest subnormal
  CHECK(std::isnan(rounded(NAN)));
  CHECK(std::signbit(rounded(-0.0)));
  // A NaN whose payload is only in the lower 16 bits remains a NaN.
  const Tensor nan = Tensor::from(std::vector<float>{std::bit_cast<float>(0x7f800001u)}, {1});
  CHECK(std::isnan(nan.to(bf16).item()));
  // All 65536 bit patterns survive the conversion to f32 and back.
  const Tensor all = Tensor::empty({65536}, bf16);
  for (int i = 0; i < 65536; ++i) all.data<BFloat16>()[i].bits = static_cast<uint16_t>(i);
  const Tensor back = all.to(f32).to(bf16);
  for (int i = 0; i < 65536; ++i) {
    const uint16_t in = static_cast<uint16_t>(i), out = back.data<BFloat16>()[i].bits;
    if (in != out && !((in & 0x7fff) > 0x7f80 && (out & 0x7fff) > 0x7f80)) REQUIRE(in == out);
  }
}

TEST_CASE("the second identical step allocates nothing from the system", "[tensor][pool]") {
  auto step = [] {
    Generator g(1);
    Tensor w = Tensor::normal({300, 200}, 0, 1, g).set_requires_grad();
    const Tensor x = Tensor::normal({50, 200}, 0, 1, g);
    const Tensor y = linear_gelu(x, w), loss = mean(y * y);
    backward(loss);
  };
  step();
  step();
  const MemoryStats before = memory_stats();
  for (int i = 0; i < 3; ++i) step();
  const MemoryStats after = memory_stats();
  CHECK(after.system_calls == before.system_calls);
  CHECK(after.reserved == before.reserved);
  CHECK(after.in_use == before.in_use);
}

TEST_CASE("the pool counts live memory and returns unused memory", "[tensor][pool]") {
  const size_t start = memory_stats().in_use;
  {
    const Tensor a = Tensor::empty({1000});  // 4000 bytes: the size class of 4096
    CHECK(memory_stats().in_use == start + 4096);
    const Tensor b = a, view = a.view_slice(0, 10, 20);
    CHECK(memory_stats().in_use == start + 4096);
    CHECK(reinterpret_cast<uintptr_t>(a.storage()->data) % 64 == 0);
  }
  CHECK(memory_stats().in_use == start);
  { const Tensor big = Tensor::empty({int64_t{3} << 20}); }
  reset_peak_memory();
  CHECK(memory_stats().peak == start);
  { const Tensor big = Tensor::empty({int64_t{3} << 20}); }
  CHECK(memory_stats().peak == start + (size_t{12} << 20));
  empty_cache();
  CHECK(memory_stats().reserved >= memory_stats().in_use);
  CHECK(memory_stats().reserved < memory_stats().in_use + (size_t{12} << 20));
}

TEST_CASE("a private pool shares no blocks", "[tensor][pool]") {
  const size_t reserved = memory_stats().reserved;
  Tensor kept;
  const void* inside = nullptr;
  {
    PrivatePool pool(Device{});
    {
      const PrivatePool::Use use(pool);
      inside = Tensor::empty({12345}).view().data;  // returned to that pool immediately
      kept = Tensor::full({54321}, 1);
    }
    const Tensor outside = Tensor::empty({12345});
    CHECK(outside.view().data != inside);
    const PrivatePool::Use use(pool);
    CHECK(Tensor::empty({12345}).view().data == inside);
  }
  CHECK(kept.to_vector()[54320] == 1);  // still valid after its pool is destroyed
  CHECK(memory_stats().reserved > reserved);
  kept = Tensor();
  empty_cache();
  CHECK(memory_stats().reserved <= reserved + 12345 * 4 + 4096);  // only `outside` is left
}

TEST_CASE("copy_from reads its source before it writes over it", "[tensor]") {
  const Tensor x = Tensor::arange(9, f64).view_reshape({3, 3});
  const std::vector<double> transposed = {0, 3, 6, 1, 4, 7, 2, 5, 8};
  x.copy_from(x.view_transpose(0, 1));
  CHECK(x.to_vector() == transposed);
  const Tensor line = Tensor::arange(6, f32);
  line.view_slice(0, 1, 6).copy_from(line.view_slice(0, 0, 5));
  CHECK(line.to_vector() == std::vector<double>{0, 0, 1, 2, 3, 4});
  line.copy_from(line.view_select(0, 5).view_expand({6}));  // one element of the destination is the source
  CHECK(line.to_vector() == std::vector<double>(6, 4.0));
}

TEST_CASE("copy_from into repeated elements is an error", "[tensor]") {
  const Tensor row = Tensor::zeros({1, 3});
  const Tensor rows = row.view_expand({2, 3});
  CHECK(contains(error_of([&] { rows.copy_from(Tensor::ones({2, 3})); }), "copy_from: the destination [2, 3] repeats"));
  Tensor::empty({3, 0}).copy_from(Tensor::ones({3, 0}));  // strides of 0, but no repeated elements
  row.view_expand({1, 3}).copy_from(Tensor::ones({3}));
  CHECK(row.to_vector() == std::vector<double>(3, 1.0));
}
