// Collectives by NCCL, on a stream of their own.
#include "tensor/comm/nccl_rank.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <utility>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/cuda/nccl/add_i32.h"
#include "tensor/cuda/nccl/watch.h"
#include "tensor/kernels.h"

namespace pg {
namespace {

using Op = CollectiveCall::Op;
using cuda::Watch;

ncclDataType_t type_of(DType type) {
  switch (type) {
    case f32:
      return ncclFloat32;
    case f64:
      return ncclFloat64;
    case bf16:
      return ncclBfloat16;
    case i32:
      return ncclInt32;
    case u8:
      return ncclUint8;
  }
  fail("nccl: {} cannot be sent", name_of(type));
}

// The call of a rank with its number, as words that the ranks exchange.
struct Numbered {
  CollectiveCall call;
  int64_t number;
};
constexpr int64_t kWords = sizeof(Numbered) / sizeof(int32_t);

// What each rank calls, over `comm`, whose tensors are on the CPU.
std::vector<Numbered> calls_of_all(Comm& comm, const Numbered& own) {
  const Tensor words = Tensor::zeros({comm.size(), kWords}, i32);
  int32_t* all = words.data<int32_t>().data();
  std::memcpy(all + comm.rank() * kWords, &own, sizeof(own));
  comm.all_gather(words, kWords);
  std::vector<Numbered> calls(static_cast<size_t>(comm.size()));
  std::memcpy(static_cast<void*>(calls.data()), all, calls.size() * sizeof(own));
  return calls;
}
// Says which ranks call different collectives; "" if none do.
std::string difference(const std::vector<Numbered>& calls) {
  const auto text = [&](size_t r) {
    return fmt::format("rank {}: {}, call {}", r, name_of(calls[r].call), calls[r].number);
  };
  for (size_t r = 1; r < calls.size(); ++r) {
    if (calls[r].call == calls[0].call && calls[r].number == calls[0].number) continue;
    return fmt::format("the ranks call different collectives: {}; {}", text(0), text(r));
  }
  return "";
}

class NcclRank : public Comm {
 public:
  NcclRank(Comm& bootstrap, int device, const NcclOptions& options)
      : bootstrap_(bootstrap),
        device_{Device::Kind::cuda, static_cast<unsigned char>(device)},
        options_(options),
        watch_(device, options.timeout, [this](const std::string& what) { return explanation(what); }) {
    cuda::set_device(device);
    cuda::check(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming), "cudaEventCreate");
    const char* asks = std::getenv("POLICYGRAD_COMM_CHECK");
    options_.compare_calls |= asks && std::strcmp(asks, "1") == 0;
    ncclUniqueId id{};
    if (rank() == 0) watch_.call("ncclGetUniqueId", [&] { return ncclGetUniqueId(&id); });
    const Tensor bytes = Tensor::zeros({static_cast<int64_t>(sizeof(id))}, u8);
    uint8_t* at = bytes.data<uint8_t>().data();
    std::memcpy(at, &id, sizeof(id));
    bootstrap.broadcast(bytes, 0);
    std::memcpy(&id, at, sizeof(id));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    watch_.call("ncclCommInitRank",
                [&] { return ncclCommInitRankConfig(&watch_.comm(), size(), id, rank(), &config); });
  }

  ~NcclRank() override {
    try {
      cuda::set_device(device_.index);
      if (std::uncaught_exceptions() == 0) {  // otherwise the other ranks may wait for ever
        watch_.wait_for_all();
        watch_.call("ncclCommFinalize", [&] { return ncclCommFinalize(watch_.comm()); });
        watch_.call("ncclCommDestroy", [&] { return ncclCommDestroy(std::exchange(watch_.comm(), nullptr)); });
      }
    } catch (const std::exception&) {  // the watch aborts the communicator
    }
    cuda::note(cudaEventDestroy(ready_), "cudaEventDestroy");
  }

  int rank() const override { return bootstrap_.rank(); }
  int size() const override { return bootstrap_.size(); }
  const char* name() const override { return "NCCL"; }
  Device device() const override { return device_; }
  bool sums_in_order() const override { return false; }

