// Decoders that a Sampler keeps on a CUDA device: when a call launches the graphs of an earlier call, when it must not,
// and that its result is the same either way.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "nn/decode/generate.h"
#include "nn/train/trainer.h"
#include "nn/variants/int8.h"
#include "nn/variants/lora.h"
#include "tensor/backend.h"
#include "tests/catch.h"
#include "tests/cuda/on_device.h"

using namespace pg;

namespace {

Device gpu(int index = 0) {
  const int count = backend(Device::Kind::cuda).device_count();
  if (count == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  if (!backend(Device::Kind::cuda).records()) SKIP_TEST("POLICYGRAD_CUDA_SYNC=1 records no graphs");
  return {Device::Kind::cuda, static_cast<unsigned char>(index % count)};
}

Transformer model_on(Device device, DType dtype = f32, uint64_t seed = 3) {
  Transformer model = testing::small_model(dtype, 96, seed);
  model.to(device);
  return model;
}

using Prompts = std::vector<std::vector<int32_t>>;

// `rows` prompts of `length` tokens.
Prompts prompts_of(size_t rows, size_t length, uint64_t seed = 1) {
  Generator g(seed);
  Prompts prompts(rows, std::vector<int32_t>(length));
  for (auto& prompt : prompts) {
    for (int32_t& id : prompt) id = static_cast<int32_t>(g.integer(29));
  }
  return prompts;
}

const GenerateOptions kSampled = {.max_new_tokens = 6, .seed = 4};

struct Call {
  std::vector<Generated> rows;
  int64_t graphs = 0;  // that it recorded
};

// A model on a device, with a sampler.
struct Writer {
  Transformer model;
  Sampler sampler{model};

  explicit Writer(Device device, DType dtype = f32, uint64_t seed = 3) : model(model_on(device, dtype, seed)) {}
  Call call(const Prompts& prompts, const GenerateOptions& options = kSampled) {
    const int64_t before = graphs_recorded();
    Call c{sampler.generate(prompts, options)};
    c.graphs = graphs_recorded() - before;
    return c;
  }
  // The call without anything that earlier calls have kept.
  Call fresh_call(const Prompts& prompts, const GenerateOptions& options = kSampled) {
    sampler.release();
    return call(prompts, options);
  }
};

void check_equal_bits(const Call& a, const Call& b) {
  REQUIRE(a.rows.size() == b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    INFO("row " << i);
    CHECK(a.rows[i].tokens == b.rows[i].tokens);
    CHECK(a.rows[i].log_probs == b.rows[i].log_probs);
    CHECK(a.rows[i].finish == b.rows[i].finish);
  }
}

// The call launches kept graphs, or not, and gives the result of a fresh call.
void check_call(bool kept, Writer& writer, const Prompts& prompts, const GenerateOptions& options = kSampled) {
  const Call got = writer.call(prompts, options), want = writer.fresh_call(prompts, options);
  CHECK((got.graphs == 0) == kept);
  CHECK(want.graphs > 0);
  check_equal_bits(got, want);
}

}  // namespace

TEST_CASE("a second CUDA generation records no graph and gives the bits of a first one", "[cuda]") {
  for (const DType dtype : {f32, bf16, f64}) {
    INFO(name_of(dtype));
    Writer writer(gpu(), dtype);
    writer.fresh_call(prompts_of(5, 3));
    check_call(true, writer, prompts_of(5, 3));
    GenerateOptions options = kSampled;
    options.seed = 9;
    check_call(true, writer, prompts_of(5, 17, 2), options);  // 22 positions instead of 8: both are rounded to 64
  }
  Writer writer(gpu());
  writer.fresh_call(prompts_of(9, 1));
  check_call(true, writer, prompts_of(9, 58));   // 63 positions
  check_call(false, writer, prompts_of(9, 60));  // 65: another room
  check_call(true, writer, prompts_of(9, 61));
  check_call(false, writer, prompts_of(10, 61));  // another number of rows
}

TEST_CASE("passes of a kept decoder are recorded when their number of rows comes the second time", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(5, 3);
  GenerateOptions options = kSampled;
  options.stop_ids = {3, 11, 20, 7, 15};  // rows end at different times
  GenerateStats stats;
  options.stats = &stats;
  const Call first = writer.fresh_call(prompts, options);
  std::map<int64_t, int64_t> passes;  // by number of rows, rounded up to a power of two or to all rows
  for (const int64_t rows : stats.rows_of_pass) {
    ++passes[std::min<int64_t>(5, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(rows))))];
  }
  REQUIRE(passes.size() > 1);
  const auto repeated = std::count_if(passes.begin(), passes.end(), [](const auto& entry) { return entry.second > 1; });
  CHECK(first.graphs == repeated);
  const Call second = writer.call(prompts, options), third = writer.call(prompts, options);
  CHECK(second.graphs == std::ssize(passes) - repeated);
  CHECK(third.graphs == 0);
  check_equal_bits(second, first);
  check_equal_bits(third, first);
}

