// Policies in environments on several ranks: weights, rollouts, reports and checkpoints have the bits of one rank.
#include <signal.h>

#include <algorithm>
#include <cmath>

#include "rl/control/trainer.h"
#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tests/catch.h"
#include "tests/rl/on_ranks.h"

using namespace pg;
using namespace pg::rl;
using pg::testing::read_bytes;
using pg::testing::TempDir;

namespace {

// Steps are counted from the start that reset() draws. An episode is terminated at 6, and truncated after 4 steps; both
// happen, and both at once. `broken`: the copy with this number throws in its 9th step.
class Stairs : public Environment {
 public:
  Stairs(bool discrete, int copy, int broken)
      : Environment({{0, -1}, {6, 1}}, discrete ? ActionSpace{.choices = 3} : ActionSpace{.box = {{-1, -1}, {1, 1}}}, 4,
                    2),
        copy_(copy),
        broken_(broken) {}

 protected:
  void begin(Generator& g) override { s_ = {static_cast<double>(g.integer(4)), 2 * g.uniform() - 1}; }

 private:
  Outcome advance(std::span<const double> action) override {
    check(copy_ != broken_ || ++steps_ < 9, "stair {} is broken", copy_);
    ++s_[0];
    s_[1] = std::clamp(s_[1] + action[0] / 3 - 0.3, -1.0, 1.0);
    return {s_[1] * s_[0], s_[0] >= 6};
  }
  std::vector<double> observe() const override { return s_; }
  int copy_, broken_, steps_ = 0;
};

MakeEnvironment stairs(bool discrete, int broken = -1) {
  return [discrete, broken, copies = std::make_shared<int>(0)] {
    return std::make_unique<Stairs>(discrete, (*copies)++, broken);
  };
}

struct Job {
  EnvTrainConfig config;
  MakeEnvironment make = {};  // none: the environment that the configuration names
  int64_t iterations = 3;
  std::string from = {}, to = {};  // checkpoints
};

// Mini-batches of 8 steps in micro-batches of 3, and 3 environments: no number of ranks divides what is shared out.
EnvTrainConfig small(const std::string& environment) {
  EnvTrainConfig c = env_recipe(environment);
  c.environments = 3;
  c.rollout_steps = 8;
  c.minibatches = 3;
  c.micro_batch = 3;
  c.epochs = 2;
  c.hidden = 8;
  c.total_steps = 100 * 3 * 8;
  return c;
}

void append(std::string& to, const std::vector<double>& x) {
  to.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(double));
}

// The bytes of all that some iterations and a further rollout give, and of the state after them.
std::string record(const Job& job, Comm* comm) {
  const EnvTrainConfig& c = job.config;
  EnvTrainer trainer(
      c, job.make ? job.make : [&] { return make_environment(c.environment); }, {}, comm);
  if (!job.from.empty()) trainer.resume(load_checkpoint(job.from));
  std::string all;
  while (trainer.steps() < job.iterations * c.environments * c.rollout_steps) {
    for (const auto& [name, value] : trainer.step().named()) {
      if (name != "steps_per_second") append(all, {value});
    }
  }
  if (!job.to.empty() && (!comm || comm->rank() == 0)) trainer.save(job.to);
  const EnvRollout r = trainer.rollout();
  for (const Tensor& x : {r.observations, r.actions, r.log_prob, r.values, r.rewards, r.terminated, r.truncated,
                          r.next_values, r.final_values, r.advantages, r.returns}) {
    append(all, x.to_vector());
  }
  for (const auto& [name, parameter] : named_parameters(trainer.model())) append(all, parameter.to_vector());
  return all + trainer.environments().state();
}

std::vector<std::string> records(int ranks, const Job& job) {
  return pg::testing::bytes_on(ranks, [&](Comm* comm) { return record(job, comm); });
}

void check_equal(const Job& job, std::initializer_list<int> numbers_of_ranks = {1, 2, 3, 4}) {
  pg::testing::check_equal_on_ranks([&](Comm* comm) { return record(job, comm); }, numbers_of_ranks);
}

}  // namespace

TEST_CASE("env ranks: every environment has the bits of one rank", "[env][trainer][ranks]") {
  for (const EnvironmentRow& row : environments()) {
    INFO(row.name);
    check_equal({small(row.name)}, {2, 3});
  }
}

TEST_CASE("env ranks: ended and truncated episodes have the bits of one rank", "[env][trainer][ranks]") {
  const bool discrete = GENERATE(false, true), normalized = GENERATE(false, true);
  INFO(discrete << normalized);
  Job job{small("CartPole-v1"), stairs(discrete)};
  job.config.normalize_observations = job.config.normalize_rewards = normalized;
  const EnvRollout r = EnvTrainer(job.config, job.make).rollout();
  REQUIRE(sum(r.terminated.to(f32)).item() > 0);
  REQUIRE(sum(r.truncated.to(f32)).item() > 0);
  check_equal(job);
}

