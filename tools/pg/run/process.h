#pragma once
// What surrounds a command: the standard streams, and what becomes of an error.
#include <functional>

namespace pg::tools {

// Runs `command` and returns the exit status of the process: what it returns, or 1 after an exception or when its
// output could not be written. An exception is one sentence on standard error. Standard streams that were closed are
// opened on /dev/null first, so that no file of the command gets their descriptors. Ends by SIGPIPE when nobody reads
// the output.
int run_process(const std::function<int()>& command);

// Writes what was printed so far. Throws std::system_error when standard output does not take it: to be called while
// a command writes on and on, since it would not notice otherwise that nobody reads.
void flush_output();

// Sets the number of threads (0: as many as cores) and starts them, so that a system that refuses them says so before
// any work is done.
void start_threads(int threads);

}  // namespace pg::tools
