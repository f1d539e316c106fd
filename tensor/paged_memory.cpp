// Pages of memory that are requested from the system, given back and counted one by one.
#include "tensor/paged_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tensor/base/error.h"

namespace pg {
namespace {

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
size_t rounded_up(size_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

size_t mapped_bytes(size_t bytes) { return std::max(rounded_up(bytes), page_bytes()); }

bool is_paged(const Tensor& x) { return x.defined() && x.storage()->free != nullptr; }

// The first byte, in its storage, of an element of a contiguous tensor.
size_t byte_of(const Tensor& x, int64_t element) {
  return static_cast<size_t>(x.offset() + element) * size_of(x.dtype());
}

void check_range(const Tensor& x, int64_t begin, int64_t end, const char* name) {
  check(x.contiguous() && 0 <= begin && begin <= end && end <= x.numel(),
        "{}: elements [{}, {}) of a tensor {}, expected a range of a contiguous one", name, begin, end, x.shape());
}

}  // namespace

Tensor paged_zeros(const Shape& shape, DType dtype) {
  const size_t bytes = static_cast<size_t>(checked_numel(shape, "paged_zeros", size_of(dtype))) * size_of(dtype);
  void* data =
      mmap(nullptr, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(data != MAP_FAILED, "paged_zeros: no room for {} bytes of addresses: {}", bytes, std::strerror(errno));
#ifdef MADV_NOHUGEPAGE
  madvise(data, mapped_bytes(bytes), MADV_NOHUGEPAGE);  // a large page would bring its neighbours into being
#endif
  Ref<Storage> storage(new Storage);
  storage->data = data;
  storage->bytes = bytes;
  storage->free = [](Storage* block) {
    munmap(block->data, mapped_bytes(block->bytes));
    delete block;
  };
  return Tensor::view_of(std::move(storage), 0, shape, contiguous_strides(shape), dtype);
}

void release_pages(const Tensor& x, int64_t begin, int64_t end) {
  check_range(x, begin, end, "release_pages");
  if (!is_paged(x)) return;
  const Storage& storage = *x.storage();
  const size_t first = rounded_up(byte_of(x, begin)), used = byte_of(x, end);
  const size_t last = used == storage.bytes ? rounded_up(used) : used / page_bytes() * page_bytes();
  if (first >= last) return;
  const int failed = madvise(static_cast<char*>(storage.data) + first, last - first, MADV_DONTNEED);
  check(failed == 0, "release_pages: the system kept them: {}", std::strerror(errno));
}

void use_large_pages(const Tensor& x, int64_t begin, int64_t end) {
  check_range(x, begin, end, "use_large_pages");
#ifdef MADV_HUGEPAGE
  constexpr size_t kLarge = size_t{2} << 20;
  if (!is_paged(x)) return;
  const auto data = reinterpret_cast<size_t>(x.storage()->data);
  const size_t first = (data + byte_of(x, begin) + kLarge - 1) / kLarge * kLarge;
  const size_t last = (data + byte_of(x, end)) / kLarge * kLarge;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

size_t resident_bytes(const Tensor& x) {
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  if (!is_paged(x)) return bytes;
  check(x.contiguous(), "resident_bytes: the tensor {} is not contiguous", x.shape());
  const size_t page = page_bytes(), begin = byte_of(x, 0), end = begin + bytes;
  const size_t first = begin / page, last = rounded_up(end) / page;
  std::vector<unsigned char> exists(last - first);
  const int failed =
      mincore(static_cast<char*>(x.storage()->data) + first * page, (last - first) * page, exists.data());
  check(failed == 0, "resident_bytes: the system does not say: {}", std::strerror(errno));
  size_t resident = 0;
  for (size_t i = 0; i < exists.size(); ++i) {
    if (!(exists[i] & 1)) continue;
    resident += std::min(end, (first + i + 1) * page) - std::max(begin, (first + i) * page);
  }
  return resident;
}

}  // namespace pg
