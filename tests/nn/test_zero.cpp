// ZeRO: the bits of one rank, what each rank holds, checkpoints by shards.
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "nn/files/checkpoint.h"
#include "nn/files/safetensors.h"
#include "nn/ranks/zero_memory.h"
#include "tensor/base/error.h"
#include "tests/catch.h"
#include "tests/nn/small_training.h"

using namespace pg;
using namespace pg::testing;

namespace {

// The sentences of ranks of which one or more fail.
std::string sentences_of(int ranks, const std::function<void(Comm&)>& work) {
  std::string sentences;
  run_ranks(
      ranks,
      [&](Comm& comm) {
        work(comm);
        return 0;
      },
      {}, &sentences);
  return sentences;
}

}  // namespace

TEST_CASE("every stage of ZeRO trains to the bits of one rank", "[zero]") {
  for (const int zero : {1, 2, 3}) {
    for (const int ranks : {1, 2, 3, 8}) {
      for (const DType dtype : {f32, bf16}) {
        const Case c{.dtype = dtype, .micro_batches = ranks, .steps = 12, .zero = zero};
        require_same_as_one_rank(ranks, [&](Comm* comm) { return train(c, comm); });
      }
    }
  }
}

TEST_CASE("ZeRO with several batches on a rank and recomputed blocks and an untied head", "[zero]") {
  for (const int zero : {1, 2, 3}) {
    for (const bool recomputed : {false, true}) {
      for (const bool tied : {false, true}) {
        const Case c{.checkpoint_blocks = recomputed, .micro_batches = 6, .steps = 4, .zero = zero, .tied = tied};
        require_same_as_one_rank(2, [&](Comm* comm) { return train(c, comm); });
        require_same_as_one_rank(3, [&](Comm* comm) { return train(c, comm); });
      }
    }
  }
  for (const int zero : {1, 2}) {  // the last round leaves a rank without a batch
    const Case c{.micro_batches = 5, .steps = 4, .zero = zero};
    require_same_as_one_rank(3, [&](Comm* comm) { return train(c, comm); });
  }
}

TEST_CASE("a rank of ZeRO has memory for its shards only", "[zero]") {
  // 16 and 18 bytes per parameter in f32 and bf16; the shards of a bucket differ by up to one unit.
  for (const DType dtype : {f32, bf16}) {
    for (const int zero : {0, 1, 2, 3}) {
      for (const int ranks : {2, 4}) {
        const std::string failures = sentences_of(ranks, [&](Comm& comm) {
#ifdef __linux__
          // The system may join pages to large ones at any time, which would count their neighbours.
          prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
#endif
          TransformerConfig model_config = tiny({.dtype = dtype, .dropout = 0});
          model_config.n_layer = 4;
          model_config.n_embd = 192;
          Generator init(5);
          Transformer model(model_config, init);
          TrainConfig config = config_of({.micro_batches = 2 * ranks, .zero = zero});
          config.bucket_bytes = 1000000;
          Trainer trainer(model, config, some_batch, &comm);
          trainer.step();
          trainer.step();
          const StepMemory m = trainer.memory();
          const auto n = static_cast<double>(count_parameters(model));
          const StateBytes bytes = dtype == bf16 ? StateBytes{} : StateBytes{4, 4, 8};
          const double formula = zero_bytes(n, ranks, zero, bytes);
          const auto measured = static_cast<double>(m.weights + m.gradients + m.optimizer);
          // Gaps between parameters, and shards that differ by a unit in each of the buckets of a million bytes.
          const double buckets = std::ceil(n * 4 / 1e6) + 1;
          const double slack = 0.01 * formula + 18.0 * static_cast<double>(kShardUnit) * buckets;
          check(std::abs(measured - formula) < slack, "rank {} of {} in stage {}: {} bytes, the formula says {} (+-{})",
                comm.rank(), ranks, zero, measured, formula, slack);
          check(slack < formula / 2, "the slack of {} bytes is too wide for {}", slack, formula);
        });
        INFO(failures);
        CHECK(failures.empty());
      }
    }
  }
}

