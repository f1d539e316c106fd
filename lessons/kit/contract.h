#pragma once
// What is compared whatever a check does: a learner's piece leaves its inputs as they are (tensors, and the views after
// the first one of a function that returns nothing), and its result has the reference's dtypes and is on the tape where
// the reference's is. A check judges this after its own comparisons, so
// that its own words about a mistake come first.
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lessons/kit/tensors.h"

namespace pg::kit {

struct Breach {
  std::string input, got, want, diagnosis;
};
// The first breach since begin_contract().
std::optional<Breach> contract_breach();
void begin_contract();
void report_breach(const Breach& breach);

// The contents of tensors and views. Those that are not contiguous are left out.
class Snapshot {
 public:
  void add(const Tensor& x);
  void add(const View& x);
  void restore() const;  // does not count as a write for the tape
  // Whether the contents are still the same.
  std::vector<bool> unchanged() const;

 private:
  std::vector<std::pair<View, std::vector<char>>> contents_;
  std::vector<Tensor> owners_;  // of the memory of the views
};

void compare_results(const std::vector<Tensor>& got, const std::vector<Tensor>& want);

// Contract<&Impl::f>::call calls `learner` and compares. It can replace f in Impl.
template <auto Member>
struct Contract;
template <class Impl, class Result, class... Args, Result (*Impl::*Member)(Args...)>
struct Contract<Member> {
  static inline Result (*learner)(Args...) = nullptr;
  static inline Result (*reference)(Args...) = nullptr;

  template <class Arg>
  static constexpr bool kWritable = std::is_lvalue_reference_v<Arg> && !std::is_const_v<std::remove_reference_t<Arg>>;
  // State that the reference gets a copy of, so that it advances only once.
  template <class Arg>
  static constexpr bool kCopied = kWritable<Arg>&& std::is_trivially_copyable_v<std::remove_reference_t<Arg>>;
  template <class Arg>
  static constexpr bool kPlain = !kWritable<Arg> || kCopied<Arg>;
  static constexpr bool kResults = holds_tensors<Result>() && (kPlain<Args> && ...);

  static Result call(Args... args) {
    if constexpr (std::is_void_v<Result>) {
      Snapshot before = snapshot(args...);
      learner(args...);
      judge_inputs(before.unchanged(), {});
    } else {
      const Snapshot before = snapshot(args...);
      std::tuple<std::conditional_t<kCopied<Args>, std::remove_cvref_t<Args>, std::remove_reference_t<Args>&>...> again(
          args...);
      Result result = learner(args...);
      const std::vector<bool> kept = before.unchanged();
      if constexpr (kResults) {
        const Snapshot after = snapshot(args...);
        before.restore();
        std::vector<bool> reference_kept;
        try {
          Result want = std::apply([](auto&... arg) { return reference(arg...); }, again);
          reference_kept = before.unchanged();
          compare_results(tensors_of(result), tensors_of(want));
        } catch (const Error&) {  // the check itself tests what must be refused
        }
        after.restore();
        judge_inputs(kept, reference_kept);
      } else {
        judge_inputs(kept, {});
      }
      return result;
    }
  }

 private:
  static Snapshot snapshot(const std::remove_reference_t<Args>&... args) {
    Snapshot s;
    bool output = std::is_void_v<Result>;  // the first view is what the function writes
    const auto add = [&]<class Arg>(std::type_identity<Arg>, const auto& arg) {
      if constexpr (input_holds_tensors<Arg>()) for_each_tensor(arg, [&](const Tensor& x) { s.add(x); });
      if constexpr (std::is_same_v<Arg, View>) {
        if (!output) s.add(arg);
        output = false;
      }
    };
    (add(std::type_identity<Args>{}, args), ...);
    return s;
  }
  template <class R>
  static std::vector<Tensor> tensors_of(const R& result) {
    std::vector<Tensor> tensors;
    for_each_tensor(result, [&](const Tensor& x) { tensors.push_back(x); });
    return tensors;
  }
  // An input that the reference changes too may be changed.
  static void judge_inputs(const std::vector<bool>& kept, const std::vector<bool>& reference_kept) {
    for (size_t i = 0; i < kept.size(); ++i) {
      if (kept[i] || (i < reference_kept.size() && !reference_kept[i])) continue;
      report_breach({"the inputs afterwards", "other numbers", "the numbers from before the call",
                     "an input was overwritten: work on a clone"});
    }
  }
};

}  // namespace pg::kit
