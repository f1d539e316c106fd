#pragma once
// Intrusive reference counting. Counts are not atomic: a tensor and its tape belong to one thread (kernels get views).
#include <cstdint>
#include <utility>

namespace pg {

struct RefCounted {
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;
  uint32_t ref_count = 0;
};

// Shared pointer to a RefCounted type that provides `static void release(T*)`, called when the last Ref is destroyed.
template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) {
    if (p_) ++p_->ref_count;
  }
  Ref(const Ref& other) : Ref(other.p_) {}
  Ref(Ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~Ref() {
    if (p_ && --p_->ref_count == 0) T::release(p_);
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref&) const = default;

 private:
  T* p_ = nullptr;
};

}  // namespace pg
