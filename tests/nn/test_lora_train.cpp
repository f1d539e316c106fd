// LoRA: models with adapters generate, train and resume.
#include "nn/decode/generate.h"
#include "nn/decode/kv_cache.h"
#include "nn/files/checkpoint.h"
#include "tests/nn/lora_case.h"

using namespace pg;
using namespace pg::testing;
using namespace pg::testing::lora;

TEST_CASE("lora: generation, training and packed rows have the same bits", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, bf16, f64}) {
      for (const std::string targets : {"all-linear", "q_proj,v_proj", "c_fc"}) {
        for (const int64_t rank : {1, 4, 8, 19}) {
          INFO(type << " " << name_of(dtype) << " " << targets << " rank " << rank);
          Transformer model = adapted(type, dtype, {.rank = rank, .targets = targets});
          const Tensor ids = some_ids();
          const Tensor trained = model.hidden(ids).detach();  // with a tape
          NoGrad no_grad;
          const Tensor whole = model.hidden(ids);
          CHECK(equal_values(whole, trained));
          const KvCache cache = model.new_cache(ids.size(0));
          for (int64_t t = 0; t < ids.size(1); ++t) {
            const Tensor next = model.hidden(ids.view_slice(1, t, t + 1), &cache);
            CHECK(equal_values(next, whole.view_slice(1, t, t + 1)));
          }
          // As packed rows: the second row repeats the first two tokens of the first, which are stored once.
          const auto row = ids.view_slice(0, 0, 1).to_vector();
          const auto token = [&](size_t i) { return static_cast<int32_t>(row[i]); };
          PackedBatch rows;
          rows.rows = 2;
          rows.columns = 4;
          rows.ids =
              Tensor::from(std::vector<int32_t>{token(0), token(1), token(2), token(3), token(5), token(6)}, {6});
          rows.positions = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 2, 3}, {6});
          rows.grid = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 6, 7}, {6});
          rows.from = Tensor::from(std::vector<int32_t>{0, 1, 2, 3, 0, 1, 4, 5}, {8});
          const Tensor both = Tensor::from(
              std::vector<int32_t>{token(0), token(1), token(2), token(3), token(0), token(1), token(5), token(6)},
              {2, 4});
          CHECK(equal_values(model.hidden(rows), model.hidden(both)));
        }
      }
    }
  }
}

TEST_CASE("lora: cached generation samples what the model says without a cache", "[nn][lora]") {
  for (const std::string type : kTypes) {
    INFO(type);
    Transformer model = adapted(type, f32, {.rank = 4, .dropout = 0.5, .targets = "q_proj,v_proj,up_proj"});
    GenerateOptions options;
    options.max_new_tokens = 20;
    options.samples = 3;
    const auto with_cache = generate(model, {{1, 2, 3}, {4, 5}}, options);
    options.kv_cache = false;
    const auto without = generate(model, {{1, 2, 3}, {4, 5}}, options);
    for (size_t i = 0; i < with_cache.size(); ++i) {
      CHECK(with_cache[i].tokens == without[i].tokens);
      CHECK(with_cache[i].log_probs == without[i].log_probs);
    }
  }
}

TEST_CASE("lora: training resumes from a checkpoint bit for bit", "[nn][lora]") {
  for (const std::string type : kTypes) {
    for (const DType dtype : {f32, bf16}) {
      INFO(type << " " << name_of(dtype));
      const LoraConfig lora = {.rank = 2, .dropout = 0.1, .targets = "q_proj,v_proj,c_proj"};
      const TempDir dir;
      Transformer whole = adapted(type, dtype, lora), first = adapted(type, dtype, lora);
      const NextBatch next = copying(whole.config.vocab_size);
      Trainer uninterrupted(whole, config(6), next);
      while (uninterrupted.steps() < 6) uninterrupted.step();
      {
        Trainer trainer(first, config(6), next);
        while (trainer.steps() < 3) trainer.step();
        trainer.save(dir.file("run.safetensors"));
      }
      // Only the checkpoint is known from here on.
      const Checkpoint checkpoint = load_checkpoint(dir.file("run.safetensors"));
      Transformer second = Transformer::zeros(checkpoint.model_config());
      CHECK(second.config == whole.config);
      Trainer trainer(second, config(6), next);
      trainer.resume(checkpoint);
      check_equal_bits(second, first);
      while (trainer.steps() < 6) trainer.step();
      check_equal_bits(second, whole);

      // A merged model stays merged.
      merge_lora(second);
      save_checkpoint(dir.file("merged.safetensors"), second, nullptr, {0, {}, {{"model", to_json(second.config)}}});
      const Checkpoint merged = load_checkpoint(dir.file("merged.safetensors"));
      Transformer third = Transformer::zeros(merged.model_config());
      merged.restore(third);
      CHECK(equal_values(logits_of(third, some_ids()), logits_of(second, some_ids())));
      CHECK(third.config.lora.merged);

      // Sizes that the file has no values for are refused before any memory is taken.
      const auto refused = [&](const TransformerConfig& c) {
        save_checkpoint(dir.file("huge.safetensors"), second, nullptr, {0, {}, {{"model", to_json(c)}}});
        return error_of([&] { load_checkpoint(dir.file("huge.safetensors")).model_config(); });
      };
      TransformerConfig huge = whole.config;
      huge.lora.rank = 1 << 30;
      CHECK(contains(refused(huge), "but it holds"));
      huge.n_head = huge.n_kv_head = huge.head_size = INT32_MAX;
      CHECK(contains(refused(huge), "LoRA: the heads have"));
    }
  }
}
