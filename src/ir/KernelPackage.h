// The waist: one kernel module in the `tpu` dialect, with the information that the module does not contain.
// Every front end produces one, every target consumes one.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/KernelConfig.h"
#include "ir/OwnedModule.h"
#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace mlir {
class Location;
class MLIRContext;
}  // namespace mlir
namespace mlir::func {
class FuncOp;
}

namespace smalti {

/// Grid bound that is known only when the kernel is called (its value is a leading scalar operand).
inline constexpr int64_t kDynamicBound = INT64_MIN;

enum class PipelineMode { automatic, synchronous, doubleBuffered };

/// One operand's or result's window over the grid (an entry of `window_params`).
struct Window {
  std::string transform;                 ///< symbol of the index map function
  Shape bounds;                          ///< block shape; squeezed dims are 1
  bool elementIndexed = false;           ///< pl.Element: the index map returns element offsets
  std::vector<int64_t> padLow, padHigh;  ///< virtual padding, elements; only with elementIndexed
  PipelineMode pipelineMode = PipelineMode::automatic;
  RevisitMode revisitMode = RevisitMode::immediate;
};

/// The contents of the kernel function's attributes and arguments, parsed once and checked.
struct KernelSignature {
  std::vector<int64_t> grid;  ///< empty: no grid; kDynamicBound where dynamic
  std::vector<DimensionSemantics> dimensionSemantics;
  int numScalarPrefetch = 0;
  int numScratch = 0;
  /// One per input then output; nullopt: passed whole (no grid, or ANY/HBM/semaphore operand).
  std::vector<std::optional<Window>> windows;
  int numDynamicBounds() const;
};

struct Alias {
  int output = 0;
  int operand = 0;  ///< counts all operands: dynamic bounds, scalar prefetch, inputs
  bool operator==(const Alias&) const = default;
};

/// One `tpu_custom_call`. Operand order: dynamic grid bounds, scalar prefetch, inputs (S-F5).
struct KernelPackage {
  std::shared_ptr<mlir::MLIRContext> context;
  OwnedModule module;
  std::string name;                 ///< kernel_name
  std::vector<ArrayType> operands;  ///< full array types, with signedness
  std::vector<ArrayType> results;
  std::vector<Alias> aliases;
  KernelConfig config;
  std::map<std::string, std::string> frontendAttributes;  ///< mhlo.frontend_attributes, kept
  bool hasSideEffect = false;
  KernelSignature signature;  ///< filled by `finish`

  KernelPackage() = default;
  KernelPackage(KernelPackage&&) = default;
  KernelPackage& operator=(KernelPackage&&) = default;
  ~KernelPackage() { module = nullptr; }  // the module must be destroyed before its context

  /// The function with `tpu.core_type`, else the first one named main, else the first; null when there is none.
  mlir::func::FuncOp kernelFunction() const;
  int numInputs() const;  ///< operands after dynamic bounds and scalar prefetch

  /// Another package in the same context, with a module of its own.
  KernelPackage copy() const;
};

/// Reads the signature from the module and checks every invariant between module, operands, results,
/// aliases and configuration; all violations are reported (first one with the others `related`). Codes SM30xx.
Status finish(KernelPackage&);

/// A context with every dialect a kernel may use, and no others.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// The place a location carries: the innermost user file line if there is one.
SourcePlace placeOf(mlir::Location);

}  // namespace smalti
