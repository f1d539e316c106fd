#pragma once
// Signals that request a training run to stop.

namespace pg {

// After the first call, Ctrl-C (SIGINT), `kill` (SIGTERM) and a closed terminal (SIGHUP) set a flag instead of ending
// the process. A second signal of the same kind ends it. A SIGHUP that is ignored, as under nohup, stays ignored.
void catch_interrupt();
bool interrupted();
// The exit status of a process stopped by one of these signals: 128 + the signal's number, 130 after Ctrl-C.
int interrupt_status();

}  // namespace pg
