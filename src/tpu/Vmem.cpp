#include "tpu/Vmem.h"

#include <fmt/format.h>

#include "base/Arithmetic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include "ir/KernelArguments.h"
#include "ir/Tpu.h"
#include "ir/TpuOps.h"
#include "ir/Types.h"
#include "tpu/Scratch.h"
#include "tpu/Tiling.h"

namespace smalti::tpu {
namespace {

/// Whether a window's block stays the same over the whole grid: its map returns constants, or the axes it follows have
/// one step.
bool isFixed(const KernelPackage& p, const Window& w) {
  mlir::ModuleOp module = *p.module;
  auto map = module.lookupSymbol<mlir::func::FuncOp>(w.transform);
  if (!map || map.empty()) return false;
  for (size_t axis = 0; axis < p.signature.grid.size() && axis < map.getNumArguments(); ++axis)
    if (p.signature.grid[axis] != 1 && !map.getArgument(static_cast<unsigned>(axis)).use_empty()) return false;
  return true;
}

int64_t limitOf(const KernelPackage& p, const Chip& chip) {
  int64_t limit = chip.memory.vmemDefaultLimitBytes;
  for (const auto& s : p.config.scopedMemory)
    if (s.memorySpace == 1) limit = s.size;
  return std::min(limit, chip.memory.vmemUsableBytes);
}

SourcePlace firstUse(mlir::func::FuncOp f, mlir::Value ref) {
  SourcePlace found;
  f.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    if (!llvm::is_contained(op->getOperands(), ref)) return mlir::WalkResult::advance();
    found = smalti::placeOf(op->getLoc());
    return found.known() ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return found;
}

/// Allocations that are there at once where they take most. Those of regions one after the other share memory.
struct Allocated {
  std::vector<VmemPart> parts;
  int64_t bytes = 0;
};

void addAllocations(mlir::Region& region, const Chip& chip, Allocated& own, Allocated& most);

Allocated allocatedIn(mlir::Region& region, const Chip& chip) {
  Allocated own, most;
  addAllocations(region, chip, own, most);
  own.parts.insert(own.parts.end(), most.parts.begin(), most.parts.end());
  own.bytes += most.bytes;
  return own;
}

/// `own`: of the allocation's scope; `most`: of the scope in it that takes most.
void addAllocations(mlir::Region& region, const Chip& chip, Allocated& own, Allocated& most) {
  for (mlir::Block& block : region)
    for (mlir::Operation& op : block) {
      if (auto alloca = mlir::dyn_cast<mlir::memref::AllocaOp>(op)) {
        const auto array = arrayTypeOf(alloca.getType());
        if (!array || memorySpaceOf(alloca.getType()) != MemorySpace::vmem) continue;
        const int64_t bytes = paddedBytes(chip, *array);
        own.parts.push_back({VmemPart::scratch, "an allocation", *array, 1, bytes, smalti::placeOf(alloca.getLoc())});
        own.bytes += bytes;
      }
      for (mlir::Region& inner : op.getRegions()) {
        if (!mlir::isa<RegionOp>(op)) {
          addAllocations(inner, chip, own, most);
        } else if (Allocated scope = allocatedIn(inner, chip); scope.bytes > most.bytes) {
          most = std::move(scope);
        }
      }
    }
}

}  // namespace

int64_t allottedBytes(int64_t bytes) {
  constexpr int64_t kUnit = 1024;
  return roundUp(bytes, kUnit);
}

int64_t VmemPart::usefulBytes() const { return buffers * array.elements() * elementBits(array.dtype) / 8; }

int64_t VmemMap::declaredBytes() const {
  int64_t sum = 0;
  for (const VmemPart& part : parts) sum += allottedBytes(part.bytes);
  return sum;
}

Fits VmemMap::fits() const {
  const int64_t declared = declaredBytes();
  if (declared + temporaries.low > limitBytes) return Fits::no;
  return declared + temporaries.high <= limitBytes ? Fits::yes : Fits::uncertain;
}

VmemMap vmemOf(const KernelPackage& p, const Chip& chip) {
  VmemMap map;
  map.limitBytes = limitOf(p, chip);
  mlir::func::FuncOp f = p.kernelFunction();
  for (unsigned i = 0; f && i < f.getNumArguments(); ++i) {
    const auto type = mlir::dyn_cast<mlir::MemRefType>(f.getArgument(i).getType());
    if (!type || memorySpaceOf(type) != MemorySpace::vmem) continue;
    const auto array = arrayTypeOf(type);
    if (!array) continue;
    const ArgumentRole role = KernelArguments(p).roleOf(i);
    const bool isScratch = role.kind == ArgumentRole::scratch;
    if (isScratch && isRemoved(p, f.getArgument(i))) {
      map.removed.push_back(role.str());
      continue;
    }
    VmemPart part{isScratch ? VmemPart::scratch : VmemPart::window, role.str(), *array};
    part.place = firstUse(f, f.getArgument(i));
    if (!isScratch) {
      const int window = role.index + (role.kind == ArgumentRole::output ? p.numInputs() : 0);
      const auto& w = p.signature.windows[static_cast<size_t>(window)];
      if (w && w->pipelineMode != smalti::PipelineMode::synchronous && !isFixed(p, *w)) part.buffers = 2;
    }
    part.bytes = part.buffers * paddedBytes(chip, *array);
    map.parts.push_back(std::move(part));
  }
  map.temporaries = temporariesOf(p, chip);
  if (f)
    for (VmemPart& part : allocatedIn(f.getBody(), chip).parts) map.parts.push_back(std::move(part));
  return map;
}

}  // namespace smalti::tpu
