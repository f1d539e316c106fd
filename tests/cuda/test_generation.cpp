// What generation and training steps need from a CUDA device besides compute kernels: sampling, KV caches, graphs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "nn/decode/generate.h"
#include "nn/train/trainer.h"
#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tests/catch.h"
#include "tests/cuda/on_device.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Rows of logits with `levels` different values (0: all values differ).
Tensor random_logits(int64_t rows, int64_t vocab, int64_t levels, uint64_t seed) {
  Generator g(seed);
  std::vector<float> values;
  for (int64_t i = 0; i < rows * vocab; ++i) {
    const double x = 3 * g.normal();
    values.push_back(static_cast<float>(levels == 0 ? x : std::round(x * levels / 6) * 6 / levels));
  }
  return Tensor::from(values, {rows, vocab});
}

// Every sampled token must be one that filtered_probs() keeps, and the interval of the cumulative probability that
// belongs to it must contain u, up to rounding.
void check_choices(const Tensor& logits, const SampleOptions& options, double tolerance) {
  const int64_t rows = logits.size(0), vocab = logits.size(1);
  std::vector<double> u;
  for (int64_t r = 0; r < rows; ++r) u.push_back((static_cast<double>(r) + 0.5) / static_cast<double>(rows));
  const Tensor ids = Tensor::full({rows}, -7, i32, device());
  kernels(device()).sample(ids, logits.to(device()), Tensor::from(u, {rows}).to(device()), options);
  const std::vector<double> chosen = ids.to_vector(), values = logits.to_vector();
  for (int64_t r = 0; r < rows; ++r) {
    INFO("row " << r << " of " << rows << ", " << vocab << " logits " << name_of(logits.dtype()));
    const auto id = static_cast<int64_t>(chosen[r]);
    REQUIRE((id >= 0 && id < vocab));
    const auto probs = filtered_probs(std::span(values).subspan(r * vocab, vocab), options);
    double before = 0;
    for (int64_t i = 0; i < id; ++i) before += probs[i];
    CHECK(probs[id] > 0);
    CHECK(before - tolerance <= u[r]);
    CHECK(u[r] <= before + probs[id] + tolerance);
  }
}

// The ids sampled from one row, one for each u. The row begins `offset` elements after a multiple of 16 bytes, among
// large values.
std::vector<double> sampled(const Tensor& row, const std::vector<double>& u, double temperature, int64_t offset) {
  const auto rows = static_cast<int64_t>(u.size());
  const int64_t vocab = row.size(1);
  const Tensor around = Tensor::full({1, offset + vocab + 8}, 1e4, row.dtype(), device());
  const Tensor there = around.view_slice(1, offset, offset + vocab), ids = Tensor::full({rows}, -7, i32, device());
  there.copy_from(row.to(device()));
  kernels(device()).sample(ids, there.view_expand({rows, vocab}), Tensor::from(u, {rows}).to(device()),
                           {.temperature = temperature});
  return ids.to_vector();
}

// Checks that aligned rows, which a kernel holds in registers, give the same tokens as unaligned rows, which it does
// not. Most u are limits between two tokens, where a different rounding of one sum gives another token.
void check_held_row(const std::vector<float>& values, double temperature, int64_t draws, uint64_t seed) {
  const auto vocab = std::ssize(values);
  const Tensor row = Tensor::from(values, {1, vocab}).to(bf16);
  const std::vector<double> probs = filtered_probs(row.to_vector(), {.temperature = temperature});
  std::vector<double> before(1), u = {0, 0.3, 0.9999, 1 - 0x1p-24, 1 - 0x1p-53};
  for (const double p : probs) before.push_back(before.back() + p);
  Generator g(seed);
  while (std::ssize(u) < draws) u.push_back(std::min(before[static_cast<size_t>(g.integer(vocab))], 1 - 0x1p-53));
  const std::vector<double> held = sampled(row, u, temperature, 8), read = sampled(row, u, temperature, 1);
  CHECK(held == read);
  for (size_t k = 0; k < u.size(); ++k) {
    INFO(vocab << " logits, u = " << u[k] << ", id " << held[k]);
    REQUIRE((held[k] >= 0 && held[k] < static_cast<double>(vocab)));
    const auto id = static_cast<size_t>(held[k]);
    CHECK((probs[id] > 0 && before[id] - 2e-5 <= u[k] && u[k] <= before[id + 1] + 2e-5));
  }
}

