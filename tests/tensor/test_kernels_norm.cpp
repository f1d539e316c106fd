// Layer norm, RMS norm and rope compared with their formulas in long double.
#include <functional>

#include "tests/tensor/kernel_buffers.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Real = long double;
const Kernels& k = cpu_kernels();
constexpr double kEps = 1e-5;

// Computes y[r, c] of the whole norm, and the sum of grad·y, whose finite differences are the gradients.
struct Norm {
  bool centred;
  int64_t rows, n;
  std::vector<Real> x, w, b;  // w, b may be empty
  std::vector<Real> forward() const {
    std::vector<Real> y;
    for (int64_t r = 0; r < rows; ++r) {
      const Real* row = x.data() + r * n;
      Real mean = 0, square = 0;
      for (int64_t c = 0; c < n && centred; ++c) mean += row[c] / static_cast<Real>(n);
      for (int64_t c = 0; c < n; ++c) square += (row[c] - mean) * (row[c] - mean) / static_cast<Real>(n);
      for (int64_t c = 0; c < n; ++c) {
        const auto i = static_cast<size_t>(c);
        const Real h = (row[c] - mean) / std::sqrt(square + static_cast<Real>(kEps));
        y.push_back(h * (w.empty() ? 1 : w[i]) + (b.empty() ? 0 : b[i]));
      }
    }
    return y;
  }
  Real loss(const std::vector<double>& grad) const {
    const auto y = forward();
    Real sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += grad[i] * y[i];
    return sum;
  }
  // d loss / d values, where `values` is x, w or b of this object.
  std::vector<Real> gradient(std::vector<Real>& values, const std::vector<double>& grad) const {
    std::vector<Real> g;
    const Real h = 1e-4L;
    for (Real& v : values) {
      const Real at = v;
      const auto value = [&](Real shift) {
        v = at + shift;
        return loss(grad);
      };
      g.push_back((8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h));
      v = at;
    }
    return g;
  }
};

std::vector<Real> reals(const Buffer& b) {
  const auto v = b.values();
  return {v.begin(), v.end()};
}
void check_near(const Buffer& got, const std::vector<double>& kept, double beta, const std::vector<Real>& want,
                DType type) {
  for (int64_t i = 0; i < got.numel(); ++i) {
    const auto j = static_cast<size_t>(i);
    const double w = static_cast<double>(want[j]) + (beta == 0 ? 0 : beta * kept[j]);
    const bool near = std::abs(got.get(i) - w) <= (type == f64 ? 2e-11 : 5e-6) * (1 + std::abs(w));
    if (!near) CHECK(got.get(i) == w);
  }
  CHECK(got.guards_intact());
}
std::vector<double> prepare(Buffer& y, double beta) {
  if (beta == 0) {
    y.poison();
  } else {
    y.random(99);
  }
  return y.values();
}

}  // namespace

