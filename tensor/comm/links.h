#pragma once
// Messages between the ranks of a group, two at a time, and the Comm that builds collectives on them.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

class Links {
 public:
  virtual ~Links() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const char* name() const = 0;

  // These post a message of 1 to kMostBytes bytes and return at once. Its memory must exist until it is done. Messages
  // from one rank to another arrive in the order in which they were sent; both sides post the same lengths.
  static constexpr int64_t kMostBytes = 1 << 30;
  virtual void send(int to, const char* data, int64_t bytes) = 0;
  virtual void receive(int from, char* data, int64_t bytes) = 0;
  // Posted messages that are not done.
  virtual int64_t sends_left(int to) const = 0;
  virtual int64_t receives_left(int from) const = 0;

  // Moves messages on; if none moves, it waits for at most this many seconds.
  virtual void progress(double seconds) = 0;
  // The rank has ended, or its connection has: no message from it or to it will get done.
  virtual bool has_left(int rank) const = 0;

  // Ends the work of the group: the other ranks learn the reason. Only the first reason counts, of this rank or of
  // another. It may be called while progress() runs in another thread.
  virtual void give_up(const std::string& reason) = 0;
  // That reason, or "".
  virtual std::string failure() const = 0;
};

// What a rank tells the others when it gives up, as bytes.
struct LastWords {
  char reason[480] = {};
  static LastWords of(const std::string& text) {
    LastWords words;
    std::memcpy(words.reason, text.data(), std::min(text.size(), sizeof words.reason - 1));
    return words;
  }
};

// The version of MPI that this build uses, "" without one.
std::string mpi_version();

// All processes that were started together. It calls MPI_Init; at the end of the process comes MPI_Finalize, or
// MPI_Abort after a failure. Error in a build without MPI.
std::unique_ptr<Links> mpi_links();

struct MessageOptions {
  // Seconds that a rank waits in a collective for another one: of this machine that does nothing
  // (tensor/comm/activity.h); of another machine, which sends nothing; of this machine that works.
  double timeout = 10, remote_timeout = 600, longest = 1800;
  bool sees_processes = true;     // false: as if every rank were on a machine of its own, for tests
  int64_t piece_bytes = 1 << 20;  // about as much is exchanged between two ranks at a time; equal on all ranks
};

// The Comm of a rank that exchanges messages with the others.
std::unique_ptr<Comm> message_rank(std::unique_ptr<Links> links, const MessageOptions& options = {});

}  // namespace pg
