#pragma once
#include <array>

#include "tasks/environment.h"

namespace pg {

// A robot arm of two links in the horizontal plane (no gravity) shall bring its hand to a target. Two uniform rods of
// 0.5 m and 1 kg, both joints turn freely. With M the inertia matrix, c the Coriolis and centrifugal torques and a
// viscous friction of 0.2 N·m·s in each joint (Spong, Hutchinson & Vidyasagar, "Robot Modeling and Control", the planar
// elbow manipulator):
//   M(q) q'' + c(q, q') + 0.2 q' = torque,   integrated by Runge-Kutta steps of 0.05 s.
// Action, two numbers in ±1: the joint torques in N·m; or, with Control::velocity, the joint velocities in units of
// 2 rad/s, which the arm then takes up at once. Reward: -|hand - target| - 0.01 |action|², in metres.
// State: q1, q2, q1', q2', target x, y (q2 relative to the first link); observation: cos q1, sin q1, cos q2, sin q2,
// q1', q2', target x, y, hand - target x, y. First state: joints anywhere and at rest, the target uniform in the disc
// of radius 0.95. Never terminated; 100 steps.
class ArmReach final : public Environment {
 public:
  enum class Control { torque, velocity };
  static constexpr double kLink = 0.5, kMass = 1, kFriction = 0.2, kVelocity = 2, kDt = 0.05;

  explicit ArmReach(Control control);

  // Where the hand is when the joints are at q1, q2.
  static std::array<double, 2> hand(double q1, double q2);
  // d/dt of q1, q2, q1', q2' under these torques.
  static std::array<double, 4> slope(const std::array<double, 4>& y, double torque1, double torque2,
                                     double friction = kFriction);

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override;
  Control control_;
};

}  // namespace pg
