// Gymnasium's CartPole, Pendulum, Acrobot and MountainCar, and a robot arm that reaches for a point.
#include "tasks/act/control.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

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

// One step of the classical fourth-order Runge-Kutta method: y(t) → y(t + dt) for dy/dt = f(y).
template <size_t N, class F>
std::array<double, N> runge_kutta_step(const std::array<double, N>& y, double dt, F f) {
  const auto along = [&](const std::array<double, N>& slope, double h) {
    std::array<double, N> result;
    for (size_t i = 0; i < N; ++i) result[i] = y[i] + h * slope[i];
    return result;
  };
  const auto k1 = f(y);
  const auto k2 = f(along(k1, dt / 2));
  const auto k3 = f(along(k2, dt / 2));
  const auto k4 = f(along(k3, dt));
  std::array<double, N> mean;
  for (size_t i = 0; i < N; ++i) mean[i] = (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
  return along(mean, dt);
}

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

namespace {

Box observations(ArmReach::Control control) {
  const double rate = control == ArmReach::Control::velocity ? ArmReach::kVelocity  //
                                                             : std::numeric_limits<double>::infinity();
  Box box{{}, {1, 1, 1, 1, rate, rate, 1, 1, 2, 2}};
  for (double x : box.high) box.low.push_back(-x);
  return box;
}

}  // namespace

ArmReach::ArmReach(Control control)
    : Environment(observations(control), {.box = {{-1, -1}, {1, 1}}}, 100, 6), control_(control) {}

std::array<double, 2> ArmReach::hand(double q1, double q2) {
  return {kLink * (std::cos(q1) + std::cos(q1 + q2)), kLink * (std::sin(q1) + std::sin(q1 + q2))};
}

std::array<double, 4> ArmReach::slope(const std::array<double, 4>& y, double torque1, double torque2, double friction) {
  // A rod has the moment of inertia m l² / 3 about its end; the first link also carries the mass of the second.
  constexpr double rod = kMass * kLink * kLink / 3, carried = kMass * kLink * kLink, coupling = carried / 2;
  const double q2 = y[1], rate1 = y[2], rate2 = y[3];
  const double m11 = 2 * rod + carried + 2 * coupling * std::cos(q2);
  const double m12 = rod + coupling * std::cos(q2);
  const double m22 = rod;
  const double h = coupling * std::sin(q2);
  const double f1 = torque1 - friction * rate1 + h * (2 * rate1 * rate2 + rate2 * rate2);
  const double f2 = torque2 - friction * rate2 - h * rate1 * rate1;
  const double determinant = m11 * m22 - m12 * m12;
  return {rate1, rate2, (m22 * f1 - m12 * f2) / determinant, (m11 * f2 - m12 * f1) / determinant};
}

void ArmReach::begin(Generator& g) {
  constexpr double pi = std::numbers::pi;
  const double q1 = pi * (2 * g.uniform() - 1), q2 = pi * (2 * g.uniform() - 1);
  const double radius = 0.95 * std::sqrt(g.uniform()), direction = 2 * pi * g.uniform();
  s_ = {q1, q2, 0, 0, radius * std::cos(direction), radius * std::sin(direction)};
}

Environment::Outcome ArmReach::advance(std::span<const double> action) {
  if (control_ == Control::velocity) {
    for (size_t i = 0; i < 2; ++i) {
      s_[2 + i] = kVelocity * action[i];
      s_[i] += kDt * s_[2 + i];
    }
  } else {
    const auto next = runge_kutta_step(std::array{s_[0], s_[1], s_[2], s_[3]}, kDt,
                                       [&](const auto& y) { return slope(y, action[0], action[1]); });
    std::copy(next.begin(), next.end(), s_.begin());
  }
  const auto [x, y] = hand(s_[0], s_[1]);
  const double effort = action[0] * action[0] + action[1] * action[1];
  return {-std::hypot(x - s_[4], y - s_[5]) - 0.01 * effort, false};
}

std::vector<double> ArmReach::observe() const {
  const auto [x, y] = hand(s_[0], s_[1]);
  return {std::cos(s_[0]), std::sin(s_[0]), std::cos(s_[1]), std::sin(s_[1]), s_[2],
          s_[3],           s_[4],           s_[5],           x - s_[4],       y - s_[5]};
}

}  // namespace pg
