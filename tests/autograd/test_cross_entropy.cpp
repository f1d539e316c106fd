// Cross-entropy whose forward pass writes the gradient over the logits: when it does, when it must not, and what
// backward() makes of another gradient than the expected one.
#include <cmath>

#include "tensor/measure/profile.h"
#include "tests/autograd/loss_runs.h"

using namespace pg;
using namespace pg::testing;

namespace {

using Values = std::vector<double>;

Tensor normal(const Shape& shape, DType dtype, uint64_t seed = 1) {
  Generator g(seed);
  return Tensor::normal(shape, 0, 2, g, f64).to(dtype);
}
Tensor ids(const std::vector<int32_t>& values) { return Tensor::from(values, {std::ssize(values)}); }

CrossEntropyOptions summed(const Tensor& upstream) { return {.reduction = Reduction::sum, .upstream = upstream}; }

// How often f calls the kernel that writes over the logits.
template <class F>
int64_t fused_calls(F f) {
  const Profile profile;
  f();
  for (const ProfileEntry& entry : profile.entries()) {
    if (std::string(entry.kernel) == "cross_entropy_with_gradient") return entry.calls;
  }
  return 0;
}

}  // namespace

TEST_CASE("a gradient written over the logits has the bits of a backward pass", "[ops][cross_entropy]") {
  for (const DType dtype : {f32, f64, bf16}) {
    for (const int64_t v : {1, 7, 64, 1003}) {
      const Tensor x = normal({5, v}, dtype);
      Generator g(2);
      std::vector<int32_t> targets;
      for (int r = 0; r < 5; ++r) targets.push_back(r == 3 ? -100 : static_cast<int32_t>(g.integer(v)));
      check_written_over(x, ids(targets), Tensor::uniform({v}, 0.5, 2, g, f64).to(dtype));
    }
  }
}

TEST_CASE("the gradient written over the logits is that of mathematics", "[ops][cross_entropy]") {
  // p = (1/2, 1/4, 1/4)
  const Tensor x = Tensor::from(Values{std::log(2), 0, 0}, {1, 3}), half = Tensor::scalar(0.5, f64);
  const LossRun r = run_loss(x, ids({1}), summed(half), half, false);
  CHECK(r.in_place);
  CHECK(r.loss.item() == Approx(std::log(4)));
  const Values d = r.dlogits.to_vector();
  CHECK(d[0] == Approx(0.25));
  CHECK(d[1] == Approx(-0.375));
  CHECK(d[2] == Approx(0.125));
  const Values rescaled = run_loss(x, ids({1}), summed(half), Tensor::scalar(-3, f64), false).dlogits.to_vector();
  CHECK(rescaled[0] == Approx(-1.5));
  CHECK(rescaled[1] == Approx(2.25));
  CHECK(rescaled[2] == Approx(-0.75));
}

