#pragma once
// Control problems of reinforcement learning: four classic ones, as in Gymnasium, and a robot arm. SI units, angles in
// radians. `dt` is a parameter so that smaller time steps can be tried; the default is Gymnasium's.
#include <array>

#include "tasks/act/environment.h"

namespace pg {

// CartPole-v1 (Barto, Sutton & Anderson 1983): push a cart left (0) or right (1) with 10 N so that the pole on it stays
// up. Reward 1 per step, the last included. State and observation: x, x', θ (0 is up), θ'. Initial state uniform in
// ±0.05. Terminated if |x| > 2.4 or |θ| > 12°; 500 steps.
class CartPole final : public Environment {
 public:
  explicit CartPole(double dt = 0.02);

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override { return s_; }
  double dt_;
};

// MountainCar-v0 (Moore 1990): a car too weak to climb the hill directly must swing up; actions: push left, no push,
// push right (0, 1, 2). Reward -1 per step. State and observation: position, velocity. Initial position uniform in
// [-0.6, -0.4), at rest. Terminated at position >= 0.5; 200 steps.
class MountainCar final : public Environment {
 public:
  MountainCar();

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override { return s_; }
};

// Pendulum-v1: swing a rod up and hold it there with a torque of at most 2 N·m, which is too small to lift it in one
// swing. Reward -(θ² + 0.1 θ'² + 0.001 torque²) with θ in ±π, 0 up. State: θ, θ'; observation: cos θ, sin θ, θ'.
// Initial state: θ uniform in ±π, θ' uniform in ±1; |θ'| is clamped to 8. Never terminated; 200 steps.
class Pendulum final : public Environment {
 public:
  explicit Pendulum(double dt = 0.05);

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override;
  double dt_;
};

// Acrobot-v1 (Sutton 1996; dynamics of Sutton & Barto's book): two links hang from a joint; a torque of -1, 0 or 1 N·m
// (actions 0, 1, 2) at the elbow must swing the tip above 1. Reward -1 per step, 0 for the last. State: θ1 (0 hangs
// down), θ2 (relative to the first link), both in ±π, θ1', θ2' clamped to ±4π and ±9π; observation: cos θ1, sin θ1, cos
// θ2, sin θ2, θ1', θ2'. Initial state uniform in ±0.1. Terminated if -cos θ1 - cos(θ1 + θ2) > 1; 500 steps.
class Acrobot final : public Environment {
 public:
  explicit Acrobot(double dt = 0.2);

 private:
  void begin(Generator& g) override;
  Outcome advance(std::span<const double> action) override;
  std::vector<double> observe() const override;
  double dt_;
};

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
