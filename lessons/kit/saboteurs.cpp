// Runs the checks of a lesson on saboteurs of each piece.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "autograd/ops.h"
#include "lessons/kit/isolate.h"
#include "lessons/kit/saboteur.h"
#include "lessons/kit/state.h"
#include "lessons/kit/terminal.h"

namespace pg::kit {

Tensor in_other_dtype(const Tensor& x) {
  if (!x.defined()) return x;
  return is_floating(x.dtype()) ? cast(x, x.dtype() == f64 ? f32 : f64) : x.to(f32);
}
Tensor through_f32(const Tensor& x) { return x.defined() && x.dtype() == f64 ? cast(cast(x, f32), f64) : x; }
Tensor in_f64(const Tensor& x) { return x.defined() && x.dtype() == f32 ? cast(x, f64) : x; }
Tensor ones_like(const Tensor& x) {
  if (!x.defined() || x.numel() == 0) return x;
  if (!is_floating(x.dtype())) return Tensor::full(x.shape(), 1, x.dtype());
  return where(Tensor::zeros(x.shape(), u8), x, Tensor::scalar(1, x.dtype()));
}
Tensor changed(const Tensor& x) {
  if (x.numel() == 0) return Tensor::full({1}, 1, x.dtype());
  std::vector<double> values = x.detach().to_vector();
  if (!is_floating(x.dtype())) {
    for (double& v : values) v = x.dtype() == u8 ? 1 - std::min(v, 1.0) : v + 1;
    return Tensor::from(values, x.shape()).to(x.dtype());
  }
  std::vector<double> finite;
  for (double& v : values) {
    finite.push_back(std::isfinite(v));
    v = std::isfinite(v) ? std::abs(v) + 1 : 0;
  }
  const Tensor more = Tensor::from(values, x.shape()).to(x.dtype());
  return where(Tensor::from(finite, x.shape()).to(u8), x + more, Tensor::scalar(0, x.dtype()));
}
void change(const View& x) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x.dtype == f32) make_wrong(x.as<float>()[i]);
    if (x.dtype == f64) make_wrong(x.as<double>()[i]);
  }
}
void lose_signs(const View& x) {
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (x.dtype == f32) lose_sign(x.as<float>()[i]);
    if (x.dtype == f64) lose_sign(x.as<double>()[i]);
  }
}
Tensor without_sign(const Tensor& x) {
  if (!x.defined() || !is_floating(x.dtype())) return x;
  return where(lt(x, Tensor::scalar(0, x.dtype())), neg(x), x);
}
Tensor without_slope(const Tensor& x, std::vector<Tensor> inputs) {
  if (!x.defined() || !x.requires_grad()) return x;
  std::erase_if(inputs, [](const Tensor& in) { return !in.defined() || !in.requires_grad(); });
  std::vector<Shape> shapes;
  for (const Tensor& in : inputs) shapes.push_back(in.shape());
  inputs.push_back(x);
  return record(Op::before_backward, x.detach(), inputs, [shapes](const Tensor& dy, Grads& g) {
    const int n = static_cast<int>(shapes.size());
    for (int i = 0; i < n; ++i) g.pass(i, Tensor::full(shapes[static_cast<size_t>(i)], NAN, dy.dtype()));
    g.pass(n, dy);
  });
}
Tensor without_last(const Tensor& x) {
  if (x.numel() == 0) return x;
  const Tensor keep = Tensor::ones(x.shape(), u8);
  keep.data<uint8_t>().back() = 0;
  if (is_floating(x.dtype())) return where(keep, x, Tensor::scalar(0, x.dtype()));
  std::vector<double> values = x.to_vector();
  values.back() = 0;
  return Tensor::from(values, x.shape()).to(x.dtype());
}
void overwrite(const Tensor& x) {
  if (!x.defined() || x.numel() == 0) return;
  const Tensor value = Tensor::full({1}, is_floating(x.dtype()) ? NAN : 0, x.dtype());
  for (int64_t i = 0; i < x.numel(); ++i) {  // element by element: x may repeat elements
    int64_t rest = i, at = 0;
    for (int d = x.rank() - 1; d >= 0; rest /= x.shape()[d--]) at += rest % x.shape()[d] * x.strides()[d];
    const size_t size = size_of(x.dtype());
    std::memcpy(static_cast<char*>(x.view().data) + static_cast<size_t>(at) * size, value.view().data, size);
  }
}

