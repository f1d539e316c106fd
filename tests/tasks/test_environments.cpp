// The environments compared with trajectories of Gymnasium (tools/goldens/make_environment_goldens.py) and with the
// laws of mechanics, and properties that every environment must have.
#include <cmath>
#include <functional>
#include <numbers>
#include <set>

#include "nn/files/safetensors.h"
#include "tasks/act/bandit.h"
#include "tasks/act/control.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;

namespace {

std::vector<double> random_action(const ActionSpace& space, Generator& g) {
  if (space.discrete()) return {static_cast<double>(g.integer(space.choices))};
  std::vector<double> action;
  for (size_t i = 0; i < space.box.low.size(); ++i) {
    action.push_back(space.box.low[i] + (space.box.high[i] - space.box.low[i]) * g.uniform());
  }
  return action;
}

// Whether x is within the bounds, up to rounding.
bool inside(const Box& box, const std::vector<double>& x) {
  if (static_cast<int64_t>(x.size()) != box.size()) return false;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] >= box.low[i] - 1e-12 && x[i] <= box.high[i] + 1e-12)) return false;
  }
  return true;
}

// The state after `steps` steps of an episode that has not ended.
std::vector<double> open_state(double steps, const std::vector<double>& physical) {
  std::vector<double> state = {steps, 0};
  state.insert(state.end(), physical.begin(), physical.end());
  return state;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double result = 0;
  for (size_t i = 0; i < a.size(); ++i) result = std::max(result, std::abs(a[i] - b[i]));
  return result;
}

// Largest |E(t) - E(0)| along a trajectory of `seconds` without forces. The first two elements of the state are
// bookkeeping (steps, episode end).
double energy_drift(Environment& env, std::vector<double> physical, double idle, double dt, double seconds,
                    const std::function<double(const std::vector<double>&)>& energy) {
  const double start = energy(physical);
  double drift = 0;
  for (double t = 0; t < seconds; t += dt) {
    env.set_state(open_state(0, physical));
    env.step(std::vector<double>{idle});
    const auto state = env.state();
    physical.assign(state.begin() + 2, state.end());
    drift = std::max(drift, std::abs(energy(physical) - start));
  }
  return drift;
}

}  // namespace

TEST_CASE("every step is Gymnasium's to twelve digits", "[env]") {
  for (const char* name : {"CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1"}) {
    const SafetensorsFile file = load_safetensors(std::string("tests/goldens/environments/") + name + ".safetensors");
    const auto rows = [&](const char* tensor) {
      const Tensor x = file.at(tensor);
      std::vector<std::vector<double>> result;
      for (int64_t t = 0; t < x.size(0); ++t) result.push_back(x.view_slice(0, t, t + 1).to_vector());
      return result;
    };
    const auto state = rows("state"), action = rows("action"), next = rows("next_state"), seen = rows("observation"),
               reward = rows("reward"), terminated = rows("terminated"), truncated = rows("truncated"),
               elapsed = rows("elapsed");
    const auto env = make_environment(name), going = make_environment(name);
    double state_error = 0, observation_error = 0, reward_error = 0, going_error = 0;
    int ends = 0;
    for (size_t t = 0; t < state.size(); ++t) {
      INFO(name << ", row " << t);
      // Steps from Gymnasium's own state each time, and also along an episode that is only simulated here.
      env->set_state(open_state(elapsed[t][0], state[t]));
      if (elapsed[t][0] == 0) going->set_state(open_state(0, state[t]));
      const Transition step = env->step(action[t]);
      going->step(action[t]);
      const auto after = env->state(), along = going->state();
      state_error = std::max(state_error, largest_difference({after.begin() + 2, after.end()}, next[t]));
      if (elapsed[t][0] < 60) {
        going_error = std::max(going_error, largest_difference({along.begin() + 2, along.end()}, next[t]));
      }
      observation_error = std::max(observation_error, largest_difference(step.observation, seen[t]));
      reward_error = std::max(reward_error, std::abs(step.reward - reward[t][0]));
      CHECK(step.terminated == (terminated[t][0] != 0));
      CHECK(step.truncated == (truncated[t][0] != 0));
      ends += step.last();
    }
    INFO(name);
    CHECK(ends >= 1);
    CHECK(state_error < 1e-12);
    CHECK(reward_error < 1e-12);
    CHECK(going_error < 1e-7);        // the Acrobot doubles an error every few steps
    CHECK(observation_error < 3e-6);  // Gymnasium's observations are f32, with values up to 28
  }
}

