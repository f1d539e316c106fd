// The checks of lesson 11 on the places of threads: their elements in an array, their words in a tile.
#include <algorithm>
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Value;

void check_grid(Grader& g, const Impl& impl) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const auto& [n, want] : std::vector<std::pair<int64_t, unsigned>>{{256, 1},
                                                                         {257, 2},
                                                                         {255, 1},
                                                                         {1, 1},
                                                                         {0, 1},
                                                                         {100000, 391},
                                                                         {1048576, 4096},
                                                                         {1500001, 4096},
                                                                         {kLarge, 4096}}) {
    const double got = impl.blocks_for(n);
    g.equal(fmt::format("blocks_for({})", n), got, double(want),
            {.mistakes = {{"at least 1 block: a grid of 0 is refused", n == 0 ? 0.0 : -1.0},
                          {"at most 4096 blocks: beyond a few waves of a GPU the threads loop",
                           n > 4096 * 256 ? double(static_cast<unsigned>((n + 255) / 256)) : -1.0},
                          {"the last, half-full block is missing: round up", double(n / 256)},
                          {"at most 4096 blocks, whatever n is", got > 4096 ? got : -1.0},
                          {"n does not fit in an int: compute with int64_t", n == kLarge ? 1.0 : -1.0},
                          {"one block too many where n is a multiple of 256", double(n / 256 + 1)},
                          {"these are threads; a block has 256 of them", double(n)}}});
  }
  struct Grid {
    unsigned blocks;
    int64_t n;
  };
  for (const Grid& grid : {Grid{4, 1000}, Grid{3, 1000}, Grid{3, 5000}, Grid{1, 100}}) {
    const unsigned blocks = grid.blocks;
    const int64_t n = grid.n;
    const std::string input = fmt::format("{} blocks of 256 threads, {} elements: visits of each", blocks, n);
    const auto got = launched(
        g, input, [&] { return impl.visits(blocks, n); },
        "two threads of a block come to the same element: threadIdx.x must be in first_index, and index_step must step "
        "over the whole grid");
    if (!got) return;
    double least = INFINITY, most = 0;
    for (float v : *got) least = std::min(least, double(v)), most = std::max(most, double(v));
    // Some elements are visited as often as there are blocks, others less often, but not never.
    const bool between = std::any_of(got->begin(), got->end(), [&](float v) { return v > 0 && v < most; });
    std::string says;
    if (least == 0 && between) {
      says =
          "some elements are visited several times and others never: blockIdx.x blocks of blockDim.x threads come "
          "before a block, and the grid has gridDim.x of them";
    } else if (least == 1 && most > 1) {
      says = "some elements are visited again: step over the whole grid, gridDim.x blocks";
    } else if (most == blocks && blocks > 1) {
      says = "every block comes to the same elements: the block's number is missing";
    } else if (least == 0) {
      says = n > blocks * 256 ? "some elements are left out: the grid is smaller than the array, so a thread must go on"
                              : "some elements are left out";
    }
    g.expect(least == 1 && most == 1 && std::ssize(*got) == n, input, fmt::format("{:g} to {:g}", least, most), "1",
             says);
  }
  if (g.failed() || !counts_traffic()) return g.note(unless_counted("every element is visited once"));
  const Traffic t = traffic_of([&] { impl.visits(4, 8192); });
  g.expect(t.used() > 0.99, "4 blocks, 8192 elements: of the bytes that are moved, used",
           fmt::format("{:.0f} % ({} sectors of 32 bytes, {} would do)", 100 * t.used(), t.sectors, t.ideal_sectors),
           "100 %", "right, but the 32 lanes of a warp are far apart: neighbouring threads take neighbouring elements");
  g.note("every element once, and every byte that is moved is used");
}

void check_slot(Grader& g, const Impl& impl) {
  Generator random(14);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{70, 45}, {32, 32}, {1, 1}, {33, 31}}) {
    Matrix x = random_matrix(rows, columns, random);
    if (rows == 33) {
      x.v[3] = 1e6f;
      x.v[40] = -INFINITY;
    }
    const std::string input = fmt::format("x [{}, {}], transposed through a tile", rows, columns);
    const auto got = launched(g, input, [&] { return impl.transpose(x); });
    if (!got) return;
    Value want{{columns, rows}, std::vector<double>(x.v.size())};
    for (size_t i = 0; i < x.v.size(); ++i) want.v[i] = turned(x, i / rows, i % rows);
    g.equal(input, value_of(*got), want, {.rtol = 0});
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("a transpose"));
  const Matrix x = random_matrix(64, 64, random);
  const Traffic t = traffic_of([&] { impl.transpose(x); });
  g.expect(t.ways == 1, "x [64, 64]: passes over the banks for one access of a warp", fmt::format("up to {}", t.ways),
           "1",
           fmt::format("right, but {} lanes want words of one bank: neighbours in a column must lie in different banks",
                       t.ways));
  g.note("a transpose without bank conflicts");
}

}  // namespace pg::lesson11
