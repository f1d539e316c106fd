#pragma once
// Wrong answers of general kinds, made from a piece's reference. lessonN_mutants saboteurs runs the checks of a piece
// on each: one of them must be WRONG, or the piece's checks name the saboteur as harmless (Check::harmless).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lessons/kit/arguments.h"
#include "tensor/base/error.h"

namespace pg::kit {

// `apply` replaces one member of `into` by the sabotaged member of `reference`.
template <class Impl>
struct Saboteur {
  std::string name;
  void (*apply)(Impl& into, const Impl& reference);
};

inline constexpr const char* kGradient = "gradient at extremes";

// What saboteurs do to one tensor of a result. Undefined tensors stay undefined.
Tensor in_other_dtype(const Tensor& x);  // f64 becomes f32, f32 becomes f64, others f32; on the tape like x
Tensor through_f32(const Tensor& x);     // f64 loses the digits that f32 does not have
Tensor in_f64(const Tensor& x);          // f32 becomes f64
Tensor without_last(const Tensor& x);    // the last element is 0
Tensor ones_like(const Tensor& x);       // on the tape like x
// Every finite x becomes x + |x| + 1 (a u8 becomes 1 - x), everything else 0. Without elements: a tensor of one.
Tensor changed(const Tensor& x);
Tensor without_sign(const Tensor& x);  // |x|, on the tape like x; integers as they are
// x. Where it is on the tape, a gradient of NaN arrives at the inputs.
Tensor without_slope(const Tensor& x, std::vector<Tensor> inputs);
void overwrite(const Tensor& x);                                        // NaN, or 0 in integer dtypes
std::vector<char> bytes_of(const View& x);                              // x must be contiguous
void restore_last_row(const View& x, const std::vector<char>& before);  // if the contents differ from `before`

void keep_larger(const View& x, const std::vector<char>& before);  // max(x, before), but for NaN

// In place; x must be contiguous, f32 or f64.
void change(const View& x);      // changed()
void lose_signs(const View& x);  // |x|

// Whether wrong() changes a value of this type.
template <class T>
constexpr bool can_be_wrong() {
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, Tensor> || std::is_same_v<T, Dims> || detail::kText<T> ||
                detail::IsVector<T>::value) {
    return true;
  } else if constexpr (detail::IsOptional<T>::value) {
    return std::is_default_constructible_v<typename T::value_type>;
  } else if constexpr (std::is_void_v<T> || std::is_enum_v<T>) {
    return false;
  } else {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (can_be_wrong<std::remove_cvref_t<Parts>>() || ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<T&>()))>{});
  }
}
// Whether T is a tensor or vector, or a struct that holds one.
template <class T>
constexpr bool holds_lists() {
  if constexpr (std::is_same_v<T, Tensor> || detail::IsVector<T>::value) {
    return true;
  } else if constexpr (std::is_void_v<T> || std::is_arithmetic_v<T> || detail::kText<T>) {
    return false;
  } else {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (holds_lists<std::remove_cvref_t<Parts>>() || ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<T&>()))>{});
  }
}
// Makes a result wrong, whatever it is: other numbers, another size, a text with a character more or less. The tensors
// and vectors of a struct are changed, and sizes beside them stay.
template <class T>
void make_wrong(T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    x = !x;
  } else if constexpr (std::is_arithmetic_v<T>) {
    x = x < 0 ? T{1} : static_cast<T>(2 * x + 1);
    if constexpr (std::is_floating_point_v<T>) x = std::isfinite(x) ? x : 0;
  } else if constexpr (std::is_same_v<T, Tensor>) {
    if (x.defined()) x = changed(x);
  } else if constexpr (std::is_same_v<T, Dims>) {
    if (x.rank() == 0)
      x = Dims{1};
    else
      ++x[x.rank() - 1];
  } else if constexpr (detail::kText<T>) {
    x = x.empty() ? T("?") : T(x.substr(1));
  } else if constexpr (detail::IsVector<T>::value) {
    using Item = typename T::value_type;
    if (x.empty())
      x.resize(1);
    else if constexpr (std::is_same_v<Item, bool> || !can_be_wrong<Item>())
      x.pop_back();
    else
      for (Item& item : x) make_wrong(item);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (x)
      x.reset();
    else
      x.emplace();
  } else if constexpr (can_be_wrong<T>()) {
    const auto one = []<class Part>(Part& part) {
      if constexpr (holds_lists<Part>() || !holds_lists<T>()) make_wrong(part);
    };
    std::apply([&](auto&... part) { (one(part), ...); }, detail::parts_of(x));
  }
}

