// Several environments stepped together, with normalised observations and rewards.
#include "rl/control/vector_env.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/random.h"
#include "tensor/base/text.h"

namespace pg::rl {
namespace {

constexpr double kClip = 10, kVarianceEps = 1e-8;
constexpr size_t kMeanEpisodes = 100;  // mean_return() and mean_length() are means of the last 100 episodes

size_t values_per_observation(const VectorEnv& envs) { return static_cast<size_t>(envs.observation_size()); }

Json json_of(const RunningMoments& m) { return {m.count, m.mean, m.squares}; }

uint64_t bits(const Json& json) { return std::stoull(json.get<std::string>()); }

// Reads numbers into a vector. Throws Error unless there are as many as the vector has.
void read_numbers(const Json& json, std::vector<double>& into) {
  const auto numbers = json.get<std::vector<double>>();
  check(numbers.size() == into.size(), "expected {} numbers, got {}", into.size(), numbers.size());
  into = numbers;
}

void read_moments(const Json& json, RunningMoments& m) {
  m.count = json.at(0).get<double>();
  read_numbers(json.at(1), m.mean);
  read_numbers(json.at(2), m.squares);
}

}  // namespace

VectorEnv::VectorEnv(const MakeEnvironment& make, int64_t count, const VectorEnvOptions& options, uint64_t seed,
                     Comm* comm)
    : options_(options), comm_(comm), observation_moments_(0), return_moments_(1) {
  check(count >= 1, "VectorEnv: there must be at least one environment, got {}", count);
  for (int64_t i = 0; i < count; ++i) {
    copies_.push_back({.environment = make(), .generator = random_stream(seed, static_cast<uint64_t>(i))});
  }
  observation_moments_ = RunningMoments(values_per_observation(*this));
  observations_.resize(copies_.size() * values_per_observation(*this));
  std::vector<std::vector<double>> first;
  for (Copy& copy : copies_) first.push_back(copy.environment->reset(copy.generator));
  for (const auto& x : first) observation_moments_.add(x);
  for (size_t i = 0; i < copies_.size(); ++i) set_observation(i, first[i]);
}

std::vector<double> VectorEnv::normalized(std::span<const double> x) const {
  std::vector<double> result(x.begin(), x.end());
  if (!options_.normalize_observations) return result;
  for (size_t i = 0; i < result.size(); ++i) {
    const double z = (x[i] - observation_moments_.mean[i]) / std::sqrt(observation_moments_.variance(i) + kVarianceEps);
    result[i] = std::clamp(z, -kClip, kClip);
  }
  return result;
}

void VectorEnv::set_observation(size_t copy, std::span<const double> observation) {
  const std::vector<double> x = normalized(observation);
  std::copy(x.begin(), x.end(), observations_.begin() + static_cast<ptrdiff_t>(copy * x.size()));
}

VectorEnv::Moved VectorEnv::move(size_t copy, std::span<const double> action) {
  Environment& environment = *copies_[copy].environment;
  Moved moved{.transition = environment.step(action), .next = {}};
  const std::vector<double>& seen = moved.transition.observation;
  check(std::isfinite(moved.transition.reward) &&
            std::all_of(seen.begin(), seen.end(), [](double x) { return std::isfinite(x); }),
        "VectorEnv: environment {} returned a reward or an observation that is not finite", copy);
  moved.next = moved.transition.last() ? environment.reset(copies_[copy].generator) : seen;
  for (const size_t n : {seen.size(), moved.next.size()}) {
    check(std::cmp_equal(n, observation_size()),
          "VectorEnv: environment {} returned an observation of {} values, not {}", copy, n, observation_size());
  }
  return moved;
}

void VectorEnv::compare_ranks() {
  if (std::exchange(compared_, true)) return;
  std::string text;
  for (size_t i = 0; i < copies_.size(); ++i) {
    text += fmt::format("environment {}: {}, random numbers {}\n", i, copies_[i].environment->state(),
                        copies_[i].generator.offset());
  }
  check_same_on_all_ranks(*comm_, "environments", text);
}

void VectorEnv::share(std::vector<Moved>& moved) {
  const auto d = static_cast<size_t>(observation_size()), state = environment().state().size();
  const size_t width = 4 + 2 * d + state;
  const Tensor rows = Tensor::zeros({count(), static_cast<int64_t>(width)}, f64);
  const Shard own = shard_of(count(), comm_->rank(), comm_->size());
  for (int64_t b = own.begin; b < own.end; ++b) {
    const auto i = static_cast<size_t>(b);
    const auto& [transition, next] = moved[i];
    // The bits of the offset, as those of a double: they are only copied.
    std::vector<double> row = {transition.reward, transition.terminated ? 1.0 : 0.0, transition.truncated ? 1.0 : 0.0,
                               std::bit_cast<double>(copies_[i].generator.offset())};
    for (const auto& values : {transition.observation, next, copies_[i].environment->state()}) {
      row.insert(row.end(), values.begin(), values.end());
    }
    check(row.size() == width, "VectorEnv: the state of environment {} has {} values, that of environment 0 has {}", i,
          row.size() - (width - state), state);
    std::copy(row.begin(), row.end(), rows.data<double>().begin() + static_cast<ptrdiff_t>(i * width));
  }
  comm_->all_gather(rows, rows.size(1));
  for (size_t i = 0; i < copies_.size(); ++i) {
    const std::span<const double> row = rows.data<const double>().subspan(i * width, width);
    const auto values = [](std::span<const double> x) { return std::vector<double>(x.begin(), x.end()); };
    moved[i] = {{values(row.subspan(4, d)), row[0], row[1] != 0, row[2] != 0}, values(row.subspan(4 + d, d))};
    copies_[i].generator.set_state(copies_[i].generator.seed(), std::bit_cast<uint64_t>(row[3]));
    copies_[i].environment->set_state(row.subspan(4 + 2 * d));
  }
}

VectorEnv::Step VectorEnv::step(std::span<const double> actions) {
  const auto size = static_cast<size_t>(environment().action_space().size());
  check(actions.size() == copies_.size() * size, "VectorEnv: {} environments with {} numbers per action, got {}",
        copies_.size(), size, actions.size());
  const bool alone = !comm_ || comm_->size() == 1;
  const Shard own = alone ? Shard{0, count()} : shard_of(count(), comm_->rank(), comm_->size());
  if (!alone) compare_ranks();
  std::vector<Moved> moved(copies_.size());
  for (int64_t b = own.begin; b < own.end; ++b) {
    const auto i = static_cast<size_t>(b);
    moved[i] = move(i, actions.subspan(i * size, size));
  }
  if (!alone) share(moved);
  Step result;
  result.final_observations.resize(copies_.size());
  for (size_t i = 0; i < copies_.size(); ++i) {
    Copy& copy = copies_[i];
    const Transition& t = moved[i].transition;
    copy.episode_return += t.reward;
    ++copy.episode_length;
    copy.discounted = options_.gamma * copy.discounted + t.reward;
    return_moments_.add({&copy.discounted, 1});
    result.rewards.push_back(t.reward);
    result.terminated.push_back(t.terminated);
    result.truncated.push_back(t.truncated);
    if (t.last()) {
      ++episodes_;
      returns_.push_back(copy.episode_return);
      lengths_.push_back(static_cast<double>(copy.episode_length));
      if (returns_.size() > kMeanEpisodes) returns_.pop_front(), lengths_.pop_front();
      copy.episode_return = copy.discounted = 0;
      copy.episode_length = 0;
      result.final_observations[i] = t.observation;
    }
    observation_moments_.add(moved[i].next);
  }
  for (size_t i = 0; i < copies_.size(); ++i) {
    set_observation(i, moved[i].next);
    if (!result.final_observations[i].empty()) result.final_observations[i] = normalized(result.final_observations[i]);
  }
  if (options_.normalize_rewards) {
    const double scale = std::sqrt(return_moments_.variance(0) + kVarianceEps);
    for (double& reward : result.rewards) reward = std::clamp(reward / scale, -kClip, kClip);
  }
  return result;
}

double VectorEnv::mean_of(const std::deque<double>& values) {
  if (values.empty()) return std::nan("");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string VectorEnv::state() const {
  Json copies = Json::array();
  for (const Copy& c : copies_) {
    copies.push_back(
        {{"state", c.environment->state()},
         {"seed", std::to_string(c.generator.seed())},  // as text: integers above 2^53 do not survive every JSON reader
         {"offset", std::to_string(c.generator.offset())},
         {"return", c.episode_return},
         {"discounted", c.discounted},
         {"length", c.episode_length}});
  }
  return sorted_by_key({{"copies", std::move(copies)},
                        {"observations", observations_},
                        {"observation_moments", json_of(observation_moments_)},
                        {"return_moments", json_of(return_moments_)},
                        {"episodes", episodes_},
                        {"returns", returns_},
                        {"lengths", lengths_}})
      .dump();
}

void VectorEnv::set_state(const std::string& text) {
  try {
    const Json json = Json::parse(shallow_json(text, "VectorEnv"));
    const Json& copies = json.at("copies");
    check(copies.size() == copies_.size(), "the state is of {} environments, not {}", copies.size(), copies_.size());
    for (size_t i = 0; i < copies_.size(); ++i) {
      Copy& c = copies_[i];
      c.environment->set_state(copies[i].at("state").get<std::vector<double>>());
      c.generator.set_state(bits(copies[i].at("seed")), bits(copies[i].at("offset")));
      c.episode_return = copies[i].at("return").get<double>();
      c.discounted = copies[i].at("discounted").get<double>();
      c.episode_length = copies[i].at("length").get<int64_t>();
    }
    compared_ = false;
    read_numbers(json.at("observations"), observations_);
    read_moments(json.at("observation_moments"), observation_moments_);
    read_moments(json.at("return_moments"), return_moments_);
    episodes_ = json.at("episodes").get<int64_t>();
    returns_ = json.at("returns").get<std::deque<double>>();
    lengths_ = json.at("lengths").get<std::deque<double>>();
    check(returns_.size() == lengths_.size() && returns_.size() <= kMeanEpisodes,
          "the state has {} returns and {} lengths, expected equally many of each, at most {}", returns_.size(),
          lengths_.size(), kMeanEpisodes);
  } catch (const std::exception& e) {
    fail("VectorEnv: the saved state does not fit: {}", excerpt(e.what(), 200));
  }
}

}  // namespace pg::rl
