#pragma once
// Links over TCP. Two connections join every two ranks: one for elements, one on which each rank tells
// that it does something, and why it gives up.
#include <memory>
#include <string>

#include "tensor/comm/links.h"

namespace pg {

struct SocketOptions {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // of rank 0: a name, or a number of IPv4 or IPv6
  int port = 29500;                   // where rank 0 listens for the others
  // A secret that all ranks know. Each proves it to the others before it is believed, and it is never sent. It may be
  // "" if the address is the loopback.
  std::string token = {};
  std::string run = {};  // keeps runs apart where there is no token; no secret
  double timeout = 60;   // seconds in which all ranks must have come
  int listener = -1;     // for rank 0: a socket that listens already; it is closed
};

// Returns once all ranks are connected. Rank 0 listens at the address and at no other, and every other rank at the one
// from which it reaches rank 0. Connections that do not prove the token are closed and delay nothing. A second process
// with a rank's number, or one with another number of ranks, ends with an Error that says so; the start goes on.
//
// Error if not all ranks come in time, if the other side of a connection does not know the token, if the address is not
// the loopback and the token has fewer than 16 bytes, or if rank 0 cannot listen at the address.
std::unique_ptr<Links> socket_links(const SocketOptions& options);

// A socket that listens at the address and at no other, at `port`, or at any free one if that is 0, and becomes it.
int listen_at(const std::string& address, int& port);

}  // namespace pg
