// What is behind smalti/executable.h: what a compiler hands out.
#pragma once

#include <utility>
#include <vector>

#include "smalti/executable.h"

namespace smalti {

struct Executable::State {
  virtual ~State() = default;

  /// Inputs are of the right number and types. `into` is empty, or has one Array for each result, which may be written
  /// to; results that are elsewhere all the same are copied by the caller.
  virtual Result<RunReport> execute(std::vector<Array> inputs, std::span<Array> into, const ExecuteOptions&) const = 0;
  /// With `options`, which need not be looked at again for each call.
  virtual Result<RunReport> execute(std::vector<Array> inputs) const { return execute(std::move(inputs), {}, options); }

  std::vector<ArrayType> arguments, results;
  /// (input, output): the output begins as the input and may be the same memory, which the input loses then.
  std::vector<std::pair<size_t, size_t>> aliases;
  ExecuteOptions options;
};

}  // namespace smalti
