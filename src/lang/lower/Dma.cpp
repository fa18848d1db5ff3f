// Copies and semaphores: tpu.enqueue_dma, tpu.wait_dma, tpu.sem_*.
#include <algorithm>
#include <array>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "lang/lower/Lowering.h"
#include "lang/trace/Place.h"

namespace smalti::lang {
namespace {

/// The memref without the axes that the block's squeezed dimensions left.
mlir::Value plain(Lowering& l, ValueId v) {
  const MemRefValue& ref = l.ref(v);
  if (std::find(ref.squeezed.begin(), ref.squeezed.end(), true) == ref.squeezed.end()) return ref.memref;
  const auto type = mlir::cast<mlir::MemRefType>(ref.memref.getType());
  return l.create1("tpu.memref_squeeze", ref.memref,
                   mlir::MemRefType::get(l.typeOf(v).shape, type.getElementType(), mlir::MemRefLayoutAttrInterface{},
                                         type.getMemorySpace()));
}

/// A Ref made of select_ref's: `then` is lowered once per choice, with the Ref bound to it.
void perChoice(Lowering& l, ValueId v, const std::function<void()>& then) {
  const Op* made = l.deferred(v);
  if (!made) return then();
  const auto bound = [&](ValueId base, const std::function<void()>& bind) {
    perChoice(l, base, [&] {
      bind();
      then();
      l.unbind(v);
    });
  };
  if (made->name != "select_ref") return bound(made->operands[0], [&] { findLowerRule(made->name)(l, *made); });
  const auto alternative = [&](const auto& self, size_t k) -> void {
    const ValueId chosen = made->operands[1 + k];
    const auto bind = [&] { l.setRef(v, l.ref(chosen)); };
    if (k + 2 == made->operands.size()) return bound(chosen, bind);
    const mlir::Value isK =
        mlir::arith::CmpIOp::create(l.b, l.loc, mlir::arith::CmpIPredicate::eq, l.value(made->operands[0]),
                                    l.constant(l.b.getI32Type(), static_cast<double>(k)));
    auto branch = mlir::scf::IfOp::create(l.b, l.loc, mlir::TypeRange{}, isK, true);
    for (const bool first : {true, false}) {
      const mlir::OpBuilder::InsertionGuard guard(l.b);
      l.b.setInsertionPointToStart(first ? branch.thenBlock() : branch.elseBlock());
      first ? bound(chosen, bind) : self(self, k + 1);
    }
  };
  alternative(alternative, 0);
}

bool flag(const Op& op, std::string_view name) { return std::get<bool>(*op.find(name)); }

void checkShapes(const Op& op, mlir::Value src, mlir::Value dst) {
  const auto from = mlir::cast<mlir::MemRefType>(src.getType()).getShape(),
             to = mlir::cast<mlir::MemRefType>(dst.getType()).getShape();
  if (from == to) return;
  const auto text = [](llvm::ArrayRef<int64_t> shape) {
    std::vector<std::string> dims;
    for (const int64_t d : shape) dims.push_back(mlir::ShapedType::isDynamic(d) ? "traced" : fmt::format("{}", d));
    return fmt::format("shape [{}]", fmt::join(dims, ", "));
  };
  refuse({.code = "SM6501",
          .message = "DMA source and target shape mismatch",
          .place = op.place,
          .need = text(from),
          .have = text(to),
          .help = "slice the larger one with .at"});
}

/// dma_start and dma_wait: source, source semaphore of remote copies, target, semaphore, device.
void dma(Lowering& l, const Op& op) {
  const bool remote = flag(op, "remote"), start = op.name == "dma_start";
  perChoice(l, op.operands[0], [&] {
    perChoice(l, op.operands[1], [&] {
      std::vector<mlir::Value> operands{plain(l, op.operands[0])};
      if (remote) operands.push_back(plain(l, op.operands[3]));
      operands.push_back(plain(l, op.operands[1]));
      checkShapes(op, operands[0], operands.back());
      operands.push_back(plain(l, op.operands[2]));
      if (remote) operands.push_back(l.value(op.operands[4]));
      const int32_t r = remote ? 1 : 0;
      const auto priority = start ? static_cast<int32_t>(std::get<int64_t>(*op.find("priority"))) : 0;
      std::vector<mlir::NamedAttribute> attributes{
          l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, r, 1, 1, r, 0, 0})),
          l.b.getNamedAttr("priority", l.b.getI32IntegerAttr(priority)),
          l.b.getNamedAttr("strict_ordering", l.b.getBoolAttr(false))};
      if (!start) attributes.push_back(l.b.getNamedAttr("wait_target", l.b.getBoolAttr(flag(op, "wait_target"))));
      l.create(start ? "tpu.enqueue_dma" : "tpu.wait_dma", operands, {}, attributes);
    });
  });
}

void selectRef(Lowering& l, const Op& op) { l.defer(op); }

void touch(Lowering&, const Op&) {}

void semaphoreRead(Lowering& l, const Op& op) {
  l.set(op.results[0], l.create1("tpu.sem_read", plain(l, op.operands[0]), l.b.getI32Type()));
}

void semaphoreSignal(Lowering& l, const Op& op) {
  std::vector<mlir::Value> operands{plain(l, op.operands[0])};
  for (size_t i = 1; i < op.operands.size(); ++i) operands.push_back(l.value(op.operands[i]));
  const int32_t device = flag(op, "device") ? 1 : 0, core = flag(op, "core") ? 1 : 0;
  l.create("tpu.sem_signal", operands, {},
           {l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, 1, device, core, 0}))});
}

void semaphoreWait(Lowering& l, const Op& op) {
  l.create("tpu.sem_wait", {plain(l, op.operands[0]), l.value(op.operands[1])}, {});
}

void barrierSemaphore(Lowering& l, const Op& op) {
  const auto type = memrefType(*l.b.getContext(), l.typeOf(op.results[0]), MemorySpace::semaphore);
  l.setRef(op.results[0], {l.create1("tpu.sem_barrier", {}, type), {}});
}

void deviceId(Lowering& l, const Op& op) { l.set(op.results[0], l.create1("tpu.device_id", {}, l.b.getI32Type())); }

constexpr std::array kDmaRules{
    LowerRow{"barrier_semaphore", barrierSemaphore},
    LowerRow{"device_id", deviceId},
    LowerRow{"dma_start", dma},
    LowerRow{"dma_wait", dma},
    LowerRow{"select_ref", selectRef},
    LowerRow{"semaphore_read", semaphoreRead},
    LowerRow{"semaphore_signal", semaphoreSignal},
    LowerRow{"semaphore_wait", semaphoreWait},
    LowerRow{"touch", touch},
};

}  // namespace

std::span<const LowerRow> dmaRules() { return kDmaRules; }

}  // namespace smalti::lang
