#pragma once
// CUDA's small vectors. float4 and similar types are copied whole, in one access of 8 or 16 bytes as on the GPU; the
// compiler would split the copy of a plain struct, which would look like four accesses to the simulator.
#include <cstddef>

namespace pg::sim {

template <size_t bytes>
struct Whole;
template <>
struct Whole<8> {
  typedef unsigned Bits __attribute__((vector_size(8), may_alias));
};
template <>
struct Whole<16> {
  typedef unsigned Bits __attribute__((vector_size(16), may_alias));
};

template <class Vector>
inline __attribute__((always_inline)) void copy_whole(Vector* to, const Vector* from) {
  using Bits = typename Whole<sizeof(Vector)>::Bits;
  *reinterpret_cast<Bits*>(to) = *reinterpret_cast<const Bits*>(from);
}

}  // namespace pg::sim

#define PG_SIM_COPIED_WHOLE(Name)                                                                    \
  Name() = default;                                                                                  \
  __attribute__((always_inline)) inline Name(const Name& from) { pg::sim::copy_whole(this, &from); } \
  __attribute__((always_inline)) inline Name& operator=(const Name& from) {                          \
    pg::sim::copy_whole(this, &from);                                                                \
    return *this;                                                                                    \
  }
#define PG_SIM_VECTOR2(T, Name)                  \
  struct alignas(2 * sizeof(T)) Name {           \
    T x, y;                                      \
    PG_SIM_COPIED_WHOLE(Name)                    \
    constexpr Name(T x_, T y_) : x(x_), y(y_) {} \
  };                                             \
  constexpr Name make_##Name(T x, T y) { return Name(x, y); }
#define PG_SIM_VECTOR4(T, Name)                                            \
  struct alignas(4 * sizeof(T)) Name {                                     \
    T x, y, z, w;                                                          \
    PG_SIM_COPIED_WHOLE(Name)                                              \
    constexpr Name(T x_, T y_, T z_, T w_) : x(x_), y(y_), z(z_), w(w_) {} \
  };                                                                       \
  constexpr Name make_##Name(T x, T y, T z, T w) { return Name(x, y, z, w); }

PG_SIM_VECTOR2(float, float2)
PG_SIM_VECTOR2(int, int2)
PG_SIM_VECTOR2(unsigned, uint2)
PG_SIM_VECTOR2(double, double2)
PG_SIM_VECTOR4(float, float4)
PG_SIM_VECTOR4(int, int4)
PG_SIM_VECTOR4(unsigned, uint4)
#undef PG_SIM_VECTOR4
#undef PG_SIM_VECTOR2
#undef PG_SIM_COPIED_WHOLE

struct float3 {
  float x, y, z;
};
constexpr float3 make_float3(float x, float y, float z) { return {x, y, z}; }
struct int3 {
  int x, y, z;
};
constexpr int3 make_int3(int x, int y, int z) { return {x, y, z}; }
struct uint3 {
  unsigned x, y, z;
};
constexpr uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }

// The shape of a grid or block; missing sizes are 1.
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
