#include <fmt/format.h>

#include "base/MaxDimensions.h"
#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/Types.h"
#include "ir/package/Checks.h"

namespace smalti::package {

namespace {

std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

}  // namespace

std::string describe(mlir::Type type) {
  auto array = mlir::isa<mlir::ShapedType>(type) ? arrayTypeOf(type) : std::nullopt;
  if (!array) return typeText(type);
  std::string text = array->str();
  auto memref = mlir::dyn_cast<mlir::MemRefType>(type);
  if (auto space = memref ? tpu::memorySpaceOf(memref) : std::nullopt)
    text += fmt::format(" in {}", tpu::stringifyMemorySpace(*space).str());
  return text;
}

namespace {

class ArgumentChecker {
 public:
  ArgumentChecker(const KernelPackage& package, mlir::func::FuncOp function, Violations& violations)
      : package_(package), arguments_(package), function_(function), violations_(violations) {}

  void run() {
    for (unsigned i = 0; i < function_.getNumArguments(); ++i) {
      argument_ = function_.getArgument(i);
      role_ = arguments_.roleOf(i);
      check();
    }
  }

 private:
  void add(const char* code, std::string message, std::string need, std::string have, std::string help = {}) {
    violations_.add({.code = code,
                     .message = std::move(message),
                     .place = placeOf(argument_.getLoc()),
                     .where = {role_.str()},
                     .need = std::move(need),
                     .have = std::move(have),
                     .help = std::move(help)});
  }

  void check() {
    if (role_.kind == ArgumentRole::gridIndex) {
      if (!argument_.getType().isSignlessInteger(32))
        add("SM3004", "a grid index must be a scalar", "i32", describe(argument_.getType()));
      return;
    }
    auto type = mlir::dyn_cast<mlir::MemRefType>(argument_.getType());
    if (!type) return add("SM3004", "a kernel's operand must be a ref", "a memref", describe(argument_.getType()));
    auto array = arrayTypeOf(type);
    if (!array)
      return add("SM3004", "a ref's shape must be static and its elements of a type that kernels have",
                 "for example memref<8x128xf32, #tpu.memory_space<vmem>>", describe(type));
    if (type.getRank() > kMaxDimensions)
      return add("SM3004", "a ref has too many dimensions", fmt::format("at most {}", kMaxDimensions),
                 fmt::format("{}", type.getRank()));
    if (!type.getLayout().isIdentity() && !mlir::isa<tpu::TiledAttr>(type.getLayout()))
      return add("SM3004", "a kernel's operand cannot have a strided layout", "no layout", typeText(type));
    if (!checkSpace(type, *array)) return;
    if (role_.kind == ArgumentRole::scratch) return;
    checkArray(*array);
  }

  bool checkSpace(mlir::MemRefType type, const ArrayType& array) {
    auto space = tpu::memorySpaceOf(type);
    if (!space) return add("SM3013", "unknown memory space", "#tpu.memory_space<...>", typeText(type)), false;
    using enum tpu::MemorySpace;
    if (is_semaphore(array.dtype) != (*space == semaphore_mem))
      return add("SM3013", "semaphores live in semaphore memory, and nothing else does", "memory space semaphore_mem",
                 describe(type)),
             false;
    if (*space == vmem_shared)
      return add("SM3013", "only SparseCores have shared VMEM", "vmem, smem, any or hbm", describe(type)), false;
    if (role_.kind == ArgumentRole::scalarPrefetch && *space != smem && *space != semaphore_mem)
      return add("SM3013", "scalar prefetch operands are in SMEM", "memory space smem", describe(type)), false;
    if (*space == vmem && array.shape.empty())
      return add("SM3013", "a ref without dimensions cannot be in VMEM", "memory space smem, or a shape of (1, 1)",
                 describe(type)),
             false;
    return true;
  }

  // The kernel's view of an operand against the array that is passed for it.
  void checkArray(const ArrayType& ref) {
    const KernelPackage& p = package_;
    const auto block = arguments_.blockNumber(argument_);
    const ArrayType& array = block ? arguments_.arrayOf(*block) : p.operands[arguments_.prefetchOperand(role_.index)];
    // A semaphore array outside of kernels is an array of integers.
    const bool dtypesFit = is_semaphore(ref.dtype) ? is_integer(array.dtype) || ref.dtype == array.dtype
                                                   : ref.dtype == signless(array.dtype);
    if (!dtypesFit)
      add("SM3008", "the kernel sees other elements than the array has",
          fmt::format("{} (of {})", name(signless(array.dtype)), array.str()), std::string(name(ref.dtype)));

    const std::optional<Window>& window = block ? arguments_.windowOf(*block) : std::nullopt;
    if (!window) {
      if (ref.shape != array.shape)
        add("SM3009", "the array is passed whole, but the kernel's ref has another shape", array.str(), ref.str(),
            p.signature.grid.empty() ? "without a grid the ref has the array's shape" : "give it a window");
      return;
    }
    const Window& w = *window;
    if (p.signature.grid.empty())
      return add("SM3006", "a window without a grid", "iteration_bounds, or no window_params", "no grid");
    if (w.bounds != ref.shape)
      add("SM3007", "the block shape is not the shape of the kernel's ref",
          fmt::format("({})", fmt::join(w.bounds, ", ")), fmt::format("({})", fmt::join(ref.shape, ", ")));
    if (w.bounds.size() != array.shape.size())
      return add("SM3007", "the block has another rank than the array",
                 fmt::format("{} dimensions, as {}", array.shape.size(), array.str()),
                 fmt::format("({})", fmt::join(w.bounds, ", ")));
    for (size_t d = 0; d < w.bounds.size(); ++d)
      if (w.bounds[d] < 1 && !(w.bounds[d] == 0 && array.shape[d] == 0))
        return add("SM3007", "a block cannot be empty", "sizes of 1 or more",
                   fmt::format("({})", fmt::join(w.bounds, ", ")));
  }

  const KernelPackage& package_;
  const KernelArguments arguments_;
  mlir::func::FuncOp function_;
  Violations& violations_;
  mlir::BlockArgument argument_;
  ArgumentRole role_;
};

}  // namespace

void checkArguments(const KernelPackage& package, mlir::func::FuncOp function, Violations& violations) {
  ArgumentChecker(package, function, violations).run();
}

}  // namespace smalti::package
