// The demonstration of lesson 2. Its second part is tape.cpp.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "lessons/02_autograd/wrong.h"
#include "lessons/kit/plot.h"

namespace pg::lesson02 {
namespace {

// Fits y = w·x to the points (1, 2) and (2, 4) by four steps of gradient descent from w = 0.
void show_line(kit::Demo& demo, const Impl& impl) {
  demo.heading("A line, fitted in four steps");
  const double lr = demo.setting("line_lr");
  demo.say(
      "One parameter w, two points: x = 1, y = 2 and x = 2, y = 4. The loss is the mean of (w·x - y)². Each step is "
      "w = w - {:g} · dL/dw, and dL/dw comes from the tape.",
      lr);
  const Tensor x = Tensor::from(std::vector<double>{1, 2}, {2}), y = Tensor::from(std::vector<double>{2, 4}, {2});
  const Tensor w = Tensor::scalar(0, f64).set_requires_grad();
  demo.line("{:>4}{:>8}{:>12}{:>10}{:>10}", "step", "w", "loss L", "dL/dw", "next w");
  for (int step = 1; step <= 4; ++step) {
    const Tensor error = w * x - y, loss = pg::mean(impl.mul(error, error));
    backward(loss);
    const double before = w.item(), slope = w.grad().item();
    w.data<double>()[0] -= lr * slope;
    w.zero_grad();
    demo.line("{:>4}{:>8.4g}{:>12.5g}{:>10.4g}{:>10.4g}", step, before, loss.item(), slope, w.item());
  }
  demo.gap();
  demo.claim("w after four steps, less 1.875 by hand", std::abs(w.item() - 1.875), "", kit::at_most(1e-12));
}

void show_gradcheck(kit::Demo& demo, const Impl& impl) {
  demo.heading("The proof that it is right");
  demo.say(
      "The same for every element of every input, with random weights on the outputs, is gradcheck. Five right "
      "backwards and three with a bug planted:");
  Generator random(5);
  const auto normal = [&](const Shape& shape) { return Tensor::normal(shape, 0, 1, random, f64); };
  struct Row {
    const char* name;
    Function f;
    std::vector<Tensor> inputs;
    bool planted;
  };
  const Row rows[] = {
      {"mul", [&](auto in) { return impl.mul(in[0], in[1]); }, {normal({3, 4}), normal({3, 4})}, false},
      {"tanh", [&](auto in) { return impl.tanh(in[0]); }, {normal({3, 4})}, false},
      {"matmul", [&](auto in) { return impl.matmul(in[0], in[1]); }, {normal({3, 4}), normal({4, 2})}, false},
      {"add, with a bias", [&](auto in) { return add(impl, in[0], in[1]); }, {normal({3, 4}), normal({4})}, false},
      {"softmax", [&](auto in) { return pg::softmax(in[0]); }, {normal({3, 4})}, false},
      {"tanh, 1 - y in place of 1 - y²",
       [](auto in) { return wrong_tanh<"no_square">(in[0]); },
       {normal({3, 4})},
       true},
      {"matmul, db = a·dc",
       [](auto in) { return wrong_matmul<"a_plain">(in[0], in[1]); },
       {normal({3, 3}), normal({3, 3})},
       true},
      {"softmax, dx doubled", [](auto in) { return softmax_doubled(in[0]); }, {normal({3, 4})}, true},
  };
  double worst = 0;
  int found = 0, planted = 0;
  for (const Row& row : rows) {
    const double error = impl.gradcheck(row.f, row.inputs);
    const bool wrong = error > 1e-6;
    demo.line("{}  {:>9.1e}  {}", kit::padded(row.name, 32), error,
              wrong ? kit::paint(kit::Color::red, "WRONG") : "right");
    planted += row.planted;
    if (row.planted)
      found += wrong;
    else
      worst = std::max(worst, error);
  }
  demo.gap();
  demo.claim("planted bugs found", found, fmt::format("of {}", planted), kit::equals(planted));
  demo.claim("largest error of the right ones", worst, "", kit::at_most(1e-6));
}

// ---- two moons

struct Moons {
  std::vector<double> points, labels;  // [n, 2], [n, 1]
  int64_t n = 0;
  Tensor x() const { return Tensor::from(points, {n, 2}); }
  Tensor y() const { return Tensor::from(labels, {n, 1}); }
};

// Two interleaved half circles with noise of this std. The upper one has label 0, the lower one has label 1.
Moons two_moons(int64_t n, double noise, uint64_t seed) {
  Generator random(seed);
  Moons moons;
  moons.n = n;
  for (int64_t i = 0; i < n; ++i) {
    const bool lower = i % 2;
    const double angle = std::numbers::pi * random.uniform();
    const double x = lower ? 1 - std::cos(angle) : std::cos(angle), y = lower ? 0.5 - std::sin(angle) : std::sin(angle);
    moons.points.push_back(x + noise * random.normal());
    moons.points.push_back(y + noise * random.normal());
    moons.labels.push_back(lower);
  }
  return moons;
}

// A network 2 → width → width → 1 with tanh, built from the lesson's four ops.
struct Network {
  Network(const Impl& ops, int64_t width, uint64_t seed) : impl(ops) {
    Generator random(seed);
    const int64_t sizes[] = {2, width, width, 1};
    for (int layer = 0; layer < 3; ++layer) {
      const int64_t in = sizes[layer], out = sizes[layer + 1];
      parameters.push_back(Tensor::normal({in, out}, 0, 1 / std::sqrt(static_cast<double>(in)), random, f64));
      parameters.push_back(Tensor::zeros({out}, f64));
    }
    for (Tensor& p : parameters) {
      p.set_requires_grad();
      velocity.push_back(Tensor::zeros(p.shape(), f64));
    }
  }
  Tensor logits(Tensor h) const {
    for (int layer = 0; layer < 3; ++layer) {
      h = add(impl, impl.matmul(h, parameters[2 * layer]), parameters[2 * layer + 1]);
      if (layer < 2) h = impl.tanh(h);
    }
    return h;
  }
  // Mean cross-entropy of the labels, in nats: log(1 + e^z) - y·z.
  double step(const Tensor& x, const Tensor& y, double rate) {
    const Tensor z = logits(x);
    const Tensor loss = pg::mean(pg::softplus(z) - impl.mul(z, y));
    backward(loss);
    for (size_t i = 0; i < parameters.size(); ++i) {
      const auto p = parameters[i].data<double>(), v = velocity[i].data<double>();
      const Tensor gradient = parameters[i].grad();
      const auto g = gradient.data<double>();
      for (size_t n = 0; n < p.size(); ++n) p[n] -= rate * (v[n] = 0.9 * v[n] + g[n]);
      parameters[i].zero_grad();
    }
    return loss.item();
  }
  double accuracy(const Moons& moons) const {
    NoGrad guard;
    const std::vector<double> z = logits(moons.x()).to_vector();
    int64_t right = 0;
    for (int64_t i = 0; i < moons.n; ++i) right += (z[i] > 0) == (moons.labels[i] > 0.5);
    return static_cast<double>(right) / static_cast<double>(moons.n);
  }

