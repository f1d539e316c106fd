// Adds up gradients over micro-batches and ranks.
#include "nn/ranks/gradient_sum.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <exception>
#include <span>
#include <utility>

#include "autograd/tape.h"
#include "tensor/base/text.h"
#include "tensor/paged_memory.h"

namespace pg {
namespace {

// A hash of the bytes of the parameters.
uint64_t hash_of(const Tensor& parameters) {
  const Tensor on_host = parameters.to(Device{});
  uint64_t hash = 0;
  visit(on_host.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto bytes = std::as_bytes(on_host.data<const T>());
    hash = checksum({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  });
  return hash;
}

// Gradients of one slab that are sent together. The leaves [first, last) end in the range. One that begins in it and
// ends in the range before is complete by then: that one was sent earlier.
struct Bucket {
  size_t slab = 0;
  size_t first = 0, last = 0;
  Shard range;
  size_t incomplete = 0;  // of its leaves, in the running backward
};
// A bucket whose gradients have been sent and still take memory.
struct Sent {
  const Bucket* bucket = nullptr;
  bool into_slab = false;  // they are in the slab's own gradients, of which the rank keeps its shard
  Comm::Ticket ticket = 0;
};
constexpr size_t kMostSent = 2;

}  // namespace

struct GradientSum::State {
  std::vector<ParamSlab*> slabs;
  Comm& comm;
  std::vector<Bucket> buckets;             // in the order in which they are sent
  std::vector<std::vector<size_t>> owner;  // by slab and leaf: its bucket
  std::vector<Tensor> extra;               // by slab: the gradient slab of all micro-batches of a rank but the first
  std::vector<std::vector<char>> received;
  // The state of the current round. In a round each rank computes one micro-batch, in the last one at most one.
  bool sends = false;
  size_t next = 0;  // of the buckets
  int64_t round = 0, rounds = 0;
  int terms = 0;
  Comm::Ticket ticket = 0;
  std::deque<Sent> sent;  // of slabs that keep a shard of the gradients
  bool compared = false;  // the weights of the ranks

  State(std::vector<ParamSlab*> given, Comm& c) : slabs(std::move(given)), comm(c) {
    for (size_t s = 0; s < slabs.size(); ++s) {
      const Tensor& grads = slabs[s]->grads();
      check(grads.device() == comm.device(), "GradientSum: the gradients are on {}, the ranks exchange tensors on {}",
            to_string(grads.device()), to_string(comm.device()));
      const auto& segments = slabs[s]->segments();
      size_t last = segments.size();
      for (const Shard& range : slabs[s]->buckets()) {
        size_t first = last;
        while (first > 0 && segments[first - 1].end > range.begin) --first;
        buckets.push_back({s, first, last, range});
        last = first;
      }
      owner.emplace_back(slabs[s]->leaves().size());
      received.emplace_back(slabs[s]->leaves().size());
    }
    for (size_t b = 0; b < buckets.size(); ++b) {
      for (size_t leaf = buckets[b].first; leaf < buckets[b].last; ++leaf) owner[buckets[b].slab][leaf] = b;
    }
    for (size_t s = 0; s < slabs.size(); ++s) {
      for (size_t leaf = 0; leaf < owner[s].size(); ++leaf) {
        on_grad_ready(slabs[s]->leaves()[leaf], [this, s, leaf] { ready(s, leaf); });
      }
    }
  }
  State(const State&) = delete;
  ~State() {
    for (const ParamSlab* slab : slabs) {
      for (const Tensor& leaf : slab->leaves()) on_grad_ready(leaf, {});
    }
  }

  // The parameters of stage 3 of ZeRO are compared before they are released (nn/ranks/gathered_weights.h).
  void compare_weights() {
    if (std::exchange(compared, true)) return;
    std::vector<const ParamSlab*> whole;
    std::copy_if(slabs.begin(), slabs.end(), std::back_inserter(whole), [](auto* slab) { return slab->zero() < 3; });
    check_same_weights(comm, whole);
  }

