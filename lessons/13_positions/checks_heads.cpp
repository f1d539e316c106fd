// The check of lesson 13 on heads of keys and values that are shared.
#include "lessons/13_positions/checks.h"

namespace pg::lesson13 {

using kit::Grader;

Tensor heads_of(const Tensor& x, const std::vector<int32_t>& of) {
  return index_select(x, 1, Tensor::from(of, {std::ssize(of)}));
}

void check_repeat_heads(Grader& g, const Impl& impl) {
  struct Case {
    int64_t shared, heads, rows, steps, size;
  };
  for (const Case& one : {Case{2, 6, 2, 5, 4}, Case{3, 6, 1, 7, 2}, Case{1, 5, 3, 4, 6}, Case{3, 3, 3, 2, 7}}) {
    const int64_t shared = one.shared, heads = one.heads;
    const int64_t rows = one.rows, steps = one.steps, size = one.size;
    const Tensor x = random_tensor({rows, shared, steps, size}, 140 + static_cast<uint64_t>(heads));
    const std::string input = fmt::format("x [{}, {}, {}, {}], {} heads", rows, shared, steps, size, heads);
    std::vector<int32_t> of;
    for (int64_t h = 0; h < heads; ++h) of.push_back(static_cast<int32_t>(h / (heads / shared)));
    const auto mistakes = kit::results_of(repeat_mistakes(), x, heads);
    const Unchanged inputs({x});
    const Tensor want = heads_of(x, of);
    const Tensor got = impl.repeat_heads(x, heads);
    if (!inputs.expect(g, input) || !same_tensor(g, input, got, want, {.mistakes = mistakes})) return;
    const Tensor q = random_tensor({rows, heads, steps, size}, 141),
                 v = random_tensor({rows, shared, steps, size}, 142);
    g.equal(input + ": attention with the copies, as pg::attention has it with Hkv heads",
            pg::attention(q, got, impl.repeat_heads(v, heads)), pg::attention(q, x, v));
  }
  const Tensor small = Tensor::arange(6, f64).view_reshape({1, 3, 1, 2});
  same_tensor(g, "x [1, 3, 1, 2] = 0 ... 5, 6 heads", impl.repeat_heads(small, 6), heads_of(small, {0, 0, 1, 1, 2, 2}));
  const Tensor hundreds = random_tensor({2, 3, 5, 1}, 146) * 300.0;
  hundreds.data<double>()[4] = INFINITY;
  same_tensor(g, "x [2, 3, 5, 1] in hundreds, one inf, every second element of a tensor, 6 heads",
              impl.repeat_heads(kit::strided(hundreds), 6), heads_of(hundreds, {0, 0, 1, 1, 2, 2}));
  const Tensor f = kit::with_zero_row(random_tensor({1, 2, 3, 5}, 143, f32));
  same_tensor(g, "x [1, 2, 3, 5] f32, 4 heads", impl.repeat_heads(f, 4), heads_of(f, {0, 0, 1, 1}));
  same_gradients(
      g, "x [2, 3, 5, 4] in hundreds, 6 heads", [&](const auto& in) { return impl.repeat_heads(in[0], 6); },
      [](const auto& in) {
        return heads_of(in[0], {0, 0, 1, 1, 2, 2});
      },
      {{"x", random_tensor({2, 3, 5, 4}, 144) * 300.0}});
  refuses(g, "4 heads of keys for 6 of queries", [&] { impl.repeat_heads(random_tensor({1, 4, 2, 2}, 145), 6); });
  g.note("four ways to share, and attention with the copies");
}

}  // namespace pg::lesson13
