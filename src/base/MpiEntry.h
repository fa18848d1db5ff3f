// The interface of libsmalti_mpi.so to the library that loads it.
#pragma once

#include <string>

#include "base/process/Processes.h"

namespace smalti {

inline constexpr const char* kMpiVersionSymbol = "smalti_mpi_version";
inline constexpr const char* kMpiJoinSymbol = "smalti_mpi_join";
/// Changes with `Processes`.
inline constexpr std::string_view kMpiEntryVersion = "3";

using MpiVersion = const char*();
/// The processes of MPI_COMM_WORLD, for as long as the process lives, with that memory for their messages; null with a
/// sentence in `error`, or without one where there is only this process.
using MpiJoin = Processes*(const MessageMemory&, std::string& error);

}  // namespace smalti
