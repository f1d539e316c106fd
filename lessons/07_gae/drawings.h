#pragma once
// Drawings of an episode, four frames side by side from the first step to the last, for lessons 7 and 7b.
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "lessons/kit/sketch.h"
#include "rl/control/trainer.h"
#include "tasks/act/control.h"
#include "tensor/base/random.h"

namespace pg::lesson07 {

using Episode = std::vector<std::vector<double>>;  // the observations, one per step

constexpr int kColumns = 17, kRows = 6;
constexpr double kAspect = 2.0 * kRows / kColumns;  // height over width of a frame

// Four frames, evenly spaced in time; draw(observation, sketch) adds the lines of one.
template <class F>
std::string four_frames(const Episode& episode, const kit::SketchOptions& options, F&& draw) {
  std::vector<kit::Sketch> frames;
  for (size_t i = 0; i < 4; ++i) {
    const size_t step = (episode.size() - 1) * i / 3;
    kit::Sketch sketch;
    sketch.caption = fmt::format("step {}", step + 1);
    draw(episode[step], sketch);
    frames.push_back(sketch);
  }
  return kit::sketches(frames, options);
}

// A window of that width around (0, y).
inline kit::SketchOptions window(double width, double y) {
  const double height = kAspect * width;
  return {.left = -width / 2,
          .right = width / 2,
          .bottom = y - height / 2,
          .top = y + height / 2,
          .columns = kColumns,
          .rows = kRows};
}

inline long degrees(double radians) { return std::lround(radians * 180 / std::numbers::pi); }

// An episode in which the policy takes its most probable action, or its mean torque. `seed` is for the initial state.
inline Episode play(rl::EnvTrainer& trainer, const std::string& environment, uint64_t seed) {
  const auto world = make_environment(environment);
  Generator start = random_stream(seed, 0);
  Episode episode{world->reset(start)};
  while (true) {
    const auto& seen = episode.back();
    const Tensor x =
        Tensor::from(trainer.environments().normalized(seen), {1, static_cast<int64_t>(seen.size())}).to(f32);
    const Transition t = world->step(trainer.model().act(x, nullptr).to_vector());
    if (t.last()) return episode;
    episode.push_back(t.observation);
  }
}

// The cart in the middle of each frame.
inline std::string draw_cartpole(const Episode& episode) {
  constexpr double pole = 1, half_cart = 0.25, height = 0.12;
  return four_frames(episode, window(1.7, 0.5), [&](const std::vector<double>& seen, kit::Sketch& sketch) {
    sketch.caption += fmt::format(": {:+d}°", degrees(seen[2]));
    sketch.lines = {{0, height, pole * std::sin(seen[2]), height + pole * std::cos(seen[2])},
                    {-half_cart, height, half_cart, height},
                    {-half_cart, 0, half_cart, 0},
                    {-half_cart, 0, -half_cart, height},
                    {half_cart, 0, half_cart, height}};
  });
}

}  // namespace pg::lesson07