  const Impl& impl;
  std::vector<Tensor> parameters, velocity;
};

std::string decision_map(const Network& network, const Moons& moons) {
  constexpr int kRows = 20, kColumns = 46;
  constexpr double kLeft = -1.4, kRight = 2.4, kTop = 1.4, kBottom = -0.9;
  std::vector<double> grid;
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      grid.push_back(kLeft + (kRight - kLeft) * (c + 0.5) / kColumns);
      grid.push_back(kTop + (kBottom - kTop) * (r + 0.5) / kRows);
    }
  }
  NoGrad guard;
  const std::vector<double> p = pg::sigmoid(network.logits(Tensor::from(grid, {kRows * kColumns, 2}))).to_vector();
  std::vector<std::vector<double>> map(kRows);
  std::vector<std::string> marks(kRows, std::string(kColumns, ' '));
  for (int r = 0; r < kRows; ++r) map[r].assign(p.begin() + r * kColumns, p.begin() + (r + 1) * kColumns);
  for (int64_t i = 0; i < moons.n; ++i) {
    const int c = static_cast<int>((moons.points[2 * i] - kLeft) / (kRight - kLeft) * kColumns);
    const int r = static_cast<int>((moons.points[2 * i + 1] - kTop) / (kBottom - kTop) * kRows);
    if (c >= 0 && c < kColumns && r >= 0 && r < kRows) marks[r][c] = moons.labels[i] > 0.5 ? 'x' : 'o';
  }
  return kit::heat_map(map, {.low = 0, .high = 1, .diverging = true, .marks = marks});
}

