// Attention, backward. The probabilities are recomputed from the saved lse, one block of keys at a time:
//   p  = e^(scale·q·kᵀ - lse)        dv = pᵀ·dout
//   dp = dout·vᵀ                     ds = scale·p·(dp - delta),   delta = Σ_d dout·out
//   dq = ds·k                        dk = dsᵀ·q
// Dao et al., arXiv:2205.14135, appendix B. One task processes one head of k and v with all queries that use it, so
// every sum has one order and no two threads add to the same element.
#include <vector>

#include "tensor/cpu/attention/attention_tile.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/scratch.h"

namespace pg::cpu {

namespace {

using simd::Vec;

constexpr int64_t kQueries = 8 * kMaxRows;  // rows whose probabilities are held at a time

// Allocates consecutive parts of one scratch buffer.
template <class T>
struct Carver {
  T* next;
  T* take(int64_t n) {
    T* here = next;
    next += round_up(n, 64 / sizeof(T));
    return here;
  }
};

// x [rows, size] = beta·x + sum [rows, padded]; x holds S.
template <class S, class T>
void add_rows_as(S* x, int64_t step, const T* sum, int64_t rows, const AttentionSizes<T>& s, T beta) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t d = 0; d < s.size; d += Vec<T>::size) {
      const int64_t n = std::min<int64_t>(Vec<T>::size, s.size - d);
      Vec<T> y = simd::load(sum + r * s.padded + d);
      if (beta != T(0)) y = fma(simd::load(x + r * step + d, n), beta, y);
      store(x + r * step + d, y, n);
    }
  }
}

// add_rows_as() for the rows of x from (b, h, t) on; x may hold T or bf16.
template <class T>
void add_rows(const View& x, int64_t b, int64_t h, int64_t t, const T* sum, int64_t rows, const AttentionSizes<T>& s,
              T beta) {
  visit_stored(x.dtype, "attention_backward", [&]<class S, class U>(std::type_identity<S>, std::type_identity<U>) {
    if constexpr (std::is_same_v<U, T>) add_rows_as(row_of<S>(x, b, h, t), x.strides[2], sum, rows, s, beta);
  });
}

// The queries of one head in the forms that the products need.
template <class T>
struct Queries {
  const T *packed_q, *packed_dout;  // panels of a tile, [size, tile rows]
  Rows<T> q, dout;                  // rows of whole vectors
  const T *lse, *delta;             // [T]
  T* dq;                            // [T, padded]
};

// Working memory for one block of keys.
template <class T>
struct BlockSpace {
  T *p, *ds;               // [kQueries, kKeys]
  T *packed_k, *packed_v;  // [size, kKeys]
  T *copied_k, *keep;      // see KeyBlock
  T *sum_k, *sum_v;        // [kKeys, padded]
};

template <class S, class T>
struct Backward {
  View dq, dk, dv, dout, out, lse, q, k, v;
  T beta;
  AttentionSizes<T> s;

  int64_t scratch_size() const {
    const int64_t per_head = s.queries * (2 * s.size + 3 * s.padded + 1) + 2 * Vec<T>::size + 6 * 64;
    return s.group() * per_head + kKeys * (6 * s.padded + 1) + 2 * kQueries * kKeys + 16 * 64;
  }

