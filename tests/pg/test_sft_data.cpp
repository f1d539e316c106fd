// pg sft --data: a run that is resumed equals one that was not stopped, and packed texts do not see each other.
#include <filesystem>
#include <fstream>

#include "nn/files/pretrained.h"
#include "rl/text/imitation.h"
#include "tasks/data/text_data.h"
#include "tests/catch.h"
#include "tests/pg/chat_model.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/train/sft_data.h"

using namespace pg;
using namespace pg::tools;
using namespace pg::testing;
namespace fs = std::filesystem;

TEST_CASE("sft on a file: a run resumed on other ranks has the bytes of one that was not stopped",
          "[pg][chat][ranks]") {
  const TempDir dir;
  write_chat_model(dir.file("model"));
  write_chat_data(dir.file("data.jsonl"));
  const SftDataOptions options = {.file = dir.file("data.jsonl"), .val_share = 0.2, .max_length = 60};
  const auto run = [&](const std::string& name, int64_t steps, int ranks, const std::string& resume = "") {
    SftDataRun r;
    r.run.name = name;
    r.run.out = dir.file(name);
    r.run.resume = resume;
    r.run.threads = 1;
    r.init = dir.file("model");
    r.train.max_steps = steps;
    r.train.micro_batches = 3;
    r.train.schedule = {.kind = Schedule::Kind::constant, .lr = 1e-2};
    r.train.eval_interval = 2;
    r.batch = 1;
    r.steps_given = true;
    r.config = [](const TrainConfig&) { return std::string(); };
    const auto work = [&](Comm& comm) { return sft_on_data(options, r, comm); };
    REQUIRE(run_on_ranks({.ranks = ranks}, "cpu", r.run, work) == 0);
    return fs::directory_iterator(dir.file(name))->path().string();
  };
  const auto result = [](const std::string& run) {
    return read_file(run + "/checkpoint.safetensors") + read_file(run + "/metrics.jsonl");
  };
  const std::string whole = run("whole", 9, 1);  // more than two epochs
  const std::string part = run("part", 4, 1);
  run("part", 9, 1, part);
  CHECK(result(whole) == result(part));
  CHECK(result(whole) == result(run("of_two", 9, 2)));
  const std::string mixed = run("mixed", 2, 2);
  run("mixed", 6, 3, mixed);
  run("mixed", 9, 1, mixed);
  run("mixed", 9, 3, mixed);  // it is finished: nothing changes
  CHECK(result(whole) == result(mixed));
}

TEST_CASE("sft on a file: the loss of packed texts is that of each text alone", "[pg][chat]") {
  const TempDir dir;
  write_chat_model(dir.file("model"));
  Transformer model = load_pretrained(dir.file("model"), f64);
  const std::vector<std::vector<int32_t>> texts = {{1, 2, 3, 4, 5}, {1, 2, 9}, {7, 7, 7, 7}};
  const std::vector<std::vector<uint8_t>> chosen = {{0, 1, 0, 1}, {1, 1}, {0, 0, 1}};
  const auto batch_of = [&](size_t begin, size_t end) {
    std::vector<rl::Sequence> rows;
    for (size_t i = begin; i < end; ++i) {
      rows.push_back({std::span(texts[i]).first(1), std::span(texts[i]).subspan(1), chosen[i]});
    }
    return rl::packed_batch(rows);
  };
  // The reference: log-probabilities of each text by itself.
  double want = 0;
  int64_t count = 0;
  {
    NoGrad no_grad;
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto length = static_cast<int64_t>(texts[i].size());
      const Tensor ids = Tensor::from(texts[i], {1, length});
      const auto log_probs =
          token_log_prob(model(ids.view_slice(1, 0, length - 1)), ids.view_slice(1, 1, length)).first.to_vector();
      for (size_t t = 0; t < log_probs.size(); ++t) {
        if (chosen[i][t]) want -= log_probs[t], ++count;
      }
    }
  }
  TrainConfig config;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = 0};
  Trainer trainer(model, config, [&](Generator&) { return batch_of(0, 3); });
  const StepReport report = trainer.step();
  CHECK(report.tokens == count);
  CHECK(report.loss == Approx(want / static_cast<double>(count)).epsilon(1e-12));
}
