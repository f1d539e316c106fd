// In a build without MPI.
#include "tensor/base/error.h"
#include "tensor/comm/links.h"

namespace pg {

std::string mpi_version() { return ""; }
std::unique_ptr<Links> mpi_links() {
  fail("ranks: mpirun started this process, which was built without MPI; install libopenmpi-dev and build again");
}

}  // namespace pg