  // Where the micro-batches of this round write their gradients.
  const Tensor& memory(size_t s) const { return round == 0 ? slabs[s]->grads() : extra[s]; }

  void ready(size_t s, size_t leaf) {
    if (!sends) return;
    Bucket& bucket = buckets[owner[s][leaf]];
    check(bucket.incomplete > 0,
          "GradientSum: the gradient of '{}' changed after it was complete; call backward() once for a micro-batch",
          slabs[s]->segments()[leaf].name);
    --bucket.incomplete;
    while (next < buckets.size() && buckets[next].incomplete == 0) send(buckets[next++]);
  }

  void send(const Bucket& bucket) {
    const ParamSlab& slab = *slabs[bucket.slab];
    for (size_t i = bucket.first; i < bucket.last; ++i) {
      has_grad(slab.leaves()[i]) ? void(received[bucket.slab][i] = 1)
                                 : ParamSlab::view_of(memory(bucket.slab), slab.segments()[i]).fill(0);
    }
    const auto of_bucket = [&](const Tensor& x) { return x.view_slice(0, bucket.range.begin, bucket.range.end); };
    const Tensor sum = of_bucket(slab.grads());
    ReduceOptions options{.unit = kShardUnit, .terms = terms};
    if (round > 0) {
      const Shard own = shard_of(bucket.range.size(), comm.rank(), comm.size(), kShardUnit);
      options.into = sum.view_slice(0, own.begin, own.end);
      options.add = true;
    }
    ticket = comm.start_reduce_scatter(of_bucket(memory(bucket.slab)), options);
    if (round + 1 == rounds && slab.zero() == 0) ticket = comm.start_all_gather(sum, kShardUnit);
    if (slab.zero() < 2) return;
    sent.push_back({&bucket, round == 0, ticket});
    while (sent.size() > kMostSent) release_sent();
  }

  // Gives the memory of gradients that were sent, and that the rank does not keep, back to the system.
  void release_sent() {
    const Sent done = sent.front();
    sent.pop_front();
    comm.wait(done.ticket);
    const size_t s = done.bucket->slab;
    const Shard range = done.bucket->range;
    if (!done.into_slab) return release_pages(extra[s], range.begin, range.end);
    const Shard own = shard_of(range.size(), comm.rank(), comm.size(), kShardUnit);
    release_pages(slabs[s]->grads(), range.begin, range.begin + own.begin);
    release_pages(slabs[s]->grads(), range.begin + own.end, range.end);
  }

  void run_round(int64_t micro_batches, const std::function<void(int64_t)>& backward_of) {
    if (round >= 2) comm.wait(ticket);  // it reads the memory that is written next
    while (!sent.empty()) release_sent();
    next = 0;
    terms = static_cast<int>(std::min<int64_t>(comm.size(), micro_batches - round * comm.size()));
    for (Bucket& bucket : buckets) bucket.incomplete = bucket.last - bucket.first;
    for (size_t s = 0; s < slabs.size(); ++s) {
      if (round == 1 && !extra[s].defined()) {
        extra[s] = slabs[s]->zeros();
        use_large_pages(extra[s], 0, extra[s].numel());
      }
      if (round <= 1) slabs[s]->set_grad_memory(memory(s));
      slabs[s]->zero_grad();
    }
    sends = true;
    const int64_t mine = round * comm.size() + comm.rank();
    if (mine < micro_batches) backward_of(mine);
    sends = false;
    while (next < buckets.size()) send(buckets[next++]);
  }

  // Waits for what was sent and returns to the gradients of the slabs.
  void leave() {
    while (!sent.empty()) release_sent();
    comm.wait(ticket);
    for (const ParamSlab* slab : slabs) slab->set_grad_memory(slab->grads());
  }

