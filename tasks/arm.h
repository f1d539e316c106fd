#pragma once
#include <array>

#include "tasks/environment.h"

namespace pg {

// A robot arm with two links in the horizontal plane (no gravity) must move its hand to a target. The links are uniform
// rods of 0.5 m and 1 kg; both joints turn without limits. M is the inertia matrix, c the Coriolis and centrifugal
// torques, and each joint has a viscous friction of 0.2 N·m·s (Spong, Hutchinson & Vidyasagar, "Robot Modeling and
// Control", the planar elbow manipulator):
//   M(q) q'' + c(q, q') + 0.2 q' = torque,   integrated by Runge-Kutta steps of 0.05 s.
// Action, two values in ±1: the joint torques in N·m; or, with Control::velocity, the joint velocities in units of 2
// rad/s, which take effect immediately. Reward: -|hand - target| - 0.01 |action|², in metres. State: q1, q2, q1', q2',
// target x, y (q2 relative to the first link); observation: cos q1, sin q1, cos q2, sin q2, q1', q2', target x, y, hand
// - target x, y. Initial state: joint angles uniform and at rest, the target uniform in the disc of radius 0.95. Never
// terminated; 100 steps.
class ArmReach final : public Environment {
 public:
  enum class Control { torque, velocity };
  static constexpr double kLink = 0.5, kMass = 1, kFriction = 0.2, kVelocity = 2, kDt = 0.05;

  explicit ArmReach(Control control);

  // Position of the hand for joint angles q1, q2.
  static std::array<double, 2> hand(double q1, double q2);
  // Time derivative of q1, q2, q1', q2' under these torques.
  static std::array<double, 4> slope(const std::array<double, 4>& y, double torque1, double torque2,
                                     double friction = kFriction);

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override;
  Control control_;
};

}  // namespace pg
