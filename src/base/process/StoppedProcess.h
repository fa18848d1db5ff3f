// SM5011: another process can no longer take part in a program that several processes run. Header only, because the MPI
// library (src/mpi) does not link this layer.
#pragma once

#include <string>
#include <utility>

#include "smalti/diagnostic.h"

namespace smalti {

/// The diagnostic of the processes that go on. `have` names the process and what happened to it ("process 1 on node7:
/// it has given up"); `help` says where its own diagnostic is.
inline Diagnostic stoppedProcess(std::string have, std::string help, SourcePlace place = {}) {
  return {.code = "SM5011",
          .message = "another process has stopped running the program",
          .place = std::move(place),
          .need = "every process to run it to its end",
          .have = std::move(have),
          .help = std::move(help)};
}

/// Help if a process has given up: it has printed a diagnostic.
inline constexpr char kSeeItsOutput[] = "see the output of that process";
/// Help if a process has died or cannot be reached: perhaps only the launcher reports it.
inline constexpr char kSeeItsOutputAndTheLauncher[] = "look at what that process and the launcher print";

}  // namespace smalti
