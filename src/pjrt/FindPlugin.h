// Finds an installed TPU plugin (libtpu.so).
#pragma once

#include <string>
#include <string_view>

#include "smalti/diagnostic.h"

namespace smalti::pjrt {

/// `given` when it is not empty. Otherwise TPU_LIBRARY_PATH, then the Python package libtpu of the active environment
/// (VIRTUAL_ENV, CONDA_PREFIX), of the python3 on the PATH, of the user and of the system, then /lib and /usr/lib.
/// Error SM6801: it is not found; `naming` is the option with which a user names it: "--pjrt-plugin".
Result<std::string> findTpuPlugin(const std::string& given, std::string_view naming);

}  // namespace smalti::pjrt
