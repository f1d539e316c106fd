// The demonstration of lesson 2, second part: the tape of a small expression, with values and gradients.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "lessons/02_autograd/lesson.h"
#include "lessons/kit/drawing.h"

namespace pg::lesson02 {
namespace {

Node* node_of(const Tensor& x) { return static_cast<Node*>(x.node().get()); }

// Gives names to the values of a small expression, so that its tape can be drawn with values and gradients.
class Graph {
 public:
  // Puts x on the tape under a name. Its backward stores the gradient that passes through.
  Tensor name(const std::string& name, const Tensor& x) {
    auto info = std::make_shared<Info>(Info{name, x.item()});
    const auto arrived = arrived_;
    Tensor y = record(Op::cast, x.detach(), {&x}, [info, arrived](const Tensor& dy, Grads& g) {
      info->gradient = dy.item();
      arrived->push_back(info.get());
      g.pass(0, dy);
    });
    place(*info, static_cast<Node*>(node_of(y)->input(0).node.get()));
    infos_[node_of(y)] = info;
    made_.push_back(info);
    return y;
  }
  // Call draw() before backward, and text() and drawing() after it.
  void draw(const Tensor& result) { walk(node_of(result), "", ""); }
  // The tree of ops from the result down, one line per value.
  std::string text() const {
    std::string text = fmt::format("{:<22}{:>10}{:>22}\n", "the tape", "value", "d loss / d value");
    for (const Line& line : lines_) {
      text += kit::padded(line.drawing, 22);
      text += line.info ? fmt::format("{:>10.4f}{:>22.4f}\n", line.info->value, line.info->gradient) : "\n";
    }
    return text;
  }
  // The same step by step: the values in the order in which they were computed, then the gradients as they arrived.
  kit::Drawing drawing() const {
    double bottom = 0;
    for (const auto& info : made_) bottom = std::max(bottom, info->y + kHeight);
    kit::Drawing drawing{"The tape of the loss, with values and gradients", kit::kDrawingWidth, bottom + 2, {}, text()};
    size_t values = 0;
    while (values < made_.size() && made_[values]->inputs.empty()) ++values;
    drawing.frames.push_back(frame("The leaves are given.", values, 0, nullptr));
    for (; values < made_.size(); ++values) {
      const Info& now = *made_[values];
      const std::string caption = fmt::format("Forward: {} = {} is {:.4f}.", now.name, now.op, now.value);
      drawing.frames.push_back(frame(caption, values + 1, 0, &now));
    }
    for (size_t i = 0; i < arrived_->size(); ++i) {
      const Info& now = *(*arrived_)[i];
      const std::string caption = fmt::format("Backward: d loss / d {} is {:.4f}.", now.name, now.gradient);
      drawing.frames.push_back(frame(caption, values, i + 1, &now));
    }
    return drawing;
  }
  // Largest difference of a gradient from the change of `loss` for a small change of that value.
  double error(const std::map<std::string, double>& slopes) const {
    double worst = 0;
    for (const auto& info : made_) worst = std::max(worst, std::abs(info->gradient - slopes.at(info->name)));
    return worst;
  }

 private:
  static constexpr double kWidth = 108, kHeight = 56, kGap = 22;
  struct Info {
    std::string name;
    double value, gradient = 0;
    std::string op{};
    std::vector<const Info*> inputs{};
    double x = 0, y = 2;  // of its box
  };
  struct Line {
    std::string drawing;
    std::shared_ptr<Info> info;
  };

  // Leaves stand side by side; a result stands below its inputs, in their middle.
  void place(Info& info, Node* op) {
    if (op->op == Op::leaf) {
      info.x = leaves_++ * (kWidth + 16) + 2;
      return;
    }
    info.op = name_of(op->op);
    for (int i = 0; i < op->num_inputs; ++i) {
      const Info& input = *infos_.at(static_cast<Node*>(op->input(i).node.get()));
      info.inputs.push_back(&input);
      info.x += input.x / op->num_inputs;
      info.y = std::max(info.y, input.y + kHeight + kGap);
    }
  }

