// Which build of a library or program is running: the build ID that the linker wrote, a hash of its contents.
#pragma once

#include <string>

namespace smalti::cpu {

/// The build ID (NT_GNU_BUILD_ID) of the library or program that holds this address, in hexadecimal; empty when it was
/// linked without --build-id.
std::string buildIdAt(const void* address);

/// Of this code, and of the LLVM it calls; empty when this code's has none.
const std::string& buildId();

}  // namespace smalti::cpu
