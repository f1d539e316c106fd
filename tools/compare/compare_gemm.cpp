// Our f32 matrix product beside OpenBLAS's and oneDNN's at the shapes of `pg bench --filter gemm`, in turns: A B C A B
// C.
//
//     cmake -S . -B build-compare -DPOLICYGRAD_COMPARE_GEMM=ON && cmake --build build-compare --target compare_gemm
//     ./build-compare/compare_gemm [--threads 1,2] [--rounds 5] [--filter 256]
//
// A library's figure is its median over the rounds. The ratio is the better rival's time over ours, so above 1 we are
// faster. oneDNN takes the operands where they lie, as we do; "reordered" shows what it does with operands brought into
// its own layout beforehand, for information.
#include <cblas.h>
#include <omp.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <dnnl.hpp>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/base/parallel.h"
#include "tensor/kernels.h"
#include "tools/pg/bench/ceilings.h"

extern char** environ;

namespace pg::tools {

namespace {

constexpr const char* kUnset = "POLICYGRAD_UNSET";

// A rival is measured at its best: what may hold a library back, or fix its threads before main(), is unset by starting
// this program afresh.
void unset_variables(char** argv) {
  if (std::getenv(kUnset)) return;
  std::vector<std::string> names;
  for (char** variable = environ; *variable; ++variable) {
    const std::string name = std::string(*variable).substr(0, std::string(*variable).find('='));
    for (const char* prefix : {"OPENBLAS_", "GOTO_", "OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_", "NVPL_"}) {
      if (name.rfind(prefix, 0) == 0) names.push_back(name);
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
  setenv(kUnset, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")).c_str(), 1);
  execvp(argv[0], argv);
  throw Error(fmt::format("cannot start {} again", argv[0]));
}

std::string isa_name() {
  const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
  switch (isa) {
    case dnnl_cpu_isa_sse41:
      return "SSE4.1";
    case dnnl_cpu_isa_avx:
      return "AVX";
    case dnnl_cpu_isa_avx2:
      return "AVX2";
    case dnnl_cpu_isa_avx2_vnni:
      return "AVX2 with VNNI";
    case dnnl_cpu_isa_avx512_core:
      return "AVX-512";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "AVX-512 with VNNI";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "AVX-512 with bf16";
    default:
      return fmt::format("ISA {:#x}", static_cast<unsigned>(isa));
  }
}

struct Problem {
  GemmShape shape;
  GemmForm form;
  Tensor a, b, c;
  const float* a_data() const { return a.view().as<float>(); }
  const float* b_data() const { return b.view().as<float>(); }
  float* c_data() const { return c.view().as<float>(); }
  float beta() const { return form == GemmForm::accumulate ? 1.0F : 0.0F; }
};
using Call = std::function<void()>;

Call ours(const Problem& p) {
  MatmulArgs args;
  args.beta = p.beta();
  return [p, args] { kernels(Device{}).matmul(p.c, p.a, p.b, args); };
}

Call openblas(const Problem& p) {
  const bool ta = p.form == GemmForm::tn, tb = p.form == GemmForm::nt;
  const auto m = static_cast<int>(p.shape.m), n = static_cast<int>(p.shape.n), k = static_cast<int>(p.shape.k);
  return [=] {
    cblas_sgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans, m, n, k, 1, p.a_data(),
                ta ? m : k, p.b_data(), tb ? k : n, p.beta(), p.c_data(), n);
  };
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::memory::desc& a,
                                      const dnnl::memory::desc& b, const dnnl::memory::desc& c, float beta) {
  dnnl::primitive_attr attributes;
  if (beta != 0) {
    dnnl::post_ops add;
    add.append_sum(beta);
    attributes.set_post_ops(add);
  }
#if DNNL_VERSION_MAJOR >= 3
  return {engine, a, b, c, attributes};
#else
  return {dnnl::matmul::desc(a, b, c), attributes, engine};
#endif
}

// With `reordered`, oneDNN chooses the layout of a and b and has them in it before the clock starts.
Call onednn(const Problem& p, bool reordered, std::set<std::string>& kernels_used) {
  using dnnl::memory;
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  const auto [m, n, k] = p.shape;
  using Tag = memory::format_tag;
  const auto type = memory::data_type::f32;
  const memory::desc a({m, k}, type, p.form == GemmForm::tn ? Tag::ba : Tag::ab);
  const memory::desc b({k, n}, type, p.form == GemmForm::nt ? Tag::ba : Tag::ab), c({m, n}, type, Tag::ab);
  const memory::desc any_a({m, k}, type, Tag::any), any_b({k, n}, type, Tag::any);
  const auto chosen = reordered ? describe(engine, any_a, any_b, c, p.beta()) : describe(engine, a, b, c, p.beta());
  kernels_used.insert(chosen.impl_info_str());
  memory from_a(a, engine, const_cast<float*>(p.a_data())), from_b(b, engine, const_cast<float*>(p.b_data()));
  if (reordered) {
    memory to_a(chosen.src_desc(), engine), to_b(chosen.weights_desc(), engine);
    dnnl::reorder(from_a, to_a).execute(stream, from_a, to_a);
    dnnl::reorder(from_b, to_b).execute(stream, from_b, to_b);
    stream.wait();
    from_a = to_a;
    from_b = to_b;
  }
  const dnnl::matmul product(chosen);
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, from_a}, {DNNL_ARG_WEIGHTS, from_b}, {DNNL_ARG_DST, memory(c, engine, p.c_data())}};
  return [product, arguments] {
    product.execute(stream, arguments);
    stream.wait();
  };
}

double seconds_of(const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One turn: the fastest of the calls of 40 ms. OpenBLAS's and OpenMP's idle threads spin for a while, so each turn
// waits until those of the last one sleep, and a short call that wakes its own is not counted.
double turn(const Call& call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  double best = seconds_of(call);
  if (best > 0.2) return best;
  best = 1e30;
  for (double total = 0; total < 0.04;) {
    const double seconds = seconds_of(call);
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// ‖x − y‖ / ‖y‖
double relative_difference(const std::vector<float>& x, const std::vector<float>& y) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    difference += d * d;
    size += static_cast<double>(y[i]) * static_cast<double>(y[i]);
  }
  return std::sqrt(difference / size);
}

// What a call makes of a c of ones.
std::vector<float> result_of(const Call& call, const Problem& p) {
  const auto size = static_cast<size_t>(p.c.numel());
  std::fill_n(p.c_data(), size, 1.0F);
  call();
  return {p.c_data(), p.c_data() + size};
}

// Prints the line of a product and gives the ratio.
double compare(const GemmShape& shape, GemmForm form, int rounds, std::set<std::string>& kernels_used) {
  Generator g(1);
  const Problem p{shape, form, gemm_operand(shape.m, shape.k, form == GemmForm::tn, g),
                  gemm_operand(shape.k, shape.n, form == GemmForm::nt, g), Tensor::zeros({shape.m, shape.n})};
  const std::vector<Call> calls = {ours(p), openblas(p), onednn(p, false, kernels_used), onednn(p, true, kernels_used)};
  const std::string label = fmt::format("{} x {} x {}  {}", shape.m, shape.n, shape.k, kGemmForms[size_t(form)]);
  const std::vector<float> mine = result_of(calls[0], p);
  for (size_t i = 1; i < calls.size(); ++i) {
    const double difference = relative_difference(mine, result_of(calls[i], p));
    check(difference <= 1e-5, "{}: library {} gives another result, relative norm {:.2g}", label, i, difference);
  }
  std::vector<std::vector<double>> times(calls.size());
  for (int round = 0; round < rounds; ++round) {
    std::fill_n(p.c_data(), p.c.numel(), 0.0F);
    for (size_t i = 0; i < calls.size(); ++i) times[i].push_back(turn(calls[i]));
  }
  const std::vector<double>& rival = median(times[1]) <= median(times[2]) ? times[1] : times[2];
  std::vector<double> ratios;
  for (size_t round = 0; round < rival.size(); ++round) ratios.push_back(rival[round] / times[0][round]);
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  fmt::print("{:<30}", label);
  for (const auto& t : times) fmt::print(" {:10.1f}", shape.flops() / median(t) / 1e9);
  fmt::print("   {:5.2f}  ({:.2f} to {:.2f})\n", median(ratios), *low, *high);
  std::fflush(stdout);
  return median(ratios);
}

int run(const std::vector<int>& threads, int rounds, const std::string& filter) {
  const dnnl_version_t* version = dnnl_version();
  fmt::print("{} ({}); oneDNN {}.{}.{} ({}); unset: {}\n", openblas_get_config(), openblas_get_corename(),
             version->major, version->minor, version->patch, isa_name(), std::getenv(kUnset));
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > 0.5) {
    fmt::print("NOT QUIET: load {:.1f}. Where others compute, OpenMP's and OpenBLAS's spinning threads lose most.\n",
               load);
  }
  std::set<std::string> kernels_used;
  for (int n : threads) {
    set_num_threads(n);
    openblas_set_num_threads(n);
    omp_set_num_threads(n);
    fmt::print("\n{} threads, GFLOP/s\n{:<30} {:>10} {:>10} {:>10} {:>10}   ratio, spread\n", n, "m x n x k",
               "policygrad", "OpenBLAS", "oneDNN", "reordered");
    std::vector<double> ratios;
    for (const GemmShape& shape : gemm_shapes()) {
      if (fmt::format("{} x {} x {}", shape.m, shape.n, shape.k).find(filter) == std::string::npos) continue;
      for (GemmForm form : {GemmForm::nn, GemmForm::nt, GemmForm::tn, GemmForm::accumulate}) {
        ratios.push_back(compare(shape, form, rounds, kernels_used));
      }
    }
    check(!ratios.empty(), "no product matches --filter '{}'", filter);
    fmt::print("{} threads: ratio to the better rival, median {:.2f}, worst {:.2f}, {} of {} below 1\n", n,
               median(ratios), *std::min_element(ratios.begin(), ratios.end()),
               std::count_if(ratios.begin(), ratios.end(), [](double r) { return r < 1; }), ratios.size());
  }
  fmt::print("oneDNN's kernels: {}\n", fmt::join(kernels_used, ", "));
  return 0;
}

}  // namespace

}  // namespace pg::tools

int main(int argc, char** argv) {
  CLI::App app{"policygrad's matrix product beside OpenBLAS's and oneDNN's"};
  std::vector<int> threads = {1, 2};
  int rounds = 5;
  std::string filter;
  app.add_option("--threads", threads, "counts of threads, e.g. 1,2")->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--rounds", rounds, "turns of each library")->check(CLI::PositiveNumber);
  app.add_option("--filter", filter, "only shapes with this in their name, e.g. '256 x 768'");
  try {
    pg::tools::unset_variables(argv);
    app.parse(argc, argv);
    return pg::tools::run(threads, rounds, filter);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const pg::Error& e) {
    fmt::print(stderr, "compare_gemm: {}\n", e.what());
    return 1;
  }
}
