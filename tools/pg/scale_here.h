#pragma once
// What ranks on this machine measure, beside what the model of pg scale says of them.
#include "tensor/comm/comm.h"

namespace pg::tools {

struct ScaleHereOptions {
  double parameters = 10e6;  // of the model that is trained
  int64_t rows = 8, context = 64;
  int threads = 0;  // of each rank
  int steps = 9;    // of each kind, after two that are not counted
};

// Times copies and collectives of many sizes, fits α and β of a link to them, then times steps of training in each
// stage of ZeRO, and prints both beside step_model(). A collective of at least two ranks with tensors on the CPU.
int measure_scale(const ScaleHereOptions& options, Comm& comm);

}  // namespace pg::tools
