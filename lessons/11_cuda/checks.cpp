// The checks of lesson 11.
#include <cmath>
#include <optional>

#include "autograd/ops.h"
#include "lessons/11_cuda/lesson.h"

namespace pg::lesson11 {

Tensor tensor_of(const Matrix& x) {
  Tensor t = Tensor::zeros({x.rows, x.columns});
  std::copy(x.v.begin(), x.v.end(), t.data<float>().begin());
  return t;
}
Matrix random_matrix(int64_t rows, int64_t columns, Generator& random) {
  const Tensor t = Tensor::normal({rows, columns}, 0, 1, random);
  return {rows, columns, Numbers(t.data<float>().begin(), t.data<float>().end())};
}

namespace {

using kit::Grader;
using kit::Value;

Value value_of(const Numbers& x) { return std::vector<double>(x.begin(), x.end()); }
Value value_of(const Matrix& x) { return {{x.rows, x.columns}, std::vector<double>(x.v.begin(), x.v.end())}; }

// Explains a message of the simulator or of CUDA.
std::string meaning(const std::string& message) {
  static constexpr std::pair<const char*, const char*> kMeanings[] = {
      {"race:",
       "two threads use the same memory and nothing orders them: between writing and reading, and before "
       "writing again, stands __syncthreads()"},
      {"divergent barrier",
       "a __syncthreads() that not every thread of the block reaches: none inside an if, no return "
       "before one"},
      {"does not name", "the mask names the lanes that come: 0xffffffff, all 32 of them"},
      {"names lane", "every lane that the mask names must come to the shuffle: none inside an if"},
      {"out of bounds",
       "an index outside of its memory: compare it with the size before reading; the last tile is "
       "seldom full"},
      {"uninitialised", "shared memory is read before any thread has written it"},
      {"illegal memory access", "an index outside of its memory: compare it with the size before reading"},
  };
  for (const auto& [words, says] : kMeanings) {
    if (message.find(words) != std::string::npos) return says;
  }
  return "";
}

// Returns the result of `call`. A launch that fails is reported as WRONG with the simulator's message, and nothing is
// returned.
template <class F>
auto launched(Grader& g, const std::string& input, F call) -> std::optional<decltype(call())> {
  try {
    return call();
  } catch (const Error& error) {
    g.expect(false, input, error.what(), "a launch without mistakes", meaning(error.what()));
    return {};
  }
}

template <class F>
Traffic traffic_of(F call) {
  const Meter meter;
  call();
  return meter.traffic();
}
// The note after an ok, which says so if this build cannot judge traffic.
std::string unless_counted(const std::string& note) {
  return counts_traffic() ? note : note + "; traffic, bounds and races are not judged in this build";
}

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
    const auto got = launched(g, input, [&] { return impl.visits(blocks, n); });
    if (!got) return;
    double least = INFINITY, most = 0;
    for (float v : *got) least = std::min(least, double(v)), most = std::max(most, double(v));
    std::string says;
    if (least == 1 && most > 1) {
      says = "some elements are visited again: step over the whole grid, gridDim.x blocks";
    } else if (most == blocks && blocks > 1) {
      says = "every block comes to the same elements: the block's number is missing";
    } else if (least == 0) {
      says = n > blocks * 256 ? "some elements are left out: the grid is smaller than the array, so a thread must go on"
                              : "some elements are left out";
    }
    g.expect(least == 1 && most == 1, input, fmt::format("{:g} to {:g}", least, most), "1", says);
  }
  if (g.failed() || !counts_traffic()) return g.note(unless_counted("every element is visited once"));
  const Traffic t = traffic_of([&] { impl.visits(4, 8192); });
  g.expect(t.used() > 0.99, "4 blocks, 8192 elements: of the bytes that are moved, used",
           fmt::format("{:.0f} % ({} sectors of 32 bytes, {} would do)", 100 * t.used(), t.sectors, t.ideal_sectors),
           "100 %", "right, but the 32 lanes of a warp are far apart: neighbouring threads take neighbouring elements");
  g.note("every element once, and every byte that is moved is used");
}

