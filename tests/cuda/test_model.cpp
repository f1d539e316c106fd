// A small GPT-2 on a CUDA device compared with the same model on the CPU.
#include <cmath>

#include "nn/decode/generate.h"
#include "nn/files/tensor_source.h"
#include "nn/train/trainer.h"
#include "tensor/backend.h"
#include "tests/catch.h"
#include "tests/cuda/on_device.h"
#include "tests/tensors.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Sequences that count modulo 29 from a random start: a learnable task.
TokenBatch counting(Generator& g) {
  const int64_t rows = 3, length = 12;
  std::vector<int32_t> ids, targets;
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = static_cast<int32_t>(g.integer(29));
    for (int32_t t = 0; t < length; ++t) {
      ids.push_back((first + t) % 29);
      targets.push_back((first + t + 1) % 29);
    }
  }
  return {Tensor::from(ids, {rows, length}), Tensor::from(targets, {rows, length})};
}

std::vector<StepReport> train(Transformer& model, int steps) {
  TrainConfig config;
  config.micro_batches = 2;
  config.schedule.lr = 1e-2;
  Trainer trainer(model, config, counting);
  std::vector<StepReport> reports;
  for (int i = 0; i < steps; ++i) reports.push_back(trainer.step());
  return reports;
}

}  // namespace

TEST_CASE("GPT-2 on CUDA has the CPU's loss and gradients", "[cuda]") {
  for (const DType dtype : {f32, f64}) {
    Transformer here = small_model(dtype), there = small_model(dtype);
    there.to(device());
    Generator g(7);
    const TokenBatch batch = counting(g);
    const Tensor a = here.loss(batch.ids, batch.targets), b = there.loss(batch.ids, batch.targets);
    const double bound = dtype == f64 ? 1e-12 : 1e-5;
    CHECK(b.device() == device());
    CHECK(std::abs(a.item() - b.item()) <= bound * a.item());
    backward(a);
    backward(b);
    const auto expected = named_parameters(here), got = named_parameters(there);
    for (size_t i = 0; i < expected.size(); ++i) {
      INFO(expected[i].first);
      CHECK(relative_distance(got[i].second.grad(), expected[i].second.grad()) <= bound);
    }
  }
}

TEST_CASE("training on CUDA follows the CPU step by step", "[cuda]") {
  // f32: rounding errors grow over the steps. bf16: CUDA sums in another order, so single roundings differ.
  Transformer reference = small_model(f32);
  const auto wide = train(reference, 5);
  for (const auto& [dtype, bound] : {std::pair{f32, 5e-6}, std::pair{bf16, 1e-3}}) {
    INFO(name_of(dtype));
    Transformer here = small_model(dtype), there = small_model(dtype);
    there.to(device());
    const auto expected = train(here, 5), got = train(there, 5), again = [&, dtype = dtype] {
      Transformer other = small_model(dtype);
      other.to(device());
      return train(other, 5);
    }();
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("step " << i + 1);
      CHECK(std::abs(got[i].loss - expected[i].loss) <= bound * expected[i].loss);
      CHECK(std::abs(got[i].loss - wide[i].loss) <= 1e-2);  // the difference that bf16 may cause
      CHECK(got[i].loss == again[i].loss);
      CHECK(got[i].grad_norm == again[i].grad_norm);
    }
    CHECK(got.back().loss < got.front().loss);
  }
}

TEST_CASE("generation on CUDA samples the CPU's tokens", "[cuda]") {
  Transformer here = small_model(f32), there = small_model(f32);
  there.to(device());
  GenerateOptions options;
  options.max_new_tokens = 6;
  for (const bool greedy : {true, false}) {
    options.greedy = greedy;
    const std::vector<std::vector<int32_t>> prompts = {{1, 2, 3}, {5}, {9, 9, 9}};
    const auto expected = generate(here, prompts, options), got = generate(there, prompts, options);
    for (size_t i = 0; i < prompts.size(); ++i) {
      CHECK(got[i].tokens == expected[i].tokens);
      for (size_t t = 0; t < expected[i].log_probs.size(); ++t) {
        CHECK(std::abs(got[i].log_probs[t] - expected[i].log_probs[t]) <= 1e-5);
      }
    }
  }
}

TEST_CASE("tensors of model files are read into views on CUDA", "[cuda]") {
  const Device device = testing::device();
  const TensorSource source = open_tensors("tests/goldens/gguf/blocks.gguf");
  const Tensor expected = source.read("Q6_K", f32);  // [3, 512]
  for (const DType dtype : {f32, bf16}) {
    const Tensor whole = Tensor::zeros({512, 8}, dtype, device);
    source.read_into("Q6_K", whole.view_transpose(0, 1).view_slice(0, 2, 8, 2));
    const Tensor back = whole.to(Device{}).view_transpose(0, 1);
    CHECK(back.view_slice(0, 2, 8, 2).to_vector() == expected.to(dtype).to_vector());
    CHECK(back.view_slice(0, 1, 8, 2).to_vector() == std::vector<double>(4 * 512, 0));
  }
}