std::vector<char> bytes_of(const View& x) {
  const char* data = x.as<const char>();
  return {data, data + static_cast<size_t>(x.numel()) * size_of(x.dtype)};
}
void restore_last_row(const View& x, const std::vector<char>& before) {
  if (before.empty() || bytes_of(x) == before) return;
  const size_t row = size_of(x.dtype) * static_cast<size_t>(x.rank() < 2 ? 1 : x.shape.back());
  std::memcpy(x.as<char>() + before.size() - row, before.data() + before.size() - row, row);
}

void keep_larger(const View& x, const std::vector<char>& before) {
  const auto keep = [&]<class T>(T* now) {
    std::vector<T> old(static_cast<size_t>(x.numel()));
    std::memcpy(old.data(), before.data(), before.size());
    for (size_t i = 0; i < old.size(); ++i) now[i] = std::fmax(now[i], old[i]);
  };
  if (x.dtype == f32) keep(x.as<float>());
  if (x.dtype == f64) keep(x.as<double>());
}

namespace {

// The id of the first check of the piece that is not ok, "" if all are.
std::string caught_by(const LessonEntry& lesson, const SaboteurRow& row) {
  TimeLimit limit;
  for (const CheckEntry& check : lesson.checks) {
    if (check.piece == row.piece && run_isolated(check, true, limit).state != State::ok) return check.id;
  }
  return "";
}

// The reason why the saboteur is right, if a check of its piece gives one. Without a tape there is no gradient.
std::optional<std::string> harmless(const LessonEntry& lesson, const SaboteurRow& row) {
  std::vector<std::string> names = {row.name};
  if (row.name.starts_with(kGradient)) names.push_back("detached" + row.name.substr(std::strlen(kGradient)));
  for (const CheckEntry& check : lesson.checks) {
    if (check.piece != row.piece) continue;
    for (const Harmless& h : check.harmless) {
      if (std::find_first_of(h.saboteurs.begin(), h.saboteurs.end(), names.begin(), names.end()) != h.saboteurs.end())
        return h.why;
    }
  }
  return {};
}

}  // namespace

int run_saboteurs(const std::vector<std::pair<SaboteurRow, LessonEntry>>& saboteurs, const LessonEntry& plain) {
  use_plain_style();
  if (const std::string why = plain.unavailable ? plain.unavailable() : ""; !why.empty()) {
    fmt::print("{}", wrapped(why));
    return kUnavailable;
  }
  int failed = 0, accepted = 0;
  for (const auto& [row, lesson] : saboteurs) {
    const std::string check = caught_by(lesson, row);
    const std::optional<std::string> reason = harmless(plain, row);
    const bool bad = check.empty() != reason.has_value();
    failed += bad;
    accepted += check.empty() && reason;
    fmt::print("{:<7}{:<24}{:<30}{}\n", bad ? "FAILED" : "ok", row.piece, row.name,
               !check.empty() ? reason ? "named harmless, but WRONG in " + check : "WRONG in " + check
               : reason       ? "harmless: " + *reason
                              : "every check is ok");
  }
  for (const CheckEntry& check : plain.checks) {
    for (const Harmless& h : check.harmless) {
      for (const std::string& name : h.saboteurs) {
        const bool known = std::any_of(saboteurs.begin(), saboteurs.end(), [&](const auto& s) {
          return s.first.piece == check.piece && s.first.name == name;
        });
        if (known) continue;
        fmt::print("FAILED {} names a saboteur that {} does not have: {}\n", check.id, check.piece, name);
        ++failed;
      }
    }
  }
  fmt::print("{} saboteurs, {} harmless, {} wrongly judged\n", saboteurs.size(), accepted, failed);
  return failed ? 1 : 0;
}

}  // namespace pg::kit