TEST_CASE("stage 3 holds few blocks at a time", "[zero]") {
  const std::string failures = sentences_of(2, [&](Comm& comm) {
    TransformerConfig model_config = tiny({.dropout = 0});
    model_config.n_layer = 12;
    model_config.n_embd = 192;
    Generator init(5);
    Transformer model(model_config, init);
    TrainConfig config = config_of({.micro_batches = 2, .zero = 3});
    config.bucket_bytes = 500000;
    Trainer trainer(model, config, some_batch, &comm);
    trainer.step();
    const StepMemory m = trainer.memory();
    const double block = 12.0 * 192 * 192 * 4, all = static_cast<double>(count_parameters(model)) * 4;
    const auto more = static_cast<double>(m.most_weights - m.weights);
    // The other rank's half of each block is held: the block itself, its neighbour, and buckets that are cut by
    // their borders.
    check(more > 0.9 * block && more < 2 * block, "{} bytes are gathered, a block has {}", more, block);
    // Half of each bucket, and half of a unit where their number is odd.
    const double own = 0.5 * all + 0.5 * 4 * static_cast<double>(kShardUnit) * std::ceil(all / 500000);
    check(own < 0.6 * all && static_cast<double>(m.weights) < own, "{} of {} bytes of weights", m.weights, all);
  });
  INFO(failures);
  CHECK(failures.empty());
}

TEST_CASE("a checkpoint by shards goes on with any number of ranks and any stage", "[zero]") {
  struct Part {
    int ranks, zero;
  };
  for (const DType dtype : {f32, bf16}) {
    const Case whole{.dtype = dtype, .micro_batches = 12, .steps = 6};
    const std::string expected = train(whole, nullptr);
    for (const auto& [before, after] :
         {std::pair(Part{2, 1}, Part{3, 2}), std::pair(Part{4, 3}, Part{1, 0}), std::pair(Part{1, 0}, Part{3, 3}),
          std::pair(Part{3, 2}, Part{2, 0}), std::pair(Part{2, 3}, Part{4, 1})}) {
      const TempDir folder;
      const std::string path = folder.file("checkpoint.safetensors");
      const auto part = [&](Comm* comm, int zero, bool first) {
        Case c = whole;
        c.zero = zero;
        Generator init(first ? 5 : 6);
        Transformer model(tiny(c), init);
        Trainer trainer(model, config_of(c), some_batch, comm);
        if (!first) {
          trainer.resume(load_checkpoint(path));
          trainer.save(path);  // at the same step, by other ranks
          check(expected.ends_with(bytes_of_run(model, trainer, c.steps)), "the bits after resuming differ");
          return;
        }
        for (int i = 0; i < 3; ++i) {
          trainer.step();
          trainer.save(path);
        }
      };
      for (const bool first : {true, false}) {
        const Part p = first ? before : after;
        const std::string failures = sentences_of(p.ranks, [&](Comm& comm) { part(&comm, p.zero, first); });
        INFO(before.ranks << " ranks in stage " << before.zero << ", then " << after.ranks << " in " << after.zero
                          << ": " << failures);
        REQUIRE(failures.empty());
        // Nothing is left of the checkpoints before.
        const auto files = std::distance(std::filesystem::directory_iterator(folder.path), {});
        CHECK(files == 1 + (p.ranks > 1 && p.zero > 0 ? p.ranks : 0));
      }
    }
  }
}