void show_moons(kit::Demo& demo, const Impl& impl) {
  demo.heading("An MLP learns two moons");
  const double noise = demo.setting("noise"), lr = demo.setting("lr");
  const int64_t width = demo.whole("width");
  const Moons moons = two_moons(200, noise, 11), fresh = two_moons(400, noise, 12);
  const int steps = demo.full() ? 1500 : 300;
  const std::vector<uint64_t> seeds = demo.seeds(10);
  std::vector<Network> networks;
  std::vector<std::vector<double>> losses;
  for (const uint64_t seed : seeds) {
    networks.emplace_back(impl, width, 99 + seed);
    losses.emplace_back();
    const Tensor x = moons.x(), y = moons.y();
    demo.status(fmt::format("seed {} of {} ...", seed, seeds.size()));
    for (int step = 0; step < steps; ++step) losses.back().push_back(networks.back().step(x, y, lr));
  }
  double worst_loss = 0;
  for (const auto& loss : losses) worst_loss = std::max(worst_loss, loss.back());
  demo.say(
      "{} points on two half circles, label o or x. A network 2-{}-{}-1 made of mul, tanh, matmul and add, "
      "{} steps of gradient descent. The loss is in nats; a probability of 0.5 has 0.693.",
      moons.n, width, width, steps);
  demo.show(kit::line_plot({demo.on_band({.name = "loss of the first seed", .y = losses[0]})},
                           {.x_label = "step", .height = 12, .log_y = true}));
  demo.gap();
  demo.say("The network of the first seed at every point of the plane ({}), with the points it learned from:",
           kit::style().color ? "blue: o, red: x" : "light: o, dark: x");
  demo.show(decision_map(networks[0], moons));
  demo.gap();
  double worst = 1;
  for (const Network& network : networks) worst = std::min(worst, network.accuracy(fresh));
  demo.claim("right on 400 fresh points, worst of ten seeds", 100 * worst, "%", kit::at_least(97));
  demo.claim("loss at the end, worst of ten seeds", worst_loss, "nats", kit::at_most(0.1));
}

}  // namespace

void demo(kit::Demo& demo, const Impl& impl) {
  show_line(demo, impl);
  show_graph(demo, impl);
  show_gradcheck(demo, impl);
  show_moons(demo, impl);
}

}  // namespace pg::lesson02

int main(int argc, char** argv) {
  using namespace pg::lesson02;
  return pg::kit::run_lesson<Impl>({.number = "2",
                                    .folder = "lessons/02_autograd",
                                    .title = "the tape",
                                    .reference = reference(),
                                    .checks = checks(),
                                    .demo = demo,
                                    .settings = {pg::kit::seed_setting(),
                                                 {"line_lr", 0.1, 0.001, 1, "learning rate of the line"},
                                                 {"lr", 0.2, 0.001, 5, "learning rate of the network"},
                                                 {"width", 16, 1, 64, "units in each hidden layer", true},
                                                 {"noise", 0.1, 0, 0.6, "std of the noise of the points"}}},
                                   argc, argv);
}
