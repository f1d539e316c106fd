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
  std::string token = {};             // keeps runs apart: at most 63 bytes, equal on all ranks. It protects nothing
  double timeout = 60;                // seconds in which all ranks must have come
  int listener = -1;                  // for rank 0: a socket that listens already; it is closed
};

// Returns once all ranks are connected. Error if they do not come in time, if two have the same number, or if they
// differ in their number of ranks or in the token.
std::unique_ptr<Links> socket_links(const SocketOptions& options);

// A socket that listens at `port`, or at any free one if that is 0, and becomes it. It takes connections of this
// machine only if the address is one of the machine itself, as 127.0.0.1 and ::1 are.
int listen_at(const std::string& address, int& port);

}  // namespace pg
