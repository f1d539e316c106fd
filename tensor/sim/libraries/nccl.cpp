// The NCCL of the simulator: each rank copies what it sends out of its device's memory, waits until all ranks have, and
// writes what it receives. Both are work of its stream, so that the simulator checks their order with other work.
#include "tensor/sim/include/nccl.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/sim/include/cuda_bf16.h"
#include "tensor/sim/libraries/nccl_world.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/stream.h"

using namespace pg::sim;

namespace {

enum class Kind { all_reduce, reduce, reduce_scatter, all_gather, broadcast };
constexpr const char* kNames[] = {"ncclAllReduce", "ncclReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast"};

// A collective of one rank.
struct Call {
  Kind kind;
  size_t count;
  ncclDataType_t type;
  int root;
  const void* send;
  void* receive;
  cudaStream_t stream;
};

size_t size_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclFloat64 ? 8 : 4;
}

thread_local int group_depth = 0;
thread_local std::vector<Call> group_calls;
thread_local ncclComm_t group_comm = nullptr;

void add_use_of(const void* memory, size_t bytes, bool write) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  Uses uses;
  add_use(&uses, find_allocation(address).number, {address, address + bytes, write});
  add_uses_of_running_work(uses);
}

// Sums over the ranks in turns: element i begins with rank i % ranks.
template <class T, class Add>
void sum(const std::vector<const T*>& terms, size_t first, size_t count, T* to, const Add& add) {
  for (size_t i = 0; i < count; ++i) {
    const size_t at = first + i, n = terms.size();
    T total = terms[at % n][at];
    for (size_t r = 1; r < n; ++r) total = add(total, terms[(at + r) % n][at]);
    to[i] = total;
  }
}
void sum_of(ncclDataType_t type, const std::vector<const char*>& terms, size_t first, size_t count, char* to) {
  const auto as = [&]<class T>(T, const auto& add) {
    std::vector<const T*> typed;
    for (const char* term : terms) typed.push_back(reinterpret_cast<const T*>(term));
    sum(typed, first, count, reinterpret_cast<T*>(to), add);
  };
  const auto plain = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
  if (type == ncclFloat32) as(float{}, plain);
  if (type == ncclFloat64) as(double{}, plain);
  if (type == ncclInt32) as(uint32_t{}, plain);
  if (type == ncclUint8) as(uint8_t{}, plain);
  if (type == ncclBfloat16) {
    as(uint16_t{}, [](uint16_t a, uint16_t b) { return bf16_round(bf16_to_float(a) + bf16_to_float(b)); });
  }
}

}  // namespace

struct ncclComm {
  std::unique_ptr<World> world;
  int rank = 0, ranks = 0, device = 0;
  bool blocking = true;
  std::thread::id thread;  // that has started the work in progress
  bool joins = false, works = false;
  uint64_t round = 0;       // number of the latest
  std::vector<Call> calls;  // of that round

  bool sends(const Call& call) const { return call.kind != Kind::broadcast || call.root == rank; }
  bool receives(const Call& call) const { return call.kind != Kind::reduce || call.root == rank; }
  size_t sent_bytes(const Call& call) const {
    const size_t bytes = call.count * size_of(call.type);
    return call.kind == Kind::reduce_scatter ? bytes * static_cast<size_t>(ranks) : bytes;
  }

  // What this rank receives in call number i of the round, which all ranks have published.
  std::vector<char> result(size_t i) const {
    const Call& call = calls[i];
    const size_t bytes = call.count * size_of(call.type);
    if (call.kind == Kind::broadcast) {
      const char* of_root = world->sent(call.root, round, i);
      return {of_root, of_root + bytes};
    }
    std::vector<const char*> terms;
    for (int r = 0; r < ranks; ++r) terms.push_back(world->sent(r, round, i));
    std::vector<char> result(bytes * (call.kind == Kind::all_gather ? terms.size() : 1));
    if (call.kind == Kind::all_gather) {
      for (size_t r = 0; r < terms.size() && bytes > 0; ++r) std::memcpy(result.data() + r * bytes, terms[r], bytes);
    } else {
      const size_t first = call.kind == Kind::reduce_scatter ? static_cast<size_t>(rank) * call.count : 0;
      sum_of(call.type, terms, first, call.count, result.data());
    }
    return result;
  }

