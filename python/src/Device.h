// Arrays and programs on GPUs for smalti/_device.py, which has the documentation.
#pragma once

#include <nanobind/nanobind.h>

namespace smalti::python {

void addDevice(nanobind::module_&);

}  // namespace smalti::python
