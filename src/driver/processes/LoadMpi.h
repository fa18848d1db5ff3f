// MPI is not linked but loaded where a program needs it: libsmalti_mpi.so, made for the MPI that the machine has.
#pragma once

#include "base/process/Processes.h"

namespace smalti::driver {

/// The processes that an MPI launcher (mpirun) has started; null where it has started one or none. MPI is initialised
/// by the first call, unless the program has done so. Error SM5014: it is `needed`, but there is no MPI.
Result<Processes*> mpiProcesses(bool needed);

}  // namespace smalti::driver