// Whether lose_sign() changes a value of this type. Integers are counts and indices.
template <class T>
constexpr bool has_sign() {
  if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Tensor>) {
    return true;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_void_v<T> || std::is_enum_v<T> || detail::kText<T> ||
                       std::is_same_v<T, Dims>) {
    return false;
  } else if constexpr (detail::IsVector<T>::value || detail::IsOptional<T>::value) {
    return has_sign<typename T::value_type>();
  } else {
    return []<class... Parts>(std::type_identity<std::tuple<Parts...>>) {
      return (has_sign<std::remove_cvref_t<Parts>>() || ...);
    }(std::type_identity<decltype(detail::parts_of(std::declval<T&>()))>{});
  }
}
// Every number x becomes |x|.
template <class T>
void lose_sign(T& x) {
  if constexpr (std::is_floating_point_v<T>) {
    x = std::abs(x);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    x = without_sign(x);
  } else if constexpr (!has_sign<T>()) {
    return;
  } else if constexpr (detail::IsVector<T>::value) {
    for (auto& item : x) lose_sign(item);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (x) lose_sign(*x);
  } else {
    std::apply([](auto&... part) { (lose_sign(part), ...); }, detail::parts_of(x));
  }
}

// The last element of every tensor, and of every vector of numbers, becomes 0.
template <class T>
void zero_last(T& x) {
  if constexpr (std::is_same_v<T, Tensor>) {
    if (x.defined()) x = without_last(x);
  } else if constexpr (detail::IsVector<T>::value) {
    using Item = typename T::value_type;
    if constexpr (std::is_arithmetic_v<Item>) {
      if (!x.empty()) x.back() = 0;
    } else {
      for (Item& item : x) zero_last(item);
    }
  } else if constexpr (holds_lists<T>()) {
    std::apply([](auto&... part) { (zero_last(part), ...); }, detail::parts_of(x));
  }
}

// The saboteurs of the piece Member. Each is generated only for types that it can change.
template <auto Member>
struct Sabotage;
template <class Impl, class Result, class... Args, Result (*Impl::*Member)(Args...)>
struct Sabotage<Member> {
  static inline Result (*reference)(Args...) = nullptr;

  template <class T>
  static constexpr bool kNumber = std::is_floating_point_v<T>;
  template <class T>
  static constexpr bool kOutput =
      std::is_same_v<T, View> || std::is_same_v<T, std::span<double>> || std::is_same_v<T, std::span<float>>;
  static constexpr bool kTensors = holds_tensors<Result>();
  static constexpr bool kVector = std::is_same_v<Result, std::vector<double>>;
  static constexpr bool kList = detail::IsVector<Result>::value || detail::kText<Result>;
  static constexpr bool kOutputs = (kOutput<Args> || ...);

