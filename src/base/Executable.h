// The implementation of smalti/executable.h: the object that a compiler returns.
#pragma once

#include <utility>
#include <vector>

#include "base/DeviceProgram.h"
#include "smalti/executable.h"

namespace smalti {

struct Executable::State {
  virtual ~State() = default;

  /// The number and types of inputs are right. `into` is empty, or has one Array for each result, which may be written
  /// to; the caller copies results that are elsewhere.
  virtual Result<RunReport> execute(std::vector<Array> inputs, std::span<Array> into, const ExecuteOptions&) const = 0;
  /// With `options`, which need not be looked at again for each call.
  virtual Result<RunReport> execute(std::vector<Array> inputs) const { return execute(std::move(inputs), {}, options); }

  /// `inputs`: arrays of the right number and types on a GPU. SM7207: the target is not a GPU.
  virtual Result<std::shared_ptr<const DeviceProgram::State>> bind(std::span<const DeviceArray> inputs,
                                                                   const BindOptions&) const {
    return fail(notOnGpu());
  }
  /// The number of the GPU that it runs on. SM7207.
  virtual Result<int> gpu() const { return fail(notOnGpu()); }
  static Diagnostic notOnGpu() {
    return {.code = "SM7207",
            .message = "the executable does not run on a GPU",
            .place = {},
            .need = "an executable for the target cuda, without checks",
            .help = "compile it with the setting target cuda"};
  }

  std::vector<ArrayType> arguments, results;
  /// (input, output): the output begins as the input and may be the same memory, which the input loses then.
  std::vector<std::pair<size_t, size_t>> aliases;
  ExecuteOptions options;
};

}  // namespace smalti
