// A kernel as an object file and its header on disk.
#pragma once

#include <string>

#include "ir/KernelPackage.h"
#include "smalti/ahead_of_time.h"

namespace smalti::driver {

struct WrittenObject {
  std::string header;  ///< its path: that of the object, ending in .h
  std::string symbol, processor;
  int64_t bytes = 0;
};

/// As write_object. SM1000 for names that cannot be.
Result<WrittenObject> writeObject(const KernelPackage&, const std::string& path, const ObjectOptions&);

}  // namespace smalti::driver