TEST_CASE("a damaged checkpoint by shards is an error that names what is wrong", "[zero]") {
  const TempDir folder;
  const std::string path = folder.file("checkpoint.safetensors");
  const std::string first = folder.file("checkpoint-step1-00001-of-00002.safetensors");
  const std::string second = folder.file("checkpoint-step1-00002-of-00002.safetensors");
  const Case c{.micro_batches = 2, .zero = 1};
  REQUIRE(sentences_of(2, [&](Comm& comm) {
            Generator init(5);
            Transformer model(tiny(c), init);
            Trainer trainer(model, config_of(c), some_batch, &comm);
            trainer.step();
            trainer.save(path);
          }) == "");
  const auto resume = [&] {
    Generator init(5);
    Transformer model(tiny(c), init);
    Trainer trainer(model, config_of(c), some_batch);
    trainer.resume(load_checkpoint(path));
  };
  resume();
  const SafetensorsFile whole = load_safetensors(first);

  SECTION("a shard is missing") {
    std::filesystem::remove(second);
    CHECK(contains(error_of(resume), "00002-of-00002"));
    Generator init(6);
    Transformer model(tiny(c), init);
    load_checkpoint(path).restore(model);  // the weights need no shard
    Generator other(6);
    CHECK(model.wte.weight.to_vector() != Transformer(tiny(c), other).wte.weight.to_vector());
  }
  SECTION("a shard lacks a tensor") {
    NamedTensors tensors = whole.tensors;
    const std::string lost = tensors.back().first;
    tensors.pop_back();
    save_safetensors(first, tensors);
    const std::string message = error_of(resume);
    INFO(message);
    CHECK(contains(message, "missing"));
    CHECK(contains(message, lost.substr(6, lost.find('[') - 6)));
  }
  SECTION("a shard is there twice") {
    std::filesystem::copy_file(first, second, std::filesystem::copy_options::overwrite_existing);
    CHECK(contains(error_of(resume), "twice"));
  }
  SECTION("a part says other elements than it has") {
    NamedTensors tensors = whole.tensors;
    for (const char* range :
         {"[0:1]", "[0:", "[-5:10]", "[9223372036854775807:5]", "[:]", "[99999999999999999999:1]"}) {
      NamedTensors changed = tensors;
      changed[0].first = changed[0].first.substr(0, changed[0].first.find('[')) + range;
      save_safetensors(first, changed);
      const std::string message = error_of(resume);
      INFO(range << ": " << message);
      CHECK(contains(message, "optimizer state: "));
    }
  }
  SECTION("a shard has weights") {
    NamedTensors tensors = whole.tensors;
    tensors.emplace_back("wte.weight", Tensor::zeros({40, 96}));
    save_safetensors(first, tensors);
    CHECK(contains(error_of(resume), "'wte.weight' is no state of an optimizer"));
  }
}

TEST_CASE("ZeRO rejects what it cannot do", "[zero]") {
  Generator init(5);
  Transformer model(tiny({}), init);
  const auto comm = single_rank();
  CHECK(contains(error_of([&] { ParamSlab slab(model, {comm.get(), 4}); }), "stage of ZeRO from 0 to 3, got 4"));
  CHECK(contains(
      sentences_of(
          2, [&](Comm& c) { Trainer trainer(model, config_of({.micro_batches = 3, .zero = 3}), some_batch, &c); }),
      "3 batches per step are no multiple of 2 ranks"));
  CHECK(contains(sentences_of(2,
                              [&](Comm& c) {
                                TrainConfig config = config_of({.micro_batches = 2, .zero = c.rank()});
                                Trainer trainer(model, config, some_batch, &c);
                              }),
                 "\"zero: 1\" instead of \"zero: 0\""));
  CHECK(contains(sentences_of(2,
                              [&](Comm& c) {
                                Generator other(static_cast<uint64_t>(c.rank()));
                                Transformer mine(tiny({}), other);
                                Trainer trainer(mine, config_of({.micro_batches = 2, .zero = 3}), some_batch, &c);
                                trainer.step();
                              }),
                 "different weights: rank 1"));
}

TEST_CASE("a gradient that is not finite is named on all ranks of ZeRO", "[zero]") {
  for (const int zero : {1, 2, 3}) {
    const std::string failures = sentences_of(3, [&](Comm& comm) {
      Generator init(5);
      Transformer model(tiny({.dropout = 0}), init);
      model.h[1].mlp.c_proj.weight.detach().view_slice(0, 0, 1).fill(std::numeric_limits<double>::infinity());
      Trainer trainer(model, config_of({.micro_batches = 3, .zero = zero}), some_batch, &comm);
      const std::string message = error_of([&] { trainer.step(); });
      check(contains(message, "is not finite"), "rank {}: {}", comm.rank(), message);
      fail("named: {}", message.substr(0, message.find(" is not finite")));
    });
    INFO(failures);
    CHECK(contains(failures, "named: grad_norm: the gradient of 'wte.weight'"));
    CHECK(!contains(failures, "rank 1: rank"));
  }
}
