#include "tools/pg/machine/tune_search.h"

#include <algorithm>
#include <cmath>

#include "tensor/base/clock.h"
#include "tensor/base/error.h"
#include "tensor/kernels.h"
#include "tools/pg/bench/ceilings.h"

namespace pg::tools {

namespace {

using cpu::GemmChoice;
using cpu::GemmTuning;

const GemmChoice& choice_named(const std::string& name) {
  const auto& all = cpu::gemm_choices();
  const auto found = std::find_if(all.begin(), all.end(), [&](const GemmChoice& one) { return one.name == name; });
  check(found != all.end(), "tune: there is no choice {}", name);
  return *found;
}

// The matrices of a layer of GPT-2 of this width.
std::vector<TunedProducts::Matrix> layer(int64_t width) {
  return {{3 * width, width}, {width, width}, {4 * width, width}, {width, 4 * width}};
}

// The operands of products. Calling it computes them all.
class Run {
 public:
  explicit Run(const TunedProducts& p) {
    for (int copy = 0; copy < p.copies; ++copy) {
      for (const auto& [n, k] : p.matrices) {
        products_.push_back({made(p.m, k, p.form == GemmForm::tn, p.dtype), made(k, n, p.form == GemmForm::nt, p.dtype),
                             Tensor::zeros({p.m, n}, p.form == GemmForm::tn ? sum_type(p.dtype) : p.dtype)});
      }
    }
  }
  void operator()() const {
    for (const Product& p : products_) kernels(Device{}).matmul(p.c, p.a, p.b, {});
  }

 private:
  struct Product {
    Tensor a, b, c;
  };
  static Tensor made(int64_t rows, int64_t columns, bool transposed, DType dtype) {
    if (!transposed) return Tensor::full({rows, columns}, 0.25, dtype);
    return Tensor::full({columns, rows}, 0.25, dtype).view_transpose(0, 1);
  }
  std::vector<Product> products_;
};

double seconds_of(const Run& run, int calls) {
  const Timer timer;
  for (int i = 0; i < calls; ++i) run();
  return timer.seconds();
}

// Sets, at its end, the tuning that was in use at its beginning.
class RestoreTuning {
 public:
  RestoreTuning() : before_(cpu::gemm_tuning()) {}
  ~RestoreTuning() { cpu::set_gemm_tuning(before_); }
  RestoreTuning(const RestoreTuning&) = delete;
  RestoreTuning& operator=(const RestoreTuning&) = delete;

 private:
  GemmTuning before_;
};

// The time of the products with each setting as a share of that with the first: medians over `repeat` rounds.
std::vector<double> shares_of(const TunedProducts& products, const std::vector<GemmTuning>& settings, int repeat) {
  constexpr double long_enough = 0.003;
  const Run run(products);
  run();
  const int calls = 1 + static_cast<int>(long_enough / seconds_of(run, 1));
  std::vector<std::vector<double>> ratios(settings.size());
  std::vector<double> seconds(settings.size());
  for (int round = 0; round < repeat; ++round) {
    for (size_t i = 0; i < settings.size(); ++i) {
      const size_t turn = (i + static_cast<size_t>(round)) % settings.size();  // each setting begins some rounds
      cpu::set_gemm_tuning(settings[turn]);
      seconds[turn] = seconds_of(run, calls);
    }
    for (size_t i = 0; i < settings.size(); ++i) ratios[i].push_back(seconds[i] / seconds[0]);
  }
  std::vector<double> shares;
  for (auto& one : ratios) shares.push_back(timing_of(one).median);
  return shares;
}

}  // namespace

const std::vector<TuningStep>& tuning_steps() {
  static const std::vector<TuningStep> steps = [] {
    TuningStep blocks{"blocks", {"tile_rows", "block_depth"}, {}}, columns{"few columns", {"shared_rows"}, {}},
        rows{"few rows", {"prefetch_l1", "prefetch_between"}, {}}, batch{"batches", {"transposed_rows"}, {}};
    for (const DType dtype : {f32, bf16}) {
      for (const GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn}) {
        for (const int64_t m : {256, 1024}) blocks.products.push_back({dtype, form, m, layer(768)});
        columns.products.push_back({dtype, form, 2048, layer(128)});
        columns.products.push_back({dtype, form, 1024, layer(384)});
      }
      // 9 layers of f32, 18 of bf16: 255 MB, more than most L3 caches hold.
      const int copies = 9 * static_cast<int>(sizeof(float) / size_of(dtype));
      for (const int64_t m : {1, 4, 8, 16, 32}) rows.products.push_back({dtype, GemmForm::nt, m, layer(768), copies});
      for (const int64_t m : {64, 128, 192, 256}) {
        batch.products.push_back({dtype, GemmForm::nt, m, layer(768)});
        batch.products.push_back({dtype, GemmForm::nt, m, layer(384)});
      }
    }
    return std::vector{blocks, columns, rows, batch};
  }();
  return steps;
}

std::vector<GemmTuning> candidates_of(const TuningStep& step, const GemmTuning& present) {
  std::vector<GemmTuning> all = {present};
  for (const std::string& name : step.choices) {
    const GemmChoice& choice = choice_named(name);
    std::vector<GemmTuning> more;
    for (const GemmTuning& one : all) {
      for (const int64_t value : choice.values) {
        more.push_back(one);
        more.back().*choice.value = value;
      }
    }
    all = std::move(more);
  }
  std::erase(all, present);
  return all;
}

Compare compare_by_time(int repeat) {
  return [repeat](const TuningStep& step, const GemmTuning& present, const std::vector<GemmTuning>& candidates) {
    const RestoreTuning restore;
    std::vector<GemmTuning> settings = {present};
    settings.insert(settings.end(), candidates.begin(), candidates.end());
    std::vector<double> logs(candidates.size());
    for (const TunedProducts& products : step.products) {
      const std::vector<double> shares = shares_of(products, settings, repeat);
      for (size_t i = 0; i < logs.size(); ++i) logs[i] += std::log(shares[i + 1]);
    }
    for (double& one : logs) one = std::exp(one / static_cast<double>(step.products.size()));
    return logs;
  };
}

GemmTuning search_tuning(const std::vector<TuningStep>& steps, GemmTuning from, const Compare& compare,
                         const std::function<void(const StepResult&)>& report) {
  for (const TuningStep& step : steps) {
    StepResult result{step, from, from, candidates_of(step, from), {}};
    result.shares = compare(step, from, result.candidates);
    const auto best = std::min_element(result.shares.begin(), result.shares.end());
    if (best != result.shares.end() && *best <= kWorthTaking) {
      const GemmTuning& candidate = result.candidates[static_cast<size_t>(best - result.shares.begin())];
      result.again = compare(step, from, {candidate}).at(0);
      if (result.again <= kWorthTaking) result.after = from = candidate;
    }
    report(result);
  }
  return from;
}

}  // namespace pg::tools
