// The checks of lesson 11 on the places of threads: their elements in an array, their words in a tile.
#include <algorithm>
#include <cmath>

#include "lessons/11_cuda/checks.h"

namespace pg::lesson11 {

using kit::Grader;
using kit::Value;

namespace {

bool check_blocks(Grader& g, const Impl& impl) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const auto& row : std::vector<std::pair<int64_t, unsigned>>{{100000, 391},
                                                                   {256, 1},
                                                                   {257, 2},
                                                                   {255, 1},
                                                                   {1, 1},
                                                                   {0, 1},
                                                                   {1048576, 4096},
                                                                   {1048575, 4096},
                                                                   {1048577, 4096},
                                                                   {1500001, 4096},
                                                                   {kLarge, 4096}}) {
    const int64_t n = row.first;
    const unsigned want = row.second;
    const double got = impl.blocks_for(n);
    const auto in_blocks_of = [&](int64_t threads) { return double((n + threads - 1) / threads); };
    g.equal(fmt::format("blocks_for({})", n), got, double(want),
            {.mistakes = {{"at least 1 block: a grid of 0 is refused", n == 0 ? 0.0 : -1.0},
                          {"at most 4096 blocks: beyond a few waves of a GPU the threads loop",
                           n > 4096 * 256 ? double(static_cast<unsigned>((n + 255) / 256)) : -1.0},
                          {"the last, half-full block is missing: round up", double(n / 256)},
                          {"a block has 256 threads, not 32", std::min(in_blocks_of(32), 4096.0)},
                          {"a block has 256 threads, not 1024", n == 100000 ? in_blocks_of(1024) : -1.0},
                          {"these are threads; a block has 256 of them", std::min(double(n), 4096.0)},
                          {"at most 4096 blocks, whatever n is", got > 4096 ? got : -1.0},
                          {"n does not fit in an int: compute with int64_t, and make it unsigned after the clamp",
                           n == kLarge ? 1.0 : -1.0},
                          {"one block too many where n is a multiple of 256", double(n / 256 + 1)},
                          {"fewer blocks than n needs: the most is 4096", got < want && n > 100000 ? got : -1.0}}});
    if (g.failed()) return false;
  }
  return true;
}

// What is wrong with the visits of n elements by so many blocks; "" if it is not known.
std::string wrong_visits(const Numbers& visits, unsigned blocks, int64_t n) {
  const auto least = std::min_element(visits.begin(), visits.end());
  const auto most = std::max_element(visits.begin(), visits.end());
  const auto missing = std::find(visits.begin(), visits.end(), 0.0f) - visits.begin();
  // Some elements are visited as often as there are blocks, others less often, but not never.
  const bool between = std::any_of(visits.begin(), visits.end(), [&](float v) { return v > 0 && v < *most; });
  if (*most == 0) return "no element is visited: the first thread of block 0 begins with element 0";
  if (*least == 0 && between) {
    return "some elements are visited several times and others never: blockIdx.x blocks of blockDim.x threads come "
           "before a block, and the grid has gridDim.x of them";
  }
  if (*least >= 1 && *most > 1) return "some elements are visited again: step over the whole grid, gridDim.x blocks";
  if (*most == static_cast<float>(blocks) && blocks > 1) {
    return "every block comes to the same elements: the block's number is missing";
  }
  if (*least > 0) return "";
  const std::string left_out = fmt::format("some elements are left out, the first is {}", missing);
  if (missing < int64_t{blocks} * 256 && missing < n) {
    return left_out + ": thread 0 of block 0 begins with element 0, and each thread after it with the next one";
  }
  return left_out +
         ": the grid is smaller than the array, so a thread must go on, by the number of threads of this grid";
}

}  // namespace

void check_grid(Grader& g, const Impl& impl) {
  if (!check_blocks(g, impl)) return;
  struct Grid {
    unsigned blocks;
    int64_t n;
  };
  for (const Grid& grid : {Grid{4, 1000}, Grid{3, 1000}, Grid{3, 5000}, Grid{1, 100}, Grid{1, 1}, Grid{2, 0},
                           Grid{2, 1025}, Grid{5, 1280}}) {
    const std::string input = fmt::format("{} blocks of 256 threads, {} elements: visits of each", grid.blocks, grid.n);
    const auto got = launched(
        g, input, [&] { return impl.visits(grid.blocks, grid.n); },
        {.race = "two threads of a block come to the same element: threadIdx.x must be in first_index, and index_step "
                 "must step over the whole grid"});
    if (!got) return;
    const bool all = std::ssize(*got) == grid.n;
    const bool once = all && std::all_of(got->begin(), got->end(), [](float v) { return v == 1; });
    std::string visits = "not as many numbers as elements";
    if (all && grid.n > 0) {
      const auto [least, most] = std::minmax_element(got->begin(), got->end());
      visits = fmt::format("{:g} to {:g}", *least, *most);
    }
    g.expect(once, input, visits, "1", all && !once ? wrong_visits(*got, grid.blocks, grid.n) : "");
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("every element is visited once"));
  const Traffic t = traffic_of([&] { impl.visits(4, 8192); });
  g.expect(t.used() > 0.99, "4 blocks, 8192 elements: of the bytes that are moved, used",
           fmt::format("{:.0f} % ({} sectors of 32 bytes, {} would do)", 100 * t.used(), t.sectors, t.ideal_sectors),
           "100 %", "right, but the 32 lanes of a warp are far apart: neighbouring threads take neighbouring elements");
  g.note("every element once, and every byte that is moved is used");
}

constexpr const char* kSameSlot = "two elements of the tile have the same slot: one overwrites the other";

void check_slot(Grader& g, const Impl& impl) {
  Generator random = kit::draws(14);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{70, 45}, {32, 32}, {1, 1}, {33, 31}}) {
    Matrix x = random_matrix(rows, columns, random);
    if (rows == 33) {
      x.v[3] = 1e6f;
      x.v[40] = -INFINITY;
    }
    const std::string input = fmt::format("x [{}, {}], transposed through a tile", rows, columns);
    const auto got = launched(
        g, input, [&] { return impl.transpose(x); },
        {.race = kSameSlot,
         .both_write = kSameSlot,
         .bounds = "a slot outside of the tile's memory: it has kSlots = 32·33 floats, numbers 0 to 1055",
         .uninitialised =
             "an element is looked for in a slot to which nothing was written: slot depends on row and column only"});
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
