// A robot arm that reaches for a point.
#include "tasks/arm.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tasks/runge_kutta.h"

namespace pg {
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
