// A kernel as an op of a traced program, as `pallas_call` passes it to its tracer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lang/call/TracedKernel.h"

namespace smalti {
struct ActiveSettings;
}

namespace smalti::lang {

class DerivedKernels;

class CalledKernel {
 public:
  virtual ~CalledKernel() = default;
  /// The kernel's body and index maps.
  virtual const TracedKernel& traced() const = 0;
  /// The lowered kernel, a module of its own. Operands and results of the op are in its order and of its types.
  virtual KernelPackage package() const = 0;
  /// Runs it now.
  virtual std::vector<Array> call(std::span<const Array> operands) const = 0;
  /// The kernels derived from it by transformations.
  virtual DerivedKernels& derived() const = 0;
  /// The settings that it runs with; null: the thread's.
  virtual std::shared_ptr<const ActiveSettings> settings() const = 0;
};

/// The op, under the tracer in force.
std::vector<Array> bindKernel(std::shared_ptr<const CalledKernel>, std::span<const Array> operands,
                              std::span<const ArrayType> results);

}  // namespace smalti::lang
