// Training on several ranks: the same bits as one rank, and what is sent while backward runs.
#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/files/checkpoint.h"
#include "nn/train/trainer.h"
#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"
#include "tests/nn/small_training.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("ranks train to the bits of one rank that accumulates their micro-batches", "[ranks]") {
  for (const int ranks : {1, 2, 3, 4, 8}) {
    for (const DType dtype : {f32, bf16}) {
      const Case c{.dtype = dtype, .micro_batches = ranks};
      require_same_as_one_rank(ranks, [&](Comm* comm) { return train(c, comm); });
    }
  }
}

TEST_CASE("the bits do not depend on how many ranks share the micro-batches", "[ranks]") {
  for (const int64_t micro_batches : {2, 5, 7}) {
    for (const int ranks : {2, 3, 4}) {
      if (micro_batches < ranks) continue;
      for (const bool recomputed : {false, true}) {
        const Case c{.checkpoint_blocks = recomputed, .micro_batches = micro_batches, .steps = 4};
        require_same_as_one_rank(ranks, [&](Comm* comm) { return train(c, comm); });
      }
    }
  }
}

TEST_CASE("a run goes on from a checkpoint with another number of ranks", "[ranks]") {
  const Case c{.micro_batches = 4, .steps = 6};
  const std::string expected = train(c, nullptr);
  const testing::TempDir folder;
  const std::string path = folder.file("ranks.safetensors");
  const auto part = [&](Comm* comm, bool first) {
    Generator init(5);
    Transformer model(tiny(c), init);
    Trainer trainer(model, config_of(c), some_batch, comm);
    if (first) {
      for (int i = 0; i < 3; ++i) trainer.step();
      trainer.save(path);
      return;
    }
    trainer.resume(load_checkpoint(path));
    const std::string bytes = bytes_of_run(model, trainer, c.steps);
    // The last reports and all weights are the end of those of the whole run.
    check(expected.ends_with(bytes), "the bits after resuming differ");
  };
  for (const auto& [before, after] : {std::pair(2, 3), std::pair(4, 1), std::pair(1, 4)}) {
    std::string sentences;
    for (const bool first : {true, false}) {
      const int status = run_ranks(
          first ? before : after,
          [&, first](Comm& comm) {
            part(&comm, first);
            return 0;
          },
          {}, &sentences);
      INFO(before << " then " << after << " ranks\n" << sentences);
      REQUIRE(status == 0);
    }
  }
}

TEST_CASE("ranks that stop within a step leave what they were sending", "[ranks]") {
  for (const int zero : {0, 1, 2, 3}) {
    INFO("stage " << zero);
    const Case c{.micro_batches = 8, .steps = 3, .zero = zero};
    const Case plain{.micro_batches = 8, .steps = 3};
    require_same_as_one_rank(2, [&](Comm* comm) {
      if (!comm) return train(plain, nullptr);
      Generator init(5);
      Transformer model(tiny(c), init);
      Trainer trainer(model, config_of(c), some_batch, comm);
      for (const int stop_at : {1, 2, 3}) {
        int asked = 0;
        const StepReport report = trainer.step([&] { return ++asked == stop_at; });
        check(report.tokens == 0 && trainer.steps() == 0 && asked == stop_at, "the step was done");
      }
      return bytes_of_run(model, trainer, c.steps);
    });
  }
}

TEST_CASE("ranks with different configurations name the first line that differs", "[ranks]") {
  const auto sentences_of = [](const std::function<void(Case&, TrainConfig&, Generator&)>& change) {
    std::string sentences;
    run_ranks(
        3,
        [&](Comm& comm) {
          Case c;
          TrainConfig config = config_of({.micro_batches = 3});
          Generator init(5);
          if (comm.rank() == 2) change(c, config, init);
          Transformer model(tiny(c), init);
          Trainer trainer(model, config, some_batch, &comm);
          trainer.step();
          return 0;
        },
        {}, &sentences);
    return sentences;
  };
  const std::string clip = sentences_of([](Case&, TrainConfig& config, Generator&) { config.max_grad_norm = 2; });
  CHECK(testing::contains(clip, "rank 0: the ranks have different configurations: rank 2 differs from rank 0"));
  CHECK(testing::contains(clip, "\"max-grad-norm: 2\" instead of \"max-grad-norm: 0.7\""));
  CHECK(testing::contains(sentences_of([](Case& c, TrainConfig&, Generator&) { c.dropout = 0.2; }), "rank 2 differs"));
  CHECK(testing::contains(sentences_of([](Case&, TrainConfig&, Generator& init) { init = Generator(6); }),
                          "different weights: rank 2"));
}

