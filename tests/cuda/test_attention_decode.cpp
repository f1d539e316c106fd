// Attention of few queries: a row's bits must not depend on the capacity of the cache, on other rows, on the order in
// which blocks finish or on a graph. tests/kernels/test_attention.cpp compares the values with the plain backend.
#include <cmath>

#include "tests/cuda/on_device.h"
#include "tests/kernels/attention_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

// A cache with room for `room` positions whose rows begin with those of k; the rest is NaN.
Tensor in_room(const Tensor& k, int64_t room) {
  const Tensor wider = Tensor::full({k.size(0), k.size(1), room, k.size(3)}, NAN, k.dtype(), k.device());
  const int64_t kept = std::min(room, k.size(2));
  wider.view_slice(2, 0, kept).copy_from(k.view_slice(2, 0, kept));
  return wider;
}

struct Results {
  Tensor out, lse;
};
Results run(const Tensor& q, const Tensor& k, const Tensor& v, const std::vector<int32_t>& lens, bool causal = true) {
  Results r{Tensor::full(q.shape(), NAN, q.dtype(), q.device()),
            Tensor::full({q.size(0), q.size(1), q.size(2)}, NAN, sum_type(q.dtype()), q.device())};
  const Tensor len = Tensor::from(lens, {q.size(0)}).to(q.device());
  kernels(q.device()).attention(r.out, r.lse, q, k, v, {0.3, causal, {}, len});
  return r;
}
void check_same(const Results& a, const Results& b) {
  CHECK(same_bits(a.out, b.out));
  CHECK(same_bits(a.lse, b.lse));
}

}  // namespace

TEST_CASE("CUDA attention of one query over several splits of the keys repeats its bits", "[cuda][attention][decode]") {
  const std::vector<int32_t> lens{511, 512, 513, 1024, 1100, 0, 1};
  const auto batch = static_cast<int64_t>(lens.size());
  for (const DType dtype : {bf16, f32, f64}) {
    const Tensor q = random({batch, 2, 1, 64}, dtype, 1).to(device());
    const Tensor k = random({batch, 1, 1100, 64}, dtype, 2).to(device());
    const Tensor v = random({batch, 1, 1100, 64}, dtype, 3).to(device());
    const Results first = run(q, k, v, lens);
    INFO(name_of(dtype));
    // The counters of finished blocks are 0 again, whichever block was last.
    for (const int threads : {1, 2, 3}) {
      const Threads guard(threads);
      poison_free_memory(device());
      check_same(run(q, k, v, lens), first);
    }
  }
}

TEST_CASE("CUDA attention of few queries has the same bits in any room and any batch", "[cuda][attention][decode]") {
  for (const DType dtype : {bf16, f32}) {
    for (const int64_t kv_heads : {4, 1}) {
      for (const int32_t length : {1, 64, 65, 500, 513}) {
        const Tensor q = random({1, 4, 1, 64}, dtype, 1).to(device());
        const Tensor k = random({1, kv_heads, length, 64}, dtype, 2).to(device());
        const Tensor v = random({1, kv_heads, length, 64}, dtype, 3).to(device());
        const Results tight = run(q, k, v, {length});
        INFO(name_of(dtype) << ", length " << length << ", " << kv_heads << " heads of keys");
        for (const int64_t room : {64, 128, 512, 1024, 1600}) {
          if (room < length) continue;
          INFO("room " << room);
          check_same(run(q, in_room(k, room), in_room(v, room), {length}), tight);
        }
        // Among rows of other lengths.
        const std::vector<int32_t> lens{513, length, 7, 600};
        const Tensor qs = random({4, 4, 1, 64}, dtype, 4).to(device());
        const Tensor ks = random({4, kv_heads, 600, 64}, dtype, 5).to(device());
        const Tensor vs = random({4, kv_heads, 600, 64}, dtype, 6).to(device());
        qs.view_slice(0, 1, 2).copy_from(q);
        ks.view_slice(0, 1, 2).copy_from(in_room(k, 600));
        vs.view_slice(0, 1, 2).copy_from(in_room(v, 600));
        const Results all = run(qs, ks, vs, lens);
        CHECK(same_bits(all.out.view_slice(0, 1, 2), tight.out));
        CHECK(same_bits(all.lse.view_slice(0, 1, 2), tight.lse));
      }
    }
  }
}

