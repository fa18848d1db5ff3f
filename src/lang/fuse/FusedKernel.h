// A group of plain ops as a kernel.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "lang/call/CalledKernel.h"
#include "lang/fuse/Group.h"

namespace smalti::lang {

/// A kernel of the group over blocks of rows: takes what the group takes and gives `results`, each as an array of rows
/// and columns (1 where it has one per row, or the same for all). `constants` are scalars whose value is known. Null
/// where kernels do not have what it computes.
std::shared_ptr<const CalledKernel> fusedKernel(const Group&, std::span<const ValueId> results,
                                                const std::vector<ArrayType>& types,
                                                const std::map<ValueId, Array>& constants);
/// The kernel with that body, lowered; null where kernels do not have what it does.
std::shared_ptr<const CalledKernel> kernelOf(TracedKernel, const std::function<void(std::span<const Ref>)>& body);
/// The shape in which the kernel takes or gives a value.
Shape shapeIn(const Group&, Form);

}  // namespace smalti::lang