  // Row-major rows of whole vectors: in place if x has such rows, else a copy.
  Rows<T> whole_rows(const View& x, int64_t b, int64_t h, Carver<T>& space) const {
    const S* from = row_of<S>(x, b, h, 0);
    if constexpr (std::is_same_v<S, T>) {
      if (s.size == s.padded) return {from, x.strides[2]};
    }
    T* to = space.take(s.queries * s.padded);
    std::fill(to, to + s.queries * s.padded, T(0));
    for (int64_t t = 0; t < s.queries; ++t) simd::convert(to + t * s.padded, from + t * x.strides[2], s.size);
    return {to, s.padded};
  }
  const T* packed(const View& x, int64_t b, int64_t h, Carver<T>& space) const {
    T* to = space.take(s.queries * s.size + Vec<T>::size);
    for (int64_t t0 = 0; t0 < s.queries; t0 += kQueries) {
      const Split tiles(std::min(kQueries, s.queries - t0), kMaxRows);
      for (int64_t i = 0; i < tiles.count; ++i) {
        const int64_t t = t0 + tiles.begin(i), n = tiles.size(i);
        pack_panel(to + t * s.size, row_of<S>(x, b, h, t), x.strides[2], 1, n, n, s.size);
      }
    }
    return to;
  }
  Queries<T> prepare(int64_t b, int64_t h, Carver<T>& space) const {
    T* delta = space.take(s.queries);
    for (int64_t t = 0; t < s.queries; ++t) {
      const S *y = row_of<S>(out, b, h, t), *dy = row_of<S>(dout, b, h, t);
      Vec<T> sum[simd::kParts<T>];
      for (Vec<T>& part : sum) part = T(0);
      for (int64_t d = 0; d < s.size;) {
        for (int j = 0; j < simd::kParts<T> && d < s.size; ++j, d += Vec<T>::size) {
          const int64_t n = std::min<int64_t>(Vec<T>::size, s.size - d);
          sum[j] = fma(simd::load(y + d, n), simd::load(dy + d, n), sum[j]);
        }
      }
      delta[t] = simd::sum_of_parts(sum);
    }
    T* sum = space.take(s.queries * s.padded);
    std::fill(sum, sum + s.queries * s.padded, T(0));
    return {.packed_q = packed(q, b, h, space),
            .packed_dout = packed(dout, b, h, space),
            .q = whole_rows(q, b, h, space),
            .dout = whole_rows(dout, b, h, space),
            .lse = lse.as<T>() + (b * s.heads + h) * s.queries,
            .delta = delta,
            .dq = sum};
  }

  // Replaces a row of q·kᵀ by p and a row of dout·vᵀ by ds; the elements after the `columns` that were computed become
  // 0.
  void probabilities(T* p, T* ds, int64_t columns, int64_t seen, const T* keep, T lse, T delta) const {
    const Vec<T> scale = static_cast<T>(s.args.scale);
    for (int64_t i = 0; i < columns; i += Vec<T>::size) {
      const auto visible = attended(i, seen, keep);
      const Vec<T> x = exp_flushed(fma(simd::load(p + i), scale, Vec<T>(-lse)));
      const Vec<T> dx = x * (simd::load(ds + i) - Vec<T>(delta)) * scale;
      store(p + i, select(visible, x, T(0)));
      store(ds + i, select(visible, dx, T(0)));
    }
    std::fill(p + columns, p + kKeys, T(0));
    std::fill(ds + columns, ds + kKeys, T(0));
  }

  // Processes the queries [t0, t0 + count) of one head against one block of keys: adds to dq, sum_k and sum_v.
  void chunk(const KeyBlock<T>& block, const Queries<T>& x, int64_t t0, int64_t count, int64_t length,
             const BlockSpace<T>& w, Rows<T> key, const T* keep) const {
    const Split tiles(count, kMaxRows);
    const int64_t all = kKeys;
    for (int64_t i = 0; i < tiles.count; ++i) {
      const int64_t row = tiles.begin(i), n = tiles.size(i), t = t0 + row;
      const int64_t most = block.seen(s, t + n - 1, length), columns = round_up(most, Vec<T>::size);
      if (most == 0) continue;
      T *p = w.p + row * kKeys, *ds = w.ds + row * kKeys;
      multiply_tile<PackedA>(n, columns, s.size, x.packed_q + t * s.size, w.packed_k, all, p, all, T(0));
      multiply_tile<PackedA>(n, columns, s.size, x.packed_dout + t * s.size, w.packed_v, all, ds, all, T(0));
      for (int64_t r = 0; r < n; ++r) {
        probabilities(p + r * kKeys, ds + r * kKeys, columns, block.seen(s, t + r, length), keep, x.lse[t + r],
                      x.delta[t + r]);
      }
      multiply_tile<ScoresA>(n, s.padded, most, ds, key.data, key.ld, x.dq + t * s.padded, s.padded, T(1));
    }
    const Split keys(block.count, kMaxRows);
    int64_t i = 0;  // the first tile of rows that attends to the keys; only later rows attend to later keys
    for (int64_t j = 0; j < keys.count; ++j) {
      const int64_t first = keys.begin(j), n = keys.size(j);
      while (i < tiles.count && block.seen(s, t0 + tiles.begin(i + 1) - 1, length) <= first) ++i;
      if (i == tiles.count) break;
      const int64_t row = tiles.begin(i), t = t0 + row, depth = count - row, from = row * kKeys + first;
      multiply_tile<ScoresTransposedA>(n, s.padded, depth, w.p + from, x.dout.data + t * x.dout.ld, x.dout.ld,
                                       w.sum_v + first * s.padded, s.padded, T(1));
      multiply_tile<ScoresTransposedA>(n, s.padded, depth, w.ds + from, x.q.data + t * x.q.ld, x.q.ld,
                                       w.sum_k + first * s.padded, s.padded, T(1));
    }
  }