  static Result in_other_dtype(Args... args) {
    Result result = reference(args...);
    for_each_tensor(result, [](Tensor& x) { x = kit::in_other_dtype(x); });
    return result;
  }
  static Result detached(Args... args) {
    Result result = reference(args...);
    for_each_tensor(result, [](Tensor& x) { x = x.detach(); });
    return result;
  }
  static Result through_f32(Args... args) {
    Result result = reference(args...);
    const auto rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
    if constexpr (kNumber<Result>) {
      result = rounded(result);
    } else if constexpr (kVector) {
      for (double& x : result) x = rounded(x);
    } else {
      for_each_tensor(result, [](Tensor& x) { x = kit::through_f32(x); });
    }
    return result;
  }
  static Result without_last(Args... args) {
    Result result = reference(args...);
    zero_last(result);
    return result;
  }
  // Calls f(view) for every output, and every other view.
  template <class F>
  static void for_each_output(const F& f, const std::remove_reference_t<Args>&... args) {
    const auto each = [&](const auto& arg) {
      using Arg = std::remove_cvref_t<decltype(arg)>;
      if constexpr (std::is_same_v<Arg, View>) {
        f(arg);
      } else if constexpr (kOutput<Arg>) {
        f(View{arg.data(), dtype_of<typename Arg::element_type>(), {static_cast<int64_t>(arg.size())}, {1}});
      }
    };
    (each(args), ...);
  }
  // Calls the reference, then f(view, its bytes before the call) for every output.
  template <class F>
  static void after_call(const F& f, Args... args) {
    std::vector<std::vector<char>> before;
    for_each_output([&](const View& x) { before.push_back(bytes_of(x)); }, args...);
    reference(args...);
    size_t i = 0;
    for_each_output([&](const View& x) { f(x, before[i++]); }, args...);
  }
  // Leaves the last row of every output as it was.
  static void last_unwritten(Args... args) { after_call(restore_last_row, args...); }
  static void max_with_old(Args... args) { after_call(keep_larger, args...); }
  static Result only_positive(Args... args) {
    if constexpr (std::is_void_v<Result>) {
      after_call([](const View& x, const std::vector<char>&) { lose_signs(x); }, args...);
    } else {
      Result result = reference(args...);
      lose_sign(result);
      return result;
    }
  }
  static Result gradient_at_extremes(Args... args) {
    const bool holds = is_extreme(arguments(args...));
    Result result = reference(args...);
    std::vector<Tensor> inputs;
    (for_each_tensor(args, [&](const Tensor& x) { inputs.push_back(x); }), ...);
    if (holds) for_each_tensor(result, [&](Tensor& x) { x = without_slope(x, inputs); });
    return result;
  }
  static Result overwrites_inputs(Args... args) {
    bool output = std::is_void_v<Result>;  // the first view is what the function writes
    const auto spoil = [&] { (spoil_input<Args>(args, output), ...); };
    if constexpr (std::is_void_v<Result>) {
      reference(args...);
      spoil();
    } else {
      Result result = reference(args...);
      spoil();
      return result;
    }
  }
  template <class Arg, class T>
  static void spoil_input(T& arg, bool& output) {
    if constexpr (input_holds_tensors<Arg>()) for_each_tensor(arg, [](const Tensor& x) { overwrite(x); });
    if constexpr (std::is_same_v<T, View>) {
      if (!output) change(arg);
      output = false;
    }
  }
  static Result first_result(Args... args) {
    static const Result first = reference(args...);
    return first;
  }
  // The reference with `value` as argument `at`.
  template <size_t at, class T>
  static Result with_argument(const T& value, Args... args) {
    std::tuple<Args&...> all(args...);
    return [&]<size_t... i>(std::index_sequence<i...>)->Result {
      const auto pick = [&]<size_t j>() -> std::tuple_element_t<j, std::tuple<Args...>> {
        using Arg = std::tuple_element_t<j, std::tuple<Args...>>;
        if constexpr (j == at)
          return value;
        else
          return static_cast<Arg>(std::get<j>(all));
      };
      return reference(pick.template operator()<i>()...);
    }
    (std::index_sequence_for<Args...>{});
  }
  template <size_t at>
  using Plain = std::remove_cvref_t<std::tuple_element_t<at, std::tuple<Args...>>>;
  // Argument `at` is always the one of the first call.
  template <size_t at>
  static Result first_argument(Args... args) {
    static const Kept<Plain<at>> first(std::get<at>(std::tuple<Args&...>(args...)));
    return with_argument<at>(first, args...);
  }
  // The numbers of the tensor `at` have no influence.
  template <size_t at>
  static Result ignored_argument(Args... args) {
    return with_argument<at>(ones_like(std::get<at>(std::tuple<Args&...>(args...))), args...);
  }

  static Result always_f64(Args... args) {
    Result result = reference(args...);
    for_each_tensor(result, [](Tensor& x) { x = in_f64(x); });
    return result;
  }
  static Result empty_result(Args... args) {
    reference(args...);  // which refuses what must be refused
    return {};
  }
  static Result last_dropped(Args... args) {
    Result result = reference(args...);
    if (!result.empty()) {
      if constexpr (std::is_same_v<Result, std::string_view>)
        result.remove_suffix(1);
      else
        result.pop_back();
    }
    return result;
  }

  template <class Arg>
  static constexpr bool counts() {
    return !detail::kWritable<Arg> && shows_counts<std::remove_cvref_t<Arg>>();
  }
  static Arguments arguments(const std::remove_reference_t<Args>&... args) {
    Arguments all;
    const auto add = [&]<class Arg>(std::type_identity<Arg>, const auto& arg) {
      if constexpr (!detail::kWritable<Arg>) {
        collect(all, arg);
        if constexpr (shows_counts<std::remove_cvref_t<Arg>>()) collect_counts(all, arg);
      }
    };
    (add(std::type_identity<Args>{}, args), ...);
    return all;
  }
  // A wrong result, or wrong outputs, where `holds` is true of the arguments. If nothing can be made wrong: an error.
  static Result wrong_if(bool holds, Args... args) {
    if constexpr (std::is_void_v<Result>) {
      bool written = false;
      const auto change_written = [&](const View& x, const std::vector<char>& before) {
        if (!holds || bytes_of(x) == before) return;
        change(x);
        written = true;
      };
      after_call(change_written, args...);
      if (holds && !written) fail("the saboteur was called");
    } else {
      Result result = reference(args...);
      if (holds && !can_be_wrong<Result>()) fail("the saboteur was called");
      if constexpr (can_be_wrong<Result>()) {
        if (holds) make_wrong(result);
      }
      return result;
    }
  }
  template <Predicate holds>
  static Result wrong_where(Args... args) {
    return wrong_if(holds(arguments(args...)), args...);
  }
  static Result wrong_for_other_shapes(Args... args) {
    const Arguments now = arguments(args...);
    static const Arguments first = now;
    return wrong_if(now.shapes != first.shapes || now.lengths != first.lengths, args...);
  }

