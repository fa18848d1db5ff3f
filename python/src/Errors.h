// Diagnostics as Python has them, and the exception that holds one.
#pragma once

#include <nanobind/nanobind.h>

#include "smalti/diagnostic.h"
#include "smalti/executable.h"

namespace smalti::python {

/// A smalti.Diagnostic.
nanobind::object toPython(const Diagnostic&);

/// A smalti.Finding.
nanobind::object toPython(const Finding&);

/// Errors that leave a function become smalti.Error.
void registerErrors();

}  // namespace smalti::python
