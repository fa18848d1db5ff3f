// The call of a kernel from a program that XLA compiled for CPUs.
#pragma once

#include <nanobind/nanobind.h>

namespace smalti::python {

/// Adds `compile_call`, `num_compiled_calls`, `take_findings` and `xla_handlers` to the module.
void addXlaCall(nanobind::module_&);

}  // namespace smalti::python