TEST_CASE("logits that something else may read are not written over", "[ops][cross_entropy]") {
  const Tensor leaf = normal({4, 6}, f64).set_requires_grad(), one = Tensor::scalar(1, f64);
  const Tensor targets = ids({0, 5, -100, 2});
  const CrossEntropyOptions options = summed(one);
  backward(cross_entropy(leaf, targets, {.reduction = Reduction::sum}));
  const Values slope = leaf.grad().to_vector();
  // The gradient of the leaf is `factor` times the slope at it; `fused`: calls of the fused kernel.
  const auto check_case = [&](const char* label, int64_t fused, const std::function<Tensor()>& loss_of) {
    INFO(label);
    leaf.zero_grad();
    Tensor loss;
    CHECK(fused_calls([&] {
            loss = loss_of();
            if (loss.requires_grad()) backward(loss, one);
          }) == fused);
    if (!loss.requires_grad()) {
      CHECK(!leaf.grad().defined());
      return;
    }
    const Values d = leaf.grad().to_vector();
    for (size_t i = 0; i < d.size(); ++i) CHECK(d[i] == Approx(slope[i]).margin(1e-15));
  };
  const auto same = [](const Tensor& x) { return x * 1; };
  check_case("a temporary", 1, [&] { return cross_entropy(same(leaf), targets, options); });
  check_case("moved", 1, [&] {
    Tensor x = same(leaf);
    return cross_entropy(std::move(x), targets, options);
  });
  check_case("a view of which nothing else is left", 1, [&] {
    Tensor x = slice(cat({same(leaf), same(leaf)}), 0, 0, 4);
    return cross_entropy(std::move(x), targets, options);
  });
  check_case("a copy of strided logits", 1, [&] {
    const Tensor x = contiguous(transpose(same(leaf)));
    const Values before = x.to_vector();
    const Tensor loss = cross_entropy(transpose(x), targets, options);
    CHECK(x.to_vector() == before);
    return loss;
  });
  Tensor held;  // unchanged by the forward pass and by backward
  const auto held_case = [&](const char* label, const std::function<Tensor()>& loss_of) {
    check_case(label, 0, loss_of);
    CHECK(held.to_vector() == leaf.to_vector());
    held = {};
  };
  held_case("held by a variable", [&] {
    held = same(leaf);
    return cross_entropy(held, targets, options);
  });
  held_case("held without the tape", [&] {
    Tensor x = same(leaf);
    held = x.detach();
    return cross_entropy(std::move(x), targets, options);
  });
  held_case("held as a view", [&] {
    Tensor x = same(leaf);
    held = x.view_reshape({24});
    return cross_entropy(std::move(x), targets, options);
  });
  held_case("the leaf itself", [&] {
    held = leaf.detach();
    return cross_entropy(leaf, targets, options);
  });
  check_case("no upstream", 0, [&] { return cross_entropy(same(leaf), targets, {.reduction = Reduction::sum}); });
  check_case("no gradient is needed", 0, [&] { return cross_entropy(same(leaf.detach()), targets, options); });
  check_case("NoGrad", 0, [&] {
    const NoGrad guard;
    Tensor x = same(leaf);
    return cross_entropy(std::move(x), targets, options);
  });
}

TEST_CASE("logits that their own node reads in its backward are not written over", "[ops][cross_entropy]") {
  const Tensor targets = ids({0, 2}), one = Tensor::scalar(1, f64);
  const auto slopes = [&](const CrossEntropyOptions& options) {
    const Tensor leaf = normal({2, 3}, f64).set_requires_grad();
    backward(cross_entropy(exp(leaf), targets, options), one);
    return leaf.grad().to_vector();
  };
  CHECK(slopes(summed(one)) == slopes({.reduction = Reduction::sum}));
  CHECK(fused_calls([&] { slopes(summed(one)); }) == 0);
}

TEST_CASE("logits with a second reader get both gradients", "[ops][cross_entropy]") {
  const Tensor targets = ids({0, 2}), one = Tensor::scalar(1, f64);
  const auto slopes = [&](const Tensor& upstream) {
    const Tensor leaf = normal({2, 3}, f64).set_requires_grad();
    Tensor logits = leaf * 2;
    const Tensor more = sum(logits * 5);  // its backward does not read the logits
    backward(cross_entropy(std::move(logits), targets, summed(upstream)) + more, one);
    return leaf.grad().to_vector();
  };
  CHECK(slopes(one) == slopes({}));
  CHECK(fused_calls([&] { slopes(one); }) == 1);
}

TEST_CASE("a checkpointed loss is written over the logits when it is computed again", "[ops][checkpoint]") {
  const Tensor targets = ids({0, 2}), one = Tensor::scalar(1, f64), x = normal({2, 3}, f64);
  const auto slopes = [&](bool checkpointed) {
    const Tensor leaf = x.detach().set_requires_grad();
    const auto loss = [&](const Tensor& t) { return cross_entropy(t * 2, targets, summed(one)); };
    backward(checkpointed ? checkpoint(loss, leaf) : loss(leaf), one);
    return leaf.grad().to_vector();
  };
  CHECK(slopes(true) == slopes(false));
  CHECK(fused_calls([&] { slopes(true); }) == 1);
}

TEST_CASE("upstream written before backward is an error", "[ops][writes]") {
  const Tensor upstream = Tensor::scalar(0.5), leaf = normal({2, 3}, f32).set_requires_grad();
  const Tensor loss = cross_entropy(leaf * 2, ids({0, 2}), summed(upstream));
  upstream.fill(0.25);
  const std::string message = error_of([&] { backward(loss, Tensor::scalar(0.25)); });
  CHECK(contains(message, "backward of cross_entropy"));
  CHECK(contains(message, "written after the forward pass"));
  CHECK(!leaf.grad().defined());
}

