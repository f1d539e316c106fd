// Tests of what a learner sees of a tensor. The expected texts are written by hand.
#include <fmt/ranges.h>

#include <sstream>

#include "autograd/ops.h"
#include "lessons/kit/print.h"
#include "lessons/kit/terminal.h"
#include "tests/catch.h"

using namespace pg;

namespace {

std::string text(const Tensor& x) { return fmt::format("{}", x); }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("a tensor is shown as rows behind their indices", "[kit]") {
  const Tensor x = Tensor::arange(6, f32).view_reshape({2, 3});
  const std::string shown =
      "[2, 3] f32\n"
      "  [0]  0  1  2\n"
      "  [1]  3  4  5";
  CHECK(text(x) == shown);
  CHECK(fmt::format("{}", x.view()) == shown);
  std::ostringstream out;
  out << x << "|" << x.view();
  CHECK(out.str() == shown + "|" + shown);
  CHECK(text(Tensor::arange(12, f64).view_reshape({2, 3, 2})) ==
        "[2, 3, 2] f64\n"
        "  [0, 0]   0   1\n"
        "  [0, 1]   2   3\n"
        "  [0, 2]   4   5\n"
        "  [1, 0]   6   7\n"
        "  [1, 1]   8   9\n"
        "  [1, 2]  10  11");
  CHECK(text(Tensor::arange(3, f32)) == "[3] f32\n  0  1  2");
}

TEST_CASE("the first line says what the numbers do not", "[kit]") {
  const Tensor x = Tensor::arange(6, f32).view_reshape({2, 3});
  CHECK(text(x.view_transpose(0, 1)) ==
        "[3, 2] f32, strides [1, 3]\n"
        "  [0]  0  3\n"
        "  [1]  1  4\n"
        "  [2]  2  5");
  CHECK(text(x.view_slice(0, 1, 2).view_expand({2, 3})) ==
        "[2, 3] f32, strides [0, 1]\n"
        "  [0]  3  4  5\n"
        "  [1]  3  4  5");
  CHECK(text(x.view_slice(1, 0, 3, 2)) ==
        "[2, 2] f32, strides [3, 2]\n"
        "  [0]  0  2\n"
        "  [1]  3  5");
  Tensor w = Tensor::scalar(3, f64);
  w.set_requires_grad();
  CHECK(text(w) == "[] f64, on the tape: 3");
  CHECK(text(mul(w, w)) == "[] f64, on the tape: 9");
  CHECK(text(w.detach()) == "[] f64: 3");
  CHECK(text(Tensor()) == "an undefined tensor");
  CHECK(text(Tensor::zeros({2, 0, 3}, i32)) == "[2, 0, 3] i32, no elements");
}

TEST_CASE("numbers have four significant digits, and whole ones all of theirs", "[kit]") {
  CHECK(text(Tensor::from(std::vector<double>{1.0 / 3, -2.5, 12345.678, 1e-7}, {2, 2})) ==
        "[2, 2] f64\n"
        "  [0]     0.3333       -2.5\n"
        "  [1]  1.235e+04      1e-07");
  CHECK(text(Tensor::from(std::vector<float>{NAN, INFINITY, -INFINITY, 0.5f}, {4})) ==
        "[4] f32\n"
        "   nan   inf  -inf   0.5");
  CHECK(text(Tensor::from(std::vector<float>{50256, -1, NAN}, {3})) == "[3] f32\n  50256     -1    nan");
  CHECK(text(Tensor::from(std::vector<int32_t>{2147483647, -2147483647}, {2})) ==
        "[2] i32\n"
        "   2147483647  -2147483647");
  CHECK(text(Tensor::from(std::vector<uint8_t>{0, 255}, {2})) == "[2] u8\n    0  255");
  CHECK(text(Tensor::from(std::vector<BFloat16>{BFloat16(1.5f), BFloat16(-2.f)}, {2})) == "[2] bf16\n  1.5   -2");
}

TEST_CASE("of large tensors the first and last three of each dimension are shown", "[kit]") {
  CHECK(text(Tensor::arange(1000, i32)) == "[1000] i32\n    0    1    2  ...  997  998  999");
  CHECK(text(Tensor::arange(2000, i32).view_reshape({40, 50})) ==
        "[40, 50] i32\n"
        "  [0]      0     1     2  ...    47    48    49\n"
        "  [1]     50    51    52  ...    97    98    99\n"
        "  [2]    100   101   102  ...   147   148   149\n"
        "  ...\n"
        "  [37]  1850  1851  1852  ...  1897  1898  1899\n"
        "  [38]  1900  1901  1902  ...  1947  1948  1949\n"
        "  [39]  1950  1951  1952  ...  1997  1998  1999");
  // Six rows of six would be 40 lines with the gaps: fewer of the outer dimension.
  CHECK(text(Tensor::arange(800, i32).view_reshape({20, 20, 2})) ==
        "[20, 20, 2] i32\n"
        "  [0, 0]      0    1\n"
        "  [0, 1]      2    3\n"
        "  ...\n"
        "  [0, 18]    36   37\n"
        "  [0, 19]    38   39\n"
        "  ...\n"
        "  [19, 0]   760  761\n"
        "  [19, 1]   762  763\n"
        "  ...\n"
        "  [19, 18]  796  797\n"
        "  [19, 19]  798  799");
  CHECK(lines_of(text(Tensor::zeros({19, 2}))).size() == 20);
  CHECK(lines_of(text(Tensor::zeros({20, 2}))).size() == 8);
}

TEST_CASE("no tensor takes more than 20 lines of 80 columns", "[kit]") {
  Generator random(5);
  const int64_t sizes[] = {1, 2, 5, 7, 9, 30};
  for (int trial = 0; trial < 300; ++trial) {
    Shape shape;
    int64_t elements = 1;
    const int rank = 1 + static_cast<int>(random.integer(kMaxDims));
    for (int d = 0; d < rank; ++d) {
      const int64_t size = sizes[random.integer(std::size(sizes))];
      shape.push_back(elements * size > 100'000 ? 1 : size);
      elements *= shape[d];
    }
    const Tensor x = Tensor::normal(shape, 0, 1e-200, random, f64);  // "-1.234e-200" has eleven columns
    INFO(fmt::format("{}", shape));
    const std::vector<std::string> lines = lines_of(text(x));
    CHECK(lines.size() <= 20);
    for (const std::string& line : lines) CHECK(line.size() <= 80);
  }
}

TEST_CASE("formatting tensors does not disturb that of ranges", "[kit]") {
  CHECK(fmt::format("{} {}", std::vector<int>{1, 2}, Shape{3, 4}) == "[1, 2] [3, 4]");
  CHECK(fmt::format("{}", std::vector<Tensor>{Tensor::scalar(1), Tensor::scalar(2)}) == "[[] f32: 1, [] f32: 2]");
  STATIC_REQUIRE(fmt::is_formattable<Tensor>::value);
  STATIC_REQUIRE(!fmt::is_range<Tensor, char>::value);
}