  // The first `values` of the values are known, and the first `gradients` of the gradients. Strong is what came last:
  // `now`, or the leaves.
  kit::DrawnFrame frame(const std::string& caption, size_t values, size_t gradients, const Info* now) const {
    kit::DrawnFrame frame{caption};
    for (size_t i = 0; i < made_.size(); ++i) {
      const Info& info = *made_[i];
      const auto arrived = arrived_->begin() + static_cast<ptrdiff_t>(gradients);
      const bool has_gradient = std::find(arrived_->begin(), arrived, &info) != arrived;
      frame.boxes.push_back({info.x,
                             info.y,
                             kWidth,
                             kHeight,
                             {info.op.empty() ? info.name : info.name + " = " + info.op,
                              i < values ? fmt::format("value {:.4f}", info.value) : "",
                              has_gradient ? fmt::format("gradient {:.4f}", info.gradient) : ""},
                             now ? now == &info : info.inputs.empty()});
      for (size_t k = 0; k < info.inputs.size(); ++k) {
        const Info& input = *info.inputs[k];
        const double spread = 14 * (2 * static_cast<double>(k) - static_cast<double>(info.inputs.size()) + 1);
        const double x0 = input.x + kWidth / 2 + (input.x == info.x ? spread : 0), y0 = input.y + kHeight + 1;
        const double x1 = info.x + kWidth / 2 + spread, y1 = info.y - 1;
        if (gradients > 0) {  // a gradient goes up
          frame.arrows.push_back({x1, y1, x0, y0, "", now == &input});
        } else if (i < values) {
          frame.arrows.push_back({x0, y0, x1, y1, "", now == &info});
        }
      }
    }
    return frame;
  }

  void walk(Node* named, const std::string& first, const std::string& rest) {
    const auto& info = infos_.at(named);
    Node* op = static_cast<Node*>(named->input(0).node.get());
    if (std::count(drawn_.begin(), drawn_.end(), named)) {
      lines_.push_back({first + info->name + " (see above)", nullptr});
      return;
    }
    drawn_.push_back(named);
    lines_.push_back({first + info->name + (info->op.empty() ? "" : " = " + info->op), info});
    const bool unicode = kit::style().unicode;
    for (int i = 0; i < op->num_inputs; ++i) {
      const bool last = i == op->num_inputs - 1;
      const char* branch = unicode ? (last ? "└─ " : "├─ ") : (last ? "`- " : "|- ");
      const char* trunk = last ? "   " : unicode ? "│  " : "|  ";
      walk(static_cast<Node*>(op->input(i).node.get()), rest + branch, rest + trunk);
    }
  }

  std::map<Node*, std::shared_ptr<Info>> infos_;
  std::vector<std::shared_ptr<Info>> made_;
  std::shared_ptr<std::vector<const Info*>> arrived_ = std::make_shared<std::vector<const Info*>>();
  int leaves_ = 0;
  std::vector<Node*> drawn_;
  std::vector<Line> lines_;
};

// d loss / d value for each value of the expression, as a difference quotient: each function has the rest of it.
std::map<std::string, double> slopes(double w, double x, double b) {
  const auto of_y = [](double y) { return y * y; };
  const auto of_s = [&](double s) { return of_y(std::tanh(s)); };
  const auto slope = [](auto f, double at) {
    constexpr double h = 1e-5;
    return (f(at + h) - f(at - h)) / (2 * h);
  };
  return {{"loss", 1},
          {"y", slope(of_y, std::tanh(w * x + b))},
          {"s", slope(of_s, w * x + b)},
          {"p", slope([&](double p) { return of_s(p + b); }, w * x)},
          {"b", slope([&](double c) { return of_s(w * x + c); }, b)},
          {"w", slope([&](double v) { return of_s(v * x + b); }, w)},
          {"x", slope([&](double u) { return of_s(w * u + b); }, x)}};
}

}  // namespace

void show_graph(kit::Demo& demo, const Impl& impl) {
  demo.heading("A tape of what was computed");
  demo.say(
      "loss = tanh(w·x + b)², at w = -1.5, x = 0.5, b = 1. Every op notes on the tape what it was made from; "
      "backward walks from the loss down and multiplies derivatives as it goes.");
  const auto leaf = [](double value) { return Tensor::scalar(value, f64).set_requires_grad(); };
  const Tensor w = leaf(-1.5), x = leaf(0.5), b = leaf(1);
  Graph graph;
  const Tensor named_w = graph.name("w", w), named_x = graph.name("x", x), named_b = graph.name("b", b);
  const Tensor product = graph.name("p", impl.mul(named_w, named_x));
  const Tensor sum = graph.name("s", add(impl, product, named_b));
  const Tensor y = graph.name("y", impl.tanh(sum));
  const Tensor loss = graph.name("loss", impl.mul(y, y));
  graph.draw(loss);
  backward(loss);
  demo.show(kit::drawn(graph.drawing()));
  demo.gap();

  const auto slope = slopes(-1.5, 0.5, 1);
  demo.say(
      "Let us check. Raise w by 0.00001, lower it by as much, and divide the change of the loss by 0.00002: {:.8f}. "
      "The tape says {:.8f}.",
      slope.at("w"), w.grad().item());
  demo.claim("tape against differences, the worst of 7 gradients", graph.error(slope), "", kit::at_most(1e-8));
}

}  // namespace pg::lesson02