  // Processes head h of k and v of batch row b, with the query heads that use it.
  void run(int64_t b, int64_t h) const {
    Carver<T> space{scratch<T>(Scratch::attention, scratch_size())};
    const BlockSpace<T> w{.p = space.take(kQueries * kKeys),
                          .ds = space.take(kQueries * kKeys),
                          .packed_k = space.take(kKeys * s.size),
                          .packed_v = space.take(kKeys * s.size),
                          .copied_k = space.take(kKeys * s.padded),
                          .keep = space.take(kKeys),
                          .sum_k = space.take(kKeys * s.padded),
                          .sum_v = space.take(kKeys * s.padded)};
    const int64_t length = s.length(b);
    std::vector<Queries<T>> heads;
    for (int64_t g = 0; g < s.group(); ++g) heads.push_back(prepare(b, h * s.group() + g, space));
    for (int64_t first = 0; first < s.keys; first += kKeys) {
      const int64_t rows = std::min<int64_t>(kKeys, s.keys - first);
      std::fill(w.sum_k, w.sum_k + rows * s.padded, T(0));
      std::fill(w.sum_v, w.sum_v + rows * s.padded, T(0));
      if (first < length) {
        const KeyBlock<T> block(s, b, first, length);
        block.template transposed<S>(s, k, b, h, w.packed_k);
        block.template transposed<S>(s, v, b, h, w.packed_v);
        const Rows<T> key = block.template rows<S>(s, k, b, h, w.copied_k);
        const T* keep = block.keep(w.keep);
        for (const Queries<T>& x : heads) {
          for (int64_t t = 0; t < s.queries; t += kQueries) {
            chunk(block, x, t, std::min(kQueries, s.queries - t), length, w, key, keep);
          }
        }
      }
      add_rows(dk, b, h, first, w.sum_k, rows, s, beta);
      add_rows(dv, b, h, first, w.sum_v, rows, s, beta);
    }
    for (int64_t g = 0; g < s.group(); ++g) {
      add_rows(dq, b, h * s.group() + g, 0, heads[g].dq, s.queries, s, beta);
    }
  }
};

}  // namespace

void attention_backward(const View& dq, const View& dk, const View& dv, const View& dout, const View& out,
                        const View& lse, const View& q, const View& k, const View& v, const AttentionArgs& args,
                        double beta) {
  visit_stored(q.dtype, "attention_backward", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const Backward<S, T> f{dq, dk, dv, dout, out, lse, q, k, v, static_cast<T>(beta), AttentionSizes<T>(q, k, args)};
    const AttentionSizes<T>& s = f.s;
    const int64_t items = s.batch * s.kv_heads;
    if (items == 0) return;
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f.run(i / s.kv_heads, i % s.kv_heads);
    };
    run_items(items, 10.0 * s.heads * s.queries * s.keys * s.size * s.batch * sizeof(T) / 400e9, run);
  });
}

}  // namespace pg::cpu
