// Checkpoints: exact round trips, damaged files, interrupted writes.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "nn/files/checkpoint.h"
#include "nn/files/safetensors.h"
#include "nn/train/trainer.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;
using pg::testing::read_bytes;
using pg::testing::TempDir;

extern char** environ;

namespace {

Transformer small_model(uint64_t seed) {
  Generator g(seed);
  return Transformer({.vocab_size = 17,
                      .block_size = 16,
                      .n_layer = 1,
                      .n_head = 2,
                      .n_embd = 16,
                      .dropout = 0.1,
                      .bias = true,
                      .dtype = f32},
                     g);
}

constexpr int64_t kWorkerSteps = 60;
constexpr const char* kWorkerFolder = "POLICYGRAD_TEST_WORKER";  // the worker's folder

// Trains to the last step and saves a checkpoint after every step. Continues from an existing checkpoint.
void work(const std::string& folder) {
  const std::string path = folder + "/checkpoint.safetensors";
  TrainConfig config;
  config.max_steps = kWorkerSteps;
  config.checkpoint_interval = 1;
  config.schedule.warmup_steps = 5;
  config.schedule.decay_steps = kWorkerSteps;
  Transformer model = small_model(1);
  Trainer trainer(model, config, [](Generator& g) {
    std::vector<int32_t> ids(4 * 16), targets(4 * 16);
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = static_cast<int32_t>(g.integer(17));
      targets[i] = (ids[i] * 3 + 1) % 17;
    }
    return TokenBatch{Tensor::from(ids, {4, 16}), Tensor::from(targets, {4, 16})};
  });
  if (std::filesystem::exists(path)) trainer.resume(load_checkpoint(path));
  std::ofstream(folder + "/log", std::ios::app) << trainer.steps() << std::endl;
  trainer.run({.on_checkpoint = [&](int64_t) { trainer.save(path, {{"tokenizer", "{}"}}); }});
}

