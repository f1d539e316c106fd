#pragma once
// New memory that shows when it is read before it is written, for programs that check other code.
namespace pg {

// From now on every block that allocate() returns on the CPU is full of bytes 0xff: NaN in the floating dtypes, -1 in
// i32. Without it a block may be zeros, or hold what was computed before.
void poison_new_memory(bool on);

}  // namespace pg