TEST_CASE("CUDA attention of one query has the same bits for one row and among many", "[cuda][attention][decode]") {
  // Many rows have several splits of the keys in a block; of 2100 keys, two blocks.
  const int64_t batch = 270;
  for (const DType dtype : {bf16, f32}) {
    for (const int64_t heads : {1, 2}) {
      for (const int32_t room : {600, 2100}) {
        std::vector<int32_t> lens;
        for (int32_t b = 0; b < batch; ++b) lens.push_back(b % 90 == 0 ? room - 30 * b / 90 : b % 7);
        const auto same_for_all = [&](uint64_t seed) {
          return random({1, 1, room, 64}, dtype, seed).to(device()).view_expand({batch, 1, room, 64});
        };
        const Tensor q = random({batch, heads, 1, 64}, dtype, 1).to(device());
        const Tensor k = same_for_all(2), v = same_for_all(3);
        const Results all = run(q, k, v, lens);
        for (const int64_t b : {0, 1, 90, 180, 266, 269}) {
          INFO(name_of(dtype) << ", " << heads << " heads, room " << room << ", row " << b);
          const auto row = [b](const Tensor& x) { return x.view_slice(0, b, b + 1); };
          const Results one = run(row(q), row(k), row(v), {lens[static_cast<size_t>(b)]});
          check_same({row(all.out), row(all.lse)}, one);
        }
      }
    }
  }
}

TEST_CASE("CUDA attention of few queries has the same bits for rows that are not aligned",
          "[cuda][attention][decode]") {
  for (const DType dtype : {bf16, f32, f64}) {
    const auto apart = [&](const Shape& shape, uint64_t seed) {  // rows begin at odd elements
      const Tensor x = Tensor::full({shape[0], shape[1], shape[2], shape[3] + 3}, NAN, dtype, device());
      const Tensor part = x.view_slice(3, 1, shape[3] + 1);
      part.copy_from(random(shape, dtype, seed));
      return part;
    };
    const Tensor q = apart({2, 2, 1, 64}, 1), k = apart({2, 2, 100, 64}, 2), v = apart({2, 2, 100, 64}, 3);
    check_same(run(q, k, v, {100, 66}), run(q.contiguous_copy(), k.contiguous_copy(), v.contiguous_copy(), {100, 66}));
  }
}

TEST_CASE("CUDA attention_append is kv_append and attention", "[cuda][attention][decode]") {
  const Kernels& there = kernels(device());
  for (const DType dtype : {bf16, f32, f64}) {
    for (const int64_t kv_heads : {4, 2, 1}) {
      for (const int64_t queries : {1, 3, 8, 9}) {  // 9: not in one kernel
        for (const auto& sizes : {std::pair{64, 40}, {24, 40}, {33, 40}, {64, 530}}) {
          const int64_t size = sizes.first, room = sizes.second;
          if (room > 500 && (queries != 1 || kv_heads != 2)) continue;
          INFO(name_of(dtype) << ", " << kv_heads << " heads of keys, T " << queries << ", D " << size << ", S "
                              << room);
          const auto last = static_cast<int32_t>(room - queries);
          const std::vector<int32_t> before{0, last, 17};
          std::vector<int32_t> after = before;
          for (int32_t& n : after) n += static_cast<int32_t>(queries);
          // Queries, keys and values are parts of one row of a projection.
          const Tensor qkv = random({3, queries, (4 + 2 * kv_heads) * size}, dtype, 1).to(device());
          const auto part = [&](int64_t begin, int64_t heads) {
            return qkv.view_slice(2, begin * size, (begin + heads) * size)
                .view_reshape({3, queries, heads, size})
                .view_transpose(1, 2);
          };
          const Tensor q = part(0, 4), new_k = part(4, kv_heads), new_v = part(4 + kv_heads, kv_heads);
          const Tensor k = random({3, kv_heads, room, size}, dtype, 2).to(device());
          const Tensor v = random({3, kv_heads, room, size}, dtype, 3).to(device());
          for (const bool values_are_keys : {false, true}) {
            const Tensor k1 = k.clone(), v1 = values_are_keys ? k1 : v.clone();
            const Tensor k2 = k.clone(), v2 = values_are_keys ? k2 : v.clone();
            const Tensor& fresh_v = values_are_keys ? new_k : new_v;
            const Tensor starts = Tensor::from(before, {3}).to(device());
            there.kv_append(k1, v1, new_k, fresh_v, starts);
            const Results expected = run(q, k1, v1, after);
            Results got{Tensor::full(q.shape(), NAN, dtype, device()),
                        Tensor::full(expected.lse.shape(), NAN, expected.lse.dtype(), device())};
            const Tensor len = Tensor::from(after, {3}).to(device());
            there.attention_append(got.out, got.lse, q, k2, v2, new_k, fresh_v, starts, {0.3, true, {}, len});
            check_same(got, expected);
            CHECK(same_bits(k1, k2));
            CHECK(same_bits(v1, v2));
          }
        }
      }
    }
  }
}

