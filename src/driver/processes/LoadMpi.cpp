#include "driver/processes/LoadMpi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/MpiEntry.h"

namespace smalti::driver {
namespace {

constexpr const char* kLibrary = "libsmalti_mpi.so";

/// Whether the environment is that of a launcher of Open MPI, or of MPICH and its derivatives, with several processes.
bool startedWithOthers() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* text = std::getenv(variable); text && std::atoi(text) > 1) return true;
  return false;
}

Diagnostic notThere(std::string have, std::string help) {
  return {.code = "SM5014",
          .message = "the program cannot be spread over processes",
          .place = {},
          .need = "processes started by an MPI launcher, and Smalti's library for that MPI",
          .have = std::move(have),
          .help = std::move(help)};
}

/// Opens the library in the folder of this one, otherwise from the loader's search path.
void* openLibrary() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&mpiProcesses), &info) && info.dli_fname) {
    std::error_code error;
    const auto here = std::filesystem::canonical(info.dli_fname, error).parent_path();
    for (const auto& folder : {here, here.parent_path() / "lib"})  // a program that has Smalti linked statically
      if (void* library = dlopen((folder / kLibrary).c_str(), RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  return dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
}

Result<Processes*> join() {
  void* library = openLibrary();
  if (!library) {
    const char* why = dlerror();
    return fail(notThere(fmt::format("{} cannot be loaded: {}", kLibrary, why ? why : "no reason is given"),
                         "install an MPI (Debian: libopenmpi-dev), then configure and build Smalti again"));
  }
  const auto version = reinterpret_cast<MpiVersion*>(dlsym(library, kMpiVersionSymbol));
  const auto entry = reinterpret_cast<MpiJoin*>(dlsym(library, kMpiJoinSymbol));
  if (!version || !entry || std::string_view(version()) != kMpiEntryVersion)
    return fail(notThere(fmt::format("{} has a different version", kLibrary), "install both from one build"));
  std::string error;
  Processes* processes = entry(messageMemory, error);
  if (!processes && !error.empty()) return fail(notThere(error, "look at what the MPI library says"));
  return processes;
}

}  // namespace

Result<Processes*> mpiProcesses(bool needed) {
  static std::mutex mutex;
  static constinit Lasting<std::optional<Result<Processes*>>> kept;
  std::optional<Result<Processes*>>& joined = kept.get();
  if (!startedWithOthers()) {
    if (!needed) return nullptr;
    return fail(notThere("a process that was not started by an MPI launcher", "mpirun -n 2 PROGRAM"));
  }
  const std::lock_guard lock(mutex);
  if (!joined) joined = join();
  return *joined;
}

}  // namespace smalti::driver
