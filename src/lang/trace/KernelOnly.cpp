#include "lang/trace/KernelOnly.h"

#include <fmt/format.h>

#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {

void refuseOutsideKernels(std::string_view op) {
  refuse({.code = "SM6106",
          .message = fmt::format("'{}' exists inside kernels only", op),
          .place = {},
          .help = "call it in a function that is passed to pallas_call"});
}

Trace& kernelTrace(std::string_view op) {
  if (Trace* trace = Trace::current(); trace && trace->kind() == Trace::Kind::kernel) return *trace;
  refuseOutsideKernels(op);
}

}  // namespace smalti::lang
