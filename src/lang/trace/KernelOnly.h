// Ops that exist inside kernels only.
#pragma once

#include <string_view>

#include "lang/trace/Trace.h"

namespace smalti::lang {

/// The trace of the kernel being traced; error SM6106 outside kernels.
Trace& kernelTrace(std::string_view op);
[[noreturn]] void refuseOutsideKernels(std::string_view op);

}  // namespace smalti::lang