TokenBatch random_batch(Generator& g) {
  std::vector<int32_t> ids, targets;
  for (int i = 0; i < 24; ++i) {
    ids.push_back(static_cast<int32_t>(g.integer(29)));
    targets.push_back(i % 5 == 0 && g.uniform() < 0.5 ? -100 : static_cast<int32_t>(g.integer(29)));
  }
  return {Tensor::from(ids, {2, 12}), Tensor::from(targets, {2, 12})};
}

}  // namespace

TEST_CASE("CUDA samples by u among the tokens that the filters leave", "[cuda]") {
  const SampleOptions all[] = {{},
                               {.temperature = 0.7},
                               {.top_k = 1},
                               {.top_k = 7},
                               {.top_p = 0.6},
                               {.min_p = 0.2},
                               {.temperature = 1.3, .top_k = 20, .top_p = 0.9, .min_p = 0.01}};
  for (const SampleOptions& options : all) {
    for (const auto& [vocab, levels] : {std::pair{1, 0}, {5, 0}, {33, 4}, {200, 0}, {200, 5}}) {
      for (const DType dtype : {f32, f64, bf16}) {
        check_choices(random_logits(6, vocab, levels, 1).to(dtype), options, dtype == f64 ? 1e-12 : 1e-5);
      }
    }
  }
  check_choices(random_logits(2, 50257, 0, 2).to(bf16), {.top_k = 50, .top_p = 0.8}, 1e-5);
  for (const int64_t vocab : {4095, 8193}) {  // a warp reads several strips
    for (const DType dtype : {f32, f64, bf16}) {
      check_choices(random_logits(7, vocab, 0, 3).to(dtype), {}, dtype == f64 ? 1e-12 : 1e-5);
    }
  }
}

TEST_CASE("CUDA samples the same tokens from rows of bf16 in registers as from memory", "[cuda]") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  // 57344 is the longest row that is held.
  for (const int64_t vocab : {8, 256, 264, 8192, 8200, 50257, 50304, 57344, 57352}) {
    const std::vector<double> random = random_logits(1, vocab, 0, 5).to_vector();
    std::vector<float> normal, steep, third, late, equal(static_cast<size_t>(vocab), -2);
    for (int64_t i = 0; i < vocab; ++i) {
      const auto x = static_cast<float>(random[static_cast<size_t>(i)]);
      normal.push_back(x);
      steep.push_back(12 * x);  // weights below the normal numbers, and 0
      third.push_back(i % 3 == 0 ? -inf : x);
      late.push_back(i < vocab / 2 ? -inf : x);
    }
    for (const double temperature : {1.0, 0.7}) {
      for (const auto& values : {normal, steep, third, late, equal}) {
        check_held_row(values, temperature, temperature == 1 && vocab < 50000 ? 40 : 12, 6);
      }
    }
    check_held_row(normal, 1e-30, 5, 6);  // most quotients overflow
    for (const int64_t at : {int64_t{0}, vocab / 3, vocab - 1}) {
      std::vector<float> one(static_cast<size_t>(vocab), -inf);
      one[static_cast<size_t>(at)] = -300;
      check_held_row(one, 1, 5, 6);
      // Not finite: id 0.
      for (const float bad : {inf, static_cast<float>(NAN), -static_cast<float>(NAN), -inf}) {
        one[static_cast<size_t>(at)] = bad;
        const Tensor row = Tensor::from(one, {1, vocab}).to(bf16);
        CHECK(sampled(row, {0, 0.5, 0.999}, 1, 8) == std::vector<double>{0, 0, 0});
        std::vector<float> among = normal;
        among[static_cast<size_t>(at)] = bad == -inf ? inf : bad;
        CHECK(sampled(Tensor::from(among, {1, vocab}).to(bf16), {0.999}, 1.5, 8) == std::vector<double>{0});
      }
    }
  }
}

