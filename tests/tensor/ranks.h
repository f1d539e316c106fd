#pragma once
// The ways to make ranks on one machine, for tests that must hold for each: processes that share memory, and processes
// joined by sockets.
#include <unistd.h>

#include <functional>
#include <string>

#include "tensor/base/error.h"
#include "tensor/comm/launch.h"
#include "tensor/comm/message_rank.h"
#include "tensor/comm/socket_links.h"
#include "tests/catch.h"

namespace pg::testing {

// The last one: as if every rank were on a machine of its own.
enum class Transport { shared_memory, sockets, sockets_in_small_pieces, sockets_of_machines };
inline constexpr Transport kTransports[] = {Transport::shared_memory, Transport::sockets,
                                            Transport::sockets_in_small_pieces};

// run_ranks() with ranks of that kind.
inline int run_on(Transport transport, int ranks, const std::function<int(Comm&)>& work,
                  const RanksOptions& options = {}, std::string* sentences = nullptr) {
  if (transport == Transport::shared_memory) return run_ranks(ranks, work, options, sentences);
  int port = 0;
  const int listener = listen_at("127.0.0.1", port);
  const int status = run_ranks(
      ranks,
      [&](Comm& memory) {
        const auto comm =
            message_rank(socket_links({.rank = memory.rank(),
                                       .size = memory.size(),
                                       .address = "127.0.0.1",
                                       .port = port,
                                       .token = "a test",
                                       .listener = memory.rank() == 0 ? listener : -1}),
                         {.timeout = options.timeout,
                          .longest = options.longest,
                          .sees_processes = transport != Transport::sockets_of_machines,
                          .piece_bytes = transport == Transport::sockets_in_small_pieces ? 1000 : 1 << 20});
        try {
          return work(*comm);
        } catch (const std::exception& e) {
          comm->abandon(e.what());
          throw;
        }
      },
      options, sentences);
  close(listener);
  return status;
}

}  // namespace pg::testing
