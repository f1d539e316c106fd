// Benchmark of the grader of answers: one thread, pairs of generated answers in about the shares of MATH's answers.
#include "tasks/grade/grade.h"

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tools/pg/bench/bench.h"

namespace pg::tools {
namespace {

using Pair = std::pair<std::string, std::string>;  // given, gold

struct PairKind {
  const char* name;
  int percent;  // of the pairs; half of them are equal
  Pair (*make)(Generator& g, bool equal);
};

int64_t from(Generator& g, int64_t low, int64_t high) { return low + g.integer(high - low + 1); }

const std::vector<PairKind>& pair_kinds() {
  static const std::vector<PairKind> all = {
      {"numbers", 60,
       [](Generator& g, bool equal) -> Pair {
         const int64_t n = from(g, 1, 999), m = equal ? n : n + 1;
         switch (g.integer(4)) {
           case 0:
             return {fmt::format("{}.0", n), fmt::format("{}", m)};
           case 1:
             return {fmt::format("so it is \\boxed{{{}}}.", n), fmt::format(" {}", m)};
           case 2:
             return {fmt::format("{} cm", n), fmt::format("{}\\text{{ cm}}", m)};
           default:
             return {fmt::format("{},500", n), fmt::format("{}500", m)};
         }
       }},
      {"fractions", 15,
       [](Generator& g, bool equal) -> Pair {
         const int64_t a = from(g, 1, 50), b = from(g, 2, 60), k = from(g, 2, 9);
         return {fmt::format("\\frac{{{}}}{{{}}}", k * a, k * b), fmt::format("{}/{}", a, equal ? b : b + 1)};
       }},
      {"roots and pi", 7,
       [](Generator& g, bool equal) -> Pair {
         const int64_t a = from(g, 2, 12), b = from(g, 2, 20);
         if (g.integer(2) == 0) {
           return {fmt::format("\\sqrt{{{}}}", a * a * b), fmt::format("{}\\sqrt{{{}}}", equal ? a : a + 1, b)};
         }
         return {fmt::format("{}\\pi/{}", a, b),
                 fmt::format("\\frac{{{}\\pi}}{{{}}}", equal ? 2 * a : 2 * a + 1, 2 * b)};
       }},
      {"tuples, lists, intervals", 5,
       [](Generator& g, bool equal) -> Pair {
         const int64_t a = from(g, 0, 20), b = from(g, 21, 40), c = equal ? b : b + 1;
         switch (g.integer(3)) {
           case 0:
             return {fmt::format("({}, {})", a, b), fmt::format("({},{})", a, c)};
           case 1:
             return {fmt::format("{}, {}", b, a), fmt::format("{} and {}", a, c)};
           default:
             return {fmt::format("{} \\le x < {}", a, b), fmt::format("[{},{})", a, c)};
         }
       }},
      {"polynomials", 10,
       [](Generator& g, bool equal) -> Pair {
         const int64_t a = from(g, 1, 9), b = from(g, 1, 9), c = from(g, 1, 9), d = from(g, 1, 9);
         return {fmt::format("({}x+{})({}x+{})", a, b, c, d),
                 fmt::format("{}x^2+{}x+{}", a * c, a * d + b * c, equal ? b * d : b * d + 1)};
       }},
      {"functions", 3,
       [](Generator& g, bool equal) -> Pair {
         const int64_t a = from(g, 2, 9);
         return {fmt::format("\\sin^2 {0}x+\\cos^2 {0}x", a), equal ? "1" : "x"};
       }},
  };
  return all;
}

Entry bench_pairs(const std::string& label, const std::vector<Pair>& pairs, int repeat) {
  Entry entry{.name = "grade", .label = label, .what = fmt::format("{} verdicts", pairs.size())};
  entry.items = static_cast<double>(pairs.size());
  entry.timing = time_of(
      [&] {
        int64_t equal = 0;
        for (const auto& [given, gold] : pairs) equal += grade_answer(given, gold).kind == Verdict::Kind::yes;
        check(2 * equal == std::ssize(pairs), "bench: {} of {} pairs of {} are equal", equal, pairs.size(), label);
      },
      repeat);
  return entry;
}

std::vector<Entry> bench_grade(int repeat) {
  constexpr int64_t kPairs = 10000;
  Generator g(1);
  std::vector<Entry> entries;
  std::vector<Pair> all;
  for (const PairKind& kind : pair_kinds()) {
    std::vector<Pair> pairs;
    for (int64_t i = 0; i < kPairs * kind.percent / 100; ++i) pairs.push_back(kind.make(g, i % 2 == 0));
    entries.push_back(bench_pairs(fmt::format("{} % {}", kind.percent, kind.name), pairs, repeat));
    all.insert(all.end(), pairs.begin(), pairs.end());
  }
  entries.push_back(bench_pairs("all of these, one thread", all, repeat));
  return entries;
}

}  // namespace

void add_grade_benchmarks(Benchmarks& all) { all.push_back({"grade", "answers in mathematics", bench_grade}); }

}  // namespace pg::tools
