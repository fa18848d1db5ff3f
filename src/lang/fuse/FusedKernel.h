// A group of plain ops as a kernel.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "lang/call/CalledKernel.h"
#include "lang/fuse/Group.h"

namespace smalti::lang {

/// A slice of another value, without gaps between its elements.
struct View {
  ValueId source = -1;
  std::vector<int64_t> starts;
};
using Views = std::map<ValueId, View>;

/// Gives a group without rows of its own the rows with which it reads most of its slices in place.
void chooseSplit(Group&, const std::vector<ArrayType>& types, const Views& views);

/// A kernel of a group, and what it is called on.
struct FusedCall {
  struct Operand {
    ValueId value;
    Shape shape;  ///< in which the kernel takes it
  };
  std::shared_ptr<const CalledKernel> kernel;
  std::vector<Operand> operands;
};
/// A kernel of the group over blocks of rows: gives `results`, each as an array of rows and columns (1 where it has one
/// per row, or the same for all). `constants` are scalars whose value is known; slices among `views` are read where
/// place, if they are whole rows or parts of rows. Without a kernel if a kernel cannot compute the group.
FusedCall fusedKernel(const Group&, std::span<const ValueId> results, const std::vector<ArrayType>& types,
                      const std::map<ValueId, Array>& constants, const Views& views);
/// The kernel with that body, lowered; null if kernels do not support one of its ops.
std::shared_ptr<const CalledKernel> kernelOf(TracedKernel, const std::function<void(std::span<const Ref>)>& body);
/// The shape in which the kernel takes or gives a value.
Shape shapeIn(const Group&, Form);

}  // namespace smalti::lang
