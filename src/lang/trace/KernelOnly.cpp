#include "lang/trace/KernelOnly.h"

#include <fmt/format.h>

#include "lang/trace/Place.h"

namespace smalti::lang {

Trace& kernelTrace(std::string_view op) {
  if (Trace* trace = Trace::current()) return *trace;
  refuse({.code = "SM6106",
          .message = fmt::format("'{}' exists inside kernels only", op),
          .place = {},
          .help = "call it in a function that is passed to pallas_call"});
}

}  // namespace smalti::lang