TEST_CASE("a kept decoder serves samples, few slots and held prompts", "[cuda]") {
  Writer writer(gpu());
  GenerateOptions options = kSampled;
  options.samples = 3;
  options.max_rows = 4;
  writer.fresh_call(prompts_of(3, 3), options);
  check_call(true, writer, prompts_of(3, 3), options);
  Writer here(Device{});
  writer.fresh_call(prompts_of(3, 3), options);
  const Call got = writer.call(prompts_of(3, 5, 7), options), want = here.call(prompts_of(3, 5, 7), options);
  for (size_t i = 0; i < want.rows.size(); ++i) CHECK(got.rows[i].tokens == want.rows[i].tokens);
}

TEST_CASE("options that a graph has recorded make another decoder", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(2, 3);
  std::vector<std::function<void(GenerateOptions&)>> changes = {
      [](GenerateOptions& o) { o.greedy = true; },        [](GenerateOptions& o) { o.sampling.temperature = 0.5; },
      [](GenerateOptions& o) { o.sampling.top_k = 5; },   [](GenerateOptions& o) { o.sampling.top_p = 0.5; },
      [](GenerateOptions& o) { o.sampling.min_p = 0.5; },
  };
  for (const auto& change : changes) {
    GenerateOptions options = kSampled;
    writer.fresh_call(prompts, options);
    change(options);
    check_call(false, writer, prompts, options);
  }
  GenerateOptions options = kSampled;
  options.sampling.temperature = 0.5;
  writer.fresh_call(prompts, options);
  options.log_prob_at_temperature = true;
  check_call(false, writer, prompts, options);
  // Exact mode computes with other kernels.
  writer.fresh_call(prompts);
  backend(gpu()).set_exact(true);
  const int64_t graphs = writer.call(prompts).graphs;
  backend(gpu()).set_exact(false);
  CHECK(graphs > 0);
}

TEST_CASE("a kept decoder computes with the current values of the weights", "[cuda]") {
  Writer writer(gpu()), other(gpu(), f32, 8);
  const Prompts prompts = prompts_of(3, 4);
  const Call before = writer.fresh_call(prompts);
  load_state_dict(writer.model, state_dict(other.model));
  const Call got = writer.call(prompts);
  CHECK(got.graphs == 0);
  CHECK(got.rows[0].log_probs != before.rows[0].log_probs);
  check_equal_bits(got, other.fresh_call(prompts));
}

TEST_CASE("weights at other addresses make another decoder", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(3, 4);
  const Call first = writer.fresh_call(prompts);
  const NamedTensors old = state_dict(writer.model);  // keeps the memory, so that the weights come to another place
  writer.model.to(Device{});
  writer.model.to(gpu());
  for (const auto& [name, tensor] : old) tensor.fill(std::numeric_limits<double>::quiet_NaN());
  const Call second = writer.call(prompts);
  CHECK(second.graphs > 0);
  check_equal_bits(second, first);
}

TEST_CASE("adapters, and adapters that are merged, make another decoder", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(3, 4);
  Generator g(5);
  const auto adapt = [&](double alpha) {
    g = Generator(5);
    add_lora(writer.model, {.rank = 2, .alpha = alpha}, g);
    for (const auto& [name, tensor] : state_dict(writer.model)) {
      if (name.ends_with("lora_B")) tensor.copy_from(Tensor::normal(tensor.shape(), 0, 0.3, g, tensor.dtype()));
    }
  };
  const auto twice = [&] {
    check_call(false, writer, prompts);
    check_call(true, writer, prompts);
  };
  const Call plain = writer.fresh_call(prompts);
  adapt(16);
  twice();
  merge_lora(writer.model);
  twice();
  unmerge_lora(writer.model);
  twice();
  remove_lora(writer.model);
  adapt(4);  // perhaps at the addresses of the adapters before
  twice();
  CHECK(writer.call(prompts).rows[0].log_probs != plain.rows[0].log_probs);
}

TEST_CASE("a model that is assigned has another decoder, and a copy of it gives the same bits", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(2, 4);
  writer.fresh_call(prompts);
  for (const uint64_t seed : {8, 9, 10}) {  // a graph has also recorded the places of 8-bit weights
    writer.model = model_on(gpu(), f32, seed);
    quantize_weights(writer.model);
    check_call(false, writer, prompts);
    check_call(true, writer, prompts);
  }
  Transformer copy = writer.model;
  check_equal_bits({generate(copy, prompts, kSampled)}, writer.call(prompts));
}

TEST_CASE("a model that gathers its weights for each pass records graphs in each call", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(2, 4);
  writer.fresh_call(prompts);
  writer.model.before_part = [](size_t) {};
  check_call(false, writer, prompts);
  check_call(false, writer, prompts);
}