void check_reduce(Grader& g, const Impl& impl) {
  Generator random(11);
  const Matrix x = random_matrix(3, 256, random);
  for (const int team : {32, 256}) {
    const std::string input = fmt::format("3 blocks, teams of {} threads, one number each: ", team);
    const auto got = launched(g, input + "three calls in a row", [&] { return impl.reduce(x.v, team); });
    if (!got) return;
    const auto wanted = [&](int size, auto f) {  // over each group of `size`
      std::vector<double> result(x.v.size());
      for (size_t i = 0; i < result.size(); ++i) {
        const size_t first = i / size * size;
        double sum = x.v[first] * 1.0;
        sum = f(-INFINITY, sum);
        for (int j = 1; j < size; ++j) sum = f(sum, double(x.v[first + j]));
        result[i] = sum;
      }
      return result;
    };
    const auto plus = [](double a, double b) { return (a == -INFINITY ? 0 : a) + b; };
    const auto squares = [](double a, double b) { return (a == -INFINITY ? 0 : a) + b * b; };
    const auto max = [](double a, double b) { return std::max(a, b); };
    const auto compare = [&](const char* what, const Numbers& numbers, auto f) {
      const std::vector<double> want = wanted(team, f);
      kit::Compare how{.rtol = 1e-5};
      how.mistakes = {{"only 16 lanes take part: the first step is 16, half of a warp", wanted(16, f)},
                      {"only 8 lanes take part: a warp has 32", wanted(8, f)}};
      if (team > 32)
        how.mistakes.push_back({"each warp has its own result: the eight of a block must meet", wanted(32, f)});
      bool leaders = true;  // right in thread 0 of each group, maybe not elsewhere
      for (size_t i = 0; i < want.size(); i += team) leaders &= std::abs(numbers[i] - want[i]) < 1e-4;
      if (leaders)
        how.mistakes.push_back(
            {"only the team's first thread has the result: every thread needs it", value_of(numbers)});
      g.equal(input + what, value_of(numbers), want, how);
    };
    compare("the sum", got->sums, plus);
    compare("the sum of squares", got->sums_of_squares, squares);
    compare("the maximum", got->maxima, max);
    if (g.failed()) return;
  }
  g.note(unless_counted("sum, sum of squares and maximum of a warp and of a block, in every thread"));
}

using Element = double (*)(const Matrix&, int64_t, int64_t);
double as_is(const Matrix& x, int64_t i, int64_t j) { return x.v[i * x.columns + j]; }
double turned(const Matrix& x, int64_t i, int64_t j) { return x.v[j * x.columns + i]; }

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

void check_matmul(Grader& g, const Impl& impl) {
  Generator random(12);
  struct Sizes {
    int64_t m, n, k;
    bool turn_a, turn_b;
  };
  for (const Sizes& s :
       {Sizes{60, 60, 60, false, false}, Sizes{64, 64, 16, false, false}, Sizes{70, 50, 37, false, false},
        Sizes{33, 65, 20, true, false}, Sizes{5, 3, 1, false, true}}) {
    const Matrix a = s.turn_a ? random_matrix(s.k, s.m, random) : random_matrix(s.m, s.k, random);
    const Matrix b = s.turn_b ? random_matrix(s.n, s.k, random) : random_matrix(s.k, s.n, random);
    const std::string input = fmt::format("a{} [{}, {}] times b{} [{}, {}], random", s.turn_a ? "ᵀ of" : "", a.rows,
                                          a.columns, s.turn_b ? "ᵀ of" : "", b.rows, b.columns);
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
      const int64_t last = (s.k - 1) / 16 * 16;
      how.mistakes.push_back({"only the last slice of k counts: sums grow from slice to slice", over(last, s.k)});
      how.mistakes.push_back({"only the first slice of k counts", over(0, 16)});
      how.mistakes.push_back({"the last slice of k, which is not full, is missing", over(0, last)});
    }
    g.equal(input, value_of(*got), over(0, s.k), how);
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("five products, with sizes that fill no tile"));
  for (const bool turn : {false, true}) {
    const Matrix x = random_matrix(128, 128, random);
    const auto sectors = [&](const Impl& i) { return traffic_of([&] { i.matmul(x, x, turn, turn); }).sectors; };
    const double mine = double(sectors(impl)), engine = double(sectors(pg::lesson11::reference()));
    g.expect(mine <= 1.02 * engine, fmt::format("x{0}·x{0}, x [128, 128]: sectors of 32 bytes moved", turn ? "ᵀ" : ""),
             fmt::format("{:.0f}", mine), fmt::format("{:.0f}, as the engine", engine),
             "right, but neighbouring threads read addresses far apart: run along d where depth_step is 1, along r "
             "where row_step is 1");
  }
  g.note("five products with sizes that fill no tile; no unnecessary byte is moved");
}

