#pragma once
// The arguments of a call, whatever their types: what saboteurs ask of them, and copies that outlive the call.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lessons/kit/tensors.h"

namespace pg::kit {

// What the saboteurs ask of the arguments of one call. Numbers are the elements of tensors, views, spans and vectors of
// a floating type or of int64_t, and arguments of type int64_t.
struct Arguments {
  std::vector<Shape> shapes;     // of tensors and views, and the arguments of type Shape or Strides
  std::vector<int64_t> lengths;  // of spans, vectors and strings
  bool strided = false;          // a tensor or view is not contiguous
  double largest = 0;            // the largest finite |x| of the numbers
  bool infinite = false;
  int64_t largest_count = 0;  // of the int64_t among the arguments, in their shapes, and in lists, also of structs
  bool white_space = false;   // a text has a newline or a tab
  // Whether there is a tensor of u8 (a mask) with two dims or more, and a row of 0 in one; a row of 0 in one of floats.
  bool masks = false, masked_row = false, zero_row = false;

  void add(const Tensor& x);
  void add(const View& x);
  void add(double x);
  void add(std::string_view text);
  void add_count(int64_t x) { largest_count = std::max(largest_count, x); }
};

// Whether calls are judged by them. Each saboteur gives a wrong result in those calls only.
using Predicate = bool (*)(const Arguments&);
bool has_rank_0(const Arguments& all);
bool has_rank_1(const Arguments& all);
bool has_rank_4(const Arguments& all);
bool has_no_elements(const Arguments& all);
bool has_size_1(const Arguments& all);
bool has_coprime_sizes(const Arguments& all);  // two or more sizes over 1, each two of them without a common factor
bool is_strided(const Arguments& all);
bool is_large(const Arguments& all);  // a finite |x| over 100
bool is_infinite(const Arguments& all);
bool is_extreme(const Arguments& all);    // a finite |x| over 50
bool has_zero_row(const Arguments& all);  // in a mask; without masks, in a tensor
bool has_white_space(const Arguments& all);
bool has_count_over_24_bits(const Arguments& all);
bool has_count_over_32_bits(const Arguments& all);

// What a type can show of itself: which predicates it can meet.
struct Shows {
  bool shapes = false, lengths = false, numbers = false, floats = false, rows = false, text = false;
  constexpr Shows operator|(const Shows& other) const {
    return {shapes || other.shapes, lengths || other.lengths, numbers || other.numbers,
            floats || other.floats, rows || other.rows,       text || other.text};
  }
};

namespace detail {

template <class T>
struct ListOf {
  using type = void;
};
template <class T>
struct ListOf<std::vector<T>> {
  using type = T;
};
template <class T>
struct ListOf<std::span<T>> {
  using type = std::remove_const_t<T>;
};
template <class T>
using Element = typename ListOf<T>::type;  // of a vector or span, otherwise void

template <class T>
inline constexpr bool kText = std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>;
template <class T>
inline constexpr bool kWritable = std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>;

template <class T>
struct IsArray : std::false_type {};
template <class T, size_t n>
struct IsArray<std::array<T, n>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Calls f.operator()<Part>() for the type of each part of T and joins the results with |.
template <class T, class F>
constexpr auto join_parts(F f) {
  return [&]<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
    return (decltype(f.template operator()<int>()){} | ... | f.template operator()<std::remove_cvref_t<Parts>>());
  }(std::type_identity<decltype(parts_of(std::declval<T&>()))>{});
}

}  // namespace detail

template <class T>
constexpr Shows shows() {
  using Item = detail::Element<T>;
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, View>) {
    return {.shapes = true, .numbers = true, .floats = true, .rows = true};
  } else if constexpr (std::is_same_v<T, Dims>) {
    return {.shapes = true};
  } else if constexpr (detail::kText<T>) {
    return {.lengths = true, .text = true};
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return {.numbers = true};
  } else if constexpr (std::is_floating_point_v<Item>) {
    return {.lengths = true, .numbers = true, .floats = true};
  } else if constexpr (!std::is_void_v<Item>) {
    return Shows{.lengths = true} | shows<Item>();
  } else {
    return detail::join_parts<T>([]<class Part>() {
      return std::is_same_v<Part, int64_t> ? Shows{} : shows<Part>();  // the numbers of options are not large
    });
  }
}

