// Compares gradients with central differences in f64.
#include "autograd/check/gradcheck.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "autograd/tape.h"

namespace pg {
namespace {

constexpr double kStep = 0x1p-11;       // about eps^(1/5), where truncation and rounding of the stencil balance
constexpr double kLeastStep = 0x1p-26;  // relative to the element, so that a huge element changes at all
constexpr double kFloor = 1e-5;         // a gradient smaller than this is compared as if it had this size
constexpr int kDirections = 8;
// Inputs are often drawn from the same small seed: a cotangent equal to the input would reveal little about a
// normalisation.
constexpr uint64_t kStream = 0x9e3779b97f4a7c15;

bool overlaps(const Tensor& x) {
  if (x.numel() == 0) return false;
  std::vector<int> dims;
  for (int d = 0; d < x.rank(); ++d) {
    if (x.size(d) > 1) dims.push_back(d);
  }
  std::sort(dims.begin(), dims.end(), [&](int a, int b) { return x.strides()[a] < x.strides()[b]; });
  int64_t reach = 0;  // the last element reached by the faster dims
  for (int d : dims) {
    if (x.strides()[d] <= reach) return true;
    reach += (x.size(d) - 1) * x.strides()[d];
  }
  return false;
}

// A copy with the strides of x in separate memory.
Tensor copy_layout(const Tensor& x) {
  int64_t reach = 1;
  for (int d = 0; d < x.rank(); ++d) reach += std::max<int64_t>(0, x.size(d) - 1) * x.strides()[d];
  const Tensor memory = Tensor::zeros({reach}, x.dtype(), x.device());
  const Tensor copy = Tensor::view_of(memory.storage(), 0, x.shape(), x.strides(), x.dtype());
  copy.copy_from(x);
  return copy;
}

Shape unflatten(int64_t flat, const Shape& shape) {
  Shape index = Shape::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

double& element(const Tensor& x, int64_t flat) {
  const Shape index = unflatten(flat, x.shape());
  double* p = x.view().as<double>();
  for (int d = 0; d < x.rank(); ++d) p += index[d] * x.strides()[d];
  return *p;
}

double norm(const std::vector<double>& x) { return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0)); }
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}
double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  const double error = distance(a, b) / std::max({norm(a), norm(b), kFloor});
  return std::isnan(error) ? HUGE_VAL : error;
}
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); });
}

// A hint from the ratio of the two gradients; "" if there is none.
std::string diagnosis(const std::vector<double>& analytic, const std::vector<double>& numeric) {
  const double nn = std::inner_product(numeric.begin(), numeric.end(), numeric.begin(), 0.0);
  if (std::any_of(analytic.begin(), analytic.end(), [](double a) { return !std::isfinite(a); }))
    return "; yours has NaN or infinity: memory that nothing wrote, or a division by zero";
  if (norm(analytic) == 0) return "; yours is 0 everywhere: is the gradient of this input written at all?";
  if (std::sqrt(nn) < kFloor) return "; expected 0";
  const double factor = std::inner_product(analytic.begin(), analytic.end(), numeric.begin(), 0.0) / nn;
  std::vector<double> scaled = numeric;
  for (double& value : scaled) value *= factor;
  if (distance(analytic, scaled) < 1e-5 * norm(analytic) && std::abs(factor - 1) > 1e-5) {
    if (std::abs(factor + 1) < 1e-5) return "; yours is -1 x expected: the sign is wrong";
    return fmt::format("; yours is {:.6g} x expected", factor);
  }
  size_t wrong = 0;
  for (size_t i = 0; i < numeric.size(); ++i) {
    wrong += std::abs(analytic[i] - numeric[i]) > 1e-5 * std::max(std::abs(numeric[i]), kFloor);
  }
  return fmt::format("; {} of {} elements are wrong and no single factor explains them", wrong, numeric.size());
}

