// Tensors without a tape: values, conversions, errors.
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
      {[&] { none.to_vector(); }, "to_vector: the tensor is undefined"},
      {[&] { none.item(); }, "item: the tensor is undefined"},
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

TEST_CASE("errors of item and data", "[tensor]") {
  const Tensor x = Tensor::arange(6, f32).view_reshape({2, 3});
  CHECK(x.size(-1) == 3);
  CHECK(x.size(0) == 2);
  CHECK(contains(error_of([&] { x.size(2); }), "dim 2"));
  CHECK(contains(error_of([&] { x.item(); }), "expected one element, got shape [2, 3]"));
  CHECK(Tensor::arange(1, f32).view_reshape({1, 1, 1}).item() == 0);
  CHECK(contains(error_of([&] { x.data<double>(); }), "the tensor is f32, but was requested as f64"));
  CHECK(contains(error_of([&] { x.view_transpose(0, 1).data<float>(); }), "contiguous()"));
  CHECK(contains(error_of([] { Tensor().data<float>(); }), "undefined"));
  CHECK(contains(error_of([] { Tensor().clone(); }), "undefined"));
  x.data<float>()[4] = 9;
  CHECK(x.view_transpose(0, 1).to_vector() == Values{0, 3, 1, 9, 2, 5});
}

TEST_CASE("tensors print as nested lists", "[tensor]") {
  CHECK(contains(Tensor::from(std::vector<int32_t>{1, -2, 3}, {3}).to_string(), "[1, -2, 3]"));
  const std::string matrix = Tensor::arange(4, f32).view_reshape({2, 2}).view_transpose(0, 1).to_string();
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
