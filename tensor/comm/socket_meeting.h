#pragma once
// The connections of a rank with all others, over TCP.
#include <vector>

#include "tensor/comm/socket_links.h"
#include "tensor/comm/sockets.h"

namespace pg {

struct SocketPeer {
  Socket control, data;
};
// By rank; the own one has none. Returns, and fails, as socket_links() does.
std::vector<SocketPeer> meet(const SocketOptions& options);

}  // namespace pg
