#pragma once
// Visits every tensor in a value of any type: a tensor, or a pair, tuple, vector or plain struct that contains some.
#include <tuple>
#include <type_traits>
#include <vector>

#include "tensor/tensor.h"

namespace pg::kit {

namespace detail {

struct AnyField {
  template <class T>
  operator T() const;
};
inline constexpr size_t kMostFields = 8;
// The number of fields of a plain struct; kMostFields + 1 if it has more.
template <class T, class... Fields>
constexpr size_t field_count() {
  if constexpr (sizeof...(Fields) <= kMostFields && requires { T{Fields{}..., AnyField{}}; })
    return field_count<T, Fields..., AnyField>();
  else
    return sizeof...(Fields);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

// References to the parts of x: the fields of a plain struct, or the elements of a tuple or array of at most
// kMostFields. () for every other type.
template <class T>
auto parts_of(T& x) {
  using Plain = std::remove_const_t<T>;
  if constexpr (TupleLike<Plain>) {
    if constexpr (std::tuple_size_v < Plain >> kMostFields)
      return std::tie();
    else
      return std::apply([](auto&... part) { return std::tie(part...); }, x);
  } else if constexpr (std::is_aggregate_v<Plain> && std::is_class_v<Plain>) {
    constexpr size_t n = field_count<Plain>();
    if constexpr (n == 1) {
      auto& [a] = x;
      return std::tie(a);
    } else if constexpr (n == 2) {
      auto& [a, b] = x;
      return std::tie(a, b);
    } else if constexpr (n == 3) {
      auto& [a, b, c] = x;
      return std::tie(a, b, c);
    } else if constexpr (n == 4) {
      auto& [a, b, c, d] = x;
      return std::tie(a, b, c, d);
    } else if constexpr (n == 5) {
      auto& [a, b, c, d, e] = x;
      return std::tie(a, b, c, d, e);
    } else if constexpr (n == 6) {
      auto& [a, b, c, d, e, f] = x;
      return std::tie(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
      auto& [a, b, c, d, e, f, g] = x;
      return std::tie(a, b, c, d, e, f, g);
    } else if constexpr (n == 8) {
      auto& [a, b, c, d, e, f, g, h] = x;
      return std::tie(a, b, c, d, e, f, g, h);
    } else {
      return std::tie();
    }
  } else {
    return std::tie();
  }
}

}  // namespace detail

// The values of x (rank 1 or more) in every second element of a tensor, so not contiguous. No tape.
inline Tensor strided(const Tensor& x) {
  Shape shape = x.shape();
  const int last = shape.rank() - 1;
  shape[last] *= 2;
  const Tensor y = Tensor::zeros(shape, x.dtype()).view_slice(last, 0, shape[last], 2);
  y.copy_from(x.detach());
  return y;
}

// A copy of x (rank 2 or more) whose first row is 0. No tape.
inline Tensor with_zero_row(const Tensor& x) {
  const Tensor y = x.detach().clone();
  y.view_reshape({-1, y.shape().back()}).view_select(0, 0).fill(0);
  return y;
}

template <class T>
constexpr bool holds_tensors() {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, Tensor>) {
    return true;
  } else if constexpr (std::is_void_v<Plain>) {
    return false;
  } else if constexpr (detail::IsVector<Plain>::value) {
    return holds_tensors<typename Plain::value_type>();
  } else {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (holds_tensors<Parts>() || ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<Plain&>()))>{});
  }
}

// Whether Arg is the type of a parameter that may be read only, and holds tensors.
template <class Arg>
constexpr bool input_holds_tensors() {
  if constexpr (std::is_lvalue_reference_v<Arg> && !std::is_const_v<std::remove_reference_t<Arg>>)
    return false;
  else
    return holds_tensors<Arg>();
}

template <class T, class F>
void for_each_tensor(T& x, const F& f) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Tensor>) {
    f(x);
  } else if constexpr (detail::IsVector<Plain>::value) {
    if constexpr (holds_tensors<Plain>()) {
      for (auto& element : x) for_each_tensor(element, f);
    }
  } else {
    std::apply([&](auto&... part) { (for_each_tensor(part, f), ...); }, detail::parts_of(x));
  }
}

}  // namespace pg::kit