TEST_CASE("layer norm with its residual and optional weights", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t n : {1, 5, 16, 40}) {
      for (unsigned options = 0; options < 8; ++options) {
        const int64_t rows = 3;
        const bool residual = options & 1, weight = options & 2, bias = options & 4;
        Buffer x({rows, n}, type, Layout::padded), add({rows, n}, type), sum({rows, n}, type), w({n}, type),
            b({n}, type), y({rows, n}, type, Layout::padded), mean({rows}, type), rstd({rows}, type);
        x.random(1), add.random(2), w.random(3), b.random(4);
        const View none;
        k.layer_norm(y.poison(), mean, rstd, residual ? sum.view() : none, x, residual ? add.view() : none,
                     weight ? w.view() : none, bias ? b.view() : none, kEps);
        if (residual) {
          for (int64_t i = 0; i < x.numel(); ++i) CHECK_CLOSE(sum.get(i), x.get(i) + add.get(i), type, 2, 0);
        }
        const Buffer& in = residual ? sum : x;
        Norm norm{
            true, rows, n, reals(in), weight ? reals(w) : std::vector<Real>(), bias ? reals(b) : std::vector<Real>()};
        check_near(y, {}, 0, norm.forward(), type);

        Buffer dy({rows, n}, type);
        dy.random(5);
        for (double beta : {0.0, 1.0}) {
          Buffer dx({rows, n}, type, Layout::padded), dw({n}, type), db({n}, type);
          const auto kept_x = prepare(dx, beta), kept_w = prepare(dw, beta), kept_b = prepare(db, beta);
          k.layer_norm_backward(dx, weight ? dw.view() : none, bias ? db.view() : none, dy, in,
                                weight ? w.view() : none, mean, rstd, beta, beta, beta);
          const auto grad = dy.values();
          check_near(dx, kept_x, beta, norm.gradient(norm.x, grad), type);
          if (weight) check_near(dw, kept_w, beta, norm.gradient(norm.w, grad), type);
          if (bias) check_near(db, kept_b, beta, norm.gradient(norm.b, grad), type);
          if (weight && bias) {  // each result alone has the same bits as together
            Buffer dw2({n}, type), db2({n}, type);
            prepare(dw2, beta), prepare(db2, beta);
            k.layer_norm_backward(none, dw2, none, dy, in, w, mean, rstd, beta, beta, beta);
            k.layer_norm_backward(none, none, db2, dy, in, w, mean, rstd, beta, beta, beta);
            CHECK(dw2.bytes() == dw.bytes());
            CHECK(db2.bytes() == db.bytes());
          }
        }
      }
    }
  }
}

TEST_CASE("layer norm far from zero keeps its precision", "[kernels]") {
  const int64_t n = 768;
  Buffer x({1, n}, f32), y({1, n}, f32), mean({1}, f32), rstd({1}, f32);
  for (int64_t i = 0; i < n; ++i) x.set(i, 10000 + static_cast<double>(i % 2));
  k.layer_norm(y, mean, rstd, {}, x, {}, {}, {}, kEps);
  CHECK(mean.get(0) == 10000.5);
  for (int64_t i = 0; i < n; ++i) CHECK(std::abs(y.get(i) - (i % 2 ? 1 : -1)) < 1e-4);  // eps changes it by 2e-5
}

TEST_CASE("RMS norm with its residual and optional weight", "[kernels]") {
  for (DType type : {f32, f64}) {
    for (int64_t n : {1, 5, 16, 40}) {
      for (unsigned options = 0; options < 4; ++options) {
        const int64_t rows = 3;
        const bool residual = options & 1, weight = options & 2;
        Buffer x({rows, n}, type, Layout::padded), add({rows, n}, type), sum({rows, n}, type), w({n}, type),
            y({rows, n}, type), rstd({rows}, type);
        x.random(1), add.random(2), w.random(3);
        const View none;
        k.rms_norm(y.poison(), rstd, residual ? sum.view() : none, x, residual ? add.view() : none,
                   weight ? w.view() : none, kEps);
        if (residual) {
          for (int64_t i = 0; i < x.numel(); ++i) CHECK_CLOSE(sum.get(i), x.get(i) + add.get(i), type, 2, 0);
        }
        const Buffer& in = residual ? sum : x;
        Norm norm{false, rows, n, reals(in), weight ? reals(w) : std::vector<Real>(), {}};
        check_near(y, {}, 0, norm.forward(), type);
        Buffer dy({rows, n}, type);
        dy.random(5);
        for (double beta : {0.0, 1.0}) {
          Buffer dx({rows, n}, type), dw({n}, type);
          const auto kept_x = prepare(dx, beta), kept_w = prepare(dw, beta);
          k.rms_norm_backward(dx, weight ? dw.view() : none, dy, in, weight ? w.view() : none, rstd, beta, beta);
          check_near(dx, kept_x, beta, norm.gradient(norm.x, dy.values()), type);
          if (weight) check_near(dw, kept_w, beta, norm.gradient(norm.w, dy.values()), type);
        }
      }
    }
  }
}

