// The arguments of collectives, checked once for all implementations; the group of one rank.
#include "tensor/comm/comm.h"

#include <algorithm>
#include <string_view>

#include "tensor/base/error.h"
#include "tensor/kernels.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;

class SingleRank : public Comm {
 public:
  explicit SingleRank(Device device) : device_(device) {}
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const char* name() const override { return "one rank"; }
  Device device() const override { return device_; }
  void barrier() override {}
  void wait(Ticket) override {}
  void abandon(const std::string&) override {}

 protected:
  Ticket submit(const CollectiveCall& call, const Tensor& x, const Tensor& into, bool) override {
    if (call.op == Op::reduce_scatter && into.defined()) {
      const Tensor all = x.view_reshape({x.numel()});
      call.add ? kernels(device_).accumulate(into, all, 1) : into.copy_from(all);
    }
    return 0;
  }

 private:
  Device device_;
};

CollectiveCall checked(const Comm& comm, Op op, const Tensor& x) {
  const char* name = name_of(op);
  check(x.defined(), "{}: the tensor is undefined", name);
  check(x.device() == comm.device(), "{}: the tensor is on {}, expected {}", name, to_string(x.device()),
        to_string(comm.device()));
  check(x.contiguous(), "{}: the tensor {} is not contiguous; use contiguous_copy()", name, x.shape());
  const bool reduces = adds_up(op);
  check(!reduces || x.dtype() != u8, "{}: u8 cannot be added up without loss; convert to i32", name);
  return {.op = op, .dtype = static_cast<int32_t>(x.dtype()), .terms = reduces ? comm.size() : 0, .n = x.numel()};
}

}  // namespace

Shard shard_of(int64_t n, int rank, int ranks, int64_t unit) {
  check(n >= 0 && ranks >= 1 && rank >= 0 && rank < ranks && unit >= 1,
        "shard_of: rank {} of {} ranks, {} elements in units of {}", rank, ranks, n, unit);
  // The first shards have one unit more; units·rank could overflow.
  const int64_t units = n / unit + (n % unit != 0), each = units / ranks, more = units % ranks;
  const auto begin = [&](int64_t r) {
    const int64_t first = r * each + std::min(r, more);
    return first >= units ? n : first * unit;
  };
  return {begin(rank), begin(rank + 1)};
}

Comm::Ticket Comm::begin_all_reduce(const Tensor& x, bool waits) {
  return submit(checked(*this, Op::all_reduce, x), x, {}, waits);
}

Comm::Ticket Comm::begin_reduce_scatter(const Tensor& x, const ReduceOptions& o, bool waits) {
  CollectiveCall call = checked(*this, Op::reduce_scatter, x);
  check(o.terms >= 0 && o.terms <= size(), "reduce_scatter: {} terms, expected 0 to {}, the number of ranks", o.terms,
        size());
  const Shard own = shard_of(x.numel(), rank(), size(), o.unit);
  if (o.into.defined()) {
    check(o.into.numel() == own.size() && o.into.dtype() == x.dtype() && o.into.contiguous(),
          "reduce_scatter: `into` is {} {}, expected a contiguous {} of {} elements, the own shard", o.into.dtype(),
          o.into.shape(), x.dtype(), own.size());
    check(o.into.device() == device(), "reduce_scatter: `into` is on {}, expected {}", to_string(o.into.device()),
          to_string(device()));
  }
  check(o.into.defined() || !o.add, "reduce_scatter: `add` needs `into`");
  call.unit = o.unit;
  call.add = o.add;
  if (o.terms > 0) call.terms = o.terms;
  return submit(call, x, o.into, waits);
}

Comm::Ticket Comm::begin_all_gather(const Tensor& x, int64_t unit, bool waits) {
  CollectiveCall call = checked(*this, Op::all_gather, x);
  shard_of(x.numel(), 0, size(), unit);
  call.unit = unit;
  return submit(call, x, {}, waits);
}

Comm::Ticket Comm::begin_broadcast(const Tensor& x, int root, bool waits) {
  CollectiveCall call = checked(*this, Op::broadcast, x);
  check(root >= 0 && root < size(), "broadcast: root {} is not one of the ranks, which are 0 to {}", root, size() - 1);
  call.root = root;
  return submit(call, x, {}, waits);
}

std::unique_ptr<Comm> single_rank(Device device) { return std::make_unique<SingleRank>(device); }

std::string broadcast_text(Comm& comm, const std::string& text) {
  if (comm.size() == 1) return text;
  // The length first, then the bytes.
  const Tensor length = Tensor::full({1}, static_cast<double>(text.size()), f64).to(comm.device());
  comm.broadcast(length, 0);
  constexpr double most = 256 << 20;
  check(length.item() >= 0 && length.item() <= most, "broadcast_text: rank 0 has {} bytes, expected 0 to {}",
        length.item(), most);
  std::vector<int32_t> bytes(static_cast<size_t>(length.item()));
  for (size_t i = 0; comm.rank() == 0 && i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(text[i]);
  const Tensor all = Tensor::from(bytes, {std::ssize(bytes)}).to(comm.device());
  comm.broadcast(all, 0);
  std::string of_first;
  for (const double c : all.to_vector()) of_first += static_cast<char>(static_cast<int>(c));
  return of_first;
}

void check_same_on_all_ranks(Comm& comm, const std::string& what, const std::string& text) {
  const std::string expected = broadcast_text(comm, text);
  std::vector<double> differs(static_cast<size_t>(comm.size()));
  differs[static_cast<size_t>(comm.rank())] = text != expected;
  const Tensor all = Tensor::from(differs, {comm.size()}).to(comm.device());
  comm.all_reduce(all);
  const std::vector<double> whole = all.to_vector();
  const auto found = std::find(whole.begin(), whole.end(), 1.0);
  if (found == whole.end()) return;
  const auto line_at = [](const std::string& s, size_t at) {
    const size_t begin = at == 0 ? std::string::npos : s.rfind('\n', at - 1);
    const size_t from = begin == std::string::npos ? 0 : begin + 1;
    return s.substr(from, s.find('\n', from) - from);
  };
  const auto other = static_cast<int>(found - whole.begin());
  std::string line;  // only a rank that differs knows its own
  if (text != expected) {
    const auto [mine, its] = std::mismatch(text.begin(), text.end(), expected.begin(), expected.end());
    line = fmt::format(": \"{}\" instead of \"{}\"", line_at(text, static_cast<size_t>(mine - text.begin())),
                       line_at(expected, static_cast<size_t>(its - expected.begin())));
  }
  fail("the ranks have different {}: rank {} differs from rank 0{}", what, text != expected ? comm.rank() : other,
       line);
}

}  // namespace pg
