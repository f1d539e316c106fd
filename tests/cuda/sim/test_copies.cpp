// Copies from the host to a CUDA device, counted and watched by the simulator.
#include <numeric>
#include <thread>

#include "nn/decode/generate.h"
#include "nn/train/trainer.h"
#include "tensor/backend.h"
#include "tensor/sim/sim.h"
#include "tests/catch.h"
#include "tests/cuda/on_device.h"

using namespace pg;

namespace {

const Device kGpu{Device::Kind::cuda, 0};

Transformer model_on_gpu() {
  Transformer model = testing::small_model(f32, 96);
  model.to(kGpu);
  return model;
}

uint64_t pinned_since(const sim::CopiesToDevice& before) {
  const sim::CopiesToDevice now = sim::copies_to_device();
  CHECK(now.pageable == before.pageable);
  return now.pinned - before.pinned;
}

}  // namespace

TEST_CASE("every copy to a CUDA device arrives unchanged and reads page-locked memory", "[cuda]") {
  const auto before = sim::copies_to_device();
  // More copies than the ring has slots, each of which overwrites its source at once; the simulator watches the slots.
  std::vector<Tensor> copies;
  const Tensor source = Tensor::empty({100}, i32);
  for (int32_t i = 0; i < 200; ++i) {
    std::fill(source.data<int32_t>().begin(), source.data<int32_t>().end(), i);
    copies.push_back(source.to(kGpu));
  }
  CHECK(pinned_since(before) == 200);
  for (int i = 0; i < 200; ++i) CHECK(copies[static_cast<size_t>(i)].to_vector() == std::vector<double>(100, i));
  // One that is larger than all slots together, and sizes around that of one slot.
  for (const int64_t n : {int64_t{1}, int64_t{32767}, int64_t{32768}, int64_t{32769}, int64_t{3'000'001}}) {
    const Tensor x = Tensor::arange(n, i32);
    const Tensor y = x.to(kGpu);
    x.fill(-1);
    const std::vector<double> got = y.to_vector();
    std::vector<double> want(static_cast<size_t>(n));
    std::iota(want.begin(), want.end(), 0.0);
    CHECK(got == want);
  }
  CHECK(Tensor::empty({0}, f32).to(kGpu).numel() == 0);
  pinned_since(before);
}

TEST_CASE("copy_from to a CUDA device is one copy if nothing is converted", "[cuda]") {
  const Tensor to = Tensor::zeros({2, 8}, f32, kGpu), part = to.view_slice(0, 1, 2);
  auto before = sim::copies_to_device();
  const sim::Report report;
  part.copy_from(Tensor::arange(8).view_reshape({1, 8}));
  CHECK(pinned_since(before) == 1);
  CHECK(report.kernels().empty());
  // Converted, repeated, transposed: with a kernel.
  to.view_slice(0, 0, 1).copy_from(Tensor::arange(8, i32).view_reshape({1, 8}));
  CHECK(to.to_vector() == std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
  to.copy_from(Tensor::full({1}, 5));
  CHECK(to.to_vector() == std::vector<double>(16, 5));
  to.view_transpose(0, 1).copy_from(Tensor::arange(16).view_reshape({8, 2}));
  CHECK(to.to_vector() == std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15});
  CHECK(!report.kernels().empty());
  const Tensor back = Tensor::zeros({2, 8});
  back.copy_from(to);
  CHECK(back.to_vector() == to.to_vector());
}

TEST_CASE("a decoded token of CUDA generation costs one copy to the device", "[cuda]") {
  Transformer model = model_on_gpu();
  GenerateOptions options{.max_new_tokens = 2, .seed = 4};
  const std::vector<std::vector<int32_t>> prompts(3, {1, 2, 3});
  uint64_t copies[2];
  for (const int64_t tokens : {2, 42}) {
    options.max_new_tokens = tokens;
    generate(model, prompts, options);
    const auto before = sim::copies_to_device();
    generate(model, prompts, options);
    copies[tokens == 42] = pinned_since(before);
  }
  CHECK(copies[0] > 1);  // those for the prompt
  CHECK(copies[1] - copies[0] == 40);
}

TEST_CASE("a CUDA training step copies ids, targets and the optimizer's numbers from page-locked memory", "[cuda]") {
  Transformer model = model_on_gpu();
  Trainer trainer(model, {}, [](Generator& g) {
    std::vector<int32_t> ids(2 * 8), targets(ids.size());
    for (int32_t& id : ids) id = static_cast<int32_t>(g.integer(29));
    for (int32_t& id : targets) id = static_cast<int32_t>(g.integer(29));
    return TokenBatch{Tensor::from(ids, {2, 8}), Tensor::from(targets, {2, 8})};
  });
  for (int step = 1; step <= 5; ++step) {
    const auto before = sim::copies_to_device();
    trainer.step();
    const uint64_t copies = pinned_since(before);
    if (step > 3) CHECK(copies == 3);  // the step is recorded in the third
  }
}

TEST_CASE("threads share the page-locked memory of a device", "[cuda]") {
  std::vector<std::vector<double>> got(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < got.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<Tensor> all;
      for (int i = 0; i < 50; ++i) {
        const Tensor x = Tensor::full({1}, static_cast<double>(t) * 100 + i, f64);
        all.push_back(x.to(Device{Device::Kind::cuda, static_cast<unsigned char>(t / 2)}));
        x.fill(-1);
      }
      for (const Tensor& x : all) got[t].push_back(x.item());
    });
  }
  for (auto& thread : threads) thread.join();
  for (size_t t = 0; t < got.size(); ++t) {
    for (int i = 0; i < 50; ++i) CHECK(got[t][static_cast<size_t>(i)] == static_cast<double>(t) * 100 + i);
  }
}