template <class T>
void collect(Arguments& all, const T& x) {
  using Item = detail::Element<T>;
  if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, View>) {
    all.add(x);
  } else if constexpr (std::is_same_v<T, Dims>) {
    all.shapes.push_back(x);
  } else if constexpr (detail::kText<T>) {
    all.add(std::string_view(x));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    all.add(static_cast<double>(x));
  } else if constexpr (!std::is_void_v<Item>) {
    all.lengths.push_back(static_cast<int64_t>(x.size()));
    for (const auto& element : x) {
      if constexpr (std::is_floating_point_v<Item>) {
        all.add(static_cast<double>(element));
      } else if constexpr (!std::is_same_v<Item, bool>) {
        collect(all, element);
      }
    }
  } else {
    std::apply(
        [&](const auto&... part) {
          [[maybe_unused]] const auto one = [&](const auto& each) {
            if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(each)>, int64_t>) collect(all, each);
          };
          (one(part), ...);
        },
        detail::parts_of(x));
  }
}

// Whether collect_counts() finds numbers in a T: an int64_t, a shape, or one in a list, where it may be in a struct.
template <class T, bool listed = false>
constexpr bool shows_counts() {
  using Item = detail::Element<T>;
  if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, Dims>) {
    return true;
  } else if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, View> || detail::kText<T>) {
    return false;
  } else if constexpr (!std::is_void_v<Item>) {
    return shows_counts<Item, true>();
  } else if constexpr (listed) {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (shows_counts<std::remove_cvref_t<Parts>, true>() || ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<T&>()))>{});
  } else {
    return false;
  }
}
template <class T>
void collect_counts(Arguments& all, const T& x) {
  if constexpr (!shows_counts<T, true>()) {
    return;
  } else if constexpr (std::is_same_v<T, int64_t>) {
    all.add_count(x);
  } else if constexpr (std::is_same_v<T, Dims> || !std::is_void_v<detail::Element<T>>) {
    for (const auto& element : x) collect_counts(all, element);
  } else {
    std::apply([&](const auto&... part) { (collect_counts(all, part), ...); }, detail::parts_of(x));
  }
}

// What an argument of type Arg shows; nothing if the call may write it.
template <class Arg>
constexpr Shows argument_shows() {
  if constexpr (detail::kWritable<Arg>)
    return {};
  else
    return shows<std::remove_cvref_t<Arg>>();
}

// Whether a copy of T holds everything that it shows: no pointers and references into other memory.
template <class T>
constexpr bool owns() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Tensor> || std::is_same_v<T, Dims> ||
                std::is_same_v<T, std::string>) {
    return true;
  } else if constexpr (detail::IsVector<T>::value || detail::IsOptional<T>::value || detail::IsArray<T>::value) {
    return owns<typename T::value_type>();
  } else {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return sizeof...(Parts) > 0 && (owns<std::remove_cvref_t<Parts>>() && ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<T&>()))>{});
  }
}

// A copy of an argument or a result that outlives the call. It converts to the type that it was made from.
template <class T>
struct Kept;
template <class T>
requires(owns<T>()) struct Kept<T> {
  T value;
  explicit Kept(const T& x) : value(x) {}
  operator const T&() const { return value; }
};
template <>
struct Kept<std::string_view> {
  std::string value;
  explicit Kept(std::string_view x) : value(x) {}
  operator std::string_view() const { return value; }
};
template <class T>
requires(owns<T>()) struct Kept<std::span<const T>> {
  std::vector<T> value;
  explicit Kept(std::span<const T> x) : value(x.begin(), x.end()) {}
  operator std::span<const T>() const { return value; }
};
template <class T>
concept Keepable = requires(const T& x) {
  Kept<T>(x);
};
template <class Arg>
constexpr bool keepable_argument() {
  if constexpr (detail::kWritable<Arg>)
    return false;
  else
    return Keepable<std::remove_cvref_t<Arg>>;
}

}  // namespace pg::kit
