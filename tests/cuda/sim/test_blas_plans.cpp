// The algorithm of each kind of product: chosen at the first product, for all sizes of the kind, and kept in a file.
#include <fstream>

#include "autograd/ops.h"
#include "nn/transformer.h"
#include "tensor/cuda/runtime/synchronous.h"
#include "tensor/sim/sim.h"
#include "tests/cuda/sim/blas_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

constexpr uint64_t kTimed = 6;  // runs of an algorithm that is timed
constexpr uint64_t kAll = sim::kBlasAlgorithms * kTimed;

// c of the product with m rows, whose values depend on the algorithm.
Tensor result(int64_t m, DType dtype = f32) {
  const Product p = plain(m, 40, 200, dtype);
  p.run(kernels(device()));
  return p.c;
}
std::vector<Tensor> results(const std::vector<int64_t>& rows) {
  std::vector<Tensor> all;
  for (const int64_t m : rows) all.push_back(result(m));
  return all;
}
sim::BlasCounts calls_for(int64_t m) {
  return calls_of([m] { result(m); });
}

// Refuses to use an algorithm for some numbers of rows (cuBLASLt's n).
sim::BlasRefusal::Refuses no_check_for(int64_t rows) {
  return [rows](const sim::BlasProduct& p, sim::BlasRefusal::Call call) {
    return p.n == rows && call == sim::BlasRefusal::Call::check;
  };
}

}  // namespace

TEST_CASE("the first product of a kind is timed and other sizes of the kind are only checked", "[cuda][blas]") {
  const FreshPlans plans;
  auto calls = calls_for(33);
  CHECK(calls.heuristics == 1);
  CHECK(calls.products == kAll + 1);
  CHECK(calls.by_algorithm[1] == kTimed + 1);  // the fastest
  calls = calls_for(33);
  CHECK(calls.heuristics + calls.checks == 0);
  CHECK(calls.products == 1);
  for (const int64_t m : {34, 35, 36}) {
    calls = calls_for(m);
    CHECK(calls.heuristics == 0);
    CHECK(calls.checks == 1);
    CHECK(calls.products == 1);
    CHECK(calls.by_algorithm[1] == 1);
  }
  CHECK(calls_for(37).products == kAll + 1);  // the next kind: 37 to 40
  CHECK(calls_for(32).products == kAll + 1);
}

TEST_CASE("the rows of many batches need few choices", "[cuda][blas]") {
  const FreshPlans plans;
  const auto calls = calls_of([] {
    for (int64_t m = 128; m > 64; --m) result(m);
  });
  CHECK(calls.heuristics == 8);  // eight kinds per octave
  CHECK(calls.products == 8 * kAll + 64);
}

TEST_CASE("a training step on other rows of the same kinds asks no heuristic", "[cuda][blas]") {
  for (const DType dtype : {f32, bf16}) {
    const FreshPlans plans;
    INFO(name_of(dtype));
    Generator init(3);
    Transformer model({.vocab_size = 40, .block_size = 20, .n_layer = 2, .n_head = 2, .n_embd = 32, .dtype = dtype},
                      init);
    model.to(device());
    const auto step = [&](int64_t batch, int64_t length) {
      const Tensor ids = Tensor::full({batch, length}, 7, i32);
      return calls_of([&] { backward(model.loss(ids, ids)); });
    };
    const auto first = step(9, 15);  // 135 rows, of the kind 129 to 144
    CHECK(first.heuristics > 10);
    CHECK(first.products > 10 * kTimed);
    CHECK(step(9, 15).heuristics > 0);  // gradients of weights are now added to
    const auto known = step(9, 15);
    CHECK(known.heuristics + known.checks == 0);
    for (const auto& [batch, length] : {std::pair{8, 17}, {10, 14}, {7, 19}}) {
      const auto later = step(batch, length);
      CHECK(later.heuristics == 0);
      CHECK(later.checks > 0);
      CHECK(later.products == known.products);
    }
  }
}