// max and sum as a warp would compute them, with one of two rescaling steps optionally left out.
Stats stats_of(const Matrix& x, bool rescale_lane, bool rescale_warp) {
  Stats result;
  for (int64_t r = 0; r < x.rows; ++r) {
    double top[32], sum[32] = {}, max = -INFINITY, total = 0;
    std::fill(top, top + 32, -INFINITY);
    for (int64_t i = 0; i < x.columns; ++i) {
      const double v = x.v[r * x.columns + i];
      const int lane = static_cast<int>(i % 32);
      if (v == -INFINITY) continue;
      if (v > top[lane]) {
        if (rescale_lane) sum[lane] *= std::exp(top[lane] - v);
        top[lane] = v;
      }
      sum[lane] += std::exp(v - top[lane]);
      max = std::max(max, v);
    }
    for (int lane = 0; lane < 32; ++lane) {
      total += sum[lane] == 0 || !rescale_warp ? sum[lane] : sum[lane] * std::exp(top[lane] - max);
    }
    result.max.push_back(static_cast<float>(max));
    result.sum.push_back(static_cast<float>(total));
  }
  return result;
}

Numbers plain_sums(const Matrix& x) {
  Numbers sums(x.rows);
  for (size_t i = 0; i < x.v.size(); ++i) sums[i / x.columns] += std::exp(x.v[i]);
  return sums;
}

void check_row_stats(Grader& g, const Impl& impl) {
  Generator random(13);
  Matrix normal = random_matrix(5, 170, random), growing = normal, large = normal,
         masked = random_matrix(3, 70, random);
  for (size_t i = 0; i < normal.v.size(); ++i) {
    growing.v[i] = 0.05f * static_cast<float>(i % 170);
    large.v[i] = 1000 + 3 * normal.v[i];
  }
  for (size_t i = 0; i < masked.v.size(); ++i) {
    if (i % 70 % 32 > 20) masked.v[i] = -INFINITY;  // eleven lanes only see -inf
  }
  const std::vector<std::pair<std::string, Matrix>> inputs = {
      {"x [5, 170] that grows from 0 to 8.45", growing},
      {"x [5, 170], random", normal},
      {"x [5, 170] around 1000", large},
      {"x [3, 70] with -inf at columns 21 to 31 and 53 to 63", masked},
      {"x [4, 7], random", random_matrix(4, 7, random)}};
  for (const auto& [input, x] : inputs) {
    const auto got = launched(g, input, [&, &m = x] { return impl.row_stats(m); });
    if (!got) return;
    Stats want;  // computed by the definition
    for (int64_t r = 0; r < x.rows; ++r) {
      const float* row = x.v.data() + r * x.columns;
      const float max = *std::max_element(row, row + x.columns);
      double sum = 0;
      for (int64_t i = 0; i < x.columns; ++i) sum += std::exp(double(row[i]) - max);
      want.max.push_back(max);
      want.sum.push_back(static_cast<float>(sum));
    }
    bool nan = false;
    for (float s : got->sum) nan |= std::isnan(s);
    if (nan) {
      g.expect(false, input + ": Σ e^(x - max) of each row", "NaN", kit::to_text(value_of(want.sum)),
               "-inf - -inf is NaN: a lane that has seen nothing must not compute e^(x - top)");
      return;
    }
    g.equal(input + ": max of each row", value_of(got->max), value_of(want.max), {.rtol = 0});
    g.equal(input + ": Σ e^(x - max) of each row", value_of(got->sum), value_of(want.sum),
            {.rtol = 1e-5,
             .mistakes = {{"Σ e^x overflows at 89: subtract the maximum before e^", value_of(plain_sums(x))},
                          {"the sum is not rescaled when the maximum grows: multiply it by e^(old - new)",
                           value_of(stats_of(x, false, true).sum)},
                          {"each lane's sum is relative to its own maximum: rescale it to the warp's before adding",
                           value_of(stats_of(x, true, false).sum)},
                          {"no sum is rescaled: neither when a lane's maximum grows nor to the warp's maximum",
                           value_of(stats_of(x, false, false).sum)}}});
    if (g.failed()) return;
  }
  if (!counts_traffic()) return g.note(unless_counted("five kinds of rows"));
  const Matrix x = random_matrix(8, 512, random);
  const Traffic t = traffic_of([&] { impl.row_stats(x); });
  const double once = 8 * 512 * 4 / 32;
  g.expect(
      double(t.sectors) < 1.2 * once, "x [8, 512]: sectors of 32 bytes moved", fmt::format("{}", t.sectors),
      fmt::format("{:.0f} and a few for the results", once),
      t.used() > 0.9
          ? "right, but every number is read more than once: the sum can be computed in the same pass as the maximum"
          : "right, but the lanes are far apart: lane i begins at element i and steps by 32");
  g.note("rows that grow, are large, masked or short; each number read once");
}

