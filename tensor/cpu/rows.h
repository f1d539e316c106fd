#pragma once
// Rows of a view in the type of computation T. A view that holds T is used in place; the rows of a bf16 view pass
// through a buffer of one row.
#include <utility>

#include "tensor/cpu/kernels_cpu.h"
#include "tensor/cpu/scratch.h"
#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

// Row buffer `number` of this thread; a kernel uses a different number for each of its views.
template <class T>
T* row_buffer(int number, int64_t n) {
  return scratch<T>(static_cast<Scratch>(static_cast<int>(Scratch::rows) + number), n);
}

// Rows written [R, C]: contiguous within a row, any step between rows. Higher ranks count as one list of rows.
template <class T>
class InRows {
 public:
  InRows(const View& v, int buffer) : view_(v), buffer_(buffer), held_(v.dtype == dtype_of<T>()) {
    const int rank = v.rank();
    size = rank ? v.shape.back() : 1;
    count = 1;
    for (int d = 0; d + 1 < rank; ++d) count *= v.shape[d];
    step = rank == 2 ? v.strides[0] : size;
  }
  // Valid until this thread requests another row.
  const T* operator[](int64_t row) const { return part(row, 0, size); }
  // Elements [begin, begin + n) of a row.
  const T* part(int64_t row, int64_t begin, int64_t n) const {
    const int64_t at = row * step + begin;
    return held_ ? view_.as<const T>() + at : widened(at, n);
  }
  int64_t count, size, step;

 protected:
  T* widened(int64_t at, int64_t n) const {
    T* to = row_buffer<T>(buffer_, n);
    if constexpr (std::is_same_v<T, float>) simd::convert(to, view_.as<const BFloat16>() + at, n);
    return to;
  }
  const View& view_;
  int buffer_;
  bool held_;
};

// Like InRows, for results.
template <class T>
class OutRows : private InRows<T> {
  using Base = InRows<T>;

 public:
  using Base::Base;
  using Base::count;
  using Base::size;
  using Base::step;
  // A row, or n elements of one, to be written; it contains its previous values if `reads`. A bf16 row is rounded and
  // stored when the Row goes out of scope.
  class Row {
   public:
    Row(const OutRows& rows, int64_t at, int64_t n, bool reads) : rows_(rows), at_(at), n_(n) {
      if (rows.held_) {
        data_ = rows.view_.template as<T>() + at;
      } else {
        data_ = reads ? rows.widened(at, n) : row_buffer<T>(rows.buffer_, n);
      }
    }
    ~Row() {
      if constexpr (std::is_same_v<T, float>) {
        if (!rows_.held_) {
          simd::convert(rows_.view_.template as<BFloat16>() + at_, static_cast<const T*>(data_), n_);
        }
      }
    }
    Row(const Row&) = delete;
    operator T*() const { return data_; }

   private:
    const OutRows& rows_;
    int64_t at_, n_;
    T* data_;
  };
  Row row(int64_t index, bool reads) const { return part(index, 0, size, reads); }
  Row part(int64_t index, int64_t begin, int64_t n, bool reads) const {
    return Row(*this, index * step + begin, n, reads);
  }
};

// A whole vector such as a layer's weights; null for an empty view. Valid until this thread requests the same buffer
// again.
template <class T>
const T* whole_row(const View& v, int buffer) {
  if (!v) return nullptr;
  const InRows<T> rows(v, buffer);
  return rows[0];
}

}  // namespace pg::cpu
