// Compares what trainings show, and chooses what hunt asks.
#include "lessons/kit/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg::kit {
namespace {

constexpr double kSeen = 0.1;  // the gap that an eye sees, as a share of the engine's values
constexpr int kSeenParts = 2;  // of one curve
constexpr double kFar = 2;     // what is farther from the engine's values is drawn as this
constexpr const char* kSeparator = ": ";

std::vector<double> parts_of(const std::vector<double>& values) {
  std::vector<double> parts = thinned(values, kParts);
  for (double& x : parts) x = std::isfinite(x) ? x : kNotFinite;
  return parts;
}

}  // namespace

void add_training(const std::function<void(Demo&)>& train, const Settings& settings, uint64_t seed, Bands& into,
                  std::vector<std::string>& texts) {
  constexpr Pace nothing_shown{.part = std::numeric_limits<int>::max(), .quiet = true};
  Demo demo(false, nullptr, nothing_shown, {.widened = &into, .seed = seed, .texts = &texts}, settings);
  train(demo);
}

Bands in_parts(const Bands& curves) {
  Bands parts;
  for (const auto& [name, band] : curves) {
    Band& to = parts[name];
    to.low = parts_of(band.low);
    to.high = parts_of(band.high);
    for (size_t i = 0; i < to.low.size(); ++i) {
      to.x.push_back(static_cast<double>(i));
      if (to.low[i] > to.high[i]) std::swap(to.low[i], to.high[i]);  // one of them is not finite
    }
  }
  return parts;
}

Difference difference(const Bands& a, const Bands& b, const Bands& engine) {
  Difference most;
  for (const auto& [name, in_a] : a) {
    check(b.contains(name) && engine.contains(name), "hunt: only one of two pictures has the curve \"{}\"", name);
    const Band &in_b = b.at(name), &band = engine.at(name);
    const double bottom = *std::min_element(band.low.begin(), band.low.end());
    const double top = *std::max_element(band.high.begin(), band.high.end());
    const double range = std::max(top - bottom, 1e-6 * std::max(std::abs(top), std::abs(bottom)));
    const auto drawn = [&](double x) { return std::clamp(x, bottom - kFar * range, top + kFar * range); };
    int seen = 0;
    for (size_t i = 0; i < in_a.low.size(); ++i) {
      const double lower = std::min(drawn(in_a.high[i]), drawn(in_b.high[i]));
      const double gap = (std::max(drawn(in_a.low[i]), drawn(in_b.low[i])) - lower) / range;
      seen += gap >= kSeen;
      if (gap > most.gap) most = {name, i, gap, most.seen};
    }
    most.seen |= seen >= kSeenParts;
  }
  return most;
}

std::string picture_text(const Bands& training, const Bands& engine) {
  const auto [curve, part, gap, seen] = difference(training, engine, engine);
  if (curve.empty()) return "on this machine it is inside the engine's band";
  const auto range = [part = part](const Band& band) {
    const double low = band.low[part], high = band.high[part];
    if (low == kNotFinite) return std::string("numbers that are not finite");
    if (high == kNotFinite) return fmt::format("{:.3g} to numbers that are not finite", low);
    return low == high ? fmt::format("{:.3g}", low) : fmt::format("{:.3g} to {:.3g}", low, high);
  };
  return fmt::format("\"{}\", in its {} fifth: the engine has {}, this training {}", curve,
                     std::array{"first", "second", "third", "fourth", "last"}[part], range(engine.at(curve)),
                     range(training.at(curve)));
}

Pictures read_pictures(const std::string& path) {
  Pictures pictures;
  for (const auto& [name, band] : read_bands(path)) {
    const size_t at = name.find(kSeparator);
    check(at != std::string::npos, "{}: expected \"mistake: curve\", got \"{}\"", path, name);
    pictures[name.substr(0, at)][name.substr(at + std::string(kSeparator).size())] = band;
  }
  return pictures;
}

void write_pictures(const std::string& path, const Pictures& pictures) {
  Bands all;
  for (const auto& [mistake, curves] : pictures) {
    for (const auto& [name, band] : curves) all[mistake + kSeparator + name] = band;
  }
  write_bands(path, all);
}

HuntQuestion hunt_question(const Pictures& pictures, const Bands& engine, uint64_t seed,
                           const std::function<std::string(const std::string& mistake)>& words) {
  check(seed > 0 && !pictures.empty(), "hunt: expected a seed of 1 or more and a mistake, got {} and {}", seed,
        pictures.size());
  std::vector<std::string> order;
  for (const auto& [mistake, curves] : pictures) order.push_back(mistake);
  std::vector<std::string> others = order;
  Generator mixed(pictures.size()), g(seed);
  shuffle(order, mixed);
  shuffle(others, g);
  HuntQuestion question{order[(seed - 1) % order.size()], {}};
  const Bands& truth = pictures.at(question.mistake);
  question.choices = {question.mistake};
  std::set<std::string> said = {words(question.mistake)};
  constexpr size_t kChoices = 5;
  for (const std::string& other : others) {
    if (question.choices.size() == kChoices) break;
    if (!difference(truth, pictures.at(other), engine).seen || !said.insert(words(other)).second) continue;
    question.choices.push_back(other);
  }
  check(question.choices.size() == kChoices, "hunt: only {} causes can be told from {}", question.choices.size() - 1,
        question.mistake);
  shuffle(question.choices, g);
  return question;
}

}  // namespace pg::kit