  // All ranks agree on the parameters that have a gradient.
  void finish() {
    std::vector<int32_t> flags;
    for (const auto& of_slab : received) flags.insert(flags.end(), of_slab.begin(), of_slab.end());
    while (!sent.empty()) release_sent();
    comm.wait(ticket);
    if (comm.size() > 1) {  // one rank may be recording a graph, which cannot read from the device
      const Tensor all = Tensor::from(flags, {std::ssize(flags)}).to(comm.device());
      comm.all_reduce(all);
      const std::vector<double> counts = all.to_vector();
      flags.assign(counts.begin(), counts.end());
    }
    auto count = flags.begin();
    for (const ParamSlab* slab : slabs) {
      for (size_t i = 0; i < slab->leaves().size(); ++i) {
        set_grad_buffer(slab->leaves()[i], ParamSlab::view_of(slab->grads(), slab->segments()[i]), *count++ > 0);
      }
    }
  }
};

GradientSum::GradientSum(std::vector<ParamSlab*> slabs, Comm& comm)
    : state_(std::make_unique<State>(std::move(slabs), comm)) {}
GradientSum::~GradientSum() = default;

bool GradientSum::run(int64_t micro_batches, const std::function<void(int64_t)>& backward_of,
                      const std::function<bool()>& should_stop) {
  check(micro_batches >= 1, "GradientSum: expected at least one micro-batch, got {}", micro_batches);
  State& s = *state_;
  if (micro_batches == 1 && s.comm.size() == 1) {
    for (const ParamSlab* slab : s.slabs) slab->zero_grad();
    backward_of(0);
    return true;
  }
  s.compare_weights();
  s.extra.resize(s.slabs.size());
  for (auto& flags : s.received) std::fill(flags.begin(), flags.end(), char{0});
  s.rounds = (micro_batches + s.comm.size() - 1) / s.comm.size();
  try {
    for (s.round = 0; s.round < s.rounds; ++s.round) {
      if (s.round > 0 && should_stop && s.comm.device().on_host() && should_stop()) {
        s.leave();
        return false;
      }
      s.run_round(micro_batches, backward_of);
    }
    s.finish();
  } catch (const std::exception& e) {
    s.sends = false;
    s.sent.clear();
    s.comm.abandon(e.what());
    for (const ParamSlab* slab : s.slabs) slab->set_grad_memory(slab->grads());
    throw;
  }
  return true;
}

void check_same_weights(Comm& comm, const std::vector<const ParamSlab*>& slabs) {
  if (comm.size() == 1 || slabs.empty()) return;
  std::string hashes;
  for (const ParamSlab* slab : slabs) hashes += fmt::format("{:016x} ", hash_of(slab->values()));
  check_same_on_all_ranks(comm, "weights", hashes);
}

void gather_parts(Comm& comm, std::vector<std::vector<double>>& parts) {
  if (comm.size() == 1) return;
  // Bits are added as integers: to the zeros of the ranks that do not know them.
  std::vector<int32_t> bits;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool known = i % static_cast<size_t>(comm.size()) == static_cast<size_t>(comm.rank());
    for (const double value : parts[i]) {
      const auto word = std::bit_cast<uint64_t>(known ? value : 0.0);
      bits.push_back(static_cast<int32_t>(word >> 32));
      bits.push_back(static_cast<int32_t>(word & 0xffffffff));
    }
  }
  const Tensor sum = Tensor::from(bits, {std::ssize(bits)}).to(comm.device());
  comm.all_reduce(sum);
  const Tensor known = sum.to(Device{});
  const auto words = known.data<const int32_t>();
  size_t at = 0;
  for (auto& part : parts) {
    for (double& value : part) {
      const auto high = static_cast<uint32_t>(words[at]), low = static_cast<uint32_t>(words[at + 1]);
      value = std::bit_cast<double>(uint64_t{high} << 32 | low);
      at += 2;
    }
  }
}

}  // namespace pg
