// The check of lesson 11 on the tiled matrix product.
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Value;

namespace {

// Σ a(i, d)·b(d, j) over d in [begin, end), in double.
Value product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, int64_t begin, int64_t end, Element of_a,
              Element of_b) {
  Value c{{m, n}, std::vector<double>(m * n)};
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t d = begin; d < end; ++d) c.v[i * n + j] += of_a(a, i, d) * of_b(b, d, j);
    }
  }
  return c;
}

}  // namespace

void check_matmul(Grader& g, const Impl& impl) {
  Generator random(12);
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
    const auto got = launched(g, input, [&] { return impl.matmul(a, b, s.turn_a, s.turn_b); });
    if (!got) return;
    const Element of_a = s.turn_a ? turned : as_is, of_b = s.turn_b ? turned : as_is;
    const auto over = [&](int64_t begin, int64_t end) { return product(a, b, s.m, s.n, begin, end, of_a, of_b); };
    kit::Compare how{.rtol = 1e-5};
    if (s.m == s.n && s.n == s.k) {
      const auto other = [&](Element e, Element f) { return product(a, b, s.m, s.n, 0, s.k, e, f); };
      how.mistakes = {{"a's tile is loaded transposed: exchange row_step and depth_step", other(turned, as_is)},
                      {"b's tile is loaded transposed: exchange row_step and depth_step", other(as_is, turned)},
                      {"both tiles are loaded transposed: exchange row_step and depth_step", other(turned, turned)}};
      Value exchanged = over(0, s.k);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < i; ++j) std::swap(exchanged.v[i * s.n + j], exchanged.v[j * s.n + i]);
      }
      how.mistakes.push_back({"the tiles are exchanged: multiply(sums, left, right), a's tile first", exchanged});
      const int64_t last = (s.k - 1) / 16 * 16;
      how.mistakes.push_back({"only the last slice of k counts: sums grow from slice to slice", over(last, s.k)});
      how.mistakes.push_back({"only the first slice of k counts", over(0, 16)});
      how.mistakes.push_back({"the last slice of k, which is not full, is missing", over(0, last)});
    }
    g.equal(input, value_of(*got), over(0, s.k), how);
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("eight products, with sizes that fill no tile"));
  for (const bool turn : {false, true}) {
    const Matrix x = random_matrix(128, 128, random);
    const auto sectors = [&](const Impl& i) { return traffic_of([&] { i.matmul(x, x, turn, turn); }).sectors; };
    const double mine = double(sectors(impl)), engine = double(sectors(pg::lesson11::reference()));
    g.expect(mine <= 1.02 * engine, fmt::format("x{0}·x{0}, x [128, 128]: sectors of 32 bytes moved", turn ? "ᵀ" : ""),
             fmt::format("{:.0f}", mine), fmt::format("{:.0f}, as the engine", engine),
             "right, but neighbouring threads read addresses far apart: run along d where depth_step is 1, along r "
             "where row_step is 1");
  }
  g.note("eight products with sizes that fill no tile; no unnecessary byte is moved");
}

}  // namespace pg::lesson11
