// The decisions about a kernel's native code, for `show --stage plan`.
#pragma once

#include <string>

#include "cpu/plan/KernelPlan.h"
#include "driver/Json.h"

namespace smalti::driver {

/// Tables of the operands, the products and the loop nests.
std::string planText(const cpu::KernelPlan&);
/// The same for programs: {"rewrites", "shared_axes", "in_order", "fastest_axis", "operands", "products", "nests"}.
Json planJson(const cpu::KernelPlan&);

}  // namespace smalti::driver
