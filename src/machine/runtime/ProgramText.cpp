#include "machine/runtime/ProgramText.h"

#include <array>

#include "ir/facts/OpFamilies.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti::machine {
namespace {

/// First operand of segment `segment`, or -1 when it is empty.
int segmentOperand(mlir::Operation* op, unsigned segment) {
  auto sizes = op->getAttrOfType<mlir::DenseI32ArrayAttr>("operandSegmentSizes");
  if (!sizes || segment >= static_cast<unsigned>(sizes.size()) || sizes[segment] == 0) return -1;
  int at = 0;
  for (unsigned s = 0; s < segment; ++s) at += sizes[s];
  return at;
}

mlir::Value segmentValue(mlir::Operation* op, unsigned segment) {
  const int at = segmentOperand(op, segment);
  return at < 0 || at >= static_cast<int>(op->getNumOperands()) ? mlir::Value() : op->getOperand(at);
}

/// The allocation that a ref is a view of; nothing when it is chosen at run time.
std::optional<SignalSite> rootOf(mlir::Value ref, mlir::Operation* function, int gridRank) {
  while (mlir::Operation* op = ref.getDefiningOp()) {
    const llvm::StringRef name = op->getName().getStringRef();
    SignalSite site;
    if (isView(*op)) {
      ref = op->getOperand(0);
      continue;
    }
    if (name == "tpu.sem_barrier") {
      site.root = SignalSite::Root::barrier;
      return site;
    }
    if (name == "tpu.sem_alloc" || name == "memref.alloca") {
      site.root = SignalSite::Root::allocation;
      site.allocation = placeOf(op->getLoc());
      return site;
    }
    return std::nullopt;
  }
  auto argument = mlir::cast<mlir::BlockArgument>(ref);
  if (argument.getOwner()->getParentOp() != function) return std::nullopt;
  return SignalSite{.root = SignalSite::Root::argument,
                    .argument = static_cast<int>(argument.getArgNumber()) - gridRank};
}

// Operand segments of tpu.enqueue_dma and tpu.sem_signal.
constexpr unsigned kDmaSourceSemaphore = 1, kDmaTargetSemaphore = 3, kDmaDevice = 4, kDmaCore = 5;
constexpr unsigned kSignalSemaphore = 0, kSignalDevice = 2, kSignalCore = 3;

}  // namespace

Communication findCommunication(mlir::Operation* function, int gridRank) {
  Communication found;
  function->walk([&](mlir::Operation* op) {
    const llvm::StringRef name = op->getName().getStringRef();
    const bool dma = name == "tpu.enqueue_dma";
    if (!dma && name != "tpu.sem_signal") return;
    const bool core = segmentOperand(op, dma ? kDmaCore : kSignalCore) >= 0;
    found.otherCores |= core;
    found.otherDevices |= core || segmentOperand(op, dma ? kDmaDevice : kSignalDevice) >= 0;
    const std::array<mlir::Value, 2> semaphores{segmentValue(op, dma ? kDmaTargetSemaphore : kSignalSemaphore),
                                                dma ? segmentValue(op, kDmaSourceSemaphore) : mlir::Value()};
    for (mlir::Value semaphore : semaphores) {
      if (!semaphore) continue;
      auto site = rootOf(semaphore, function, gridRank);
      if (!site) continue;
      site->dma = dma;
      site->place = placeOf(op->getLoc());
      found.sites.push_back(std::move(*site));
    }
  });
  return found;
}

}  // namespace smalti::machine