TEST_CASE("other types or transposes or epilogues or alignments are other kinds", "[cuda][blas]") {
  const FreshPlans plans;
  const auto is_new = [](const Product& p) {
    const auto calls = calls_of([&] { p.run(kernels(device())); });
    CHECK((calls.heuristics > 0) == (calls.products > 1));
    return calls.heuristics > 0;
  };
  const auto transposed = [](int64_t rows, int64_t columns) {
    return Tensor::ones({columns, rows}, bf16, device()).view_transpose(0, 1);
  };
  Product p = plain(24, 40, 32, bf16);
  CHECK(is_new(p));
  CHECK(!is_new(p));
  p.a = transposed(24, 32);
  CHECK(is_new(p));
  p.b = transposed(32, 40);
  CHECK(is_new(p));
  p.c = nan_matrix(24, 40, f32);
  CHECK(is_new(p));
  p.beta = 1;
  CHECK(is_new(p));
  p.beta = -3;  // any but 0 is as good
  CHECK(!is_new(p));
  p.bias = Tensor::ones({40}, f32, device());
  CHECK(is_new(p));
  p.bias = Tensor::ones({48}, f32, device()).view_slice(0, 8, 48);
  CHECK(is_new(p));  // a multiple of 32 bytes is as good as one of 16, but not as a whole tensor
  p.bias = Tensor::ones({48}, f32, device()).view_slice(0, 4, 44);
  CHECK(!is_new(p));
  p.bias = Tensor::ones({48}, f32, device()).view_slice(0, 1, 41);
  CHECK(is_new(p));
  // Longer rows of memory are no new kind, unless their length is no multiple of 16 bytes.
  Product wide = plain(24, 40, 32, bf16);
  wide.a = Tensor::ones({24, 64}, bf16, device()).view_slice(1, 0, 32);
  CHECK(!is_new(wide));
  wide.a = Tensor::ones({24, 36}, bf16, device()).view_slice(1, 0, 32);
  CHECK(is_new(wide));
}

TEST_CASE("the file of plans makes the next process use the same algorithms", "[cuda][blas]") {
  const FreshPlans plans;
  Tensor first;
  {
    const sim::BlasTimes times({3, 4, 2, 1});  // the last one is the fastest
    first = result(33);
    CHECK(contains(how(), "cuBLASLt 3, tile 64x64, stages 32x3, split-K 1; timed (µs) 1"));
  }
  const auto calls = calls_of([&] {
    plans.restart();
    CHECK(same_bits(result(33), first));
    CHECK(how() == "cuBLASLt 3, tile 64x64, stages 32x3, split-K 1; from the file of plans");
    result(35);
  });
  CHECK(calls.heuristics == 0);
  CHECK(calls.products == 2);
  CHECK(calls.by_algorithm.at(3) == 2);
  // Without the file the other one is chosen, and it has other bits.
  cuda::use_plan_file("");
  CHECK(!same_bits(result(33), first));
  CHECK(contains(how(), "cuBLASLt 7, tile 128x128, stages 64x4, split-K 1; timed (µs) 1"));
}

TEST_CASE("an algorithm that another process has chosen in the meantime counts", "[cuda][blas]") {
  const FreshPlans one;
  Tensor first;
  {
    const sim::BlasTimes times({3, 4, 2, 1});
    first = result(33);
  }
  const FreshPlans two;
  std::filesystem::copy(one.path(), two.path());  // after this process has found no file
  CHECK(same_bits(result(34), result(34)));
  CHECK(contains(how(), "from the file of plans"));
  CHECK(same_bits(result(33), first));
  // The same while this process measures.
  const FreshPlans three;
  bool copied = false;
  const sim::BlasRefusal hook([&](const auto&, sim::BlasRefusal::Call call) {
    if (call == sim::BlasRefusal::Call::heuristic) {
      std::filesystem::copy(one.path(), three.path());
      copied = true;
    }
    return false;
  });
  const auto calls = calls_of([&] { CHECK(same_bits(result(33), first)); });
  CHECK(copied);
  CHECK(calls.products == kAll + 1);
  CHECK(contains(how(), "from the file of plans"));
}