class Check {
 public:
  Check(const TensorFunction& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options)
      : f_(f), options_(options), random_(options.seed ^ kStream) {
    result_.op = options.op;
    result_.label = options.label;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Tensor& x = inputs[i];
      const bool constant = std::count(options.constant.begin(), options.constant.end(), static_cast<int>(i)) > 0;
      if (!x.defined() || !is_floating(x.dtype()) || constant) {
        inputs_.push_back(x);
        continue;
      }
      check(x.dtype() == f64, "gradcheck of {}: input {} is {}; differences need f64, convert with to(f64)", options.op,
            i, x.dtype());
      check(x.device().on_host(),
            "gradcheck of {}: input {} is on {}; gradcheck perturbs inputs on the CPU; copy it there", options.op, i,
            to_string(x.device()));
      check(!overlaps(x),
            "gradcheck of {}: elements of input {} share memory: shape {}, strides {} (expand?); a perturbation of one "
            "would change others; give contiguous() of it",
            options.op, i, x.shape(), x.strides());
      inputs_.push_back(copy_layout(x));
      checked_.push_back(static_cast<int>(i));
    }
    check(!checked_.empty(), "gradcheck of {}: no input is f64, there is nothing to check", options.op);
  }

  GradcheckResult run() {
    const std::vector<std::vector<double>> outputs = values(f_(inputs_));
    for (const auto& output : outputs) cotangent_.push_back(draw(output.size()));
    check(!cotangent_.empty(), "gradcheck of {}: no output is f64, there is nothing to check", options_.op);

    const std::vector<Tensor> leaves = fresh_leaves(checked_);
    backward_into(leaves);
    for (int i : checked_) {
      const Tensor grad = leaves[i].grad();
      if (!grad.defined()) {  // f does not use this input
        gradients_.emplace_back(leaves[i].numel(), 0.0);
      } else {
        gradients_.push_back(grad.to_vector());
      }
    }
    for (size_t k = 0; k < checked_.size() && result_.ok; ++k) compare(checked_[k], gradients_[k]);
    if (result_.ok) check_twice(leaves);
    if (result_.ok) check_rerun(outputs);
    if (result_.ok) check_alone();
    return result_;
  }

 private:
  static std::vector<std::vector<double>> values(const std::vector<Tensor>& outputs) {
    std::vector<std::vector<double>> result;
    for (const Tensor& y : outputs) {
      if (y.dtype() == f64) result.push_back(y.to_vector());
    }
    return result;
  }
  std::vector<double> draw(size_t n) {
    std::vector<double> v(n);
    for (double& value : v) value = random_.normal();
    return v;
  }

  std::vector<Tensor> fresh_leaves(const std::vector<int>& wanted) {
    std::vector<Tensor> leaves = inputs_;
    for (int i : wanted) leaves[i] = copy_layout(inputs_[i]).set_requires_grad();
    return leaves;
  }
  // Adds the gradient of sum(cotangent · outputs) to the leaves.
  std::vector<Tensor> backward_into(const std::vector<Tensor>& leaves) {
    std::vector<Tensor> outputs = f_(leaves);
    EnableGrad guard;
    size_t k = 0;
    std::vector<Tensor> parts;
    for (const Tensor& y : outputs) {
      if (y.dtype() != f64) continue;
      const Tensor v = Tensor::from(cotangent_[k++], y.shape()).to(y.device());
      if (!y.requires_grad()) continue;
      parts.push_back(
          record(Op::sum, Tensor::scalar(0, f64, y.device()), {&y}, [v](const Tensor&, Grads& g) { g.pass(0, v); }));
    }
    if (parts.empty()) return outputs;
    // One node over all outputs, so that an op with two outputs runs its backward once, with both gradients.
    backward(record(Op::sum, Tensor::scalar(0, f64, parts[0].device()), parts,
                    [n = parts.size()](const Tensor& dy, Grads& g) {
                      for (size_t i = 0; i < n; ++i) g.pass(static_cast<int>(i), dy);
                    }));
    return outputs;
  }

  // d/dt of sum(cotangent · f) where input `i` moves by t·direction. If direction is empty, only element `flat` moves,
  // by t.
  double difference(int i, int64_t flat, const std::vector<double>& direction) {
    NoGrad guard;
    const Tensor& x = inputs_[i];
    const std::vector<double> start = x.to_vector();
    const double h = direction.empty() ? std::max(kStep, kLeastStep * std::abs(start[flat])) : kStep;
    std::vector<std::vector<double>> at[4];
    const double steps[4] = {-2, -1, 1, 2}, weights[4] = {1, -8, 8, -1};
    for (int s = 0; s < 4; ++s) {
      if (direction.empty()) {
        element(x, flat) = start[flat] + steps[s] * h;
      } else {
        for (int64_t e = 0; e < x.numel(); ++e) element(x, e) = start[e] + steps[s] * h * direction[e];
      }
      at[s] = values(f_(inputs_));
    }
    if (direction.empty()) {
      element(x, flat) = start[flat];
    } else {
      for (int64_t e = 0; e < x.numel(); ++e) element(x, e) = start[e];
    }
    double sum = 0;
    for (size_t o = 0; o < cotangent_.size(); ++o) {
      for (size_t j = 0; j < cotangent_[o].size(); ++j) {
        double slope = 0;
        for (int s = 0; s < 4; ++s) slope += weights[s] * at[s][o][j];
        sum += cotangent_[o][j] * slope;
      }
    }
    return sum / (12 * h);
  }

  void compare(int i, const std::vector<double>& gradient) {
    const Shape& shape = inputs_[i].shape();
    const bool every = static_cast<int64_t>(gradient.size()) <= options_.max_perturbations;
    std::vector<double> numeric, analytic;
    if (every) {
      analytic = gradient;
      for (int64_t e = 0; e < inputs_[i].numel(); ++e) numeric.push_back(difference(i, e, {}));
    } else {
      for (int d = 0; d < kDirections; ++d) {
        std::vector<double> direction = draw(gradient.size());
        for (double& value : direction) value /= std::sqrt(double(kDirections));
        analytic.push_back(std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0));
        numeric.push_back(difference(i, 0, direction));
      }
    }
    const double error = relative_error(analytic, numeric);
    if (analytic.empty() || (error <= result_.error && result_.argument >= 0)) return;
    size_t worst = 0;
    for (size_t e = 0; e < analytic.size(); ++e) {
      const double miss = std::abs(analytic[e] - numeric[e]);
      if (std::isnan(miss) || miss > std::abs(analytic[worst] - numeric[worst])) worst = e;
      if (std::isnan(miss)) break;
    }
    result_.error = error;
    result_.argument = i;
    result_.index = every ? unflatten(static_cast<int64_t>(worst), shape) : Shape{static_cast<int64_t>(worst)};
    result_.numeric = numeric[worst];
    result_.analytic = analytic[worst];
    result_.ratio = analytic[worst] / numeric[worst];
    if (error <= options_.tolerance) return;
    failed(i, fmt::format("has relative error {:.2g}, allowed {:.2g}; largest at {} {}: expected {:.8g}, yours {:.8g}, "
                          "ratio {:.6g}{}",
                          error, options_.tolerance, every ? "index" : "random direction", result_.index,
                          result_.numeric, result_.analytic, result_.ratio, diagnosis(analytic, numeric)));
  }

  // `leaves` hold the first gradient; a kernel that ignores beta overwrites it instead of adding.
  void check_twice(const std::vector<Tensor>& leaves) {
    backward_into(leaves);
    for (size_t k = 0; k < checked_.size(); ++k) {
      const Tensor grad = leaves[checked_[k]].grad();
      if (!grad.defined()) continue;
      std::vector<double> twice = gradients_[k];
      for (double& value : twice) value *= 2;
      if (relative_error(grad.to_vector(), twice) > 1e-14)
        failed(checked_[k],
               fmt::format("is not twice the first after a second backward (relative error {:.2g}): backward must add "
                           "to what the buffer holds when beta is 1",
                           relative_error(grad.to_vector(), twice)));
    }
  }

  void check_rerun(const std::vector<std::vector<double>>& outputs) {
    const std::vector<Tensor> leaves = fresh_leaves(checked_);
    const auto again = values(backward_into(leaves));
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (!same_bits(outputs[o], again[o])) failed(-1, "differs in its bits from run to run");
    }
    for (size_t k = 0; k < checked_.size(); ++k) {
      const Tensor grad = leaves[checked_[k]].grad();
      if (grad.defined() && !same_bits(grad.to_vector(), gradients_[k]))
        failed(checked_[k], "differs in its bits from run to run");
    }
  }

  // One input at a time requires a gradient.
  void check_alone() {
    for (size_t k = 0; k < checked_.size(); ++k) {
      const std::vector<Tensor> leaves = fresh_leaves({checked_[k]});
      backward_into(leaves);
      for (size_t i = 0; i < leaves.size(); ++i) {
        const bool wanted = static_cast<int>(i) == checked_[k];
        const Tensor grad = leaves[i].grad();
        if (!wanted && grad.defined()) failed(static_cast<int>(i), "exists, though the input does not require one");
        if (wanted && grad.defined() && relative_error(grad.to_vector(), gradients_[k]) > 1e-14)
          failed(checked_[k], "changes when no other input requires one");
      }
    }
  }

  GradcheckResult failed(int argument, const std::string& what) {
    if (!result_.ok) return result_;
    result_.ok = false;
    result_.argument = argument;
    const std::string name = options_.label.empty() ? options_.op : fmt::format("{} ({})", options_.op, options_.label);
    result_.message = argument < 0 ? fmt::format("gradcheck: {}: the output {}", name, what)
                                   : fmt::format("gradcheck: {}: the gradient of input {} {} {}", name, argument,
                                                 inputs_[argument].shape(), what);
    return result_;
  }

  const TensorFunction& f_;
  const GradcheckOptions& options_;
  Generator random_;  // cotangent, directions
  std::vector<Tensor> inputs_;
  std::vector<int> checked_;
  std::vector<std::vector<double>> cotangent_;  // per f64 output
  std::vector<std::vector<double>> gradients_;  // per checked input
  GradcheckResult result_;
};

}  // namespace

GradcheckResult gradcheck(const TensorFunction& f, const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  return Check(f, inputs, options).run();
}

GradcheckResult gradcheck(const std::function<Tensor(std::span<const Tensor>)>& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options) {
  return gradcheck(TensorFunction([&](std::span<const Tensor> x) { return std::vector<Tensor>{f(x)}; }), inputs,
                   options);
}

}  // namespace pg