TEST_CASE("first states have Gymnasium's ranges", "[env]") {
  const double pi = std::numbers::pi;
  const std::vector<std::pair<std::string, std::vector<std::pair<double, double>>>> ranges = {
      {"CartPole-v1", {{-0.05, 0.05}, {-0.05, 0.05}, {-0.05, 0.05}, {-0.05, 0.05}}},
      {"MountainCar-v0", {{-0.6, -0.4}, {0, 0}}},
      {"Pendulum-v1", {{-pi, pi}, {-1, 1}}},
      {"Acrobot-v1", {{-0.1, 0.1}, {-0.1, 0.1}, {-0.1, 0.1}, {-0.1, 0.1}}},
  };
  for (const auto& [name, range] : ranges) {
    const auto env = make_environment(name);
    Generator g(3);
    std::vector<double> low(range.size(), 1e9), high(range.size(), -1e9), sum(range.size());
    constexpr int n = 4000;
    for (int i = 0; i < n; ++i) {
      env->reset(g);
      const auto state = env->state();
      for (size_t k = 0; k < range.size(); ++k) {
        low[k] = std::min(low[k], state[2 + k]);
        high[k] = std::max(high[k], state[2 + k]);
        sum[k] += state[2 + k];
      }
    }
    for (size_t k = 0; k < range.size(); ++k) {
      const double width = range[k].second - range[k].first;
      INFO(name << ", number " << k);
      CHECK(low[k] >= range[k].first);
      CHECK(high[k] <= range[k].second);
      CHECK(low[k] <= range[k].first + 0.01 * width);
      CHECK(high[k] >= range[k].second - 0.01 * width);
      // The mean of n uniform samples is within 4 standard errors; one is width / sqrt(12 n).
      CHECK(std::abs(sum[k] / n - (range[k].first + range[k].second) / 2) <= 4 * width / std::sqrt(12.0 * n));
    }
  }
}

TEST_CASE("every environment keeps its bounds and its clock and can be saved", "[env]") {
  for (const EnvironmentRow& row : environments()) {
    const std::string& name = row.name;
    INFO(name);
    const auto env = make_environment(name), copy = make_environment(name);
    Generator g(5), actions(6);
    const auto first = env->reset(g);
    CHECK(inside(env->observation_space(), first));
    int64_t steps = 0, episodes = 0, truncations = 0;
    for (int i = 0; i < 3000; ++i) {
      const auto action = random_action(env->action_space(), actions);
      copy->set_state(env->state());
      const Transition step = env->step(action);
      const Transition again = copy->step(action);
      CHECK(again.observation == step.observation);
      CHECK(again.reward == step.reward);
      CHECK(copy->state() == env->state());
      REQUIRE(inside(env->observation_space(), step.observation));
      REQUIRE(std::isfinite(step.reward));
      ++steps;
      CHECK(step.truncated == (steps == env->time_limit()));
      truncations += step.truncated && !step.terminated;
      if (step.last()) {
        ++episodes;
        CHECK(error_of([&] { env->step(action); }).find("call reset()") != std::string::npos);
        env->reset(g);
        steps = 0;
      }
    }
    CHECK(episodes >= 3);
    // Some episodes must end by the time limit alone.
    const bool bandit = name.find("Bandit") != std::string::npos;
    if (name != "CartPole-v1" && !bandit) CHECK(truncations > 0);
  }
}

TEST_CASE("the same seed gives the same episode", "[env]") {
  for (const EnvironmentRow& row : environments()) {
    const std::string& name = row.name;
    const auto a = make_environment(name), b = make_environment(name);
    Generator ga(9), gb(9), gc(10);
    CHECK(a->reset(ga) == b->reset(gb));
    const auto state = a->state();
    CHECK(b->state() == state);
    b->reset(gc);
    CHECK(b->state() != state);
  }
}

