// Attention of bf16: the arithmetic is that of f32, rounded once.
#include <cmath>

#include "tensor/base/random.h"
#include "tensor/kernels.h"
#include "tensor/tensor.h"
#include "tests/catch.h"
#include "tests/tensors.h"

using namespace pg;
using pg::testing::same_bits;

namespace {

struct Result {
  Tensor out, lse;
};

Result attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArgs& args) {
  Result r{Tensor::full(q.shape(), NAN, q.dtype()), Tensor::full({q.size(0), q.size(1), q.size(2)}, NAN, f32)};
  cpu_kernels().attention(r.out, r.lse, q, k, v, args);
  return r;
}

}  // namespace

// One query per row is a decoding step, whose keys and values are read in other ways than those of many queries. The
// cache has room for more keys than are in use; its unused rows hold NaN. `offset` moves the heads to odd elements.
TEST_CASE("attention of bf16 has the bits of f32, rounded", "[attention][bf16]") {
  Generator g(1);
  const int64_t batch = 2, kv_heads = 2;
  for (const int64_t group : {1, 2, 3, 4, 5}) {
    for (const int64_t size : {6, 16, 33, 48, 64, 80, 128}) {
      for (const int64_t queries : {1, 2, 14}) {
        for (const int64_t length : {14, 63, 64, 65, 130}) {
          for (const int64_t offset : {0, 1}) {
            INFO("group " << group << " size " << size << " queries " << queries << " keys " << length << " offset "
                          << offset);
            const auto normal = [&](int64_t heads, int64_t rows) {
              return Tensor::normal({batch, heads, rows, size + offset}, 0, 1, g, bf16)
                  .view_slice(3, offset, offset + size);
            };
            const Tensor q = normal(group * kv_heads, queries), k = normal(kv_heads, length + 5),
                         v = normal(kv_heads, length + 5);
            for (const Tensor& x : {k, v}) {
              x.view_slice(2, length, length + 5).copy_from(Tensor::full({batch, kv_heads, 5, size}, NAN, bf16));
            }
            const Tensor len = Tensor::full({batch}, static_cast<double>(length), i32);
            const AttentionArgs args{.scale = 0.3, .kv_len = len.view()};
            const Result got = attend(q, k, v, args), want = attend(q.to(f32), k.to(f32), v.to(f32), args);
            REQUIRE(same_bits(got.lse, want.lse));
            REQUIRE(same_bits(got.out, want.out.to(bf16)));
          }
        }
      }
    }
  }
}
