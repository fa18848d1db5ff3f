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

/// As write_object. Error SM1000: an invalid name.
Result<WrittenObject> writeObject(const KernelPackage&, const std::string& path, const ObjectOptions&);

}  // namespace smalti::driver