TEST_CASE("an undriven pendulum and acrobot keep their energy as the clock gets finer", "[env]") {
  // E = θ'²/2 + 15 cos θ for a rod of mass 1 and length 1 under g = 10, in units of its moment of inertia 1/3. The
  // semi-implicit Euler step is of first order.
  const auto pendulum_energy = [](const std::vector<double>& s) { return s[1] * s[1] / 2 + 15 * std::cos(s[0]); };
  double drift[2];
  for (int i = 0; i < 2; ++i) {
    const double dt = i == 0 ? 1e-3 : 5e-4;
    Pendulum pendulum(dt);
    drift[i] = energy_drift(pendulum, {2, 0.5}, 0, dt, 5, pendulum_energy);
  }
  CHECK(drift[0] < 0.05);
  CHECK(drift[0] / drift[1] == Approx(2).epsilon(0.1));

  // Kinetic energy of both links (masses 1, centres at 1/2, moments of inertia 1 about them), computed from the
  // velocities of the centres, and potential energy from their heights. Runge-Kutta is of fourth order.
  const auto acrobot_energy = [](const std::vector<double>& s) {
    const double a = s[0], b = s[0] + s[1], da = s[2], db = s[2] + s[3];
    const double vx = std::cos(a) * da + 0.5 * std::cos(b) * db, vy = std::sin(a) * da + 0.5 * std::sin(b) * db;
    const double kinetic = 0.5 * 0.25 * da * da + 0.5 * (vx * vx + vy * vy) + 0.5 * da * da + 0.5 * db * db;
    return kinetic + 9.8 * (-0.5 * std::cos(a) + (-std::cos(a) - 0.5 * std::cos(b)));
  };
  for (int i = 0; i < 2; ++i) {
    const double dt = i == 0 ? 0.04 : 0.02;
    Acrobot acrobot(dt);
    drift[i] = energy_drift(acrobot, {1.2, -0.7, 0.3, 0.1}, 1, dt, 5, acrobot_energy);
  }
  CHECK(drift[1] < 1e-5);
  CHECK(drift[0] / drift[1] > 12);
}

TEST_CASE("the arm obeys mechanics", "[env]") {
  // Kinetic energy from the velocities of the rods' centres and their moments of inertia m l²/12.
  const auto energy = [](const std::array<double, 4>& s) {
    const double l = ArmReach::kLink, a = s[0], b = s[0] + s[1], da = s[2], db = s[2] + s[3];
    const double vx = -l * std::sin(a) * da - l / 2 * std::sin(b) * db;
    const double vy = l * std::cos(a) * da + l / 2 * std::cos(b) * db;
    const double turning = l * l / 12 * (da * da + db * db);
    return ArmReach::kMass / 2 * (l * l / 4 * da * da + vx * vx + vy * vy + turning);
  };
  // dE/dt, by central differences along the derivative, equals the power of the torques minus that of friction.
  Generator g(4);
  for (int trial = 0; trial < 50; ++trial) {
    std::array<double, 4> y;
    for (double& x : y) x = 3 * g.normal();
    const double t1 = g.normal(), t2 = g.normal(), friction = trial % 2 == 0 ? 0 : ArmReach::kFriction;
    const auto slope = ArmReach::slope(y, t1, t2, friction);
    const auto at = [&](double h) {
      auto moved = y;
      for (size_t i = 0; i < 4; ++i) moved[i] += h * slope[i];
      return energy(moved);
    };
    const double power = t1 * y[2] + t2 * y[3] - friction * (y[2] * y[2] + y[3] * y[3]);
    CHECK((at(1e-5) - at(-1e-5)) / 2e-5 == Approx(power).epsilon(1e-6).margin(1e-6));
  }
  CHECK(largest_difference({ArmReach::hand(0, 0)[0], ArmReach::hand(0, std::numbers::pi / 2)[1]}, {1, 0.5}) < 1e-15);
}

