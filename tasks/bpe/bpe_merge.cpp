// The merges of one piece.
#include "tasks/bpe/bpe_merge.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

uint64_t key_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(size_t count) : slots_(std::bit_ceil(std::max<size_t>(16, count * 2))) {}

size_t MergeTable::place(uint64_t key) const {
  const size_t mask = slots_.size() - 1;
  size_t i = mix_bits(key) & mask;
  while (slots_[i].key != key && slots_[i].key != kFree) i = (i + 1) & mask;
  return i;
}

void MergeTable::set(int32_t left, int32_t right, Merge merge) {
  if (2 * (used_ + 1) > slots_.size()) {
    std::vector<Slot> old(2 * slots_.size());
    std::swap(old, slots_);
    for (const Slot& slot : old) {
      if (slot.key != kFree) slots_[place(slot.key)] = slot;
    }
  }
  Slot& slot = slots_[place(key_of(left, right))];
  if (slot.key == kFree) ++used_;
  slot = {key_of(left, right), merge};
}

MergeTable::Merge MergeTable::find(int32_t left, int32_t right) const {
  return slots_[place(key_of(left, right))].merge;
}

void MergeTable::apply(std::vector<int32_t>& ids, Scratch& scratch) const {
  constexpr size_t few = 96;
  if (ids.size() <= few) {
    scan(ids, scratch);
  } else {
    heap(ids, scratch);
  }
}

void MergeTable::scan(std::vector<int32_t>& ids, Scratch& scratch) const {
  size_t n = ids.size();
  if (n < 2) return;
  auto& parts = scratch.parts;
  parts.resize(n);
  for (size_t i = 0; i + 1 < n; ++i) parts[i] = {ids[i], find(ids[i], ids[i + 1])};
  parts[n - 1] = {ids[n - 1], {}};
  for (;;) {
    size_t best = 0;
    uint32_t rank = parts[0].merge.rank;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (parts[i].merge.rank < rank) {
        rank = parts[i].merge.rank;
        best = i;
      }
    }
    if (rank == kNone) break;
    parts[best].id = parts[best].merge.id;
    std::move(parts.begin() + static_cast<std::ptrdiff_t>(best) + 2, parts.begin() + static_cast<std::ptrdiff_t>(n),
              parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    parts[best].merge = best + 1 < n ? find(parts[best].id, parts[best + 1].id) : Merge{};
    if (best > 0) parts[best - 1].merge = find(parts[best - 1].id, parts[best].id);
  }
  ids.resize(n);
  for (size_t i = 0; i < n; ++i) ids[i] = parts[i].id;
}

void MergeTable::heap(std::vector<int32_t>& ids, Scratch& scratch) const {
  const size_t n = ids.size();
  if (n < 2) return;
  check(n < kNone, "BPE: expected a piece of less than {} symbols, got {}", kNone, n);
  auto& parts = scratch.parts;
  auto& previous = scratch.previous;
  auto& next = scratch.next;
  auto& heap = scratch.heap;
  parts.resize(n);
  previous.resize(n);
  next.resize(n);
  heap.clear();
  const auto end = static_cast<uint32_t>(n);
  // A smaller number comes first: the rank, then the position. An entry is stale when its part has another rank by
  // then.
  const auto entry = [&](uint32_t at) { return uint64_t{parts[at].merge.rank} << 32 | at; };
  for (uint32_t i = 0; i < end; ++i) {
    parts[i] = {ids[i], i + 1 < end ? find(ids[i], ids[i + 1]) : Merge{}};
    previous[i] = i - 1;
    next[i] = i + 1;
    if (parts[i].merge.rank != kNone) heap.push_back(entry(i));
  }
  const std::greater<> later;
  std::make_heap(heap.begin(), heap.end(), later);
  const auto renew = [&](uint32_t at) {
    parts[at].merge = next[at] < end ? find(parts[at].id, parts[next[at]].id) : Merge{};
    if (parts[at].merge.rank == kNone) return;
    heap.push_back(entry(at));
    std::push_heap(heap.begin(), heap.end(), later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const uint64_t top = heap.back();
    heap.pop_back();
    const auto at = static_cast<uint32_t>(top);
    if (parts[at].merge.rank != static_cast<uint32_t>(top >> 32)) continue;
    const uint32_t gone = next[at];
    parts[at].id = parts[at].merge.id;
    parts[gone].merge = {};
    next[at] = next[gone];
    if (next[at] < end) previous[next[at]] = at;
    renew(at);
    if (at > 0) renew(previous[at]);
  }
  ids.clear();
  for (uint32_t i = 0; i < end; i = next[i]) ids.push_back(parts[i].id);
}

}  // namespace pg
