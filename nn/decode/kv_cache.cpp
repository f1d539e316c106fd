// Keys and values of earlier positions, per layer and row.
#include "nn/decode/kv_cache.h"

#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {

void KvSlot::check_new(const Tensor& new_k, const Tensor& new_v) const {
  for (const Tensor& x : {new_k, new_v}) {
    check(x.dtype() == k.dtype() && x.device() == k.device() && x.rank() == 4 && x.strides()[3] == 1 &&
              x.size(0) == k.size(0) && x.size(1) == k.size(1) && x.size(3) == k.size(3),
          "KvSlot: expected new keys and values {} [{}, {}, T, {}] on the device of the cache, the elements of a head "
          "adjacent, got {} {}",
          k.dtype(), k.size(0), k.size(1), k.size(3), x.dtype(), x.shape());
  }
}

void KvSlot::store(const Tensor& new_k, const Tensor& new_v) const {
  check_new(new_k, new_v);
  kernels(k.device()).kv_append(k, v, new_k, new_v, before);  // to the same place twice if the values are the keys
}

Tensor KvSlot::attention(const Tensor& q, const Tensor& new_k, const Tensor& new_v, AttentionOptions options) const {
  options.kv_len = after;
  if (grad_enabled()) {  // the tape may need q's gradient
    store(new_k, new_v);
    return pg::attention(q, k, v, options);
  }
  check_new(new_k, new_v);
  return attention_append(q, new_k, new_v, k, v, before, options);
}

KvCache::KvCache(int64_t rows, int64_t layers, int64_t heads, int64_t room, int64_t head_size, DType dtype,
                 Device device, bool values_are_keys)
    : lengths(Tensor::zeros({rows}, i32)) {
  for (int64_t i = 0; i < layers; ++i) {
    k.push_back(Tensor::zeros({rows, heads, room, head_size}, dtype, device));
    v.push_back(values_are_keys ? k.back() : Tensor::zeros({rows, heads, room, head_size}, dtype, device));
  }
}

KvCache KvCache::slice(int64_t begin, int64_t end) const {
  KvCache part;
  for (size_t i = 0; i < k.size(); ++i) {
    part.k.push_back(k[i].view_slice(0, begin, end));
    part.v.push_back(v[i].view_slice(0, begin, end));
  }
  part.lengths = lengths.view_slice(0, begin, end);
  return part;
}

void KvCache::copy_row(int64_t from, int64_t to) const {
  const int32_t length = lengths.data<const int32_t>()[from];
  for (size_t i = 0; i < k.size(); ++i) {
    const auto copy = [&](const Tensor& part) {
      part.view_select(0, to).view_slice(1, 0, length).copy_from(part.view_select(0, from).view_slice(1, 0, length));
    };
    copy(k[i]);
    if (v[i].storage() != k[i].storage()) copy(v[i]);
  }
  lengths.data<int32_t>()[to] = length;
}

std::vector<KvSlot> KvCache::slots(int64_t count) const {
  const Tensor before = lengths.clone(), after = lengths.clone();
  for (int32_t& length : after.data<int32_t>()) {
    check(length + count <= room(), "KvCache: a row with {} of {} positions has no room for {} more", length, room(),
          count);
    length += static_cast<int32_t>(count);
  }
  return slots(before.to(k[0].device()), after.to(k[0].device()));
}

std::vector<KvSlot> KvCache::slots(const Tensor& before, const Tensor& after) const {
  std::vector<KvSlot> result;
  for (size_t i = 0; i < k.size(); ++i) result.push_back({k[i], v[i], before, after});
  return result;
}

void KvCache::advance(int64_t count) const {
  for (int32_t& length : lengths.data<int32_t>()) length += static_cast<int32_t>(count);
}

}  // namespace pg
