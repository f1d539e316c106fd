// The check of lesson 11 on the tiled matrix product.
#include <array>
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Value;

namespace {

// The product of a and b, as of_a and of_b read them, in double.
Value product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t k, Element of_a, Element of_b) {
  Value c{{m, n}, std::vector<double>(m * n)};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t d = 0; d < k; ++d) c.v[i * n + j] += of_a(a, i, d) * of_b(b, d, j);
    }
  }
  return c;
}

// c + x, of the same shape.
Value sum_of(Value c, const Value& x) {
  for (size_t i = 0; i < c.v.size(); ++i) c.v[i] += x.v[i];
  return c;
}

constexpr const char* kBounds =
    "an index outside of its memory: compare it with the size before reading, r with this operand's rows and the "
    "depth, counted over all slices, with k; the last tile is seldom full";

}  // namespace

void check_matmul(Grader& g, const Impl& impl) {
  const Meanings meanings = {
      .both_write = "two threads write the same number of a slice: share the copying, each number is one thread's",
      .bounds = kBounds,
      .uninitialised =
          "shared memory is read before any thread has written it: all 64 x 16 numbers of both slices are written, 0 "
          "where r >= rows or d >= k"};
  Generator random = kit::draws(12);
  struct Sizes {
    int64_t m, n, k;
    bool turn_a, turn_b;
  };
  for (const Sizes& s : {Sizes{60, 60, 60, false, false}, Sizes{64, 64, 16, false, false},
                         Sizes{70, 50, 37, false, false}, Sizes{33, 65, 20, true, false}, Sizes{5, 3, 1, false, true},
                         Sizes{1, 1, 1, true, true}, Sizes{5, 3, 0, false, false}, Sizes{7, 6, 5, false, false}}) {
    Matrix a = s.turn_a ? random_matrix(s.k, s.m, random) : random_matrix(s.m, s.k, random);
    const Matrix b = s.turn_b ? random_matrix(s.n, s.k, random) : random_matrix(s.k, s.n, random);
    const bool special = s.m == 7;
    if (special) {
      a.v[3] = 1000;
      a.v[12] = INFINITY;
    }
    const std::string input =
        fmt::format("a{} [{}, {}] times b{} [{}, {}], random{}", s.turn_a ? "ᵀ of" : "", a.rows, a.columns,
                    s.turn_b ? "ᵀ of" : "", b.rows, b.columns, special ? ", with 1000 and inf in a" : "");
    const auto got = launched(
        g, input, [&] { return impl.matmul(a, b, s.turn_a, s.turn_b); }, meanings);
    if (!got) return;
    const Element of_a = s.turn_a ? turned : as_is, of_b = s.turn_b ? turned : as_is;
    const Value want = product(a, b, s.m, s.n, s.k, of_a, of_b);
    kit::Compare how{.rtol = 1e-5};
    if (s.m == s.n && s.n == s.k && s.n > 1) {  // a wrong kernel would read beyond the end of others
      how.more_mistakes = [&] {
        return kit::values_of(matmul_mistakes(), [&](auto wrong) { return value_of(wrong(a, b, false, false)); });
      };
    }
    Value first_tile = want;
    for (int64_t i = 0; i < s.m; ++i) {
      for (int64_t j = 0; j < s.n; ++j) {
        if (i >= 64 || j >= 64) first_tile.v[i * s.n + j] = 0;
      }
    }
    if (s.m > 64 || s.n > 64) {
      how.mistakes.push_back(
          {"only the first tile of c is right: a.data and a.rows, b.data and b.rows begin with the block's tile "
           "already",
           first_tile});
    }
    g.equal(input, value_of(*got), want, how);
    if (g.failed()) return;
  }
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{37, 70, 21}, {3, 5, 16}, {1, 1, 1}, {5, 2, 0}, {7, 6, 5}}) {
    Matrix a = random_matrix(m, k, random), c = random_matrix(m, n, random);
    const Matrix b = random_matrix(k, n, random);
    const bool special = m == 7;
    if (special) {
      a.v[3] = 1000;
      c.v[4] = INFINITY;
    }
    const std::string input = fmt::format("sums that begin with c [{0}, {1}], += a [{0}, {2}] times b{3}", m, n, k,
                                          special ? ", with 1000 in a and inf in c" : "");
    const auto got = launched(
        g, input, [&] { return impl.add_matmul(c, a, b); }, meanings);
    if (!got) return;
    const Value product_only = product(a, b, m, n, k, as_is, as_is);
    g.equal(
        input, value_of(*got), sum_of(value_of(c), product_only),
        {.rtol = 1e-5, .mistakes = {{"sums do not begin with 0: add to what they hold, sums += a·b", product_only}}});
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("products with sizes that fill no tile"));
  for (const bool turn : {false, true}) {
    const Matrix x = random_matrix(128, 128, random);
    const auto traffic = [&](const Impl& i) { return traffic_of([&] { i.matmul(x, x, turn, turn); }); };
    const Traffic mine = traffic(impl), engine = traffic(pg::lesson11::reference());
    const std::string input = fmt::format("x{0}·x{0}, x [128, 128]: ", turn ? "ᵀ" : "");
    g.expect(mine.accesses <= 1.1 * double(engine.accesses), input + "accesses of warps to global memory",
             fmt::format("{}", mine.accesses), fmt::format("{}, as the engine", engine.accesses),
             "right, but it reads more often than it must: all 256 threads copy a slice, each number once, and what is "
             "used several times is read from left and right");
    g.expect(mine.busiest_warp <= 1.25 * double(engine.busiest_warp), input + "accesses of the busiest warp",
             fmt::format("{}", mine.busiest_warp), fmt::format("{}, as the engine", engine.busiest_warp),
             "right, but some warps copy and the others wait: all 256 threads copy, 4 numbers of each slice each");
    g.expect(mine.sectors <= 1.02 * double(engine.sectors), input + "sectors of 32 bytes moved",
             fmt::format("{}", mine.sectors), fmt::format("{}, as the engine", engine.sectors),
             "right, but neighbouring threads read addresses far apart: run along d where depth_step is 1, along r "
             "where row_step is 1");
    if (g.failed()) return;
  }
  g.note("products with sizes that fill no tile; no unnecessary byte is moved");
}

}  // namespace pg::lesson11
