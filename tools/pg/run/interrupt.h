#pragma once
// Signals that ask a training run to stop.

namespace pg {

// From the first call on, Ctrl-C (SIGINT), `kill` (SIGTERM) and a closed terminal (SIGHUP) set a flag instead of ending
// the process; a second signal of the same kind ends it. A SIGHUP that is ignored, as under nohup, stays ignored.
void catch_interrupt();
bool interrupted();
// The exit status of a process that one of these signals stopped: 128 + its number, 130 after Ctrl-C.
int interrupt_status();

}  // namespace pg