TEST_CASE("CUDA samples from aligned rows that are apart", "[cuda]") {
  for (const int64_t vocab : {40, 8200, 50257}) {
    const Tensor logits = random_logits(5, vocab, 0, 7).to(bf16);
    const std::vector<double> u = {0.1, 0.99, 0.5, 0, 0.7};
    std::vector<double> expected;
    for (int64_t r = 0; r < 5; ++r) {
      expected.push_back(sampled(logits.view_slice(0, r, r + 1), {u[static_cast<size_t>(r)]}, 1, 1)[0]);
    }
    const Tensor apart = Tensor::full({5, (vocab + 31) / 8 * 8}, 1e4, bf16, device()).view_slice(1, 16, 16 + vocab);
    apart.copy_from(logits.to(device()));
    const Tensor ids = Tensor::full({5}, -7, i32, device());
    kernels(device()).sample(ids, apart, Tensor::from(u, {5}).to(device()), {});
    CHECK(ids.to_vector() == expected);
    check_choices(logits, {.temperature = 1.4}, 2e-5);
  }
}

TEST_CASE("CUDA samples no token of probability 0 and returns id 0 for logits that are not finite", "[cuda]") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {-inf, 1,    -inf, -inf,  //
                                     0,    inf,  0,    0,     //
                                     0,    NAN,  0,    0,     //
                                     -inf, -inf, -inf, -inf};
  const Tensor logits = Tensor::from(values, {4, 4}), ids = Tensor::full({4}, 9, i32, device());
  const Tensor u = Tensor::full({4}, 0.999999, f64, device());
  kernels(device()).sample(ids, logits.to(device()), u, {.top_k = 3, .top_p = 0.9});
  CHECK(ids.to_vector() == std::vector<double>{1, 0, 0, 0});
  const Tensor here = Tensor::full({4}, 9, i32);
  plain_kernels().sample(here, logits, u.to(Device{}), {.top_k = 3, .top_p = 0.9});
  CHECK(here.to_vector() == ids.to_vector());
}

TEST_CASE("CUDA appends keys and values at the same cache positions as the CPU", "[cuda]") {
  const Device there = device();
  for (const DType dtype : {f32, bf16, f64}) {
    for (const int64_t size : {3, 8, 16}) {
      Generator g(4);
      const auto random = [&](const Shape& shape) { return Tensor::normal(shape, 0, 1, g, f32).to(dtype); };
      const Tensor cache_k = random({3, 2, 9, size}), cache_v = random({3, 2, 9, size});
      const Tensor qkv = random({3, 2, 3 * 2 * size});  // new keys and values are interleaved with queries
      const Tensor starts = Tensor::from(std::vector<int32_t>{0, 7, 4}, {3});
      const auto run = [&](Device device) {
        const Tensor k = cache_k.to(device).clone(), v = cache_v.to(device).clone(), x = qkv.to(device);
        const auto part = [&](int64_t i) {
          return x.view_slice(2, i * 2 * size, (i + 1) * 2 * size).view_reshape({3, 2, 2, size}).view_transpose(1, 2);
        };
        kernels(device).kv_append(k, v, part(1), part(2), starts.to(device));
        auto both = k.to_vector();
        const auto second = v.to_vector();
        both.insert(both.end(), second.begin(), second.end());
        return both;
      };
      CHECK(run(there) == run(Device{}));
    }
  }
}