TEST_CASE("an error in the backward of one rank ends all ranks with its reason", "[ranks]") {
  std::string sentences;
  const int status = run_ranks(
      3,
      [](Comm& comm) {
        Generator init(5);
        const Case c{.micro_batches = 6};
        Transformer model(tiny(c), init);
        Trainer trainer(
            model, config_of(c),
            [&](Generator& g) {
              TokenBatch batch = some_batch(g);
              if (comm.rank() == 1) batch.ids.fill(1000);
              return batch;
            },
            &comm);
        trainer.step();
        return 0;
      },
      {}, &sentences);
  INFO(sentences);
  CHECK(status == 1);
  CHECK(testing::contains(sentences, "rank 0: "));
  CHECK(testing::contains(sentences, "rank 1 has failed"));
  CHECK(testing::contains(sentences, "1000"));
}

TEST_CASE("gradients are where the optimizer reads them after a sum that failed", "[ranks]") {
  Generator init(5);
  Transformer model(tiny({.dropout = 0}), init);
  ParamSlab slab(model);
  const auto comm = single_rank();
  GradientSum sum(std::vector<ParamSlab*>{&slab}, *comm);
  Generator g(1);
  const TokenBatch batch = some_batch(g);
  const auto compute = [&] { backward(cross_entropy(model(batch.ids), batch.targets)); };
  sum.run(1, [&](int64_t) { compute(); });
  const std::vector<double> expected = slab.grads().to_vector();
  // The second micro-batch of a rank writes to another slab. It fails.
  const std::string error = testing::error_of([&] {
    sum.run(2, [&](int64_t i) {
      compute();
      check(i == 0, "the second batch is bad");
    });
  });
  CHECK(testing::contains(error, "the second batch is bad"));
  slab.grads().fill(0);
  sum.run(1, [&](int64_t) { compute(); });
  CHECK(slab.grads().to_vector() == expected);
}

TEST_CASE("a gradient is ready when everything that reads its leaf has run", "[ranks]") {
  std::vector<std::string> order;
  const auto leaf = [&](const std::string& name) {
    Tensor x = Tensor::full({3}, 2);
    x.set_requires_grad();
    on_grad_ready(x, [&order, name] { order.push_back(name); });
    return x;
  };
  const Tensor shared = leaf("shared"), late = leaf("late"), unused = leaf("unused");
  const Tensor first = shared * late;
  backward(sum(first * shared * Tensor::full({3}, 5)));
  CHECK(order == std::vector<std::string>{"shared", "late"});

  SECTION("with a graph that is never run, it is not ready until that is gone") {
    order.clear();
    {
      const Tensor other = sum(late * 3);
      backward(sum(late * 2));
      CHECK(order.empty());
    }
    backward(sum(late * 2));
    CHECK(order == std::vector<std::string>{"late"});
  }
  SECTION("a leaf that a checkpoint captures is ready after the recomputation") {
    order.clear();
    const Tensor x = late * 1;
    const Tensor y = checkpoint([&](const Tensor& in) { return in * shared; }, x);
    backward(sum(y * shared));
    CHECK(order == std::vector<std::string>{"shared", "late"});
  }
  SECTION("a checkpoint that is dropped uses it no longer") {
    order.clear();
    {
      const Tensor y = checkpoint([&](const Tensor& in) { return in * shared; }, late);
    }
    backward(sum(shared * late));
    CHECK(order.size() == 2);
  }
}
