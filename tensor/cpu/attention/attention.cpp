// Attention, forward: out = softmax(scale·q·kᵀ) v without storing the T × S scores. The softmax runs online over blocks
// of keys: a row carries the largest score so far m, the sum l = Σ e^(score - m) and the output Σ e^(score - m)·v, and
// rescales l and the output by e^(m - m') when the maximum grows to m'. Milakov and Gimelshein, arXiv:1805.02867; Dao
// et al., arXiv:2205.14135.
//
// A row of a decoding step (T = 1 on a KV cache) has the same bits as that row in a training pass: see
// attention_tile.h.
#include "tensor/cpu/attention/attention_tile.h"
#include "tensor/cpu/gemm/skinny.h"
#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/scratch.h"

namespace pg::cpu {

namespace {

using simd::Vec;

constexpr int64_t kQueries = 8 * kMaxRows;  // rows that share a packed block of keys, per head

template <class S, class T>
struct Forward {
  View out, lse, q, k, v;
  AttentionSizes<T> s;

  // Scales a row of scores, puts -inf where the row does not attend and returns the largest score.
  T scale_and_mask(T* scores, int64_t seen, const T* keep) const {
    constexpr T inf = std::numeric_limits<T>::infinity();
    constexpr int size = Vec<T>::size;
    const Vec<T> scale = static_cast<T>(s.args.scale);
    Vec<T> largest = -inf;
    if (seen == kKeys && !keep) {
#pragma GCC unroll 8
      for (int i = 0; i < kKeys; i += size) {
        const Vec<T> x = simd::load(scores + i) * scale;
        store(scores + i, x);
        largest = max(largest, x);
      }
    } else {
      for (int64_t i = 0; i < seen; i += size) {
        const Vec<T> x = select(attended(i, seen, keep), simd::load(scores + i) * scale, -inf);
        store(scores + i, x);
        largest = max(largest, x);
      }
    }
    return horizontal_max(largest);
  }
  // Replaces a row of scores by e^(score - m) and returns the sum.
  static T exponentials(T* scores, int64_t seen, T m) {
    constexpr int size = Vec<T>::size, wide = simd::kWide<T>;
    Vec<T> sum[simd::kParts<T>];
    for (Vec<T>& part : sum) part = T(0);
    const auto one = [&](int64_t i, Vec<T>& part) {
      const Vec<T> p = exp_flushed(simd::load(scores + i) - Vec<T>(m));
      store(scores + i, p);
      part += p;
    };
    if (seen == kKeys) {
#pragma GCC unroll 8
      for (int i = 0; i < kKeys; i += wide) {
        for (int j = 0; j < simd::kParts<T>; ++j) one(i + j * size, sum[j]);
      }
    } else {
      for (int64_t i = 0; i < seen; i += wide) {
        for (int j = 0; j < simd::kParts<T> && i + j * size < seen; ++j) one(i + j * size, sum[j]);
      }
    }
    return simd::sum_of_parts(sum);
  }
  // The online softmax of n rows: scores become e^(score - m), and m, l and the rows of the output o are updated.
  void advance(int64_t n, T* scores, const int64_t* seen, const T* keep, T* m, T* l, T* o) const {
    constexpr int size = Vec<T>::size;
    T m_new[kMaxRows], alpha[kMaxRows];
    for (int64_t r = 0; r < n; ++r) {
      m_new[r] = m[r];
      if (seen[r] == 0) continue;
      const T largest = scale_and_mask(scores + r * kKeys, seen[r], keep);
      if (!(m[r] > largest)) m_new[r] = largest;
    }
    for (int64_t r = 0; r < n; r += size) {
      const int64_t rows = std::min<int64_t>(size, n - r);
      const Vec<T> before = simd::load(m + r, rows), now = simd::load(m_new + r, rows);
      const Vec<T> a = select(before == now, T(1), exp_flushed(before - now));
      store(alpha + r, a, rows);
      store(l + r, simd::load(l + r, rows) * a, rows);
      store(m + r, now, rows);
    }
    for (int64_t r = 0; r < n; ++r) {
      if (seen[r] == 0) continue;
      l[r] += exponentials(scores + r * kKeys, seen[r], m[r]);
      if (alpha[r] == T(1)) continue;
      for (int64_t d = 0; d < s.padded; d += size) {
        T* at = o + r * s.padded + d;
        store(at, simd::load(at) * Vec<T>(alpha[r]));
      }
    }
  }

