// Identifies the running build of a library or program by the linker's build ID, a hash of its contents.
#pragma once

#include <string>

namespace smalti::cpu {

/// The build ID (NT_GNU_BUILD_ID) of the library or program that holds this address, in hexadecimal; empty when it was
/// linked without --build-id.
std::string buildIdAt(const void* address);

/// The build IDs of this code and of LLVM; empty if this code has none.
const std::string& buildId();

}  // namespace smalti::cpu
