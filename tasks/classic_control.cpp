// Gymnasium's CartPole, Pendulum, Acrobot and MountainCar.
#include "tasks/classic_control.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tasks/runge_kutta.h"

namespace pg {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double uniform(Generator& g, double low, double high) { return low + (high - low) * g.uniform(); }
double squared(double x) { return x * x; }

Box symmetric(std::vector<double> high) {
  Box box{high, std::move(high)};
  for (double& x : box.low) x = -x;
  return box;
}

double wrapped(double angle) { return std::abs(angle) <= kPi ? angle : std::remainder(angle, 2 * kPi); }

}  // namespace

// ---- CartPole

namespace {
constexpr double kTrackEnd = 2.4, kFallen = 12 * 2 * kPi / 360;
}

CartPole::CartPole(double dt)
    : Environment(symmetric({2 * kTrackEnd, kInfinity, 2 * kFallen, kInfinity}), {.choices = 2}, 500, 4), dt_(dt) {}

void CartPole::begin(Generator& g) {
  for (double& x : s_) x = uniform(g, -0.05, 0.05);
}

Environment::Outcome CartPole::advance(std::span<const double> action) {
  constexpr double gravity = 9.8, pole_mass = 0.1, total_mass = 1 + pole_mass, half_length = 0.5;
  const double force = action[0] == 1 ? 10 : -10;
  const double c = std::cos(s_[2]), s = std::sin(s_[2]);
  const double push = (force + pole_mass * half_length * squared(s_[3]) * s) / total_mass;
  const double pole_acceleration =
      (gravity * s - c * push) / (half_length * (4.0 / 3.0 - pole_mass * squared(c) / total_mass));
  const double cart_acceleration = push - pole_mass * half_length * pole_acceleration * c / total_mass;
  s_[0] += dt_ * s_[1];
  s_[1] += dt_ * cart_acceleration;
  s_[2] += dt_ * s_[3];
  s_[3] += dt_ * pole_acceleration;
  return {1, std::abs(s_[0]) > kTrackEnd || std::abs(s_[2]) > kFallen};
}

// ---- MountainCar

MountainCar::MountainCar() : Environment({{-1.2, -0.07}, {0.6, 0.07}}, {.choices = 3}, 200, 2) {}

void MountainCar::begin(Generator& g) { s_ = {uniform(g, -0.6, -0.4), 0}; }

Environment::Outcome MountainCar::advance(std::span<const double> action) {
  double& position = s_[0];
  double& velocity = s_[1];
  velocity += (action[0] - 1) * 0.001 - 0.0025 * std::cos(3 * position);
  velocity = std::clamp(velocity, -0.07, 0.07);
  position = std::clamp(position + velocity, -1.2, 0.6);
  if (position == -1.2 && velocity < 0) velocity = 0;  // the left end is a wall
  return {-1, position >= 0.5 && velocity >= 0};
}

// ---- Pendulum

Pendulum::Pendulum(double dt) : Environment(symmetric({1, 1, 8}), {.box = symmetric({2})}, 200, 2), dt_(dt) {}

void Pendulum::begin(Generator& g) { s_ = {uniform(g, -kPi, kPi), uniform(g, -1, 1)}; }

Environment::Outcome Pendulum::advance(std::span<const double> action) {
  constexpr double gravity = 10, mass = 1, length = 1;
  double& angle = s_[0];
  double& velocity = s_[1];
  double from_top = std::fmod(angle + kPi, 2 * kPi);
  from_top += (from_top < 0 ? 2 * kPi : 0) - kPi;
  const double cost = squared(from_top) + 0.1 * squared(velocity) + 0.001 * squared(action[0]);
  const double acceleration = 3 * gravity / (2 * length) * std::sin(angle) + 3 / (mass * squared(length)) * action[0];
  velocity = std::clamp(velocity + acceleration * dt_, -8.0, 8.0);
  angle += velocity * dt_;
  return {-cost, false};
}

std::vector<double> Pendulum::observe() const { return {std::cos(s_[0]), std::sin(s_[0]), s_[1]}; }

// ---- Acrobot

namespace {
// Links of length 1 and mass 1 with the centre of mass at 0.5 and a moment of inertia of 1.
std::array<double, 4> acrobot_slope(const std::array<double, 4>& y, double torque) {
  constexpr double mass = 1, length = 1, centre = 0.5, inertia = 1, gravity = 9.8;
  const auto [angle1, angle2, rate1, rate2] = y;
  const double c2 = std::cos(angle2), s2 = std::sin(angle2);
  const double d1 =
      mass * squared(centre) + mass * (squared(length) + squared(centre) + 2 * length * centre * c2) + 2 * inertia;
  const double d2 = mass * (squared(centre) + length * centre * c2) + inertia;
  const double phi2 = mass * centre * gravity * std::cos(angle1 + angle2 - kPi / 2);
  const double phi1 = -mass * length * centre * squared(rate2) * s2 - 2 * mass * length * centre * rate2 * rate1 * s2 +
                      (mass * centre + mass * length) * gravity * std::cos(angle1 - kPi / 2) + phi2;
  const double acceleration2 = (torque + d2 / d1 * phi1 - mass * length * centre * squared(rate1) * s2 - phi2) /
                               (mass * squared(centre) + inertia - squared(d2) / d1);
  const double acceleration1 = -(d2 * acceleration2 + phi1) / d1;
  return {rate1, rate2, acceleration1, acceleration2};
}
}  // namespace

Acrobot::Acrobot(double dt) : Environment(symmetric({1, 1, 1, 1, 4 * kPi, 9 * kPi}), {.choices = 3}, 500, 4), dt_(dt) {}

void Acrobot::begin(Generator& g) {
  for (double& x : s_) x = uniform(g, -0.1, 0.1);
}

Environment::Outcome Acrobot::advance(std::span<const double> action) {
  const double torque = action[0] - 1;
  const auto next = runge_kutta_step(std::array{s_[0], s_[1], s_[2], s_[3]}, dt_,
                                     [&](const std::array<double, 4>& y) { return acrobot_slope(y, torque); });
  s_ = {wrapped(next[0]), wrapped(next[1]), std::clamp(next[2], -4 * kPi, 4 * kPi),
        std::clamp(next[3], -9 * kPi, 9 * kPi)};
  const bool terminated = -std::cos(s_[0]) - std::cos(s_[1] + s_[0]) > 1;
  return {terminated ? 0.0 : -1.0, terminated};
}

std::vector<double> Acrobot::observe() const {
  return {std::cos(s_[0]), std::sin(s_[0]), std::cos(s_[1]), std::sin(s_[1]), s_[2], s_[3]};
}

}  // namespace pg