TEST_CASE("the arm can reach its target", "[env]") {
  // A controller by hand: computes the joint angles that put the hand on the target, and applies torques towards them.
  const double pi = std::numbers::pi;
  for (const char* name : {"ArmReach-torque", "ArmReach-velocity"}) {
    const bool velocity = std::string(name) == "ArmReach-velocity";
    const auto env = make_environment(name);
    Generator g(8);
    for (int episode = 0; episode < 20; ++episode) {
      auto o = env->reset(g);
      for (;;) {
        const double x = o[6], y = o[7], q1 = std::atan2(o[1], o[0]), q2 = std::atan2(o[3], o[2]);
        const double elbow = std::acos(std::clamp((x * x + y * y) / 0.5 - 1, -1.0, 1.0));
        const double shoulder = std::atan2(y, x) - elbow / 2;
        const double error1 = std::remainder(shoulder - q1, 2 * pi), error2 = std::remainder(elbow - q2, 2 * pi);
        const double stiffness = velocity ? 3 : 2, damping = velocity ? 0 : 1;
        const Transition step = env->step(
            std::vector<double>{stiffness * error1 - damping * o[4], stiffness * error2 - damping / 3 * o[5]});
        o = step.observation;
        if (!step.last()) continue;
        INFO(name << ", episode " << episode);
        CHECK(step.truncated);
        CHECK_FALSE(step.terminated);
        CHECK(std::hypot(o[8], o[9]) < 0.06);  // weak motors: not all arms have settled
        break;
      }
    }
  }
}

TEST_CASE("bandits pay what they promise", "[env]") {
  for (const Bandit& known : {gaussian_bandit(), bernoulli_bandit()}) {
    Bandit bandit = known;
    Generator g(2);
    const auto& means = bandit.means();
    for (size_t arm = 0; arm < means.size(); ++arm) {
      double sum = 0, squares = 0;
      constexpr int n = 4000;
      for (int i = 0; i < n; ++i) {
        CHECK(bandit.reset(g) == std::vector<double>{1});
        const Transition t = bandit.step(std::vector<double>{static_cast<double>(arm)});
        CHECK(t.terminated);
        sum += t.reward;
        squares += t.reward * t.reward;
      }
      CHECK(std::abs(sum / n - means[arm]) < 4.5 / std::sqrt(n));
      const bool bernoulli = means.front() == 0.3;
      const double variance = bernoulli ? means[arm] * (1 - means[arm]) : 1;
      CHECK(squares / n - sum / n * (sum / n) == Approx(variance).margin(0.1));
      CHECK(means[static_cast<size_t>(bandit.best_arm())] >= means[arm]);
    }
  }
}

TEST_CASE("environments refuse what is no action and no state with a sentence", "[env]") {
  Generator g(1);
  CartPole cart;
  CHECK(error_of([&] { cart.step(std::vector<double>{0}); }).find("call reset()") != std::string::npos);
  cart.reset(g);
  CHECK(error_of([&] { cart.step(std::vector<double>{2}); }) == "Environment: the action must be one of 0 … 1, got 2");
  CHECK(error_of([&] { cart.step(std::vector<double>{0.5}); }).find("got 0.5") != std::string::npos);
  CHECK(error_of([&] { cart.step(std::vector<double>{NAN}); }).find("got nan") != std::string::npos);
  CHECK(error_of([&] { cart.step(std::vector<double>{0, 0}); }).find("has 1 values, got 2") != std::string::npos);
  CHECK(error_of([&] { cart.set_state(std::vector<double>{0, 0, 1}); }).find("6 values, got 3") != std::string::npos);
  CHECK(error_of([&] { cart.set_state(std::vector<double>{501, 0, 0, 0, 0, 0}); }) != "");
  Pendulum pendulum;
  pendulum.reset(g);
  CHECK(error_of([&] { pendulum.step(std::vector<double>{NAN}); }).find("is NaN") != std::string::npos);
  const std::string unknown = error_of([] { make_environment("Pong"); });
  CHECK(unknown.find("got \"Pong\"") != std::string::npos);
  CHECK(unknown.find("CartPole-v1, GaussianBandit") != std::string::npos);
}
