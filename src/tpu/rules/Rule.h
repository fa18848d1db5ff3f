// A rule: the reason for which it refuses, and what it inspects. The files of this folder define them; Table.h lists
// them.
#pragma once

#include <span>
#include <string>

#include "mlir/IR/Operation.h"

#include "ir/KernelPackage.h"
#include "tpu/Legality.h"

namespace smalti::tpu {

/// The context in which a rule inspects a kernel and reports violations.
class Judge {
 public:
  Judge(const KernelPackage& kernel, const Chip& chip, std::vector<Refusal>& out)
      : kernel(kernel), chip(chip), out_(out) {}

  const KernelPackage& kernel;
  const Chip& chip;

  struct Text {
    std::string message, need, have, help;
    std::vector<std::string> where{};
  };
  void refuse(const Reason&, mlir::Location, Text) const;

 private:
  std::vector<Refusal>& out_;
};

struct Rule {
  void (*onOp)(mlir::Operation*, const Judge&) = nullptr;  ///< for every op of the kernel function
  void (*onKernel)(const Judge&) = nullptr;                ///< once
};

}  // namespace smalti::tpu