pid_t start_worker(const std::string& folder) {
  setenv(kWorkerFolder, folder.c_str(), 1);
  std::string self = "/proc/self/exe", test = "checkpoint worker";
  char* arguments[] = {self.data(), test.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawn(&child, self.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  unsetenv(kWorkerFolder);
  REQUIRE(error == 0);
  return child;
}

std::vector<int64_t> starts(const std::string& folder) {
  std::ifstream log(folder + "/log");
  std::vector<int64_t> steps;
  for (int64_t step = 0; log >> step;) steps.push_back(step);
  return steps;
}

}  // namespace

TEST_CASE("checkpoint: a model without heads is refused with a sentence", "[nn][checkpoint]") {
  const pg::testing::TempDir dir;
  Transformer model = small_model(1);
  TransformerConfig config = model.config;
  config.n_head = 0;
  save_checkpoint(dir.file("c.safetensors"), model, nullptr, {0, {}, {{"model", to_json(config)}}});
  const Checkpoint checkpoint = load_checkpoint(dir.file("c.safetensors"));
  CHECK(pg::testing::contains(pg::testing::error_of([&] { Transformer::zeros(checkpoint.model_config()); }),
                              "n_head must be between 1 and"));
}

TEST_CASE("checkpoint: everything saved is loaded", "[nn][checkpoint]") {
  TempDir dir;
  const std::string path = dir.file("c.safetensors");
  Transformer model = small_model(1);
  ParamSlab slab(model);
  AdamW optimizer(slab);
  optimizer.step(0.1);
  RunState state;
  state.step = 42;
  state.generators["data"].set_state(~uint64_t{0}, (uint64_t{1} << 60) + 1);  // more digits than a double holds
  state.metadata = {{"config", "lr: 1e-3 # ümläut\n"}, {"tokenizer", "{\"type\": \"char\"}"}};
  save_checkpoint(path, model, &optimizer, state);

  const Checkpoint loaded = load_checkpoint(path);
  CHECK(loaded.state.step == 42);
  CHECK(loaded.state.metadata == state.metadata);
  CHECK(loaded.generator("data").seed() == ~uint64_t{0});
  CHECK(loaded.generator("data").offset() == (uint64_t{1} << 60) + 1);
  CHECK(loaded.optimizer_steps.at("") == 1);
  CHECK(loaded.file.metadata_at("format") == "pt");
  Transformer other = small_model(2);
  ParamSlab other_slab(other);
  AdamW other_optimizer(other_slab);
  loaded.restore(other);
  loaded.restore(other_optimizer);
  save_checkpoint(dir.file("d.safetensors"), other, &other_optimizer, loaded.state);
  CHECK(read_bytes(dir.file("d.safetensors")) == read_bytes(path));

  CHECK(error_of([&] { loaded.text("nothing"); }).find("no metadata 'nothing'") != std::string::npos);
  CHECK(error_of([&] { loaded.generator("nothing"); }).find("no random stream 'nothing'") != std::string::npos);
  save_checkpoint(path, model, nullptr, state);
  const Checkpoint weights = load_checkpoint(path);
  weights.restore(other);
  CHECK(error_of([&] { weights.restore(other_optimizer); }).find("weights only") != std::string::npos);
}

TEST_CASE("checkpoint: each part is loaded into its own model", "[nn][checkpoint]") {
  TempDir dir;
  const std::string path = dir.file("c.safetensors");
  Transformer policy = small_model(1), critic = small_model(2), reference = small_model(3);
  ParamSlab policy_slab(policy), critic_slab(critic);
  AdamW policy_optimizer(policy_slab), critic_optimizer(critic_slab);
  policy_optimizer.step(0.1);
  critic_optimizer.step(0.2);
  critic_optimizer.step(0.2);
  RunState state;
  state.step = 1;
  save_checkpoint(path, policy, &policy_optimizer, state,
                  {{"critic", &critic, &critic_optimizer}, {"reference", &reference}});

  const Checkpoint loaded = load_checkpoint(path);
  Transformer a = small_model(4), b = small_model(5), c = small_model(6);
  ParamSlab a_slab(a), b_slab(b);
  AdamW a_optimizer(a_slab), b_optimizer(b_slab);
  loaded.restore(a);
  loaded.restore(a_optimizer);
  loaded.restore(b, "critic");
  loaded.restore(b_optimizer, "critic");
  loaded.restore(c, "reference");
  CHECK(b_optimizer.steps() == 2);
  save_checkpoint(dir.file("d.safetensors"), a, &a_optimizer, state, {{"critic", &b, &b_optimizer}, {"reference", &c}});
  CHECK(read_bytes(dir.file("d.safetensors")) == read_bytes(path));
  CHECK(error_of([&] { loaded.restore(a, "teacher"); }).find("no part 'teacher'") != std::string::npos);
  CHECK(error_of([&] { loaded.restore(a_optimizer, "reference"); }).find("weights only") != std::string::npos);
}

TEST_CASE("checkpoint: other files and damaged checkpoints are refused", "[nn][checkpoint]") {
  TempDir dir;
  const std::string path = dir.file("c.safetensors");
  save_safetensors(path, {{"w", Tensor::ones({2})}});
  CHECK(error_of([&] { load_checkpoint(path); }).find("not a policygrad checkpoint") != std::string::npos);
  for (const char* state :
       {"", "{}", "[1]", R"({"step":"x","texts":{},"generators":{}})", R"({"step":1,"texts":{"a":1},"generators":{}})",
        R"({"step":1,"texts":{},"generators":{"data":["1"]}})",
        R"({"step":1,"texts":{},"generators":{"data":["x","99999999999999999999"]}})"}) {
    save_safetensors(path, {{"w", Tensor::ones({2})}}, {{"policygrad", state}});
    INFO(state);
    CHECK(error_of([&] { load_checkpoint(path); }).find("state cannot be read") != std::string::npos);
  }
  Transformer model = small_model(1);
  save_safetensors(path, {{"w", Tensor::ones({2})}},
                   {{"policygrad", R"({"step":1,"texts":{},"generators":{"data":["1","2"]}})"}});
  const std::string message = error_of([&] { load_checkpoint(path).restore(model); });
  CHECK(message.find(path) == 0);
  CHECK(message.find("'w' is unexpected") != std::string::npos);
  const std::string invalid = error_of([&] { save_checkpoint(path, model, nullptr, {0, {}, {{"config", "\xff"}}}); });
  CHECK(invalid.find("UTF-8") != std::string::npos);
}

TEST_CASE("checkpoint worker", "[.worker]") {
  const char* folder = std::getenv(kWorkerFolder);
  if (!folder) SKIP_TEST("runs only as the child of the SIGKILL test");
  work(folder);
}

TEST_CASE("checkpoint: a run killed at random moments ends with the same bytes", "[nn][checkpoint][slow]") {
#ifndef __linux__
  SKIP_TEST("starts itself through /proc/self/exe");
#endif
  TempDir whole, killed;
  work(whole.path.string());

  const std::string folder = killed.path.string();
  Generator g(static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
  INFO("generator seed " << g.seed());
  int kills = 0;
  for (bool finished = false; !finished;) {
    const size_t before = starts(folder).size();
    const pid_t child = start_worker(folder);
    int status = 0;
    if (kills < 10) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      const auto under_way = [&] {  // the first run must leave a checkpoint
        return starts(folder).size() > before && std::filesystem::exists(folder + "/checkpoint.safetensors");
      };
      while (!under_way() && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::microseconds(g.integer(20'000)));
      kill(child, SIGKILL);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    finished = WIFEXITED(status);
    if (finished) {
      REQUIRE(WEXITSTATUS(status) == 0);
    } else {
      REQUIRE(WTERMSIG(status) == SIGKILL);
      ++kills;
    }
  }
  CHECK(kills >= 1);
  CHECK(starts(folder).back() > 0);
  CHECK(read_bytes(killed.file("checkpoint.safetensors")) == read_bytes(whole.file("checkpoint.safetensors")));
}