TEST_CASE("norm gradients: same bits for any threads, and continued over batches", "[kernels]") {
  const int64_t rows = 90, n = 700;
  for (DType type : {f32, f64}) {
    Buffer x({rows, n}, type), w({n}, type), y({rows, n}, type), mean({rows}, type), rstd({rows}, type),
        dy({rows, n}, type);
    x.random(1), w.random(2), dy.random(3);
    check_threads([&] {
      k.layer_norm(y, mean, rstd, {}, x, {}, w, {}, kEps);
      return y.bytes();
    });
    Buffer whole({n}, type);
    check_threads([&] {
      Buffer dx({rows, n}, type), db({n}, type);
      k.layer_norm_backward(dx, whole, db, dy, x, w, mean, rstd, 0, 0, 0);
      auto bytes = dx.bytes();
      bytes.insert(bytes.end(), whole.bytes().begin(), whole.bytes().end());
      bytes.insert(bytes.end(), db.bytes().begin(), db.bytes().end());
      return bytes;
    });
    Buffer parts({n}, type);
    const auto part = [&](const View& v, int64_t from, int64_t to) {
      View p = v;
      p.shape[0] = to - from;
      p.data = v.as<char>() + from * v.strides[0] * static_cast<int64_t>(size_of(type));
      return p;
    };
    double beta = 0;
    for (auto [from, to] : {std::pair<int64_t, int64_t>{0, 31}, {31, 32}, {32, rows}}) {
      k.layer_norm_backward({}, parts, {}, part(dy, from, to), part(x, from, to), w, part(mean, from, to),
                            part(rstd, from, to), 0, beta, 0);
      beta = 1;
    }
    CHECK(parts.bytes() == whole.bytes());
  }
}

TEST_CASE("rope rotates pairs by their position", "[kernels]") {
  const int64_t batch = 2, heads = 3, steps = 5;
  for (DType type : {f32, f64}) {
    for (int64_t d : {2, 10, 64}) {
      for (bool positions : {false, true}) {
        const Shape shape{batch, heads, steps, d};
        Buffer x(shape, type, Layout::padded), y(shape, type), back(shape, type), first({batch}, i32);
        x.random(1), first.integers(2, 1000);
        RopeArgs args;
        args.rope.base = 500;
        if (positions) args.positions = first;
        k.rope(y.poison(), x, args, 0);
        for (int64_t i = 0; i < x.numel(); ++i) {
          const int64_t c = i % d, t = i / d % steps, b = i / (d * steps * heads), pair = c % (d / 2);
          const Real position = static_cast<Real>(t) + (positions ? static_cast<Real>(first.get(b)) : 0);
          const Real angle = position * std::pow(Real(500), -2 * static_cast<Real>(pair) / static_cast<Real>(d));
          const Real u = x.get(i - c + pair), v = x.get(i - c + pair + d / 2);
          const Real want =
              c < d / 2 ? u * std::cos(angle) - v * std::sin(angle) : v * std::cos(angle) + u * std::sin(angle);
          CHECK(std::abs(y.get(i) - static_cast<double>(want)) <= (type == f64 ? 1e-12 : 1e-6));
        }
        CHECK(y.guards_intact());
        args.inverse = true;
        k.rope(back.poison(), y, args, 0);
        for (int64_t i = 0; i < x.numel(); ++i) CHECK_CLOSE(back.get(i), x.get(i), type, 8, 2);
        Buffer added(shape, type);
        added.assign_all(1);
        k.rope(added, y, args, 1);
        for (int64_t i = 0; i < x.numel(); ++i) CHECK_CLOSE(added.get(i), back.get(i) + 1, type, 8, 2);
      }
    }
  }
}

TEST_CASE("rope of a position alone has the bits of the whole sequence", "[kernels]") {
  const int64_t steps = 40, d = 32;
  Buffer x({1, 2, steps, d}, f32), y({1, 2, steps, d}, f32), first({1}, i32), one({1, 2, 1, d}, f32);
  x.random(1);
  k.rope(y, x, {}, 0);
  for (int64_t t = 0; t < steps; ++t) {
    View at = x;
    at.shape[2] = 1;
    at.data = x.view().as<float>() + t * d;
    first.set(0, static_cast<double>(t));
    RopeArgs args;
    args.positions = first;
    k.rope(one, at, args, 0);
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t c = 0; c < d; ++c) CHECK(one.get(h * d + c) == y.get((h * steps + t) * d + c));
    }
  }
}
