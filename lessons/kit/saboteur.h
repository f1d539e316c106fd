#pragma once
// Wrong answers of general kinds, made from a piece's reference. lessonN_mutants saboteurs runs the checks of a piece
// on each: one of them must be WRONG, or the piece's checks name the saboteur as harmless (Check::harmless).
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lessons/kit/tensors.h"
#include "tensor/base/error.h"

namespace pg::kit {

// `apply` replaces one member of `into` by the sabotaged member of `reference`.
template <class Impl>
struct Saboteur {
  std::string name;
  void (*apply)(Impl& into, const Impl& reference);
};

// What saboteurs do to one tensor of a result. Undefined tensors stay undefined.
Tensor in_other_dtype(const Tensor& x);     // f64 becomes f32, f32 becomes f64, others f32; on the tape like x
Tensor through_f32(const Tensor& x);        // f64 loses the digits that f32 does not have
Tensor without_last(const Tensor& x);       // the last element is 0
void overwrite(const Tensor& x);            // NaN, or 0 in integer dtypes
std::vector<char> bytes_of(const View& x);  // x must be contiguous
void restore_last_row(const View& x, const std::vector<char>& before);  // if the contents differ from `before`

// The saboteurs of the piece Member. Each is generated only for types that it can change.
template <auto Member>
struct Sabotage;
template <class Impl, class Result, class... Args, Result (*Impl::*Member)(Args...)>
struct Sabotage<Member> {
  static inline Result (*reference)(Args...) = nullptr;

  template <class T>
  static constexpr bool kNumber = std::is_floating_point_v<T>;
  template <class T>
  static constexpr bool kSimple = std::is_arithmetic_v<T> || std::is_enum_v<T>;
  template <class T>
  static constexpr bool kOutput =
      std::is_same_v<T, View> || std::is_same_v<T, std::span<double>> || std::is_same_v<T, std::span<float>>;
  static constexpr bool kTensors = holds_tensors<Result>();
  static constexpr bool kVector = std::is_same_v<Result, std::vector<double>>;
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
    if constexpr (kVector) {
      if (!result.empty()) result.back() = 0;
    } else {
      for_each_tensor(result, [](Tensor& x) { x = kit::without_last(x); });
    }
    return result;
  }
  // Leaves the last row of every output as it was.
  static void last_unwritten(Args... args) {
    std::vector<std::vector<char>> before;
    const auto each_output = [](const auto& arg, const auto& f) {
      using Arg = std::remove_cvref_t<decltype(arg)>;
      if constexpr (std::is_same_v<Arg, View>) {
        f(arg);
      } else if constexpr (kOutput<Arg>) {
        f(View{arg.data(), dtype_of<typename Arg::element_type>(), {static_cast<int64_t>(arg.size())}, {1}});
      }
    };
    (each_output(args, [&](const View& x) { before.push_back(bytes_of(x)); }), ...);
    reference(args...);
    size_t i = 0;
    (each_output(args, [&](const View& x) { restore_last_row(x, before[i++]); }), ...);
  }
  static Result overwrites_inputs(Args... args) {
    const auto spoil = [&] { (spoil_input<Args>(args), ...); };
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
  static void spoil_input(T& arg) {
    if constexpr (input_holds_tensors<Arg>()) for_each_tensor(arg, [](const Tensor& x) { overwrite(x); });
  }
  static Result first_result(Args... args) {
    static const Result first = reference(args...);
    return first;
  }
  // Argument `at` is always the one of the first call.
  template <size_t at>
  static Result first_argument(Args... args) {
    std::tuple<std::remove_reference_t<Args>&...> all(args...);
    static const auto first = std::get<at>(all);
    std::get<at>(all) = first;
    return reference(args...);
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
    }
    if constexpr (kTensors || kVector || kNumber<Result>) add("f32", apply<through_f32>);
    if constexpr (kTensors || kVector) add("without last", apply<without_last>);
    if constexpr (kTensors || kVector || kSimple<Result> || std::is_same_v<Result, Shape>)
      add("first result", apply<first_result>);
    if constexpr (std::is_void_v<Result> && kOutputs) add("last unwritten", apply<last_unwritten>);
    if constexpr ((input_holds_tensors<Args>() || ...)) add("overwrites inputs", apply<overwrites_inputs>);
    [&]<size_t... at>(std::index_sequence<at...>) {
      const auto argument = [&]<size_t i>() {
        using Arg = std::tuple_element_t<i, std::tuple<Args...>>;
        if constexpr (kSimple<Arg>) add(fmt::format("first argument {}", i + 1), apply<first_argument<i>>);
      };
      (argument.template operator()<at>(), ...);
    }
    (std::index_sequence_for<Args...>{});
  }
};

}  // namespace pg::kit
