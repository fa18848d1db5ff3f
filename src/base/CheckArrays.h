// The arrays of a call, on the host or on a GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "smalti/array.h"

namespace smalti {

/// Why a call cannot use an array: "is not aligned".
struct ArrayFault {
  std::string what, need, have;
};

/// Fails with `code` unless the arrays have the types, and `memoryFault` finds nothing. `role`: "input" or "output".
template <class A>
Status checkArrays(std::span<const A> given, const std::vector<ArrayType>& types, const char* code,
                   std::string_view role, std::optional<ArrayFault> (*memoryFault)(const A&)) {
  if (given.size() != types.size())
    return fail({.code = code,
                 .message = fmt::format("wrong number of {}s", role),
                 .place = {},
                 .need = fmt::format("{} {}s", types.size(), role),
                 .have = fmt::format("{}", given.size())});
  for (size_t i = 0; i < types.size(); ++i) {
    auto fault = given[i].type() == types[i]
                     ? memoryFault(given[i])
                     : ArrayFault{"is of the wrong type", types[i].str(), given[i].type().str()};
    if (fault)
      return fail({.code = code,
                   .message = fmt::format("{} {} {}", role, i, fault->what),
                   .place = {},
                   .need = std::move(fault->need),
                   .have = std::move(fault->have)});
  }
  return {};
}

}  // namespace smalti
