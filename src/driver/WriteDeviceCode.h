// Writes a kernel's code for a GPU to a file, and a C header that declares how to launch it.
#pragma once

#include <string>

#include "ir/KernelPackage.h"

namespace smalti::driver {

struct WrittenDeviceCode {
  std::string header;  ///< its path: that of the code, ending in .h
  std::string symbol, gpu;
  int64_t bytes = 0;
};

/// PTX, or machine code (`isCubin`), which needs ptxas. SM1000 for invalid names, SM7201, SM7203, SM7204.
Result<WrittenDeviceCode> writeDeviceCode(const KernelPackage&, const std::string& path, bool isCubin,
                                          const std::string& gpu, const std::string& symbol);

}  // namespace smalti::driver
