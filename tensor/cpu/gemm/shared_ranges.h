#pragma once
// The division of a product's panels of rows among threads. Each thread has a range of panels and takes a few of them
// at a time. Its rows of a are often in its cache, because it computed them in the product before. A thread whose range
// is empty takes panels of other ranges, so that at the end it waits only for panels that another thread is computing.
#include <algorithm>
#include <atomic>
#include <memory>

namespace pg::cpu {

class SharedRanges {
 public:
  static constexpr int64_t kMostTaken = 4;

  // Divides [0, n) among `threads` ranges.
  SharedRanges(int64_t n, int threads)
      : threads_(threads), left_(new std::atomic<uint64_t>[static_cast<size_t>(threads)]) {
    for (int64_t i = 0; i < threads; ++i) at(i).store(range(i * n / threads, (i + 1) * n / threads));
  }

  // Takes at most kMostTaken panels [begin, end): of the front of the range `own`, or else of the back of another one.
  // False if none is left.
  bool take(int64_t own, int64_t& begin, int64_t& end) {
    for (int64_t i = 0; i < threads_; ++i) {
      auto& left = at((own + i) % threads_);
      uint64_t now = left.load(std::memory_order_relaxed);
      for (;;) {
        const int64_t first = static_cast<int64_t>(now >> 32), behind = static_cast<int64_t>(now & 0xffffffff);
        if (first == behind) break;
        const int64_t taken = std::clamp<int64_t>((behind - first) / 2, 1, kMostTaken);
        const uint64_t rest = i == 0 ? range(first + taken, behind) : range(first, behind - taken);
        if (!left.compare_exchange_weak(now, rest, std::memory_order_relaxed)) continue;
        begin = i == 0 ? first : behind - taken;
        end = begin + taken;
        return true;
      }
    }
    return false;
  }

 private:
  static uint64_t range(int64_t begin, int64_t end) {
    return static_cast<uint64_t>(begin) << 32 | static_cast<uint64_t>(end);
  }
  std::atomic<uint64_t>& at(int64_t i) { return left_[static_cast<size_t>(i)]; }

  int64_t threads_;
  std::unique_ptr<std::atomic<uint64_t>[]> left_;
};

}  // namespace pg::cpu
