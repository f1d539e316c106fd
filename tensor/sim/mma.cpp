// Tensor core instructions, and asynchronous copies to shared memory.
#include "tensor/sim/mma.h"

#include <fmt/format.h>

#include <cstring>

#include "tensor/sim/block.h"

namespace pg::sim {

namespace {

Block& block() { return *running_block; }

// The operands of one lane for a Meeting.
struct MmaLane {
  float* c;
  const uint32_t* a;
  uint32_t b[2];
};
struct LdmatrixLane {
  uint32_t* to;
  shared_address row;
};

float low_bf16(uint32_t pair) {
  const uint32_t bits = pair << 16;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}
float high_bf16(uint32_t pair) {
  const uint32_t bits = pair & 0xffff0000u;
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// c += a·b over all lanes' registers. Lane 4g + t holds, each with its right neighbour, the elements (g, 2t), (g + 8,
// 2t), (g, 2t + 8) and (g + 8, 2t + 8) of a [16, 16]; (2t, g) and (2t + 8, g) of b [16, 8], each with the element
// below; and (g, 2t) and (g + 8, 2t) of c [16, 8], each with its right neighbour. Each sum runs over k in order,
// rounded at every step.
void multiply(MmaLane* const (&lanes)[32]) {
  float a[16][16], b[16][8], c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const MmaLane& mine = *lanes[lane];
    const int g = lane / 4, t = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8, column = t + i / 2 * 8;
      a[row][column] = low_bf16(mine.a[i]);
      a[row][column + 1] = high_bf16(mine.a[i]);
      c[g + i / 2 * 8][t + i % 2] = mine.c[i];
    }
    for (int i = 0; i < 2; ++i) {
      b[t + i * 8][g] = low_bf16(mine.b[i]);
      b[t + i * 8 + 1][g] = high_bf16(mine.b[i]);
    }
  }
  for (int row = 0; row < 16; ++row) {
    for (int k = 0; k < 16; ++k) {
      for (int column = 0; column < 8; ++column) c[row][column] += a[row][k] * b[k][column];
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4 * 2;
    for (int i = 0; i < 4; ++i) lanes[lane]->c[i] = c[g + i / 2 * 8][t + i % 2];
  }
}

// Lanes 8i … 8i + 7 hold the addresses of the rows of matrix i, eight elements of 2 bytes each. Lane 4g + t gets, in
// register i, the elements 2t and 2t + 1 of row g or, if `transposed`, of column g.
void load_matrices(LdmatrixLane* const (&lanes)[32], bool transposed) {
  uint32_t got[32][4];
  for (int i = 0; i < 4; ++i) {
    uint16_t x[8][8];
    for (int row = 0; row < 8; ++row) std::memcpy(x[row], reinterpret_cast<const void*>(lanes[8 * i + row]->row), 16);
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4 * 2;
      const uint32_t low = transposed ? x[t][g] : x[g][t], high = transposed ? x[t + 1][g] : x[g][t + 1];
      got[lane][i] = low | high << 16;
    }
  }
  for (int lane = 0; lane < 32; ++lane) std::memcpy(lanes[lane]->to, got[lane], sizeof(got[lane]));
}

void meet_as_warp(Meeting meeting, void* mine, const void* pc) {
  if (!block().whole_warp()) {
    block().stop(
        pc,
        fmt::format("{}: the warp has fewer than 32 threads; the number of threads per block must be a multiple of 32",
                    name_of(meeting)));
  }
  block().meet(meeting, 0xffffffffu, reinterpret_cast<uintptr_t>(mine), 0, pc);
}

void require_aligned(const char* name, const char* what, uintptr_t address, const void* pc) {
  if (address % 16 == 0) return;
  block().stop(pc, fmt::format("{}: {} is at an address {} bytes past a multiple of 16; it must be aligned to 16 bytes",
                               name, what, address % 16));
}

void load(Meeting meeting, uint32_t* to, shared_address row, const void* pc) {
  require_aligned(name_of(meeting), "the row", row, pc);
  if (observed_block) observed_block->on_shared_access(name_of(meeting), row, 16, Touch::read, pc);
  LdmatrixLane mine{to, row};
  meet_as_warp(meeting, &mine, pc);
}

}  // namespace