  void wait(Ticket ticket) override {
    check(ticket <= started_, "wait: ticket {} of {} collectives", ticket, started_);
    watch_.check_alive();
    cuda::set_device(device_.index);
    while (!pending_.empty() && pending_.front().ticket <= ticket) {
      const Pending first = std::move(pending_.front());
      pending_.pop_front();
      if (first.span) {
        cuda::check(cudaStreamWaitEvent(cuda::stream(), first.span->end, 0), "cudaStreamWaitEvent");
      }
    }
  }

  void barrier() override {
    watch_.check_alive();
    cuda::set_device(device_.index);
    watch_.wait_for_all();
    bootstrap_.barrier();
  }

  void abandon(const std::string& reason) override {
    bootstrap_.abandon(reason);
    watch_.abort(fmt::format("rank {} has failed: {}", rank(), reason));
    cuda::set_device(device_.index);
    cudaStreamSynchronize(comm_stream());
    cudaGetLastError();
    pending_.clear();
  }

 protected:
  Ticket submit(const CollectiveCall& call, const Tensor& x, const Tensor& into, bool) override {
    watch_.check_alive();
    cuda::set_device(device_.index);
    check(!cuda::capturing(), "{}: a collective cannot be part of a recorded graph", name_of(call));
    {
      const std::lock_guard lock(last_mutex_);
      last_ = {call, static_cast<int64_t>(started_) + 1};
    }
    if (options_.compare_calls) {
      const std::string found = difference(calls_of_all(bootstrap_, last_));
      if (!found.empty()) watch_.abort(found);
      check(found.empty(), "{}", found);
    }
    Pending p{.ticket = ++started_};
    if (call.n > 0) {
      prepare(call, x, into, p);
      run(call, x, p);
    }
    pending_.push_back(std::move(p));
    return started_;
  }

 private:
  // A collective that has started. The tensors keep the memory until wait(), when the next user of the memory, which
  // comes later in the compute stream, comes after the collective.
  struct Pending {
    Ticket ticket = 0;
    std::shared_ptr<const cuda::Span> span = nullptr;
    Tensor x = {}, into = {};
    Tensor sum = {};  // is added to `into`
    Tensor zeros = {};
    void* to = nullptr;  // where a reduce_scatter writes
  };

  // In the stream of collectives: one that comes later may send the sum.
  void add(const Tensor& y, const Tensor& x) const {
    const cuda::OnStream here(comm_stream());
    if (x.dtype() != i32) return kernels(device_).accumulate(y, x, 1);
    cuda::add_i32(static_cast<int32_t*>(y.view().data), static_cast<const int32_t*>(x.view().data), x.numel());
  }

  static cudaStream_t comm_stream() { return cuda::of_current_device<cuda::Context>().comm; }

  std::string prefix(const Numbered& call) const {
    return fmt::format("rank {}: {}, call {}", rank(), name_of(call.call), call.number);
  }

  // Why `what` is not done: over the bootstrap, the ranks that still answer say what they wait in.
  std::string explanation(const std::string& what) {
    Numbered own;
    {
      const std::lock_guard lock(last_mutex_);
      own = last_;
    }
    try {
      const std::string found = difference(calls_of_all(bootstrap_, own));
      if (!found.empty()) return found;
      return fmt::format("{}, though all ranks have called it", what);
    } catch (const std::exception& e) {
      return fmt::format("{}: {}", what, e.what());
    }
  }

  // Memory that the collective needs, in the order of the compute stream.
  void prepare(const CollectiveCall& call, const Tensor& x, const Tensor& into, Pending& p) {
    p.x = x;
    p.into = into;
    if (call.op != Op::reduce_scatter) return;
    const Shard own = shard_of(call.n, rank(), size(), call.unit);
    if (call.add) p.sum = Tensor::empty({own.size()}, x.dtype(), device_);
    if (rank() >= call.terms) {
      p.zeros = Tensor::zeros({shard_of(call.n, 0, size(), call.unit).size()}, x.dtype(), device_);
    }
    const Tensor& to = call.add ? p.sum : into;
    p.to = to.defined() ? to.view().data : at(x, own.begin);
  }

