// Diagnostics as Python has them, and the exception that holds one.
#pragma once

#include <nanobind/nanobind.h>

#include "smalti/diagnostic.h"

namespace smalti::python {

/// A smalti.Diagnostic.
nanobind::object toPython(const Diagnostic&);

/// Errors that leave a function become smalti.Error.
void registerErrors();

}  // namespace smalti::python
