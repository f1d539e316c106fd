#pragma once
// Ranks that are processes of one machine and share a piece of memory.
#include <functional>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

struct RanksOptions {
  // Seconds after which a rank that waits for another one in a collective gives up, with an Error that names it, if
  // that one does nothing: on Linux, if it uses no processor time and does not wait for a disk.
  double timeout = 10;
  double longest = 1800;  // the same, whatever the other one does
};

// Runs `work` in `ranks` new processes, each with the Comm of its rank, and returns the exit status: 0 if all ranks
// returned 0, otherwise the status of the first rank that did not, 128 + the number of the signal that ended it, or 1
// after an exception. `sentences`, if given, becomes one line for each rank that failed, in the order in which they
// did: "rank 2: …".
//
// A rank that ends early, returns another status than 0, or throws, ends the work of all: the others throw an Error in
// the collective in which they wait or that they call next. Ranks that are still there `timeout` seconds later are
// killed. On Linux the ranks get SIGTERM if this process ends. They inherit its files and its memory as it was; it must
// not have other threads that hold locks. The memory that they share has no name and ends with the last of them.
//
// Error if ranks is not from 1 to 64, or if the system starts no more processes.
int run_ranks(int ranks, const std::function<int(Comm&)>& work, const RanksOptions& options = {},
              std::string* sentences = nullptr);

}  // namespace pg