TEST_CASE("a graph replays its kernels on the current content of its buffers", "[cuda]") {
  need_graphs();
  const Tensor x = Tensor::full({1000}, 1, f32, device()), y = Tensor::full({1000}, 0, f32, device());
  const Kernels& k = kernels(device());
  Tensor kept;
  const Graph graph(device(), [&] {
    const Tensor squares = Tensor::empty({1000}, f32, device());
    k.binary(Binary::mul, squares, x, x);
    kept = Tensor::empty({1}, f32, device());
    k.accumulate(y, squares, 1);
    k.reduce(Reduce::sum, kept, squares, 1, 0);
  });
  CHECK(y.to_vector()[0] == 0);  // the work is recorded, not executed
  x.fill(3);
  const Tensor other = Tensor::full({1000}, 5, f32, device());  // must not reuse memory that the graph writes to
  graph.replay();
  x.fill(2);
  graph.replay();
  CHECK(y.to_vector()[999] == 13);
  CHECK(kept.item() == 4000);
  CHECK(other.to_vector() == std::vector<double>(1000, 5));
}

TEST_CASE("a graph that cannot be recorded leaves the stream usable", "[cuda]") {
  need_graphs();
  const Tensor x = Tensor::full({3}, 1, f32, device());
  CHECK_THROWS_AS(Graph(device(), [&] { x.to_vector(); }), Error);
  x.fill(2);
  CHECK(x.to_vector()[0] == 2);
}

TEST_CASE("graphs and copies to the host stay with their device", "[cuda]") {
  if (backend(Device::Kind::cuda).device_count() < 2) SKIP_TEST("fewer than two CUDA devices");
  const Device first{Device::Kind::cuda, 0}, second{Device::Kind::cuda, 1};
  const Tensor x = Tensor::full({100}, 2, f32, second), y = Tensor::zeros({100}, f32, second);
  const auto work = [&] { kernels(second).binary(Binary::mul, y, x, x); };
  work();
  kernels(first);  // makes it the current device
  auto graph = std::make_unique<Graph>(second, work);
  const auto copy = backend(second).async_copy(400);
  x.fill(3);
  kernels(first);
  graph->replay();
  copy->start(y.view().data, 400);
  CHECK(static_cast<const float*>(copy->wait())[99] == 9);
  kernels(first);
  graph->replay();
  graph.reset();
  CHECK(y.to_vector() == std::vector<double>(100, 9));
}

TEST_CASE("a thread copies to and from its device while work of another device is recorded", "[cuda]") {
  need_graphs();
  if (backend(Device::Kind::cuda).device_count() < 2) SKIP_TEST("fewer than two CUDA devices");
  const Device first{Device::Kind::cuda, 0}, second{Device::Kind::cuda, 1};
  const Tensor x = Tensor::full({100}, 2, f32, first), host = Tensor::full({100}, 5, f32);
  std::string error;
  const Graph graph(first, [&] {
    kernels(first).binary(Binary::mul, x, x, x);
    std::thread([&] {
      error = testing::error_of([&] { check(host.to(second).to_vector() == host.to_vector(), "other values"); });
    }).join();
  });
  CHECK(error == "");
  graph.replay();
  CHECK(x.to_vector() == std::vector<double>(100, 4));
}

TEST_CASE("a training step is bit-identical with and without a graph, for any batch", "[cuda][slow]") {
  for (const DType dtype : {f32, bf16}) {
    std::vector<StepReport> reports[2];
    std::vector<double> weights[2];
    for (const bool graph : {false, true}) {
      Transformer model = small_model(dtype);
      model.to(device());
      TrainConfig config;
      config.graph = graph;
      config.schedule.lr = 1e-2;
      config.adamw.stochastic_rounding = dtype == bf16;
      Trainer trainer(model, config, random_batch);
      for (int i = 0; i < 6; ++i) {
        INFO(name_of(dtype) << (graph ? ", graph" : "") << ", step " << i);
        reports[graph].push_back(trainer.step());
        CHECK(std::isfinite(reports[graph].back().loss));
      }
      weights[graph] = model.wte.weight.to_vector();
    }
    for (size_t i = 0; i < 6; ++i) {
      CHECK(reports[0][i].loss == reports[1][i].loss);
      CHECK(reports[0][i].grad_norm == reports[1][i].grad_norm);
      CHECK((i == 0 || reports[0][i].tokens != 24));  // random_batch ignores some targets, different ones in every step
    }
    CHECK(weights[0] == weights[1]);
  }
}

