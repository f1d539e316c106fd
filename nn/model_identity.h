#pragma once
// The identity of a model. generate() finds the decoders that it keeps for a model by it.
#include <atomic>
#include <cstdint>

namespace pg {

// A member of the model. A copy, a move and an assignment make another identity.
class ModelIdentity {
 public:
  ModelIdentity() : value_(++count_) {}
  ModelIdentity(const ModelIdentity&) : ModelIdentity() {}
  ModelIdentity& operator=(const ModelIdentity&) {
    end();
    value_ = ++count_;
    return *this;
  }
  ~ModelIdentity() { end(); }
  uint64_t value() const { return value_; }

  // The function is called with each identity that ends from now on, by the thread that ends it.
  static void at_end(void (*function)(uint64_t)) { at_end_ = function; }

 private:
  void end() const {
    if (const auto function = at_end_.load()) function(value_);
  }
  static inline std::atomic<uint64_t> count_{0};
  static inline std::atomic<void (*)(uint64_t)> at_end_{nullptr};
  uint64_t value_;
};

}  // namespace pg
