// Gathers and releases the buckets of a slab of parameters.
#include "nn/ranks/gathered_weights.h"

#include <algorithm>
#include <exception>

#include "nn/ranks/gradient_sum.h"
#include "tensor/paged_memory.h"

namespace pg {

GatheredWeights::GatheredWeights(Transformer& model, const ParamSlab& slab) : model_(model), slab_(slab) {
  if (!active()) return;
  const Comm& comm = *slab.comm();
  for (const Shard& range : slab.buckets()) {
    const Shard own = shard_of(range.size(), comm.rank(), comm.size(), kShardUnit);
    buckets_.push_back({range, {range.begin + own.begin, range.begin + own.end}});
  }
  reads_.assign(model.parts(), std::vector<char>(buckets_.size()));
  for (size_t part = 0; part < model.parts(); ++part) {
    for (const ParamSlab::Segment& segment : slab.segments()) {
      if (!model.part_reads(part, segment.name)) continue;
      for (size_t b = 0; b < buckets_.size(); ++b) {
        const Shard& range = buckets_[b].range;
        if (segment.begin < range.end && range.begin < segment.end) reads_[part][b] = 1;
      }
    }
  }
  model_.before_part = [this](size_t part) { use(part); };
}

GatheredWeights::~GatheredWeights() {
  if (!active()) return;
  model_.before_part = {};
  for (Bucket& bucket : buckets_) {
    try {
      finish(bucket);                  // it writes into the slab, which may be next to go
    } catch (const std::exception&) {  // the collective has failed: nothing writes any more
    }
  }
}

int64_t GatheredWeights::bytes(int64_t elements) const {
  return elements * static_cast<int64_t>(size_of(slab_.values().dtype()));
}

void GatheredWeights::gather(Bucket& bucket) {
  if (bucket.state != State::released) return;
  bucket.state = State::coming;
  // The elements get the values that they had: a backward may still need them.
  uint64_t& writes = slab_.values().storage()->writes;
  const uint64_t before = writes;
  bucket.ticket =
      slab_.comm()->start_all_gather(slab_.values().view_slice(0, bucket.range.begin, bucket.range.end), kShardUnit);
  writes = before;
  held_bytes_ += bytes(bucket.range.size() - bucket.own.size());
}

void GatheredWeights::finish(Bucket& bucket) {
  if (bucket.state == State::coming) slab_.comm()->wait(bucket.ticket);
  bucket.state = State::here;
}

void GatheredWeights::drop(Bucket& bucket) {
  if (bucket.state == State::released) return;
  finish(bucket);
  release_pages(slab_.values(), bucket.range.begin, bucket.own.begin);
  release_pages(slab_.values(), bucket.own.end, bucket.range.end);
  bucket.state = State::released;
  held_bytes_ -= bytes(bucket.range.size() - bucket.own.size());
}

void GatheredWeights::use(size_t part) {
  if (whole_) return;
  const size_t parts = reads_.size(), last = std::exchange(last_, part);
  // Forward computes the parts in order, backward the other way round, beginning with the last. Backward has no call
  // for part 0.
  size_t next = part > last || part == 0 ? part + 1 : part - 1;
  if (next == parts) next = part - 1;
  if (next == 0) next = part;
  for (size_t b = 0; b < buckets_.size(); ++b) {
    if (!reads_[part][b] && !reads_[next][b]) drop(buckets_[b]);
  }
  for (const size_t wanted : {part, next}) {
    for (size_t b = 0; b < buckets_.size(); ++b) {
      if (reads_[wanted][b]) gather(buckets_[b]);
    }
  }
  peak_bytes_ = std::max(peak_bytes_, held_bytes_);
  for (size_t b = 0; b < buckets_.size(); ++b) {
    if (reads_[part][b]) finish(buckets_[b]);
  }
}

void GatheredWeights::gather_all() {
  if (!active() || whole_) return;
  for (Bucket& bucket : buckets_) gather(bucket);
  for (Bucket& bucket : buckets_) finish(bucket);
  whole_ = true;
}

void GatheredWeights::complete() {
  if (!active()) return;
  for (Bucket& bucket : buckets_) {
    finish(bucket);
    bucket.state = State::here;
  }
  whole_ = true;
  compared_ = false;
}

void GatheredWeights::release() {
  if (!active()) return;
  if (!std::exchange(compared_, true)) {
    check_same_weights(*slab_.comm(), {&slab_});
    held_bytes_ = 0;
    for (const Bucket& bucket : buckets_) held_bytes_ += bytes(bucket.range.size() - bucket.own.size());
  }
  for (Bucket& bucket : buckets_) drop(bucket);
  whole_ = false;
  last_ = 0;
}

bool Transformer::part_reads(size_t part, const std::string& name) const {
  if (part == 0) return name.starts_with("wte.") || name.starts_with("wpe.");
  if (part <= h.size()) return name.starts_with(fmt::format("h.{}.", part - 1));
  return name.starts_with("ln_f.") || name.starts_with(lm_head ? "lm_head." : "wte.");
}

}  // namespace pg
