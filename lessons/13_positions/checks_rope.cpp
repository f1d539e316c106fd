// The checks of lesson 13 on rotary positions: the rotation, and the cache of rotated keys.
#include <cmath>

#include "lessons/13_positions/checks.h"

namespace pg::lesson13 {
namespace {

using kit::Grader;

Tensor tensor_of(const std::vector<int32_t>& positions) {
  return positions.empty() ? Tensor() : Tensor::from(positions, {std::ssize(positions)});
}

}  // namespace

void check_rope(Grader& g, const Impl& impl) {
  struct Case {
    std::string name;
    Tensor x;
    double base;
    std::vector<int32_t> positions;
  };
  const std::vector<Case> cases = {
      {"x [2, 3, 5, 6], base 70, no positions", random_tensor({2, 3, 5, 6}, 131), 70, {}},
      {"x [3, 2, 4, 10], base 50, rows begin at 7, 0, 3", random_tensor({3, 2, 4, 10}, 132), 50, {7, 0, 3}},
      {"x [1, 3, 7, 2], a view of [1, 7, 3, 2]", random_tensor({1, 7, 3, 2}, 133).view_transpose(1, 2), 1e4, {11}},
      {"x [3, 1, 5, 4] in hundreds, every second element of a tensor",
       kit::strided(random_tensor({3, 1, 5, 4}, 136) * 300.0),
       1e3,
       {2, 0, 9}},
      {"x [2, 1, 3, 4], a row of 0, base 20", kit::with_zero_row(random_tensor({2, 1, 3, 4}, 138)), 20, {4, 1}},
      // For pencil and paper.
      {"x [1, 1, 3, 4] = 0 ... 11, base 100", Tensor::arange(12, f64).view_reshape({1, 1, 3, 4}), 100, {}},
  };
  for (const Case& one : cases) {
    const Tensor positions = tensor_of(one.positions);
    const Tensor want = pg::rope(one.x, one.base, positions);
    const auto mistakes = kit::results_of(rope_mistakes(), one.x, Rope(one.base), positions);
    const Unchanged inputs(positions.defined() ? std::vector{one.x, positions} : std::vector{one.x});
    Tensor got;
    const std::string undefined = "positions may be undefined: then every row begins at 0 (positions.defined())";
    if (!runs(g, one.name, [&] { got = impl.rope(one.x, one.base, positions); }, {{"undefined", undefined}})) return;
    if (!inputs.expect(g, one.name) || !same_tensor(g, one.name, got, want, {.mistakes = mistakes})) return;
  }
  const Tensor x = random_tensor({2, 3, 5, 8}, 134, f32), far = tensor_of({5000, 20003});
  const Tensor got = impl.rope(x, 1e4, far), want = pg::rope(x, 1e4, far);
  const std::string input = "x [2, 3, 5, 8] f32, rows begin at 5000 and 20003";
  if (!require(g, got.defined() && got.dtype() == f32, input,
               got.defined() ? fmt::format("{}", got.dtype()) : "nothing", "f32",
               "the result has x's dtype: cosines.to(x.dtype())")) {
    return;
  }
  const double error = got.shape() == want.shape() ? kit::relative_error(got, want) : INFINITY;
  require(
      g, error <= 1e-6, input, fmt::format("differs by {:.1e}", error), "at most 1e-6",
      error < 0.1 ? "the angle is computed in float: 20003 radians have no digits left for the turn; use double" : "");
  same_gradients(
      g, "x [2, 3, 5, 6]", [&](const auto& in) { return impl.rope(in[0], 100, {}); },
      [](const auto& in) { return pg::rope(in[0], 100); }, {{"x", cases[0].x}});
  same_gradients(
      g, cases[3].name,
      [&](const auto& in) {
        return impl.rope(in[0], 1e3, tensor_of({2, 0, 9}));
      },
      [](const auto& in) {
        return pg::rope(in[0], 1e3, tensor_of({2, 0, 9}));
      },
      {{"x", cases[3].x}});
  g.note("three shapes, far positions in f32, the gradient");
}

namespace {

struct Qkv {
  Tensor q, k, v;
};

}  // namespace

Tensor decode_by_rows(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options) {
  const int64_t heads = q.size(1), steps = q.size(2), size = q.size(3);
  std::vector<int32_t> shared;  // the head of keys of each head of queries
  for (int64_t h = 0; h < heads; ++h) shared.push_back(static_cast<int32_t>(h * k.size(1) / heads));
  const std::vector<double> first = slot.before.to_vector();
  std::vector<Tensor> results;
  for (int64_t b = 0; b < q.size(0); ++b) {
    const auto begin = static_cast<int64_t>(first[static_cast<size_t>(b)]), end = begin + steps;
    // Behind as many zeros as the cache holds positions, a vector is rotated as in the whole text.
    const auto turned = [&](const Tensor& x) {
      const Tensor zeros = Tensor::zeros({1, x.size(1), begin, size}, x.dtype());
      return slice(pg::rope(cat({zeros, slice(x, 0, b, b + 1)}, 2), options), 2, begin, end);
    };
    const auto row_of = [&](const Tensor& cache, int64_t from) {
      return cache.view_slice(0, b, b + 1).view_slice(2, from, end);
    };
    row_of(slot.k, begin).copy_from(turned(k));
    row_of(slot.v, begin).copy_from(slice(v, 0, b, b + 1));
    const auto for_all_heads = [&](const Tensor& x) { return index_select(x, 1, Tensor::from(shared, {heads})); };
    const Tensor at = Tensor::arange(end, f64),
                 query_at = unsqueeze(Tensor::arange(steps, f64), 1) + static_cast<double>(begin);
    const Tensor scores =
        matmul(turned(q), transpose(for_all_heads(row_of(slot.k, 0)))) / std::sqrt(static_cast<double>(size));
    const Tensor seen = where(le(at, query_at), scores, Tensor::scalar(-INFINITY, scores.dtype()));
    results.push_back(matmul(softmax(seen), for_all_heads(row_of(slot.v, 0))));
  }
  return cat(results, 0);
}

namespace {

struct DecodeCase {
  int64_t rows, heads, shared, room, size;
  double base;
  std::vector<int64_t> known, counts;  // positions in the cache of each row; new ones of one call after another
  DType dtype = f64;
};
void check_decode_of(Grader& g, const Impl& impl, const DecodeCase& one) {
  const int64_t rows = one.rows, heads = one.heads, shared = one.shared, room = one.room, size = one.size;
  const Rope options(one.base);
  const Qkv x{random_tensor({rows, heads, room, size}, 135, one.dtype),
              random_tensor({rows, shared, room, size}, 136, one.dtype),
              random_tensor({rows, shared, room, size}, 137, one.dtype)};
  if (one.dtype == f32) x.q.view_select(0, 0).view_select(0, 0).fill(0);
  const Tensor keys = pg::rope(x.k, options), whole = pg::attention(pg::rope(x.q, options), keys, x.v);
  KvCache cache(rows, 1, shared, room, size, one.dtype);
  const double rtol = one.dtype == f32 ? 1e-5 : 1e-9;
  for (const Tensor& part : {cache.k[0], cache.v[0]}) part.fill(500);  // room that must not be read
  const auto part = [](const Tensor& of, int64_t row, int64_t begin, int64_t end) {
    return of.view_select(0, static_cast<int>(row)).view_slice(1, begin, end);
  };
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t n = one.known[static_cast<size_t>(b)];
    part(cache.k[0], b, 0, n).copy_from(part(keys, b, 0, n));
    part(cache.v[0], b, 0, n).copy_from(part(x.v, b, 0, n));
    cache.lengths.data<int32_t>()[static_cast<size_t>(b)] = static_cast<int32_t>(n);
  }
  for (const int64_t count : one.counts) {
    const KvSlot slot = cache.slots(count)[0];
    const auto before = slot.before.to_vector(), after = slot.after.to_vector();
    const auto length = [](double n) { return static_cast<int64_t>(n); };
    const auto fresh = [&](const Tensor& of) {
      std::vector<Tensor> parts;
      for (int64_t b = 0; b < rows; ++b) parts.push_back(part(of, b, length(before[b]), length(after[b])));
      return stack(parts);
    };
    // Those of the second call lie as a transpose leaves the heads of [B, T, H, D].
    const bool second = before[0] > static_cast<double>(one.known[0]);
    const auto laid = [&](const Tensor& of) {
      return second ? fresh(of).view_transpose(1, 2).clone().view_transpose(1, 2) : fresh(of);
    };
    const Qkv now{laid(x.q), laid(x.k), laid(x.v)};
    const std::string input =
        fmt::format("{} heads of {}, {} of keys, base {}, rows that hold {:.0f} positions, {} new", heads, size, shared,
                    one.base, fmt::join(before, ", "), count);
    const auto mistakes = kit::values_of(decode_mistakes(), [&](auto decode) {
      return decode({slot.k.clone(), slot.v.clone(), slot.before, slot.after}, now.q, now.k, now.v, options);
    });
    const Unchanged inputs({now.q, now.k, now.v, slot.before, slot.after});
    Tensor got;
    const std::string in_use = "options.kv_len = slot.after: so many keys of each row are in use, the new ones too";
    if (!runs(g, input, [&] { got = impl.decode(slot, now.q, now.k, now.v, options); }, {{"kv_len", in_use}})) return;
    if (!inputs.expect(g, input) || !same_tensor(g, input, got, fresh(whole), {.rtol = rtol, .mistakes = mistakes}))
      return;
    for (int64_t b = 0; b < rows; ++b) {
      const int64_t n = length(after[b]);
      const auto missing = [&](const Tensor& of) {
        const Tensor y = part(of, b, 0, n).clone();
        y.view_slice(1, length(before[b]), n).fill(500);
        return kit::Value(y);
      };
      const std::string lost = "the new positions are not in the cache: the next token will miss them";
      const std::string then = fmt::format("{}: row {} of the cache then, ", input, b);
      g.equal(then + "k", part(cache.k[0], b, 0, n), part(keys, b, 0, n),
              {.rtol = rtol, .mistakes = {{lost, missing(keys)}}});
      g.equal(then + "v", part(cache.v[0], b, 0, n), part(x.v, b, 0, n), {.mistakes = {{lost, missing(x.v)}}});
      g.equal(then + "the room behind", part(cache.k[0], b, n, room),
              Tensor::full({shared, room - n, size}, 500, one.dtype));
    }
    if (g.failed()) return;
    cache.advance(count);
  }
}

}  // namespace

void check_decode(Grader& g, const Impl& impl) {
  for (const DecodeCase& one : {DecodeCase{2, 6, 3, 9, 4, 20, {5, 2}, {3, 1}},
                                {3, 4, 1, 7, 6, 50, {0, 4, 3}, {2, 1}},
                                {1, 5, 5, 11, 2, 9, {3}, {5, 3}},
                                {1, 2, 1, 7, 6, 30, {2}, {1, 3}, f32}}) {
    check_decode_of(g, impl, one);
    if (g.failed()) return;
  }
  g.note("four caches, rows of different length, as the whole sequence gives");
}

}  // namespace pg::lesson13
