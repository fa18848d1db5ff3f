// Ahead-of-time compilation: a kernel as an object file and a C header, for programs without Smalti and LLVM.
//
//   pl::Status done = pl::write_object(call.lower(x, y), "build/add.o");   // and build/add.h: int add(…)
//
// In CMake, `smalti_add_kernel(add add.cpp)` does this during the build: add.cpp defines `smalti::Lowered add()`.
#pragma once

#include <string>

#include "smalti/pallas_call.h"

namespace smalti {

struct ObjectOptions {
  std::string processor = "host";  ///< LLVM's name, "haswell", or with the machine: "aarch64-linux-gnu/neoverse-n1"
  std::string symbol{};            ///< the C function; empty: the file's name without its suffix
  /// Approximate limit on the loop iterations of a call, beyond which its function returns 6. 0: no limit.
  int64_t step_limit = ExecuteOptions().step_limit;
};

/// Writes the object file `path` and, next to it, the header that declares and describes its function. SM7001: no such
/// processor; SM7003: not all of the kernel is native code; SM1006.
Status write_object(const Lowered&, const std::string& path, const ObjectOptions& = {});

/// The main of a program that writes one kernel: `PROGRAM OUTPUT.o [PROCESSOR]`; the exit code.
int object_main(int argc, const char* const* argv, Lowered (*kernel)());

}  // namespace smalti
