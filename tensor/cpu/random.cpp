// Random tensors: element i is a function of (seed, offset + i) alone, see tensor/base/random.h.
#include "tensor/base/random.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/simd/vec_math.h"

namespace pg::cpu {
namespace {

using simd::Vec;

// Lanes of 64 bits, of which the lower halves are the words of one place in several blocks.
constexpr int kLanes64 = simd::kVectorBytes / 8;
// Computed together: a round waits for its products, so others are computed meanwhile. With 16 registers 4 are slower.
constexpr int kVectors = simd::kVectorBytes == 64 ? 4 : 3;
constexpr int kBlocks = kVectors * kLanes64, kWords = 4 * kBlocks;
typedef uint64_t Lanes __attribute__((vector_size(simd::kVectorBytes)));

// The products of the lower halves, 64 bits each.
inline Lanes multiply(Lanes x, uint32_t by) {
#if defined(__AVX512F__)
  return (Lanes)_mm512_maskz_mul_epu32(0xff, (__m512i)x, _mm512_set1_epi64(by));  // g++ warns of the other
#elif defined(__AVX2__)
  return (Lanes)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x(by));
#else
  return (x & uint64_t{0xffffffff}) * uint64_t{by};
#endif
}

// The upper half of p, in the lower half, ^ c ^ key.
inline Lanes mix(Lanes p, Lanes c, uint32_t key) {
#if defined(__AVX512F__)
  constexpr int kXor3 = 0x96;
  return (Lanes)_mm512_ternarylogic_epi64((__m512i)(p >> 32), (__m512i)c, _mm512_set1_epi64(key), kXor3);
#else
  return (p >> 32) ^ c ^ uint64_t { key };
#endif
}

// The lower halves of a and b in turns: a[0], b[0], a[1], …
inline Lanes pairs(Lanes a, Lanes b) {
  typedef uint32_t Words __attribute__((vector_size(simd::kVectorBytes)));
  constexpr int n = 2 * kLanes64;
  return [&]<int... I>(std::integer_sequence<int, I...>) {
    return (Lanes)__builtin_shufflevector((Words)a, (Words)b, (I % 2 ? n + I - 1 : I)...);
  }
  (std::make_integer_sequence<int, n>());
}

// Lanes a[0], b[0], a[1], b[1], … to `words`.
inline void store_in_turns(uint32_t* words, Lanes a, Lanes b) {
  [&]<int... I>(std::integer_sequence<int, I...>) {
    const Lanes lower = __builtin_shufflevector(a, b, (I / 2 + I % 2 * kLanes64)...);
    const Lanes upper = __builtin_shufflevector(a, b, (I / 2 + I % 2 * kLanes64 + kLanes64 / 2)...);
    std::memcpy(words, &lower, sizeof lower);
    std::memcpy(words + 2 * kLanes64, &upper, sizeof upper);
  }
  (std::make_integer_sequence<int, kLanes64>());
}

// philox4x32 of kBlocks counters from `first` on; block b's words start at words[4b].
void philox_blocks(uint64_t key, uint64_t first, uint32_t* words) {
  Lanes c[4][kVectors], counter;  // what the upper halves hold has no effect until the end
  for (int l = 0; l < kLanes64; ++l) counter[l] = static_cast<uint64_t>(l);
  for (int v = 0; v < kVectors; ++v) {
    c[0][v] = counter + (first + static_cast<uint64_t>(v * kLanes64));
    c[1][v] = c[0][v] >> 32;
    c[2][v] = c[3][v] = Lanes{};
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < Philox::rounds; ++round) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const Lanes p0 = multiply(c[0][v], Philox::mul0), p1 = multiply(c[2][v], Philox::mul1);
      c[0][v] = mix(p1, c[1][v], k0);
      c[1][v] = p1;
      c[2][v] = mix(p0, c[3][v], k1);
      c[3][v] = p0;
    }
    k0 += Philox::weyl0;
    k1 += Philox::weyl1;
  }
  static_assert(std::endian::native == std::endian::little);  // the first word of a pair is its lower half
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    store_in_turns(words + 4 * kLanes64 * v, pairs(c[0][v], c[1][v]), pairs(c[2][v], c[3][v]));
  }
}

// f(i, words, n) for runs of the stream: words[j] is word offset + i + j, i + j in [begin, end). Runs are even when
// begin and end are.
template <class F>
void for_words(uint64_t seed, uint64_t offset, int64_t begin, int64_t end, F f) {
  alignas(64) uint32_t words[kWords];
  for (int64_t i = begin; i < end;) {
    const uint64_t word = offset + static_cast<uint64_t>(i);
    const int64_t skip = static_cast<int64_t>(word % 4);
    const int64_t n = std::min((kWords - skip) / 2 * 2, end - i);
    philox_blocks(seed, word / 4, words);
    f(i, words + skip, n);
    i += n;
  }
}