  // The state of the work in progress, which this advances.
  ncclResult_t advance() {
    const ncclResult_t not_yet = world->aborted() ? ncclRemoteError : ncclInProgress;
    if (joins) {
      if (!world->complete(ranks)) return not_yet;
      joins = false;
      return ncclSuccess;
    }
    if (!works) return world->aborted() ? ncclRemoteError : ncclSuccess;
    if (std::this_thread::get_id() != thread || !world->agreed(ranks, round)) return not_yet;
    works = false;
    for (size_t i = 0; i < calls.size(); ++i) {
      const Call& call = calls[i];
      const std::vector<char> bytes = result(i);
      if (bytes.empty() || !receives(call)) continue;
      give(call.stream, {kNames[static_cast<int>(call.kind)], [&] {
                           std::memcpy(call.receive, bytes.data(), bytes.size());
                           add_use_of(call.receive, bytes.size(), true);
                         }});
    }
    return ncclSuccess;
  }

  ncclResult_t finish() {
    ncclResult_t state = ncclInProgress;
    if (!blocking) return state;
    while ((state = advance()) == ncclInProgress) std::this_thread::yield();
    return state;
  }

  ncclResult_t start(std::vector<Call> given) {
    if (works || joins) return ncclInvalidUsage;
    std::vector<WorldCall> posted;
    std::vector<std::vector<char>> sent(given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      const Call& call = given[i];
      posted.push_back({static_cast<int>(call.kind), static_cast<int>(call.type), call.root, call.count});
      if (call.stream == nullptr || call.stream->device != device || call.stream->capture) return ncclInvalidUsage;
      const char* name = kNames[static_cast<int>(call.kind)];
      const size_t bytes = sent_bytes(call);
      for (const void* memory :
           {sends(call) ? call.send : nullptr, receives(call) ? static_cast<const void*>(call.receive) : nullptr}) {
        if (!memory || bytes == 0) continue;
        require_allocated(name, memory, 1);
        if (find_allocation(reinterpret_cast<uintptr_t>(memory)).device != device) return ncclInvalidArgument;
      }
      if (!sends(call) || bytes == 0) continue;
      give(call.stream, {name, [&] {
                           require_allocated(name, call.send, bytes);
                           sent[i].assign(static_cast<const char*>(call.send),
                                          static_cast<const char*>(call.send) + bytes);
                           add_use_of(call.send, bytes, false);
                         }});
    }
    calls = std::move(given);
    world->post(rank, ++round, posted, sent);
    works = true;
    thread = std::this_thread::get_id();
    return finish();
  }
};

namespace {

ncclResult_t call(ncclComm_t comm, Call one) {
  if (!comm || one.root < 0 || one.root >= comm->ranks) return ncclInvalidArgument;
  if (group_depth == 0) return comm->start({std::move(one)});
  if (group_comm && group_comm != comm) return ncclInvalidUsage;  // NCCL could, this one cannot
  group_comm = comm;
  group_calls.push_back(std::move(one));
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_MAJOR * 10000 + NCCL_MINOR * 100 + NCCL_PATCH;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* texts[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return texts[result];
}
const char* ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::string path = World::new_path();
  if (path.size() >= sizeof(id->internal)) return ncclSystemError;
  *id = {};
  std::memcpy(id->internal, path.data(), path.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (ranks < 1 || ranks > World::kMostRanks || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  *comm = new ncclComm;
  (*comm)->world = std::make_unique<World>(id.internal);
  (*comm)->rank = rank;
  (*comm)->ranks = ranks;
  (*comm)->device = current_device();
  (*comm)->blocking = config->blocking != 0;
  (*comm)->joins = true;
  (*comm)->world->join(rank);
  return (*comm)->finish();
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = comm->advance();
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) { return comm->works ? ncclInvalidUsage : ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->world->abort();
  delete comm;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group_depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (group_depth == 0) return ncclInvalidUsage;
  if (--group_depth > 0 || !group_comm) return ncclSuccess;
  const ncclComm_t comm = std::exchange(group_comm, nullptr);
  return comm->start(std::exchange(group_calls, {}));
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t,
                           ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::all_reduce, count, type, 0, send, receive, stream});
}
ncclResult_t ncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::reduce, count, type, root, send, receive, stream});
}
ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t receive_count, ncclDataType_t type, ncclRedOp_t,
                               ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::reduce_scatter, receive_count, type, 0, send, receive, stream});
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t send_count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, {Kind::all_gather, send_count, type, 0, send, receive, stream});
}
ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::broadcast, count, type, root, send, receive, stream});
}
