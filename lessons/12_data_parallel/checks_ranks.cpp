// The checks of lesson 12 on what is divided among ranks: a mean, the elements, the gradients.
#include <cmath>

#include "lessons/12_data_parallel/checks.h"

namespace pg::lesson12 {

using kit::Grader;

namespace {

struct MeanCase {
  std::string input;
  Shape shape;
  DType dtype;
  std::vector<int64_t> tokens;
  bool strided = false;
};

std::vector<Tensor> random_means(const MeanCase& one) {
  std::vector<Tensor> means;
  Generator random = kit::draws(311);
  for (const int64_t tokens : one.tokens) {
    means.push_back(Tensor::normal(one.shape, 0, 1, random, one.dtype));
    if (tokens == 0) means.back().fill(NAN);
    if (one.strided) means.back() = kit::strided(kit::with_zero_row(means.back()));
  }
  return means;
}

// What to do about an error of the engine.
std::string diagnosis_of(const std::string& error) {
  const auto has = [&](const char* words) { return error.find(words) != std::string::npos; };
  if (has("dtype")) {
    return "two dtypes meet: Tensor::zeros(shape) is f32; begin with an undefined Tensor, or pass means[0].dtype()";
  }
  if (has("item")) return "item() is for one number: a mean may be a tensor of any shape, so use a + b and x * 3.0";
  return has("token_weighted_mean") ? "there are tokens: refuse only if all ranks have 0" : "";
}

bool is_wrong(Grader& g, bool wrong, const std::string& input, const std::string& got, const std::string& want,
              const std::string& says) {
  return wrong && !g.expect(false, input, got, want, says);
}

}  // namespace

void check_token_mean(Grader& g, const Impl& impl) {
  const std::vector<MeanCase> cases = {
      {"losses of 3 ranks, tokens 3 1 5", {}, f64, {3, 1, 5}},
      {"gradients [2, 3] of 4 ranks, tokens 7 2 11 4", {2, 3}, f64, {7, 2, 11, 4}},
      {"losses, tokens 4 4", {}, f64, {4, 4}},
      {"gradients [5] of 4 ranks, tokens 2 0 9 0, the means of none are nan", {5}, f64, {2, 0, 9, 0}},
      {"losses, tokens 0 3 0 4, the means of none are nan", {}, f64, {0, 3, 0, 4}},
      {"losses, tokens 3,000,000,000 and 1,500,000,000", {}, f64, {3'000'000'000, 1'500'000'000}},
      {"losses, tokens 7,000,000,000 and 5,000,000,001", {}, f64, {7'000'000'000, 5'000'000'001}},
      {"losses, tokens 16,777,217 and 16,777,219", {}, f64, {16'777'217, 16'777'219}},
      {"losses, tokens 2,000,000,000 and 1,000,000,000", {}, f64, {2'000'000'000, 1'000'000'000}},
      {"gradients [3] f32, tokens 5 3", {3}, f32, {5, 3}},
      {"one rank, 6 tokens", {2}, f64, {6}},
      {"gradients [2, 1, 3, 5] of 3 ranks, every second element of a tensor, tokens 2 7 3",
       {2, 1, 3, 5},
       f64,
       {2, 7, 3},
       true},
      {"gradients [0], tokens 2 3", {0}, f64, {2, 3}}};
  for (const MeanCase& one : cases) {
    const std::vector<Tensor> means = random_means(one);
    std::vector<Tensor> copies;
    for (const Tensor& x : means) copies.push_back(x.clone());
    const auto mistakes = kit::results_of(mean_mistakes(), copies, one.tokens);
    const Tensor want = pg::token_weighted_mean(copies, one.tokens);
    Tensor got;
    try {
      got = impl.token_weighted_mean(means, one.tokens);
    } catch (const Error& error) {
      const std::string text = error.what();
      g.expect(false, one.input, "an Error: " + text, "a mean", diagnosis_of(text));
      return;
    }
    if (is_wrong(g, !got.defined(), one.input, "an undefined tensor", "a tensor", "was the result ever returned?") ||
        is_wrong(g, got.dtype() != want.dtype(), one.input, fmt::format("{}", got.dtype()),
                 fmt::format("{}", want.dtype()), "the result has another dtype than the means") ||
        !g.equal(one.input, got.detach(), want, {.rtol = one.dtype == f32 ? 1e-6 : 1e-9, .mistakes = mistakes})) {
      return;
    }
    for (size_t r = 0; r < means.size(); ++r) {
      const bool same = means[r].to_vector() == copies[r].to_vector() || one.tokens[r] == 0;
      if (is_wrong(g, !same, one.input + ": what went in", "was overwritten", "is as before",
                   "an input was written to: x + y makes a new tensor")) {
        return;
      }
    }
  }
  const double kept = impl.token_weighted_mean({Tensor::full({}, NAN, f64), Tensor::full({}, 2, f64)}, {3, 1}).item();
  g.expect(std::isnan(kept), "losses nan and 2, tokens 3 1", fmt::format("{}", kept), "nan",
           "a nan of a rank that has tokens must stay: something broke there, and nobody would see it. Ask whether "
           "tokens[r] is 0, not whether the mean is nan");
  const Tensor infinite = Tensor::full({2}, INFINITY, f64), two = Tensor::full({2}, 2, f64);
  g.equal("gradients inf and 2, tokens 3 1", impl.token_weighted_mean({infinite, two}, {3, 1}), infinite);
  g.expect_error("two ranks without tokens", [&] {
    impl.token_weighted_mean({Tensor::full({}, NAN, f64), Tensor::full({}, NAN, f64)}, {0, 0});
  });
  g.note("losses and gradients, ranks without tokens, none at all");
}

void check_shard(Grader& g, const Impl& impl) {
  struct Case {
    int64_t n;
    int ranks;
    int64_t unit;
  };
  const std::vector<Case> cases = {
      {10, 4, 1}, {8, 4, 1},     {11, 3, 1},     {3, 5, 1},   {0, 3, 1},   {11, 4, 2},  {24, 3, 4},
      {30, 4, 8}, {100, 3, 256}, {1300, 3, 256}, {17, 16, 1}, {64, 1, 16}, {29, 3, 10}, {5'000'000'003, 4, 1}};
  for (const Case& one : cases) {
    const auto all = [&](const auto& shard) {
      kit::Value value({one.ranks, 2}, {});
      for (int r = 0; r < one.ranks; ++r) {
        const Shard s = shard(r);
        value.v.push_back(static_cast<double>(s.begin));
        value.v.push_back(static_cast<double>(s.end));
      }
      return value;
    };
    const auto mistakes = kit::values_of(shard_mistakes(), [&](auto shard_of) {
      return all([&](int r) { return shard_of(one.n, r, one.ranks, one.unit); });
    });
    const std::string input =
        fmt::format("{} elements, {} ranks, unit {}: begin and end of each", one.n, one.ranks, one.unit);
    if (!g.equal(input, all([&](int r) { return impl.shard_of(one.n, r, one.ranks, one.unit); }),
                 all([&](int r) { return pg::shard_of(one.n, r, one.ranks, one.unit); }),
                 {.rtol = 0, .mistakes = mistakes})) {
      return;
    }
  }
  // As text: these numbers have more digits than a double.
  const int64_t n = int64_t{1} << 62;
  for (const int r : {0, 1, 5, 6}) {
    const Shard got = impl.shard_of(n, r, 7, 1), want = pg::shard_of(n, r, 7, 1);
    const auto text = [](const Shard& s) { return fmt::format("[{}, {})", s.begin, s.end); };
    if (!g.expect(text(got) == text(want), fmt::format("2^62 elements, rank {} of 7", r), text(got), text(want),
                  "n·rank does not fit in 64 bits, and a double has 53: divide first, then multiply")) {
      return;
    }
  }
  g.note("fifteen divisions, with units, more ranks than elements, and 2^62 elements");
}

void check_buckets(Grader& g, const Impl& impl) {
  const std::vector<Shard> embedding_first = {{0, 40}, {48, 56}, {64, 80}, {80, 84}, {96, 112}, {112, 113}, {128, 140}};
  std::vector<Shard> equal;
  for (int64_t i = 0; i < 11; ++i) equal.push_back({8 * i, 8 * i + 8});
  const std::vector<Shard> small_first = {{0, 3}, {4, 20}, {20, 36}, {36, 52}, {52, 68}};
  struct Case {
    const std::vector<Shard>* ranges;
    int64_t least, element;
  };
  const std::vector<Shard> none,
      one_only = {{0, 7}}, odd = {{0, 5}, {5, 20}, {21, 37}, {37, 52}},
      huge = {{0, 100}, {100, 1'200'000'000}, {1'200'000'000, 2'400'000'000}, {2'400'000'000, 7'000'000'000}};
  for (const Case& one :
       {Case{&equal, 64, 4}, Case{&embedding_first, 100, 4}, Case{&embedding_first, 60, 4}, Case{&small_first, 64, 4},
        Case{&small_first, 100, 8}, Case{&embedding_first, 0, 4}, Case{&embedding_first, 1 << 20, 2},
        Case{&one_only, 100, 4}, Case{&none, 8, 4}, Case{&odd, 70, 4}, Case{&huge, 1'000'000'000, 4}}) {
    std::vector<Segment> segments;
    std::string text;
    for (const Shard& s : *one.ranges) {
      segments.push_back({fmt::format("p{}", segments.size()), {s.size()}, s.begin, s.end, false});
      text += fmt::format("{}{}-{}", text.empty() ? "" : " ", s.begin, s.end);
    }
    const auto value = [](const std::vector<Shard>& ranges) {
      kit::Value v({std::ssize(ranges), 2}, {});
      for (const Shard& s : ranges) {
        v.v.push_back(static_cast<double>(s.begin));
        v.v.push_back(static_cast<double>(s.end));
      }
      return v;
    };
    const auto mistakes = kit::values_of(
        bucket_mistakes(), [&](auto buckets) { return value(buckets(segments, one.least, one.element)); });
    const std::string input = fmt::format("segments {}, at least {} bytes, {} bytes each: begin and end of each range",
                                          text.empty() ? "(none)" : text, one.least, one.element);
    if (!g.equal(input, value(impl.gradient_buckets(segments, one.least, one.element)),
                 value(pg::gradient_buckets(segments, one.least, one.element)), {.rtol = 0, .mistakes = mistakes})) {
      return;
    }
  }
  g.note("eleven slabs, with gaps, remainders and an embedding at the beginning");
}

}  // namespace pg::lesson12
