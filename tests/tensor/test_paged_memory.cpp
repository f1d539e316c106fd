// Memory by pages: what exists, what is zero again, what keeps its values.
#include <unistd.h>

#include "tensor/base/error.h"
#include "tensor/paged_memory.h"
#include "tests/catch.h"

using namespace pg;

TEST_CASE("pages exist from their first write until they are released", "[paged]") {
  const int64_t page = sysconf(_SC_PAGESIZE) / 4, n = 10 * page + 7;  // f32 elements; the last page is used in part
  const size_t page_bytes = static_cast<size_t>(page) * 4;
  const Tensor x = paged_zeros({n}, f32);
  CHECK(resident_bytes(x) == 0);
  x.view_slice(0, 2 * page, 4 * page).fill(3);
  x.view_slice(0, 10 * page, n).fill(5);
  CHECK(resident_bytes(x) == 2 * page_bytes + 7 * 4);
  CHECK(resident_bytes(x.view_slice(0, 3 * page + 1, 5 * page)) == page_bytes - 4);
  x.view_slice(0, page, 5 * page).fill(2);
  const uint64_t writes = x.storage()->writes;

  // A range that begins and ends within pages: only the whole pages 2 and 3 are released.
  release_pages(x, 2 * page - 1, 4 * page + 1);
  CHECK(resident_bytes(x) == 2 * page_bytes + 7 * 4);
  CHECK(x.view_select(0, 2 * page - 1).item() == 2);
  CHECK(x.view_select(0, 4 * page).item() == 2);
  CHECK(x.view_select(0, 3 * page).item() == 0);
  CHECK(x.view_select(0, n - 1).item() == 5);
  CHECK(x.storage()->writes == writes);

  release_pages(x, 0, n - 1);  // the last page holds one more element
  CHECK(x.view_select(0, n - 1).item() == 5);
  release_pages(x, 0, n);
  CHECK(resident_bytes(x) == 0);
  x.fill(1);
  CHECK(resident_bytes(x) == static_cast<size_t>(n) * 4);
}

TEST_CASE("large pages change no element and are released in parts", "[paged]") {
  const int64_t n = 6 << 20;  // f32: 24 MB
  const Tensor x = paged_zeros({n}, f32);
  use_large_pages(x, 0, n);
  use_large_pages(x, 5, 5);
  x.fill(7);
  CHECK(resident_bytes(x) == static_cast<size_t>(n) * 4);
  release_pages(x, 16384, n - 16384);
  CHECK(resident_bytes(x) == 2 * 16384 * 4);
  CHECK(x.view_select(0, 16383).item() == 7);
  CHECK(x.view_select(0, 16384).item() == 0);
  CHECK(x.view_select(0, n - 16384).item() == 7);
  CHECK_THROWS_AS(use_large_pages(x, 1, n + 1), Error);
  use_large_pages(Tensor::ones({3}), 0, 3);
}

TEST_CASE("paged memory under a slice of another slice and bf16", "[paged]") {
  const int64_t page = sysconf(_SC_PAGESIZE) / 2;
  const Tensor x = paged_zeros({4, page}, bf16);
  x.fill(1);
  const Tensor rows = x.view_slice(0, 1, 3);
  release_pages(rows, 0, page);
  CHECK(x.to_vector()[static_cast<size_t>(page - 1)] == 1);
  CHECK(x.to_vector()[static_cast<size_t>(page)] == 0);
  CHECK(x.to_vector()[static_cast<size_t>(2 * page)] == 1);
}

TEST_CASE("paged memory that is empty or ordinary", "[paged]") {
  const Tensor none = paged_zeros({0}, f32);
  release_pages(none, 0, 0);
  CHECK(resident_bytes(none) == 0);
  const Tensor ordinary = Tensor::full({5000}, 4, f64);
  release_pages(ordinary, 0, 5000);
  CHECK(ordinary.view_select(0, 4999).item() == 4);
  CHECK(resident_bytes(ordinary) == 40000);
  CHECK(resident_bytes(Tensor()) == 0);
  CHECK_THROWS_AS(release_pages(ordinary, 3, 5001), Error);
  CHECK_THROWS_AS(release_pages(ordinary.view_slice(0, 0, 5000, 2), 0, 10), Error);
}
