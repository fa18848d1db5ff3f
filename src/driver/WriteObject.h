// A kernel as an object file and its header on disk.
#pragma once

#include <string>

#include "ir/KernelPackage.h"

namespace smalti::driver {

struct WrittenObject {
  std::string header;  ///< its path: that of the object, ending in .h
  std::string symbol, processor;
  int64_t bytes = 0;
};

/// `symbol` empty: the file's name as a C identifier. SM1000 for names that cannot be, SM7001, SM7003, SM1006.
Result<WrittenObject> writeObject(const KernelPackage&, const std::string& path, const std::string& processor,
                                  const std::string& symbol);

}  // namespace smalti::driver