TEST_CASE("rows of CUDA generation end by stop ids as on the CPU", "[cuda]") {
  Transformer here = small_model(f32), there = small_model(f32);
  there.to(device());
  GenerateOptions options;
  options.max_new_tokens = 20;
  options.stop_ids = {3, 11, 20};
  std::vector<std::vector<int32_t>> prompts;
  for (int32_t i = 0; i < 7; ++i) prompts.push_back(std::vector<int32_t>(static_cast<size_t>(1 + i % 3), i));
  for (const bool slide : {false, true}) {
    options.slide = slide;
    const auto expected = generate(here, prompts, options), got = generate(there, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      INFO("row " << i << (slide ? ", sliding" : ""));
      CHECK(got[i].tokens == expected[i].tokens);
      CHECK(got[i].finish == expected[i].finish);
    }
  }
}

TEST_CASE("CUDA generation with few slots gives the rows of the CPU", "[cuda]") {
  Transformer here = small_model(f32), there = small_model(f32);
  there.to(device());
  GenerateStats stats;
  GenerateOptions options{.max_new_tokens = 6, .samples = 5, .stop_ids = {3, 11, 20}, .seed = 4};
  std::vector<std::vector<int32_t>> prompts;
  for (int32_t i = 0; i < 4; ++i) prompts.push_back(std::vector<int32_t>(static_cast<size_t>(1 + i % 3), i));
  const auto expected = generate(here, prompts, options);
  options.stats = &stats;
  for (const int64_t slots : {1, 3, 4, 7, 20}) {  // a group of 5 has to wait for slots, or for some of them
    INFO("slots " << slots);
    options.max_rows = slots;
    const auto got = generate(there, prompts, options);
    REQUIRE(got.size() == expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].tokens == expected[i].tokens);
      CHECK(got[i].finish == expected[i].finish);
    }
    CHECK(*std::max_element(stats.rows_of_pass.begin(), stats.rows_of_pass.end()) <= slots);
  }
}

TEST_CASE("log-probabilities of sampling equal those of training: approximately by default, bit for bit when exact",
          "[cuda]") {
  for (const bool exact : {false, true}) {
    const Exact guard(exact);
    struct Case {
      DType dtype;
      int64_t width;  // 2 heads; width 128 gives a head dimension that tensor cores support
      double bound;
    };
    for (const auto& [dtype, width, bound] : {Case{f32, 32, 2e-6}, Case{bf16, 32, 2e-2}, Case{bf16, 128, 2e-2}}) {
      Generator init(3);
      Transformer model(
          {.vocab_size = 29, .block_size = 12, .n_layer = 2, .n_head = 2, .n_embd = width, .dtype = dtype}, init);
      model.to(device());
      GenerateOptions options;
      options.max_new_tokens = 8;
      const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {5}, {9, 9, 9}, {4, 20}};
      const auto rows = generate(model, prompts, options);
      for (size_t i = 0; i < prompts.size(); ++i) {
        std::vector<int32_t> ids = prompts[i];
        ids.insert(ids.end(), rows[i].tokens.begin(), rows[i].tokens.end());
        const auto length = static_cast<int64_t>(ids.size()) - 1;
        // With the tape, as a trainer computes the log-probabilities.
        const Tensor logits = model(Tensor::from(std::span<const int32_t>(ids).first(ids.size() - 1), {1, length}));
        const Tensor next = Tensor::from(std::span<const int32_t>(ids).last(ids.size() - 1), {1, length});
        const auto trained = token_log_prob(logits, next.to(device())).first.to_vector();
        for (size_t t = 0; t < rows[i].tokens.size(); ++t) {
          INFO(name_of(dtype) << (exact ? " exact" : "") << ", row " << i << ", token " << t);
          const double difference = std::abs(rows[i].log_probs[t] - trained[prompts[i].size() - 1 + t]);
          CHECK(difference <= (exact ? 0 : bound));
        }
      }
    }
  }
}