TEST_CASE("CUDA attention_append in a graph follows growing lengths", "[cuda][attention][decode]") {
  need_graphs();
  // The first attention over several splits with as many rows may be the one that is recorded.
  const int64_t batch = 3, heads = 2, room = 1030;
  const Tensor q = random({batch, heads, 1, 64}, bf16, 1).to(device());
  const Tensor new_k = random({batch, heads, 1, 64}, bf16, 2).to(device());
  const Tensor new_v = random({batch, heads, 1, 64}, bf16, 3).to(device());
  const Tensor k = random({batch, heads, room, 64}, bf16, 4).to(device());
  const Tensor v = random({batch, heads, room, 64}, bf16, 5).to(device());
  const Tensor k2 = k.clone(), v2 = v.clone();
  const Tensor before = Tensor::zeros({batch}, i32, device()), after = Tensor::zeros({batch}, i32, device());
  const Tensor out = Tensor::full(q.shape(), NAN, bf16, device());
  const Tensor lse = Tensor::full({batch, heads, 1}, NAN, f32, device());
  const Graph graph(device(), [&] {
    kernels(device()).attention_append(out, lse, q, k, v, new_k, new_v, before, {0.3, true, {}, after});
  });
  CHECK(std::isnan(out.to_vector()[0]));
  for (int32_t step = 0; step < 4; ++step) {
    const std::vector<int32_t> lens{510 + step, 1022 + 2 * step, 3 * step},
        next{511 + step, 1023 + 2 * step, 3 * step + 1};
    before.copy_from(Tensor::from(lens, {batch}));
    after.copy_from(Tensor::from(next, {batch}));
    q.copy_from(random(q.shape(), bf16, 10 + static_cast<uint64_t>(step)));
    new_k.copy_from(random(q.shape(), bf16, 20 + static_cast<uint64_t>(step)));
    graph.replay();
    kernels(device()).kv_append(k2, v2, new_k, new_v, before);
    const auto expected = run(wide(q), wide(k2), wide(v2), next);
    INFO("step " << step);
    CHECK(same_bits(k, k2));
    CHECK(same_bits(v, v2));
    CHECK(error_of(out, expected.out) <= tolerance(bf16));
    check_same({out, lse}, run(q, k2, v2, next));
  }
}

TEST_CASE("CUDA attention records more rows than any call before it", "[cuda][attention][decode]") {
  need_graphs();
  // Its counters must be 0 although they are made while a graph is recorded.
  const int64_t batch = 150;
  const Tensor q = random({batch, 1, 1, 8}, f32, 1).to(device());
  const Tensor k = random({batch, 1, 1030, 8}, f32, 2).to(device());
  Results once;
  const auto work = [&] {
    once = {Tensor::empty(q.shape(), f32, device()), Tensor::empty({batch, 1, 1}, f32, device())};
    kernels(device()).attention(once.out, once.lse, q, k, k, {0.3, true, {}, {}});
  };
  const Graph graph(device(), work);
  const std::vector<int32_t> lens(static_cast<size_t>(batch), 1030);
  const auto expected = run(wide(q), wide(k), wide(k), lens);
  for (int i = 0; i < 2; ++i) {
    once.out.fill(NAN);
    graph.replay();
    CHECK(error_of(once.out, expected.out) <= tolerance(f32));
  }
}

TEST_CASE("CUDA attention refuses heads that are too large", "[cuda][attention]") {
  for (const int64_t queries : {1, 9}) {
    Attention x = inputs({1, 1, 1, queries, 9, 257}, f32);
    CHECK_THROWS_AS(x.forward(kernels(device())), Error);
  }
}