// cos(2π·v) for 0 <= v <= 1: the nearest quarter turn, then the series for the remainder t, |t| <= π/4.
Vec<double> cos_turns(Vec<double> v) {
  const Vec<double> magic = 0x1.8p52;  // adding and subtracting it rounds to the nearest integer
  const Vec<double> quarter = v * 4 + magic - magic;
  const Vec<double> t = (v * 4 - quarter) * (std::numbers::pi / 2), t2 = t * t;
  Vec<double> cosine = 0, sine = 0;
  for (int k = 8; k >= 0; --k) {
    cosine = 1 - cosine * t2 * (1.0 / ((2 * k + 1) * (2 * k + 2)));
    sine = 1 - sine * t2 * (1.0 / ((2 * k + 2) * (2 * k + 3)));
  }
  const Vec<double> y = select((quarter == 1) | (quarter == 3), sine * t, cosine);
  return select((quarter == 1) | (quarter == 2), -y, y);
}

}  // namespace

// [low, high): f32 takes 24 bits of a word, f64 all 32.
void random_uniform(const View& y, double low, double high, uint64_t seed, uint64_t offset) {
  visit_floating(y.dtype, "random_uniform", [&]<class T>(std::type_identity<T>) {
    T* to = y.as<T>();
    // Rounding can reach `high`, which is excluded.
    const T last = low < high ? std::nextafter(static_cast<T>(high), static_cast<T>(low)) : static_cast<T>(high);
    parallel_for(y.numel(), kCostlyGrain, [&](int64_t begin, int64_t end) {
      for_words(seed, offset, begin, end, [=](int64_t i, const uint32_t* words, int64_t n) {
        for (int64_t j = 0; j < n; ++j) {
          const double unit = sizeof(T) == 4 ? static_cast<double>(to_unit(words[j])) : words[j] * 0x1p-32;
          to[i + j] = std::min(static_cast<T>(low + (high - low) * unit), last);
        }
      });
    });
  });
}

// Box and Muller (1958) on the words that Generator::normal would take.
void random_normal(const View& y, double mean, double std, uint64_t seed, uint64_t offset) {
  visit_floating(y.dtype, "random_normal", [&]<class T>(std::type_identity<T>) {
    T* to = y.as<T>();
    parallel_for(y.numel(), kCostlyGrain, [&](int64_t begin, int64_t end) {
      for_words(seed, offset, 2 * begin, 2 * end, [=](int64_t first, const uint32_t* words, int64_t n) {
        constexpr int kLanes = Vec<double>::size;
        double u[kWords / 2], v[kWords / 2];
        for (int64_t j = 0; j < n / 2; ++j) {
          u[j] = (1.0 + words[2 * j]) * 0x1p-32;  // (0, 1], so that the logarithm is finite
          v[j] = words[2 * j + 1] * 0x1p-32;
        }
        for (int64_t j = 0; j < n / 2; j += kLanes) {
          const int64_t lanes = std::min<int64_t>(kLanes, n / 2 - j);
          const Vec<double> radius = sqrt(log(simd::load(u + j, lanes)) * -2);
          const Vec<double> z = radius * cos_turns(simd::load(v + j, lanes)) * std + mean;
          for (int64_t l = 0; l < lanes; ++l) to[first / 2 + j + l] = static_cast<T>(z[static_cast<int>(l)]);
        }
      });
    });
  });
}

void dropout(const View& y, const View& x, double p, uint64_t seed, uint64_t offset, double beta) {
  const auto run = [&]<class T, class X, class Y>(std::type_identity<T>, std::type_identity<X>, std::type_identity<Y>) {
    Y* to = y.as<Y>();
    const X* from = x.as<const X>();
    const T scale = static_cast<T>(1 / (1 - p)), b = static_cast<T>(beta);
    // A word below the threshold drops its element. 2^32, for p = 1, is more than a word can hold.
    const double limit = std::ceil(p * 0x1p32);
    const bool all = limit >= 0x1p32;
    const uint32_t threshold = all ? 0 : static_cast<uint32_t>(limit);
    parallel_for(y.numel(), kCostlyGrain, [&](int64_t begin, int64_t end) {
      for_words(seed, offset, begin, end, [=](int64_t i, const uint32_t* words, int64_t n) {
        // The processor does not look past the arithmetic of the next words.
        constexpr int64_t ahead = 2 * kWords, line = 64 / sizeof(X);
        for (int64_t j = ahead; j < ahead + n && i + j < end; j += line) {
          __builtin_prefetch(from + i + j);
          __builtin_prefetch(to + i + j, 1);
        }
        for (int64_t j = 0; j < n; ++j) {
          const T kept = (all | (words[j] < threshold)) ? T(0) : static_cast<T>(from[i + j]) * scale;
          to[i + j] = static_cast<Y>(b == 0 ? kept : b * static_cast<T>(to[i + j]) + kept);
        }
      });
    });
  };
  visit_stored(x.dtype, "dropout", [&]<class X, class T>(std::type_identity<X> held, std::type_identity<T> computes) {
    y.dtype == x.dtype ? run(computes, held, held) : run(computes, held, computes);
  });
}

}  // namespace pg::cpu
