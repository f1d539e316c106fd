#pragma once
// The checks of lesson 12 by part, and what they share with the demonstration.
#include "lessons/12_data_parallel/lesson.h"

namespace pg::lesson12 {

// checks_ring.cpp
void check_reduce_step(kit::Grader& g, const Impl& impl);
void check_gather_step(kit::Grader& g, const Impl& impl);
// checks_ranks.cpp
void check_token_mean(kit::Grader& g, const Impl& impl);
void check_shard(kit::Grader& g, const Impl& impl);
void check_buckets(kit::Grader& g, const Impl& impl);

// Counts what a rank sends.
class CountingRing : public Ring {
 public:
  explicit CountingRing(Ring& ring) : ring_(ring) {}
  int rank() const override { return ring_.rank(); }
  int size() const override { return ring_.size(); }
  void send(std::span<const float> x) override {
    sent += std::ssize(x);
    ++messages;
    ring_.send(x);
  }
  void receive(std::span<float> x) override { ring_.receive(x); }
  int64_t sent = 0, messages = 0;

 private:
  Ring& ring_;
};

}  // namespace pg::lesson12