void check_slot(Grader& g, const Impl& impl) {
  Generator random(14);
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{{70, 45}, {32, 32}}) {
    const Matrix x = random_matrix(rows, columns, random);
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

}  // namespace

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "11.1",
       .title = "threads and elements",
       .piece = kit::piece<&Impl::blocks_for, &Impl::visits>("first_index"),
       .section = "Which thread does what",
       .why =
           "Every kernel begins here. Elements left out or visited twice are silent bugs; a kernel whose neighbouring "
           "threads read far apart is eight times slower.",
       .hints = {"A block of 256 threads has number blockIdx.x. How many threads come before its first one?",
                 "blocks = ⌈n / 256⌉ within [1, 4096]; first = blockIdx.x · blockDim.x + threadIdx.x; step = gridDim.x "
                 "· blockDim.x.",
                 "blocks_for: (n + 255) / 256, clamped. first_index: the threads of all blocks before, plus my number "
                 "in the block; make it 64 bits wide before multiplying. index_step: how many threads the grid has."},
       .solution = {"tensor/cuda/array.h", "int64_t first_index("},
       .run = check_grid},
      {.id = "11.2",
       .title = "reduction",
       .piece = kit::piece<&Impl::reduce, &Impl::layer_norm>("reduce"),
       .section = "One number from many threads",
       .why =
           "Softmax, norms and losses are sums over rows. Without a barrier the result is usually right on a GPU; the "
           "simulator always reports the race.",
       .hints = {"Lane 0 and lane 16 exchange and add. Which five exchanges bring every lane the sum of 32?",
                 "x = f(x, x of lane (mine ^ step)) for step = 16, 8, 4, 2, 1. A block: 8 warps, so 8 numbers meet in "
                 "shared memory.",
                 "Loop over the steps with __shfl_xor_sync. If kSize is more than 32: lane 0 of each warp writes its "
                 "part, barrier, every thread folds the parts in order, barrier (the next call writes them again)."},
       .solution = {"tensor/cuda/row.h", "T reduce(T x, F f)"},
       .run = check_reduce},
      {.id = "11.3",
       .title = "tiled matrix product",
       .piece = kit::piece<&Impl::matmul>("add_product"),
       .section = "Read once, use often",
       .why =
           "A model spends most of its time in this kernel. With tiles its limit is arithmetic; without them, memory.",
       .hints = {"A number of a is needed for all columns of c. Which threads of the block can share it, and in which "
                 "memory?",
                 "for each slice of 16: left[d][r] = a(r, first + d), right[d][r] = b(r, first + d), 64 x 16 numbers "
                 "each by 256 threads; sums += leftᵀ·right.",
                 "For i = threadIdx.x; i < 64·16; i += 256: d = i % 16, r = i / 16 where depth_step is 1, else r = i % "
                 "64, d = i / 64; copy, or write 0 outside. Both slices, barrier, cuda::multiply, barrier."},
       .solution = {"tensor/cuda/attention/attention_tile.h", "void scores_of("},
       .run = check_matmul},
      {.id = "11.4",
       .title = "online softmax",
       .piece = kit::piece<&Impl::row_stats, &Impl::softmax>("row_stats"),
       .section = "The sum before the maximum is known",
       .why = "Flash attention combines this with tiles: because the sum can be rescaled later, scores are never "
              "stored.",
       .hints = {"You have Σ e^(x - 3) and now meet x = 5. Which factor makes your sum relative to 5?",
                 "sum · e^(old - new), then + e^(x - new). At the end max = max over lanes, sum = Σ lanes sum · "
                 "e^(top - max).",
                 "Each lane takes elements rank, rank + 32, …: skip -inf; if x > top, rescale sum and set top; add. "
                 "Then reduce top with Max, rescale the sum to it, reduce the sum with Plus."},
       .solution = {"tensor/cuda/row.h", "RowStats<T> row_stats("},
       .run = check_row_stats},
      {.id = "11.5",
       .title = "bank conflicts",
       .piece = kit::piece<&Impl::transpose>("slot"),
       .section = "Thirty-two banks",
       .why = "A tile of 32 x 32 read by columns is 32 times slower than one of 32 x 33. The result is the same, "
              "so only a profiler or this simulator shows the difference.",
       .hints =
           {"In a tile with rows of 32 words, in which banks do the words of one column lie?",
            "bank = slot mod 32. With rows of P words, column c lies in banks (r·P + c) mod 32 for r = 0 … 31: all "
            "different if P is odd.",
            "Give each row one word more than it needs: row · 33 + column."},
       .solution = {"tensor/cuda/gemm/tile.h", "void stage("},
       .run = check_slot},
  };
}

}  // namespace pg::lesson11