  // Rows of k that are read next. A decoding step reads keys and values once and in short stretches, which the
  // processor does not recognise: the values are prefetched during the product with the keys, the next keys during the
  // product with the values.
  struct NextKeys {
    const S* data = nullptr;
    int64_t count = 0;
  };
  NextKeys next_keys(int64_t b, int64_t h, int64_t first) const {
    return {row_of<S>(k, b, h, first), std::min<int64_t>(kKeys, s.length(b) - first)};
  }

  // Processes the queries [t0, t0 + count) of all heads that use head h of k and v. A tile holds queries of one head,
  // or in decoding, where there is one query, all heads. `after`: the first keys of this thread's next call.
  void run(int64_t b, int64_t h, int64_t t0, int64_t count, const NextKeys& after) const {
    const int64_t group = s.group(), rows = group * count;
    const bool decodes = count == 1;
    const int64_t sets = decodes ? 1 : group, in_set = decodes ? group : count, t_step = decodes ? 0 : 1;
    const Split tiles(in_set, kMaxRows);
    const bool in_place = decodes && reads_values(rows);
    T* packed_k = scratch<T>(Scratch::attention,
                             kKeys * (2 * s.padded + 1 + kMaxRows) + rows * (s.size + s.padded + 2) + Vec<T>::size);
    T* copied_v = packed_k + kKeys * s.padded;
    T* keep_space = copied_v + kKeys * s.padded;
    T* scores = keep_space + kKeys;
    T* o = scores + kKeys * kMaxRows;  // [rows, padded]
    T* m = o + rows * s.padded;        // [rows], like l
    T* l = m + rows;
    T* packed_q = l + rows;  // panels of a tile, [size, tile rows]
    std::fill(o, o + rows * s.padded, T(0));
    std::fill(m, m + rows, -std::numeric_limits<T>::infinity());
    std::fill(l, l + rows, T(0));
    for (int64_t g = 0; g < sets; ++g) {
      for (int64_t i = 0; i < tiles.count; ++i) {
        const int64_t row = tiles.begin(i), n = tiles.size(i);
        const S* from = decodes ? row_of<S>(q, b, h * group + row, t0) : row_of<S>(q, b, h * group + g, t0 + row);
        T* const to = packed_q + (g * in_set + row) * s.size;
        if (n == 1) {
          simd::convert(to, from, s.size);
        } else {
          pack_panel(to, from, q.strides[decodes ? 1 : 2], 1, n, n, s.size);
        }
      }
    }
    const int64_t length = s.length(b), end = s.visible(t0 + count - 1, length);
    for (int64_t first = 0; first < end; first += kKeys) {
      const KeyBlock<T> block(s, b, first, length);
      if (rows > 1) block.template transposed<S>(s, k, b, h, packed_k);
      const S* const v_in_place = in_place ? row_of<S>(v, b, h, first) : nullptr;
      const Rows<T> value = in_place ? Rows<T>{} : block.template rows<S>(s, v, b, h, copied_v);
      const T* keep = block.keep(keep_space);
      const NextKeys next = first + kKeys < end ? next_keys(b, h, first + kKeys) : after;
      for (int64_t g = 0; g < sets; ++g) {
        for (int64_t i = 0; i < tiles.count; ++i) {
          const int64_t t = t0 + t_step * tiles.begin(i), n = tiles.size(i), row = g * in_set + tiles.begin(i);
          const int64_t most = block.seen(s, t + t_step * (n - 1), length);
          if (most == 0) continue;
          if (rows == 1) {
            multiply_one(most, packed_q, row_of<S>(k, b, h, first), row_of<S>(v, b, h, first), scores);
          } else {
            multiply_tile<PackedA>(n, round_up(most, Vec<T>::size), s.size, packed_q + row * s.size, packed_k,
                                   int64_t{kKeys}, scores, int64_t{kKeys}, T(0));
          }
          tile(block, t, t_step, n, length, value, v_in_place, next, keep, scores, m + row, l + row,
               o + row * s.padded);
        }
      }
    }
    for (int64_t g = 0; g < group; ++g) {
      finish(b, h * group + g, t0, count, m + g * count, l + g * count, o + g * count * s.padded);
    }
  }