TEST_CASE("a generation inside of another has a decoder of its own", "[cuda]") {
  Writer writer(gpu());
  const Prompts outer = prompts_of(3, 4), inner = prompts_of(3, 5, 6);
  const Call want_outer = writer.fresh_call(outer), want_inner = writer.fresh_call(inner);
  GenerateOptions options = kSampled;
  int calls = 0;
  options.on_token = [&](int64_t, int32_t) {
    if (++calls % 4 == 2) check_equal_bits(writer.call(inner), want_inner);
  };
  check_equal_bits(writer.fresh_call(outer, options), want_outer);
  const int64_t before = graphs_recorded();
  calls = 0;
  check_equal_bits(writer.call(outer, options), want_outer);  // both decoders have been kept
  CHECK(calls > 4);
  CHECK(graphs_recorded() == before);
}

TEST_CASE("a generation that ends by an exception keeps no decoder", "[cuda]") {
  Writer writer(gpu());
  const Prompts prompts = prompts_of(3, 4);
  writer.fresh_call(prompts);
  for (const int at : {1, 4, 8}) {
    GenerateOptions options = kSampled;
    int tokens = 0;
    options.on_token = [&](int64_t, int32_t) {
      if (++tokens == at) throw std::runtime_error("the caller's own");
    };
    CHECK_THROWS_AS(writer.call(prompts, options), std::runtime_error);
    check_call(false, writer, prompts);
  }
}

TEST_CASE("two decoders are kept, and their memory is freed with the sampler and on request", "[cuda]") {
  const Device device = gpu();
  {
    Writer first(device);  // the first use of a device may allocate memory for good
    first.call(prompts_of(1, 4));
  }
  const size_t before = memory_stats(device).in_use;
  auto writer = std::make_unique<Writer>(device);
  const auto greedy = [&](size_t rows) {
    return writer->call(prompts_of(rows, 4), {.max_new_tokens = 6, .greedy = true});
  };
  greedy(1);
  writer->sampler.release();
  const size_t weights = memory_stats(device).in_use;
  CHECK(greedy(1).graphs > 0);
  const size_t one = memory_stats(device).in_use - weights;
  CHECK(one >= size_t{2 * 2 * 64 * 32 * 4});  // keys and values of 2 layers, 64 positions, 32 channels
  CHECK(greedy(2).graphs > 0);
  CHECK(greedy(1).graphs == 0);
  CHECK(greedy(3).graphs > 0);  // in the place of the one with 2 rows
  CHECK(greedy(1).graphs == 0);
  CHECK(greedy(3).graphs == 0);
  CHECK(greedy(2).graphs > 0);
  writer->sampler.release();
  CHECK(memory_stats(device).in_use == weights);
  greedy(2);
  CHECK(memory_stats(device).in_use > weights);
  writer.reset();
  CHECK(memory_stats(device).in_use == before);
}

TEST_CASE("training replays a kept decoder with the new weights, until it records its own graph", "[cuda]") {
  Writer writer(gpu());
  Trainer trainer(writer.model, {}, [](Generator& g) {
    std::vector<int32_t> ids(2 * 8), targets(ids.size());
    for (int32_t& id : ids) id = static_cast<int32_t>(g.integer(29));
    for (int32_t& id : targets) id = static_cast<int32_t>(g.integer(29));
    return TokenBatch{Tensor::from(ids, {2, 8}), Tensor::from(targets, {2, 8})};
  });
  const Prompts prompts = prompts_of(2, 4);
  Call last = writer.fresh_call(prompts);
  for (int step = 1; step <= 4; ++step) {
    INFO("step " << step);
    trainer.step();
    const Call got = writer.call(prompts);
    CHECK((got.graphs == 0) == (step != 3));
    CHECK(got.rows[0].log_probs != last.rows[0].log_probs);
    Transformer copy = writer.model;
    check_equal_bits({generate(copy, prompts, kSampled)}, got);
    last = got;
  }
}

TEST_CASE("a sampler of each thread and device gives the same bits", "[cuda]") {
  const Prompts prompts = prompts_of(3, 4);
  const Call want = Writer(gpu(0)).call(prompts);
  const auto work = [&](int index) {
    Writer writer(gpu(index));
    for (int i = 0; i < 3; ++i) check_equal_bits(writer.call(prompts), want);
  };
  for (int index = 0; index < 3; ++index) std::thread(work, index).join();
  work(0);
}

TEST_CASE("several threads generate at the same time on their own devices", "[cuda]") {
  if (gpu(1) == gpu(0) || gpu(2) == gpu(0)) SKIP_TEST("fewer than three CUDA devices");
  const Prompts prompts = prompts_of(3, 4);
  Writer writer(gpu());
  const Call want = writer.fresh_call(prompts);
  std::vector<std::vector<Call>> got(3);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    const Device device = gpu(i);
    threads.emplace_back([&, i, device] {
      Writer own(device);
      for (int repeat = 0; repeat < 3; ++repeat) got[static_cast<size_t>(i)].push_back(own.call(prompts));
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& calls : got) {
    for (const Call& one : calls) check_equal_bits(one, want);
  }
}
