#pragma once
// Wrong steps of the ring: for mistakes.cpp, and for mutants.cpp those that no elements show.
#include <algorithm>

#include "lessons/12_data_parallel/lesson.h"

namespace pg::lesson12 {

// What is wrong in a step.
struct Step {
  enum class Index { wrapped, remainder, plain, as_unsigned };
  enum class Chunks { right, floor, ceiling };
  enum class Store { right, nothing, twice, mean, larger, other };  // other: adds in place of copying, or the reverse
  enum class Order { even_first, send_first, receive_first };
  int out = 0, in = 0, sign = -1;  // added to the numbers of the two chunks; the sign of the step in them
  Index index = Index::wrapped;
  Chunks chunks = Chunks::right;
  Store store = Store::right;
  Order order = Order::even_first;
  bool rank_0_silent = false, all_elements = false, in_pieces = false, at_front = false, of_sent_size = false;
};

// Rank r sends chunk r + send - step and receives chunk r + receive - step, with a mistake.
template <Step is, int send, int receive, bool adds>
void wrong_step(Ring& ring, std::span<float> x, int step) {
  const int n = ring.size(), r = ring.rank();
  const auto chunk = [&](int index) {
    int c = is.index == Step::Index::plain ? index : index % n;
    if (is.index == Step::Index::wrapped) c = (c + n) % n;
    if (is.index == Step::Index::as_unsigned)
      c = static_cast<int>(static_cast<unsigned>(index) % static_cast<unsigned>(n));
    const int64_t length = std::ssize(x), each = is.chunks == Step::Chunks::floor ? length / n : (length + n - 1) / n;
    const Shard s = is.chunks == Step::Chunks::right
                        ? pg::shard_of(length, c, n)
                        : Shard{std::min(length, c * each), std::min(length, (c + 1) * each)};
    return x.subspan(static_cast<size_t>(s.begin), static_cast<size_t>(s.size()));
  };
  const std::span<float> sent = is.all_elements ? x : chunk(r + send + is.out + is.sign * step);
  std::span<float> into = chunk(r + receive + is.in + is.sign * step);
  const size_t at = is.all_elements ? static_cast<size_t>(into.data() - x.data()) : 0;
  if (is.at_front) into = x.first(into.size());
  std::vector<float> received(is.all_elements ? x.size() : is.of_sent_size ? sent.size() : into.size());
  const auto each_message = [](auto x, auto pass) {
    if (!is.in_pieces) return pass(x);
    for (size_t i = 0; i < x.size(); ++i) pass(x.subspan(i, 1));
  };
  const auto send_it = [&] {
    if (!is.rank_0_silent || r != 0) each_message(sent, [&](std::span<float> part) { ring.send(part); });
  };
  const bool first = is.order == Step::Order::send_first || (is.order == Step::Order::even_first && r % 2 == 0);
  if (first) send_it();
  each_message(std::span(received), [&](std::span<float> part) { ring.receive(part); });
  if (!first) send_it();
  for (size_t i = 0; i < into.size(); ++i) {
    const float came = received[at + i];
    if (is.store == Step::Store::nothing) continue;
    if (is.store == Step::Store::mean) {
      into[i] = (into[i] + came) / static_cast<float>(n);
    } else if (is.store == Step::Store::larger) {
      into[i] = std::max(into[i], adds ? into[i] + came : came);
    } else if (is.store == Step::Store::twice) {
      into[i] = came + came;
    } else {
      into[i] = (adds != (is.store == Step::Store::other) ? into[i] : 0) + came;
    }
  }
}
// All steps of the phase in each call.
template <int send, int receive, bool adds>
void whole_phase(Ring& ring, std::span<float> x, int) {
  for (int step = 0; step < ring.size() - 1; ++step) wrong_step<Step{}, send, receive, adds>(ring, x, step);
}
template <Step is>
constexpr auto wrong_reduce = wrong_step<is, 0, -1, true>;
template <Step is>
constexpr auto wrong_gather = wrong_step<is, 1, 0, false>;

}  // namespace pg::lesson12
