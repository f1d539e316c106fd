#pragma once
#include <array>
#include <cstddef>

namespace pg {

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

}  // namespace pg