void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  MmaLane mine{c, a, {b0, b1}};
  meet_as_warp(Meeting::mma, &mine, __builtin_return_address(0));
}
void ldmatrix_x4(uint32_t (&to)[4], shared_address row) {
  load(Meeting::ldmatrix, to, row, __builtin_return_address(0));
}
void ldmatrix_x4_trans(uint32_t (&to)[4], shared_address row) {
  load(Meeting::ldmatrix_trans, to, row, __builtin_return_address(0));
}

void cp_async_16(shared_address to, const void* from, bool there) {
  const void* pc = __builtin_return_address(0);
  const auto source = reinterpret_cast<uintptr_t>(from);
  require_aligned("cp.async", "the destination", to, pc);
  if (there) require_aligned("cp.async", "the source", source, pc);
  block().begin_copy(to, source, there ? 16 : 0, there ? 0 : 16, pc);
}
void cp_async_commit() { block().commit_copies(); }
void wait_for_copies(unsigned pending_groups) { block().wait_for_copies(pending_groups); }

void Block::exchange_fragments(Meeting meeting, int warp) {
  const Thread* threads = &threads_[warp * 32];
  if (meeting == Meeting::mma) {
    MmaLane* lanes[32];
    for (int i = 0; i < 32; ++i) lanes[i] = reinterpret_cast<MmaLane*>(threads[i].value);
    multiply(lanes);
  } else {
    LdmatrixLane* lanes[32];
    for (int i = 0; i < 32; ++i) lanes[i] = reinterpret_cast<LdmatrixLane*>(threads[i].value);
    load_matrices(lanes, meeting == Meeting::ldmatrix_trans);
  }
}

void Block::on_shared_access(const char* name, uintptr_t address, size_t bytes, uint8_t kind, const void* pc) {
  const Unobserved own_code;
  size_t position = 0;
  if (judge({address, bytes, kind, pc, current_}, &position) != Space::shared)
    stop(pc, fmt::format("{}: the address is not in shared memory", name));
}

void Block::begin_copy(uintptr_t to, uintptr_t from, size_t bytes, size_t zeros, const void* pc) {
  const Unobserved own_code;
  if (observes_) {
    if (bytes > 0) on_access(from, bytes, bytes, Touch::read, pc);
    on_shared_access("cp.async", to, bytes + zeros, Touch::write, pc);
    const Access write{to, bytes + zeros, Touch::write, pc, current_};
    size_t position = 0;
    checker_.locate(write, &position);
    if (check_) checker_.delay(write, position);
  }
  Thread& t = threads_[current_];
  t.copies.push_back({to, from, bytes, zeros, t.groups, pc});
}

void Block::wait_for_copies(unsigned pending_groups) {
  const Unobserved own_code;
  Thread& t = threads_[current_];
  const auto arrives = [&](const Copy& copy) { return copy.group + pending_groups < t.groups; };
  for (const Copy& copy : t.copies) {
    if (!arrives(copy)) continue;
    std::memcpy(reinterpret_cast<void*>(copy.to), reinterpret_cast<const void*>(copy.from), copy.bytes);
    std::memset(reinterpret_cast<char*>(copy.to) + copy.bytes, 0, copy.zeros);
    if (!observes_ || !check_) continue;
    const Access write{copy.to, copy.bytes + copy.zeros, Touch::write, copy.pc, current_};
    size_t position = 0;
    checker_.locate(write, &position);
    checker_.arrive(write, position);
  }
  std::erase_if(t.copies, arrives);
}

}  // namespace pg::sim