  // scores [keys] = q·kᵀ for one query; `value` is prefetched. Rows of bf16 are transposed as words, and widened after
  // that.
  void multiply_one(int64_t keys, const T* query, const S* key, const S* value, T* scores) const {
    const int64_t step = k.strides[2];
    if constexpr (std::is_same_v<S, BFloat16>) {
      if (s.size % 2 == 0 && step % 2 == 0) {
        const auto words = [](const S* from) { return reinterpret_cast<const simd::Pair*>(from); };
        const Matrix<simd::Pair> b{words(key), 1, step / 2};
        multiply_row<false>(
            SkinnyProduct<simd::Pair, T>{1, keys, s.size / 2, query, s.size, b, scores, kKeys, T(0), words(value)});
        return;
      }
    }
    multiply_row(SkinnyProduct<S, T>{1, keys, s.size, query, s.size, {key, 1, step}, scores, kKeys, T(0), value});
  }

  // Whether so few rows of a decoding step read the values in place, where otherwise a tile of them is computed.
  bool reads_values(int64_t rows) const { return rows <= kFewRows && s.size == s.padded && !s.args.key_mask; }
  // o [N, size] += p·v over `keys` rows of v, read in place. Prefetches `next`.
  template <int N>
  void add_values(int64_t keys, const T* p, const S* value, const NextKeys& next, T* o) const {
    constexpr int64_t wide = 4 * Vec<T>::size;
    int64_t d = 0;
    for (; d + wide <= s.size; d += wide) add_columns<N, 4>(keys, p, value + d, d == 0 ? next : NextKeys{}, o + d);
    for (; d < s.size; d += Vec<T>::size) add_columns<N, 1>(keys, p, value + d, d == 0 ? next : NextKeys{}, o + d);
  }
  template <int N, int Vecs>
  void add_columns(int64_t keys, const T* p, const S* value, const NextKeys& next, T* o) const {
    constexpr int size = Vec<T>::size;
    const auto prefetch = [&](int64_t row) {
      constexpr int64_t line = 64 / sizeof(S);
      const S* from = next.data + row * k.strides[2];
      for (int64_t d = 0; d < s.size; d += line) __builtin_prefetch(from + d, 0, 2);
    };
    Vec<T> sum[N][Vecs];
#pragma GCC unroll 16
    for (int i = 0; i < N * Vecs; ++i) sum[i / Vecs][i % Vecs] = simd::load(o + i / Vecs * s.padded + i % Vecs * size);
    for (int64_t j = 0; j < keys; ++j, value += v.strides[2]) {
      if (j < next.count) prefetch(j);
#pragma GCC unroll 4
      for (int i = 0; i < Vecs; ++i) {
        const Vec<T> x = simd::load(value + i * size);
#pragma GCC unroll 4
        for (int r = 0; r < N; ++r) sum[r][i] = fma(Vec<T>(p[r * kKeys + j]), x, sum[r][i]);
      }
    }
    for (int64_t j = keys; j < next.count; ++j) prefetch(j);
#pragma GCC unroll 16
    for (int i = 0; i < N * Vecs; ++i) store(o + i / Vecs * s.padded + i % Vecs * size, sum[i / Vecs][i % Vecs]);
  }