TEST_CASE("env ranks: the choices of an update have the bits of one rank", "[env][trainer][ranks]") {
  const auto with = [](const std::string& environment, const std::function<void(EnvTrainConfig&)>& change) {
    Job job{small(environment)};
    change(job.config);
    return job;
  };
  check_equal(with("Acrobot-v1", [](EnvTrainConfig& c) { c.shared = true; }), {2, 3});
  check_equal({a2c_recipe("CartPole-v1")}, {3});  // one micro-batch: one rank computes it
  check_equal(with("CartPole-v1", [](EnvTrainConfig& c) { c.clip_low = c.clip_high = 0, c.whiten_advantages = false; }),
              {2});
  // The first epoch is the last.
  Job strict = with("Pendulum-v1", [](EnvTrainConfig& c) { c.lr = 0.1, c.target_kl = 1e-4, c.epochs = 5; });
  REQUIRE(EnvTrainer(strict.config).step().epochs == 1);
  check_equal(strict, {2, 3});
}

TEST_CASE("env ranks: ranks with nothing to do have the bits of one rank", "[env][trainer][ranks]") {
  EnvTrainConfig one = small("GaussianBandit");
  one.environments = 1;
  one.minibatches = 4;  // of two steps
  one.micro_batch = 1;
  check_equal({one}, {2, 4});
  one.minibatches = 8;  // of one step, whose advantage is not whitened
  one.micro_batch = 0;
  check_equal({one}, {3});
  EnvTrainConfig large = small("Pendulum-v1");
  large.micro_batch = 1000;  // more than a mini-batch has
  check_equal({large}, {3});
  EnvTrainConfig whole = large;
  whole.micro_batch = 0;
  const bool same = records(0, {large}) == records(0, {whole});
  CHECK(same);
}

TEST_CASE("env ranks: a run continues on another number of ranks with the same bits", "[env][trainer][ranks]") {
  const std::string name = GENERATE("CartPole-v1", "Pendulum-v1", "GaussianBandit");
  INFO(name);
  const TempDir temp;
  const auto file = [&](const std::string& of) { return temp.file(of); };
  const EnvTrainConfig c = small(name);
  for (const bool alone : {true, false}) {
    const std::string who = alone ? "one" : "ranks";
    records(alone ? 1 : 2, {c, {}, 1, "", file(who + "1")});
    records(alone ? 1 : 3, {c, {}, 2, file(who + "1"), file(who + "2")});
    records(1, {c, {}, 3, file(who + "2"), file(who + "3")});
  }
  records(1, {c, {}, 3, "", file("whole")});
  for (const std::string part : {"1", "2", "3"}) {
    const bool same = read_bytes(file("ranks" + part)) == read_bytes(file("one" + part));
    CHECK(same);
  }
  const bool same = read_bytes(file("ranks3")) == read_bytes(file("whole"));
  CHECK(same);
  REQUIRE(read_bytes(file("whole")).size() > 1000);
}

TEST_CASE("env ranks: environments that begin differently on a rank are refused", "[env][trainer][ranks]") {
  std::string sentences;
  const int status = run_ranks(
      3,
      [&](Comm& comm) {
        // The second environment of rank 2 has drawn once too often.
        const MakeEnvironment make = [&, copies = std::make_shared<int>(0)]() -> std::unique_ptr<Environment> {
          class Hasty final : public Stairs {
           public:
            using Stairs::Stairs;

           private:
            void begin(Generator& g) override {
              g.uniform();
              Stairs::begin(g);
            }
          };
          if ((*copies)++ == 1 && comm.rank() == 2) return std::make_unique<Hasty>(true, 1, -1);
          return std::make_unique<Stairs>(true, 0, -1);
        };
        record({small("CartPole-v1"), make}, &comm);
        return 0;
      },
      {.timeout = 20}, &sentences);
  INFO(sentences);
  CHECK(status == 1);
  CHECK(sentences.find("the ranks have different environments: rank 2 differs from rank 0: \"environment 1: ") !=
        std::string::npos);
}

TEST_CASE("env ranks: an environment that fails on one rank ends all with its sentence", "[env][trainer][ranks]") {
  for (const int broken : {0, 2}) {
    std::string sentences;
    const int status = run_ranks(
        3,
        [&](Comm& comm) {
          record({small("CartPole-v1"), stairs(true, broken)}, &comm);
          return 0;
        },
        {.timeout = 20}, &sentences);
    INFO(sentences);
    CHECK(status == 1);
    // The rank that failed says why, and the others name it.
    const std::string why = fmt::format("stair {} is broken\n", broken);
    CHECK(sentences.find(fmt::format("rank {}: {}", broken, why)) != std::string::npos);
    for (int rank = 0; rank < 3; ++rank) {
      const size_t line = sentences.find(fmt::format("rank {}: ", rank));
      REQUIRE(line != std::string::npos);
      const std::string said = sentences.substr(line, sentences.find('\n', line) + 1 - line);
      CHECK(said.ends_with(rank == broken ? why : fmt::format("rank {} has failed: {}", broken, why)));
    }
  }
}
