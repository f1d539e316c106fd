#pragma once
// Setup of a command's process: standard streams, error reporting, threads.
#include <functional>

namespace pg::tools {

// Runs `command` and returns the exit status of the process: the status it returns, or 1 after an exception or if its
// output could not be written. An exception is printed as one sentence on standard error. Standard streams that were
// closed are first opened on /dev/null, so that no file of the command gets their descriptors. If nobody reads the
// output, the process ends by SIGPIPE.
int run_process(const std::function<int()>& command);

// Flushes standard output. Throws std::system_error if that fails. A command with endless output must call it, because
// otherwise it would not notice that nobody reads.
void flush_output();

// Sets the number of threads (0: one per core) and starts them, so that a system that does not allow them reports the
// error before any work is done.
void start_threads(int threads);

}  // namespace pg::tools
