#pragma once
// A command's process: standard streams, error reporting, threads, and the signals that request a training run to stop.
#include <exception>
#include <functional>
#include <string>

namespace pg::tools {

// Runs `command` and returns the exit status of the process: the status it returns, or 1 after an exception or if its
// output could not be written. An exception is printed as one sentence on standard error. Standard streams that were
// closed are first opened on /dev/null, so that no file of the command gets their descriptors. If nobody reads the
// output, the process ends by SIGPIPE. Where memory runs out in a function that must not throw, it ends with the same
// sentence and status 1.
int run_process(const std::function<int()>& command);

// What run_process() says of an exception.
std::string sentence_of(const std::exception& e);

// Flushes standard output. Throws std::system_error if that fails. A command with endless output must call it, because
// otherwise it would not notice that nobody reads.
void flush_output();

// Sets the number of threads (0: one per core) and starts them, so that a system that does not allow them reports the
// error before any work is done.
void start_threads(int threads);

}  // namespace pg::tools

namespace pg {

// After the first call, Ctrl-C (SIGINT), `kill` (SIGTERM) and a closed terminal (SIGHUP) set a flag instead of ending
// the process. A second signal of the same kind ends it. Each call forgets the signals before it. A SIGHUP that is
// ignored, as under nohup, stays ignored.
void catch_interrupt();
bool interrupted();
// As if the signal had come; 0: none has.
void set_interrupt(int signal);
// The exit status of a process stopped by one of these signals: 128 + the signal's number, 130 after Ctrl-C.
int interrupt_status();

}  // namespace pg
