// Sends elements between processes. A sender waits for the answer of the receiver, as Ring::send() promises.
#include "lessons/milestones/process_ring.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tensor/base/error.h"

namespace pg::milestones {
namespace {

// Moves `bytes` bytes by read() or write(), whatever parts the system makes of them.
template <class Call, class Byte>
void whole(Call call, int socket, Byte* data, size_t bytes, int rank, const char* doing) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t part = call(socket, data + done, bytes - done);
    if (part < 0 && errno == EINTR) continue;
    check(part > 0, "ring: rank {} {}: {}", rank, doing,
          part == 0         ? "the neighbour has ended"
          : errno == EAGAIN ? "no answer in 10 s"
                            : std::strerror(errno));
    done += static_cast<size_t>(part);
  }
}

}  // namespace

RingLinks::RingLinks(int ranks) {
  for (int r = 0; r < ranks; ++r) {
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "ring: no sockets: {}", std::strerror(errno));
    for (const int end : ends) {
      const timeval limit{.tv_sec = 10, .tv_usec = 0};
      setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      setsockopt(end, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    right_.push_back(ends[0]);
    left_.push_back(ends[1]);
  }
}
RingLinks::~RingLinks() {
  for (const int end : right_) close(end);
  for (const int end : left_) close(end);
}

void ProcessRing::send(std::span<const float> x) {
  const int socket = links_.right_of(rank_);
  const int64_t count = std::ssize(x);
  whole(write, socket, reinterpret_cast<const char*>(&count), sizeof count, rank_, "sends");
  whole(write, socket, reinterpret_cast<const char*>(x.data()), x.size_bytes(), rank_, "sends");
  char received = 0;
  whole(read, socket, &received, 1, rank_, "waits until its right neighbour has received");
  sent += count;
}

void ProcessRing::receive(std::span<float> x) {
  const int socket = links_.left_of(rank_);
  int64_t count = 0;
  whole(read, socket, reinterpret_cast<char*>(&count), sizeof count, rank_, "receives");
  check(count == std::ssize(x), "ring: rank {} expected {} elements, got {}", rank_, x.size(), count);
  whole(read, socket, reinterpret_cast<char*>(x.data()), x.size_bytes(), rank_, "receives");
  const char received = 1;
  whole(write, socket, &received, 1, rank_, "answers");
}

}  // namespace pg::milestones
