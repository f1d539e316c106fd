// The NCCL of the simulator: each rank copies what it sends out of its device's memory, waits until all ranks have, and
// writes what it receives. Both are work of its stream, so that the simulator checks their order with other work.
#include "tensor/sim/include/nccl.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/sim/include/cuda_bf16.h"
#include "tensor/sim/memory.h"
#include "tensor/sim/stream.h"

using namespace pg::sim;

namespace {

enum class Kind { all_reduce, reduce, reduce_scatter, all_gather, broadcast };
constexpr const char* kNames[] = {"ncclAllReduce", "ncclReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast"};

// A collective of one rank. What all ranks must agree on comes first.
struct Call {
  Kind kind;
  size_t count;
  ncclDataType_t type;
  int root;
  const void* send;
  void* receive;
  cudaStream_t stream;
  std::vector<char> sent = {};  // a copy of the bytes at `send`
  bool agrees(const Call& o) const { return kind == o.kind && count == o.count && type == o.type && root == o.root; }
};

size_t size_of(ncclDataType_t type) {
  return type == ncclUint8 ? 1 : type == ncclBfloat16 ? 2 : type == ncclFloat64 ? 8 : 4;
}

// A group of ranks.
struct World {
  explicit World(int ranks) : ranks(ranks), joined(static_cast<size_t>(ranks)) {}
  const int ranks;
  std::mutex mutex;
  std::vector<bool> joined;
  bool aborted = false;
  // By number: the calls of each rank in one group of calls, and how many ranks have their results.
  struct Round {
    std::map<int, std::vector<Call>> calls;
    int taken = 0;
  };
  std::map<uint64_t, Round> rounds;

  bool complete(const Round& round) const {
    if (static_cast<int>(round.calls.size()) < ranks) return false;
    const auto& first = round.calls.begin()->second;
    for (const auto& [rank, calls] : round.calls) {
      if (calls.size() != first.size()) return false;
      for (size_t i = 0; i < calls.size(); ++i) {
        if (!calls[i].agrees(first[i])) return false;
      }
    }
    return true;
  }
};

std::mutex worlds_mutex;
std::map<uint64_t, std::weak_ptr<World>>& worlds() {
  static auto* all = new std::map<uint64_t, std::weak_ptr<World>>;
  return *all;
}
uint64_t world_count = 0;

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
  std::shared_ptr<World> world;
  int rank = 0, device = 0;
  bool blocking = true;
  std::thread::id thread;  // that has started the work in progress
  bool joins = false, works = false;
  uint64_t round = 0;  // number of the latest

  bool sends(const Call& call) const { return call.kind != Kind::broadcast || call.root == rank; }
  bool receives(const Call& call) const { return call.kind != Kind::reduce || call.root == rank; }
  size_t sent_bytes(const Call& call) const {
    const size_t bytes = call.count * size_of(call.type);
    return call.kind == Kind::reduce_scatter ? bytes * static_cast<size_t>(world->ranks) : bytes;
  }

  // What this rank receives from a complete round, in the order of its calls.
  std::vector<std::vector<char>> results(const World::Round& round) const {
    std::vector<std::vector<char>> all;
    const std::vector<Call>& own = round.calls.at(rank);
    for (size_t i = 0; i < own.size(); ++i) {
      const Call& call = own[i];
      std::vector<const char*> terms;
      for (const auto& [r, calls] : round.calls) terms.push_back(calls[i].sent.data());
      const size_t bytes = call.count * size_of(call.type);
      std::vector<char>& result = all.emplace_back(bytes * (call.kind == Kind::all_gather ? terms.size() : 1));
      if (call.kind == Kind::broadcast) {
        result = round.calls.at(call.root)[i].sent;
      } else if (call.kind == Kind::all_gather) {
        for (size_t r = 0; r < terms.size() && bytes > 0; ++r) std::memcpy(result.data() + r * bytes, terms[r], bytes);
      } else {
        const size_t first = call.kind == Kind::reduce_scatter ? static_cast<size_t>(rank) * call.count : 0;
        sum_of(call.type, terms, first, call.count, result.data());
      }
    }
    return all;
  }

  // The state of the work in progress, which this advances.
  ncclResult_t advance() {
    std::unique_lock lock(world->mutex);
    const ncclResult_t not_yet = world->aborted ? ncclRemoteError : ncclInProgress;
    if (joins) {
      for (const bool there : world->joined) {
        if (!there) return not_yet;
      }
      joins = false;
      return ncclSuccess;
    }
    if (!works) return world->aborted ? ncclRemoteError : ncclSuccess;
    const auto found = world->rounds.find(round);
    if (std::this_thread::get_id() != thread || !world->complete(found->second)) return not_yet;
    const auto received = results(found->second);
    const std::vector<Call> calls = found->second.calls.at(rank);
    if (++found->second.taken == world->ranks) world->rounds.erase(found);
    works = false;
    lock.unlock();
    for (size_t i = 0; i < calls.size(); ++i) {
      const Call& call = calls[i];
      const std::vector<char>& bytes = received[i];
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

  ncclResult_t start(std::vector<Call> calls) {
    if (works || joins) return ncclInvalidUsage;
    for (Call& call : calls) {
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
                           call.sent.assign(static_cast<const char*>(call.send),
                                            static_cast<const char*>(call.send) + bytes);
                           add_use_of(call.send, bytes, false);
                         }});
    }
    {
      const std::lock_guard lock(world->mutex);
      world->rounds[++round].calls[rank] = std::move(calls);
    }
    works = true;
    thread = std::this_thread::get_id();
    return finish();
  }
};

namespace {

ncclResult_t call(ncclComm_t comm, Call one) {
  if (!comm || one.root < 0 || one.root >= comm->world->ranks) return ncclInvalidArgument;
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
  const std::lock_guard lock(worlds_mutex);
  *id = {};
  ++world_count;
  std::memcpy(id->internal, &world_count, sizeof(world_count));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (ranks < 1 || rank < 0 || rank >= ranks) return ncclInvalidArgument;
  uint64_t number;
  std::memcpy(&number, id.internal, sizeof(number));
  *comm = new ncclComm;
  {
    const std::lock_guard lock(worlds_mutex);
    (*comm)->world = worlds()[number].lock();
    if (!(*comm)->world) worlds()[number] = (*comm)->world = std::make_shared<World>(ranks);
  }
  (*comm)->rank = rank;
  (*comm)->device = current_device();
  (*comm)->blocking = config->blocking != 0;
  (*comm)->joins = true;
  {
    const std::lock_guard lock((*comm)->world->mutex);
    (*comm)->world->joined[static_cast<size_t>(rank)] = true;
  }
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
  {
    const std::lock_guard lock(comm->world->mutex);
    comm->world->aborted = true;
  }
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
