// The arguments of a kernel function by role, and the part of the call that each corresponds to.
#pragma once

#include <optional>
#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/KernelPackage.h"

namespace smalti {

struct ArgumentRole {
  enum Kind : uint8_t { gridIndex, scalarPrefetch, input, output, scratch } kind = gridIndex;
  int index = 0;            ///< among those of its kind
  std::string str() const;  ///< "input 1"
  bool operator==(const ArgumentRole&) const = default;
};

/// A view of a package whose counts fit each other (`finish`). The function takes an index per grid axis, then scalar
/// prefetch operands, inputs, outputs and scratch; the call has dynamic grid bounds, scalar prefetch operands and
/// inputs as operands, outputs as results. Inputs and outputs together are the *blocks*: an input has its own number as
/// a block, output o has numInputs() + o, as in KernelSignature::windows.
///
/// Counts are read from the package at each query: it may change during the lifetime of the view.
class KernelArguments {
 public:
  explicit KernelArguments(const KernelPackage& package) : package_(&package), function_(package.kernelFunction()) {}

  mlir::func::FuncOp function() const { return function_; }

  size_t gridRank() const { return signature().grid.size(); }
  size_t numScalarPrefetch() const { return static_cast<size_t>(signature().numScalarPrefetch); }
  size_t numInputs() const { return static_cast<size_t>(package_->numInputs()); }
  size_t numOutputs() const { return package_->results.size(); }
  size_t numBlocks() const { return numInputs() + numOutputs(); }
  size_t numScratch() const { return static_cast<size_t>(signature().numScratch); }

  // ---- arguments of the function
  mlir::BlockArgument gridIndex(size_t axis) const { return argument(axis); }
  mlir::BlockArgument scalarPrefetch(size_t i) const { return argument(gridRank() + i); }
  mlir::BlockArgument block(size_t number) const { return argument(firstBlock() + number); }
  mlir::BlockArgument input(size_t i) const { return block(i); }
  mlir::BlockArgument output(size_t o) const { return block(numInputs() + o); }
  mlir::BlockArgument scratch(size_t s) const { return argument(firstBlock() + numBlocks() + s); }
  /// How many arguments it has to have.
  size_t count() const { return firstBlock() + numBlocks() + numScratch(); }

  ArgumentRole roleOf(unsigned argumentNumber) const;
  /// The role of the value; nullopt: it is not an argument of the function.
  std::optional<ArgumentRole> roleOf(mlir::Value) const;
  /// The number of the block that the value is; nullopt: none.
  std::optional<size_t> blockNumber(mlir::Value) const;

  // ---- the call
  size_t prefetchOperand(size_t i) const { return static_cast<size_t>(signature().numDynamicBounds()) + i; }
  size_t inputOperand(size_t i) const { return package_->operands.size() - numInputs() + i; }
  /// The array behind a block, with its signedness.
  const ArrayType& arrayOf(size_t block) const;
  const std::optional<Window>& windowOf(size_t block) const { return signature().windows[block]; }
  mlir::func::FuncOp indexMap(const Window& window) const;

  /// The input that an output is one array with; nullopt: none.
  std::optional<size_t> aliasedInput(size_t output) const;
  std::optional<size_t> aliasedOutput(size_t input) const;
  /// Whether an output is one array with any operand.
  bool isAliased(size_t output) const;

 private:
  const KernelSignature& signature() const { return package_->signature; }
  size_t firstBlock() const { return gridRank() + numScalarPrefetch(); }
  mlir::BlockArgument argument(size_t number) const {
    return mlir::func::FuncOp(function_).getArgument(static_cast<unsigned>(number));
  }

  const KernelPackage* package_;
  mlir::func::FuncOp function_;
};

}  // namespace smalti