  template <Result (*call)(Args...)>
  static void apply(Impl& into, const Impl& from) {
    reference = from.*Member;
    into.*Member = call;
  }
  // Appends the saboteurs; `suffix` distinguishes the members of a piece of several.
  static void append(std::vector<Saboteur<Impl>>& to, const std::string& suffix) {
    const auto add = [&](const std::string& name, void (*how)(Impl&, const Impl&)) {
      to.push_back({fmt::format("{}{}", name, suffix), how});
    };
    if constexpr (kTensors) {
      add("other dtype", apply<in_other_dtype>);
      add("detached", apply<detached>);
      add("always f64", apply<always_f64>);
      if constexpr ((input_holds_tensors<Args>() || ...)) add(kGradient, apply<gradient_at_extremes>);
    }
    if constexpr (has_sign<Result>() || (std::is_void_v<Result> && kOutputs))
      add("only positive", apply<only_positive>);
    if constexpr (kTensors || kVector || kNumber<Result>) add("f32", apply<through_f32>);
    if constexpr (kTensors || kVector || (holds_lists<Result>() && !kList)) add("without last", apply<without_last>);
    if constexpr (kTensors || Keepable<Result>) add("first result", apply<first_result>);
    if constexpr (kList || detail::IsOptional<Result>::value) add("empty result", apply<empty_result>);
    if constexpr (kList) add("last dropped", apply<last_dropped>);
    if constexpr (std::is_void_v<Result> && kOutputs) {
      add("last unwritten", apply<last_unwritten>);
      add("max with old", apply<max_with_old>);
    }
    if constexpr ((input_holds_tensors<Args>() || ...) || (0 + ... + std::is_same_v<Args, View>) > 1)
      add("overwrites inputs", apply<overwrites_inputs>);
    [&]<size_t... at>(std::index_sequence<at...>) {
      const auto argument = [&]<size_t i>() {
        using Arg = std::tuple_element_t<i, std::tuple<Args...>>;
        if constexpr (keepable_argument<Arg>()) add(fmt::format("first argument {}", i + 1), apply<first_argument<i>>);
        if constexpr (std::is_same_v<Plain<i>, Tensor> && sizeof...(Args) > 1)
          add(fmt::format("ignored argument {}", i + 1), apply<ignored_argument<i>>);
      };
      (argument.template operator()<at>(), ...);
    }
    (std::index_sequence_for<Args...>{});
    constexpr Shows seen = (Shows{} | ... | argument_shows<Args>());
    if constexpr (seen.shapes) {
      add("rank 0", apply<wrong_where<has_rank_0>>);
      add("rank 1", apply<wrong_where<has_rank_1>>);
      add("rank 4", apply<wrong_where<has_rank_4>>);
      add("coprime sizes", apply<wrong_where<has_coprime_sizes>>);
      if constexpr (seen.floats) add("strides", apply<wrong_where<is_strided>>);
    }
    if constexpr (seen.shapes || seen.lengths) {
      add("no elements", apply<wrong_where<has_no_elements>>);
      add("a size of 1", apply<wrong_where<has_size_1>>);
      add("other shapes", apply<wrong_for_other_shapes>);
    }
    if constexpr (seen.numbers) add("large", apply<wrong_where<is_large>>);
    if constexpr (seen.floats) add("infinite", apply<wrong_where<is_infinite>>);
    if constexpr (seen.rows) add("zero row", apply<wrong_where<has_zero_row>>);
    if constexpr (seen.text) add("white space", apply<wrong_where<has_white_space>>);
    if constexpr ((counts<Args>() || ...)) {
      add("count above 2^24", apply<wrong_where<has_count_over_24_bits>>);
      add("count above 2^32", apply<wrong_where<has_count_over_32_bits>>);
    }
  }
};

}  // namespace pg::kit