TEST_CASE("ids may be written after a forward pass that needs them no more", "[ops][writes]") {
  const Tensor one = Tensor::scalar(1), leaf = normal({2, 3}, f32).set_requires_grad(), targets = ids({0, 2});
  backward(cross_entropy(leaf * 2, targets, summed(one)), one);
  const Values want = leaf.grad().to_vector();
  leaf.zero_grad();
  const Tensor loss = cross_entropy(leaf * 2, targets, summed(one));
  targets.fill(1);
  backward(loss, one);
  CHECK(leaf.grad().to_vector() == want);
}

TEST_CASE("a second backward through a loss that is written over the logits is an error", "[ops]") {
  const Tensor one = Tensor::scalar(1), leaf = normal({2, 3}, f32).set_requires_grad();
  const Tensor loss = cross_entropy(leaf * 2, ids({0, 2}), summed(one));
  backward(loss, one);
  CHECK(contains(error_of([&] { backward(loss, one); }), "run the forward pass again"));
}

TEST_CASE("upstream from which no other gradient can be computed is an error", "[ops][cross_entropy]") {
  const Tensor x = normal({2, 3}, f64), targets = ids({0, 2});
  for (const double expected : {0.0, kInf, double(NAN)}) {
    INFO(expected);
    const Tensor upstream = Tensor::scalar(expected, f64);
    const std::string message =
        error_of([&] { run_loss(x, targets, summed(upstream), Tensor::scalar(2, f64), false); });
    CHECK(contains(message, "backward of cross_entropy"));
    CHECK(contains(message, "upstream"));
    // The gradient that was expected is no error, and has the bits of a backward pass.
    const LossRun over = run_loss(x, targets, summed(upstream), upstream, false);
    CHECK(over.in_place);
    CHECK(same_bits(over.dlogits, run_loss(x, targets, summed({}), upstream, true).dlogits));
  }
  // A gradient of 0, inf or NaN can be computed from any other.
  const Tensor one = Tensor::scalar(1, f64);
  for (const double d : run_loss(x, targets, summed(one), Tensor::scalar(0, f64), false).dlogits.to_vector()) {
    CHECK(d == 0);
  }
  for (const double actual : {kInf, double(NAN)}) {
    for (const double d : run_loss(x, targets, summed(one), Tensor::scalar(actual, f64), false).dlogits.to_vector()) {
      CHECK(!std::isfinite(d));
    }
  }
}

TEST_CASE("cross-entropy with upstream of no rows and of no columns", "[ops][cross_entropy]") {
  const Tensor one = Tensor::scalar(1, f64), none = Tensor::full({3}, -100, i32);
  const Tensor no_ids = Tensor::zeros({0}, i32);
  CHECK(run_loss(Tensor::zeros({0, 7}, f64), no_ids, summed(one), one, false).dlogits.shape() == Shape{0, 7});
  CHECK(run_loss(Tensor::zeros({3, 0}, f64), none, summed(one), one, false).dlogits.shape() == Shape{3, 0});
  const LossRun ignored = run_loss(normal({3, 4}, f64), none, summed(one), one, false);
  CHECK(ignored.loss.item() == 0);
  CHECK(ignored.dlogits.to_vector() == Values(12, 0));
}

TEST_CASE("the gradient written over the logits takes no second block of their size", "[ops][memory]") {
  const int64_t rows = 64, v = 4096;
  for (const DType dtype : {f32, bf16}) {
    const Tensor targets = Tensor::zeros({rows}, i32), one = Tensor::scalar(1);
    for (const Tensor& gradient : {one, Tensor::scalar(3)}) {
      Tensor logits = recorded(normal({rows, v}, dtype), [](const Tensor&) {});
      const size_t before = memory_stats().in_use, block = static_cast<size_t>(rows * v) * size_of(dtype);
      reset_peak_memory();
      backward(cross_entropy(std::move(logits), targets, summed(one)), gradient);
      CHECK(memory_stats().peak - before < block / 16);
      CHECK(before - memory_stats().in_use >= block);
    }
  }
}
