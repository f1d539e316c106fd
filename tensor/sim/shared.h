#pragma once
// Determines which bytes of the host thread that runs a block are the block's shared memory. Static shared variables
// are thread_local variables of the program, whose symbol table has their offsets, sizes and names; dynamic shared
// memory is a buffer. The bytes of both are numbered 0, 1, …: such a number is a "position".
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pg::sim {

class SharedMemory {
 public:
  static constexpr size_t kDynamicLimit = 227 << 10;  // with cudaFuncSetAttribute, as on sm_90

  SharedMemory();  // the shared memory of the calling host thread

  // Fills everything with NaN bytes: a value left by another block must not look like one of this block.
  void poison();

  enum class Where { elsewhere, host, inside, outside };
  // Classifies the bytes. inside: in one shared variable; outside: partly or wholly outside of one (an error); host: in
  // a thread_local variable of the host; elsewhere: none of these. Sets `position` for inside and outside.
  Where locate(uintptr_t address, size_t bytes, size_t dynamic_bytes, size_t* position) const {
    const uintptr_t dynamic = address - dynamic_begin_;
    if (dynamic < kDynamicLimit + kMargin) {
      *position = static_size_ + dynamic;
      return dynamic + bytes <= dynamic_bytes ? Where::inside : Where::outside;
    }
    const uintptr_t offset = address - static_begin_;
    if (offset >= static_size_) return Where::elsewhere;
    *position = offset;
    const uint16_t id = owner_[offset / 4];
    if (id == kOther) return Where::host;
    if (id == kGap) return Where::outside;
    return offset + bytes <= variables_[id].end ? Where::inside : Where::outside;
  }
  size_t positions() const { return static_size_ + kDynamicLimit + kMargin; }
  void* dynamic() const { return dynamic_.get(); }
  // "byte 128 of shared variable tile (4096 bytes)".
  std::string describe(size_t position, size_t dynamic_bytes) const;

 private:
  static constexpr size_t kMargin = 64 << 10;  // after dynamic memory: addresses here are past its end
  static constexpr uint16_t kGap = 0xffff, kOther = 0xfffe;
  struct Variable {
    std::string name;
    size_t begin, end;
  };
  struct Free {
    void operator()(char* memory) const;
  };
  uintptr_t static_begin_ = 0, dynamic_begin_ = 0;
  size_t static_size_ = 0;
  std::vector<Variable> variables_;
  std::vector<uint16_t> owner_;  // per 4 bytes of the static part: index of the variable, kGap or kOther
  std::unique_ptr<char, Free> dynamic_;
};

}  // namespace pg::sim
