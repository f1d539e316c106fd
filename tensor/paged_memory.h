#pragma once
// Memory of the CPU whose pages exist only where they have been written. A tensor has all its addresses, and a rank
// that needs a part of it holds that part only (nn/param_slab.h). memory_stats() does not count it.
#include "tensor/tensor.h"

namespace pg {

// A contiguous tensor of zeros. A page exists from the first write to it. Error if the system has no room for so many
// addresses.
Tensor paged_zeros(const Shape& shape, DType dtype);

// Gives the pages that lie within the elements [begin, end), in row-major order, back to the system. Their elements are
// zero then; those of pages that lie only in part within the range keep their values. Does nothing for memory that is
// not from paged_zeros(). It is no write of the elements (Storage::writes).
void release_pages(const Tensor& x, int64_t begin, int64_t end);

// For memory from paged_zeros() whose elements [begin, end) will all be written: lets the system use large pages there,
// which cost less to bring into being and to address. Does nothing where the system has none.
void use_large_pages(const Tensor& x, int64_t begin, int64_t end);

// Bytes that the elements of x occupy: of memory from paged_zeros() the pages that exist.
size_t resident_bytes(const Tensor& x);

}  // namespace pg