  static void* at(const Tensor& x, int64_t element) {
    return static_cast<char*>(x.view().data) + element * static_cast<int64_t>(size_of(x.dtype()));
  }

  void run(const CollectiveCall& call, const Tensor& x, Pending& p) {
    const cudaStream_t stream = comm_stream();
    cuda::check(cudaEventRecord(ready_, cuda::stream()), "cudaEventRecord");
    if (options_.waits_for_kernels) cuda::check(cudaStreamWaitEvent(stream, ready_, 0), "cudaStreamWaitEvent");
    const auto span = std::make_shared<const cuda::Span>();
    cuda::check(cudaEventRecord(span->begin, stream), "cudaEventRecord");
    const std::string what = prefix({call, static_cast<int64_t>(p.ticket)});
    watch_.call(what, [&] { return enqueue(call, x, p, stream); });
    if (p.sum.defined()) add(p.into, p.sum);
    cuda::check(cudaEventRecord(span->end, stream), "cudaEventRecord");
    p.span = span;
    watch_.observe(what, span);
  }

  ncclResult_t enqueue(const CollectiveCall& call, const Tensor& x, const Pending& p, cudaStream_t stream) {
    const ncclDataType_t type = type_of(x.dtype());
    const ncclComm_t comm = watch_.comm();
    const auto n = static_cast<size_t>(call.n);
    if (call.op == Op::all_reduce) return ncclAllReduce(at(x, 0), at(x, 0), n, type, ncclSum, comm, stream);
    if (call.op == Op::broadcast) return ncclBroadcast(at(x, 0), at(x, 0), n, type, call.root, comm, stream);
    const Shard own = shard_of(call.n, rank(), size(), call.unit);
    const auto each = static_cast<size_t>(own.size());
    const bool even =
        shard_of(call.n, 0, size(), call.unit).size() == shard_of(call.n, size() - 1, size(), call.unit).size();
    const bool gathers = call.op == Op::all_gather;
    if (even && gathers) return ncclAllGather(at(x, own.begin), at(x, 0), each, type, comm, stream);
    if (even && call.terms == size()) return ncclReduceScatter(at(x, 0), p.to, each, type, ncclSum, comm, stream);
    ncclResult_t first = ncclGroupStart();
    for (int r = 0; r < size() && first == ncclSuccess; ++r) {
      const Shard shard = shard_of(call.n, r, size(), call.unit);
      const auto count = static_cast<size_t>(shard.size());
      if (count == 0) continue;
      void* const its = at(x, shard.begin);
      if (gathers) {
        first = ncclBroadcast(its, its, count, type, r, comm, stream);
      } else {
        const void* term = p.zeros.defined() ? p.zeros.view().data : its;
        first = ncclReduce(term, p.to, count, type, ncclSum, r, comm, stream);
      }
    }
    const ncclResult_t last = ncclGroupEnd();
    return first == ncclSuccess || first == ncclInProgress ? last : first;
  }

  Comm& bootstrap_;
  const Device device_;
  NcclOptions options_;
  cudaEvent_t ready_ = nullptr;  // recorded again for each collective
  Ticket started_ = 0;
  std::deque<Pending> pending_;
  std::mutex last_mutex_;
  Numbered last_{};  // the latest call
  Watch watch_;      // its thread uses the members above
};

}  // namespace

std::unique_ptr<Comm> nccl_rank(Comm& bootstrap, int device, const NcclOptions& options) {
  const int devices = backend(Device::Kind::cuda).device_count();
  check(device >= 0 && device < devices, "nccl: rank {} is to use cuda:{}, but this machine has {} CUDA device{}",
        bootstrap.rank(), device, devices, devices == 1 ? "" : "s");
  check(bootstrap.device().on_host(),
        "nccl: the group that brings the ranks together must have its tensors on the CPU");
  check(options.timeout > 0, "nccl: the timeout must be above 0 s, got {}", options.timeout);
  return std::make_unique<NcclRank>(bootstrap, device, options);
}

std::string nccl_version() {
  int version = 0;
  if (ncclGetVersion(&version) != ncclSuccess) return "";
  std::string text = fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
#if defined(NCCL_SIMULATED)
  text += " (simulated)";
#endif
  return text;
}

}  // namespace pg
