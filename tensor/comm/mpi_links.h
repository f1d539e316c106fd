#pragma once
// Links over MPI, for processes that mpirun or srun has started.
#include <memory>
#include <string>

#include "tensor/comm/links.h"

namespace pg {

// The version of MPI that this build uses, "" without one.
std::string mpi_version();

// All processes that were started together. It calls MPI_Init; at the end of the process comes MPI_Finalize, or
// MPI_Abort after a failure. Error in a build without MPI.
std::unique_ptr<Links> mpi_links();

}  // namespace pg
