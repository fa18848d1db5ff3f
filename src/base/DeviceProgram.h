// Implementation of smalti/device_array.h: a program that a target has bound to arrays of a GPU.
#pragma once

#include <vector>

#include "smalti/device_array.h"

namespace smalti {

struct DeviceProgram::State {
  virtual ~State() = default;
  virtual Status launch(void* stream) const = 0;
  virtual Status wait() const = 0;
  virtual Status readyOn(void* stream) const = 0;
  std::vector<DeviceArray> results;
};

}  // namespace smalti