  // Adds one tile, the scores of n rows against one block of keys, to the rows' softmax and output. Row r is query
  // t + r·t_step. The values are `value`, or `v_in_place` unless it is null.
  void tile(const KeyBlock<T>& block, int64_t t, int64_t t_step, int64_t n, int64_t length, Rows<T> value,
            const S* v_in_place, const NextKeys& next, const T* keep, T* scores, T* m, T* l, T* o) const {
    int64_t seen[kMaxRows], common = kKeys;
    for (int64_t r = 0; r < n; ++r) {
      seen[r] = block.seen(s, t + t_step * r, length);
      common = std::min(common, seen[r]);
    }
    advance(n, scores, seen, keep, m, l, o);
    if (v_in_place) {  // all rows are one query, so they attend to the same keys
      using Add = void (Forward::*)(int64_t, const T*, const S*, const NextKeys&, T*) const;
      constexpr Add add[] = {&Forward::add_values<1>, &Forward::add_values<2>, &Forward::add_values<3>,
                             &Forward::add_values<4>};
      return (this->*add[n - 1])(common, scores, v_in_place, next, o);
    }
    // The keys that all rows attend to go through the micro-kernel; the further keys of each row follow in order.
    multiply_tile<ScoresA>(n, s.padded, common, scores, value.data, value.ld, o, s.padded, T(1));
    for (int64_t r = 0; r < n; ++r) {
      if (seen[r] == common) continue;
      for (int64_t d = 0; d < s.padded; d += Vec<T>::size) {
        Vec<T> sum = simd::load(o + r * s.padded + d);
        for (int64_t j = common; j < seen[r]; ++j) {
          sum = fma(Vec<T>(scores[r * kKeys + j]), simd::load(value.data + j * value.ld + d), sum);
        }
        store(o + r * s.padded + d, sum);
      }
    }
  }

  // Writes out and lse. A row without any key gets output 0 and lse -inf.
  void finish(int64_t b, int64_t h, int64_t t0, int64_t count, const T* m, const T* l, const T* o) const {
    constexpr int size = Vec<T>::size;
    for (int64_t t = 0; t < count; ++t) {
      S* y = row_of<S>(out, b, h, t0 + t);
      const Vec<T> inverse = l[t] == T(0) ? T(0) : 1 / l[t];
      for (int64_t d = 0; d < s.size; d += size) {
        store(y + d, simd::load(o + t * s.padded + d) * inverse, std::min<int64_t>(size, s.size - d));
      }
    }
    T* kept = lse.as<T>() + (b * s.heads + h) * s.queries + t0;
    for (int64_t t = 0; t < count; t += size) {
      const int64_t n = std::min<int64_t>(size, count - t);
      store(kept + t, simd::load(m + t, n) + log(simd::load(l + t, n)), n);
    }
  }
};

}  // namespace

void attention(const View& out, const View& lse, const View& q, const View& k, const View& v,
               const AttentionArgs& args) {
  visit_stored(q.dtype, "attention", [&]<class S, class T>(std::type_identity<S>, std::type_identity<T>) {
    const Forward<S, T> f{out, lse, q, k, v, AttentionSizes<T>(q, k, args)};
    const AttentionSizes<T>& s = f.s;
    if (s.batch * s.heads * s.queries == 0) return;
    const int64_t parts = (s.queries + kQueries - 1) / kQueries, items = s.batch * s.kv_heads * parts;
    const auto run = [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t t = i % parts * kQueries, h = i / parts % s.kv_heads, b = i / parts / s.kv_heads;
        const bool follows = s.queries == 1 && i + 1 < end;
        f.run(
            b, h, t, std::min(kQueries, s.queries - t),
            follows ? f.next_keys((i + 1) / s.kv_heads, (i + 1) % s.kv_heads, 0) : typename Forward<S, T>::NextKeys{});
      }
    };
    run_items(items, 4.0 * s.heads * s.queries * s.keys * s.size * s.batch * sizeof(T) / 400e9, run);
  });
}

}  // namespace pg::cpu
