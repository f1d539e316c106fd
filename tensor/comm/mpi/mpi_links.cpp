// Links over MPI. Every call of MPI is made under one lock, because collectives run in different threads.
#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/comm/links.h"

namespace pg {
namespace {

constexpr int kElements = 1, kWords = 2;  // tags
using Clock = std::chrono::steady_clock;

// What lives until the process ends: ranks say farewell then, and MPI ends.
struct World {
  std::mutex mutex;
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 1;
  std::string failure;
  // One message from each other rank: the reason why it gives up, its own or another rank's, or "" at its end.
  std::vector<LastWords> words;
  std::vector<MPI_Request> hears;
  std::vector<bool> left;
  LastWords own;
  std::vector<MPI_Request> says;

  World() : rank(-1) {}
  void say(const std::string& text) {
    if (!says.empty()) return;
    own = LastWords::of(text);
    for (int r = 0; r < size; ++r) {
      if (r == rank) continue;
      says.emplace_back();
      MPI_Isend(&own, sizeof own, MPI_BYTE, r, kWords, comm, &says.back());
    }
  }
  // Returns whether the last message of another rank has arrived. Then all its earlier messages have arrived too, and
  // a test completes them.
  bool hear() {
    bool heard = false;
    for (int r = 0; r < size; ++r) {
      const auto i = static_cast<size_t>(r);
      if (r == rank || left[i]) continue;
      int done = 0;
      MPI_Test(&hears[i], &done, MPI_STATUS_IGNORE);
      if (!done) continue;
      heard = left[i] = true;
      if (failure.empty()) failure = words[i].reason;
    }
    return heard;
  }
  bool alone() const {
    for (int r = 0; r < size; ++r) {
      if (r != rank && !left[static_cast<size_t>(r)]) return false;
    }
    return true;
  }
};
World& world() {
  static World* all = new World;  // it must exist at the very end
  return *all;
}

// After a failure the others have some seconds to say theirs; mpirun would wait for ever.
void end() {
  World& w = world();
  const std::lock_guard lock(w.mutex);
  w.say(w.failure);
  const auto start = Clock::now();
  for (;;) {
    w.hear();
    if (w.alone()) break;
    if (!w.failure.empty() && Clock::now() - start > std::chrono::seconds(5)) break;
    usleep(1000);
  }
  if (!w.failure.empty()) {
    std::fflush(nullptr);
    usleep(100'000);  // what the ranks have printed is on its way through mpirun
    MPI_Abort(w.comm, 1);
  }
  MPI_Waitall(static_cast<int>(w.says.size()), w.says.data(), MPI_STATUSES_IGNORE);
  MPI_Finalize();
}

void begin() {
  World& w = world();
  if (w.comm != MPI_COMM_NULL) return;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &given);
  check(given >= MPI_THREAD_SERIALIZED, "ranks: this MPI has no support for threads");
  MPI_Comm_dup(MPI_COMM_WORLD, &w.comm);
  MPI_Comm_set_errhandler(w.comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(w.comm, &w.rank);
  MPI_Comm_size(w.comm, &w.size);
  const auto n = static_cast<size_t>(w.size);
  w.words.resize(n);
  w.hears.resize(n, MPI_REQUEST_NULL);
  w.left.resize(n);
  for (int r = 0; r < w.size; ++r) {
    const auto i = static_cast<size_t>(r);
    if (r != w.rank) MPI_Irecv(&w.words[i], sizeof(LastWords), MPI_BYTE, r, kWords, w.comm, &w.hears[i]);
  }
  std::atexit(end);
}

class MpiLinks : public Links {
 public:
  MpiLinks() : w_(world()), sends_(static_cast<size_t>(w_.size)), receives_(sends_.size()) {}
  ~MpiLinks() override {
    const std::lock_guard lock(w_.mutex);
    w_.say(w_.failure);
  }
  int rank() const override { return w_.rank; }
  int size() const override { return w_.size; }
  const char* name() const override { return "MPI"; }

  void send(int to, const char* data, int64_t bytes) override {
    const std::lock_guard lock(w_.mutex);
    MPI_Request& request = sends_[static_cast<size_t>(to)].emplace_back();
    expect(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, kElements, w_.comm, &request), to);
  }
  void receive(int from, char* data, int64_t bytes) override {
    const std::lock_guard lock(w_.mutex);
    MPI_Request& request = receives_[static_cast<size_t>(from)].emplace_back();
    expect(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, kElements, w_.comm, &request), from);
  }
  int64_t sends_left(int to) const override { return std::ssize(sends_[static_cast<size_t>(to)]); }
  int64_t receives_left(int from) const override { return std::ssize(receives_[static_cast<size_t>(from)]); }
  bool has_left(int r) const override {
    const std::lock_guard lock(w_.mutex);
    return w_.left[static_cast<size_t>(r)];
  }
  std::string failure() const override {
    const std::lock_guard lock(w_.mutex);
    return w_.failure;
  }
  void give_up(const std::string& reason) override {
    const std::lock_guard lock(w_.mutex);
    if (!w_.failure.empty()) return;
    w_.failure = reason;
    w_.say(reason);
  }

  void progress(double seconds) override {
    auto start = Clock::now();
    for (int i = 0;; ++i) {
      {
        const std::lock_guard lock(w_.mutex);
        // This comes before the tests and gives them their time anew: a rank that has left may have untested messages.
        if (w_.hear()) start = Clock::now();
        bool moved = false;
        for (int r = 0; r < size(); ++r) {
          if (r == rank()) continue;
          moved |= test(sends_[static_cast<size_t>(r)], r);
          moved |= test(receives_[static_cast<size_t>(r)], r);
        }
        if (moved || !w_.failure.empty()) return;
      }
      if (Clock::now() - start > std::chrono::duration<double>(seconds)) return;
      if (i > 1000) usleep(50);
    }
  }

 private:
  bool test(std::deque<MPI_Request>& requests, int r) {
    bool moved = false;
    while (!requests.empty()) {
      int done = 0;
      expect(MPI_Test(&requests.front(), &done, MPI_STATUS_IGNORE), r);
      if (!done) break;
      requests.pop_front();
      moved = true;
    }
    return moved;
  }
  void expect(int error, int r) {
    if (error == MPI_SUCCESS || !w_.failure.empty()) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    w_.failure = fmt::format("rank {} cannot be reached: {}", r, text);
    w_.say(w_.failure);
  }

  World& w_;
  std::vector<std::deque<MPI_Request>> sends_, receives_;
};

}  // namespace

std::string mpi_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

std::unique_ptr<Links> mpi_links() {
  begin();
  return std::make_unique<MpiLinks>();
}

}  // namespace pg