TEST_CASE("a run that is resumed repeats the bits of a run that is not", "[cuda][blas]") {
  const std::vector<int64_t> rows = {33, 35, 34, 60, 57, 36, 35};
  for (const int64_t refused : {0, 34, 35}) {
    const FreshPlans plans;
    const sim::BlasRefusal refusal(no_check_for(refused));
    const std::vector<Tensor> whole = results(rows);
    for (size_t at = 1; at < rows.size(); ++at) {
      plans.restart();
      INFO("resumed at product " << at << ", refused: " << refused);
      const std::vector<Tensor> rest = results({rows.begin() + static_cast<std::ptrdiff_t>(at), rows.end()});
      for (size_t i = 0; i < rest.size(); ++i) CHECK(same_bits(rest[i], whole[at + i]));
    }
  }
}

TEST_CASE("a size for which cuBLASLt refuses the kind's algorithm uses the first suggestion", "[cuda][blas]") {
  const FreshPlans plans;
  const sim::BlasRefusal refusal(no_check_for(34));
  result(33);
  auto calls = calls_for(34);
  CHECK(calls.heuristics == 1);
  CHECK(calls.products == 1);
  CHECK(calls.by_algorithm.at(0) == 1);
  CHECK(contains(how(), "split-K 2; the first suggestion"));
  calls = calls_for(34);
  CHECK(calls.heuristics + calls.checks == 0);
  CHECK(calls_for(35).by_algorithm.at(1) == 1);
}

TEST_CASE("an entry of the file that is no algorithm of this cuBLASLt does no harm", "[cuda][blas]") {
  const FreshPlans plans;
  result(33);
  // The entry's algorithm in place of which there is another number, with a checksum for it.
  std::ifstream file(plans.path());
  std::string line;
  std::getline(file, line);
  const std::string machine = line.substr(line.find(", ") + 2);
  size_t count = 0;
  file >> count;
  cuda::PlanFile::Key key(count);
  for (int64_t& number : key) file >> number;
  std::filesystem::remove(plans.path());
  cuda::PlanFile(plans.path(), machine).add(key, {1, 2, 3});
  plans.restart();
  check_product(plain(33, 40, 200));
  CHECK(contains(how(), "the first suggestion"));
}

TEST_CASE("a graph replays the algorithm of its kind and chooses none for an unknown kind", "[cuda][blas]") {
  need_graphs();
  const FreshPlans plans;
  const Tensor expected = result(33);
  const auto recorded = [](int64_t m) {
    const Product p = plain(m, 40, 200);
    const Graph graph(device(), [&] { p.run(kernels(device())); });
    CHECK(std::isnan(p.c.to_vector()[0]));
    graph.replay();
    return p.c;
  };
  auto calls = calls_of([&] { CHECK(same_bits(recorded(33), expected)); });
  CHECK(calls.heuristics + calls.checks == 0);
  calls = calls_of([&] { recorded(35); });
  CHECK(calls.heuristics == 0);
  CHECK(calls.by_algorithm.at(1) == 1);
  calls = calls_of([&] { recorded(80); });
  CHECK(calls.heuristics == 1);
  CHECK(calls.by_algorithm.at(0) == 1);  // the first suggestion
  calls = calls_for(80);
  CHECK(calls.products == kAll + 1);
  CHECK(calls.by_algorithm.at(1) == kTimed + 1);
}

TEST_CASE("an error of a product names it under POLICYGRAD_CUDA_SYNC=1", "[cuda][blas][faults]") {
  const FreshPlans plans;
  const bool before = cuda::synchronous();
  cuda::set_synchronous(true);
  {
    const sim::DeferredFaults faults;
    std::vector<float> host(33 * 200);
    const Product p = plain(33, 40, 200);
    View a = p.a.view();
    a.data = host.data();
    const std::string error = error_of([&] { kernels(device()).matmul(p.c, a, p.b, {}); });
    INFO(error);
    CHECK(contains(error,
                   "cuBLASLt product of 33 x 40 x 200 (m, n, k; 1 of them), f32 to f32, epilogue 1: CUDA says an "
                   "illegal memory access was encountered"));
  }
  cuda::set_synchronous(before);
  error_of([] { Tensor::full({10}, 1, f32, device()); });  // may still throw what was noted
}
