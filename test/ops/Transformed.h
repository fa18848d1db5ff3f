// The op cases under jvp, vjp and vmap, at once and compiled by jit.
#pragma once

#include <nlohmann/json.hpp>

#include "Cases.h"

namespace smalti::ops::test {

/// Writes results by name: "jvp", "vjp0" … (a cotangent per float input, for a cotangent of ones), "vmapK": on two
/// examples, the second with its elements one place further, where input K is shared (K = number of inputs: none is).
/// What went wrong stands in the object: errors by name, and under "jit" what a compiled program computes otherwise.
nlohmann::json transformed(const Case&, const std::function<void(const std::string&, const Array&)>& write);

}  // namespace smalti::ops::test
