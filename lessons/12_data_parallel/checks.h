#pragma once
// The checks of lesson 12 by part, the known mistakes, and what the checks share with the demonstration.
#include "lessons/12_data_parallel/lesson.h"

namespace pg::lesson12 {

// checks_ring.cpp
kit::Grades<Impl> check_reduce_step, check_gather_step;
// checks_ranks.cpp
kit::Grades<Impl> check_token_mean, check_shard, check_buckets;

// mistakes.cpp
kit::Mistakes<&Impl::ring_reduce_step> reduce_mistakes();
kit::Mistakes<&Impl::ring_gather_step> gather_mistakes();
kit::Mistakes<&Impl::token_weighted_mean> mean_mistakes();
kit::Mistakes<&Impl::shard_of> shard_mistakes();
kit::Mistakes<&Impl::gradient_buckets> bucket_mistakes();

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
