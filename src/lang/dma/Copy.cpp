// Copies: ops "dma_start" and "dma_wait" of (src, dst, sem), of remote ones (src, dst, sem, send_sem, device_id).
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "lang/dma/Device.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/OpRecord.h"
#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "smalti/dma.h"

namespace smalti::lang {
namespace {

/// A Ref created by select_ref: `then` is lowered once per choice, with the Ref bound to it.
void perChoice(DialectLowering& l, ValueId v, const std::function<void()>& then) {
  const Op* made = l.deferred(v);
  if (!made) return then();
  const auto bound = [&](ValueId base, const std::function<void()>& bind) {
    perChoice(l, base, [&] {
      bind();
      then();
      l.unbind(v);
    });
  };
  if (made->name != "select_ref") return bound(made->operands[0], [&] { findOp(made->name)->lower(l, *made); });
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

/// Source, source semaphore of remote copies, target, semaphore, device.
void lowerStart(DialectLowering& l, const Op& op) {
  const bool remote = flag(op, "remote");
  perChoice(l, op.operands[0], [&] {
    perChoice(l, op.operands[1], [&] {
      std::vector<mlir::Value> operands{unsqueezed(l, op.operands[0])};
      if (remote) operands.push_back(unsqueezed(l, op.operands[3]));
      operands.push_back(unsqueezed(l, op.operands[1]));
      checkShapes(op, operands[0], operands.back());
      operands.push_back(unsqueezed(l, op.operands[2]));
      if (remote) operands.push_back(l.value(op.operands[4]));
      const int32_t r = remote ? 1 : 0;
      l.create("tpu.enqueue_dma", operands, {},
               {l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, r, 1, 1, r, 0, 0})),
                l.b.getNamedAttr("priority",
                                 l.b.getI32IntegerAttr(static_cast<int32_t>(std::get<int64_t>(*op.find("priority"))))),
                l.b.getNamedAttr("strict_ordering", l.b.getBoolAttr(false))});
    });
  });
}

/// A wait is for the bytes of its target. Those that have been sent are waited for by a copy back, as JAX has it.
void lowerWait(DialectLowering& l, const Op& op) {
  const bool sent = !flag(op, "wait_target");
  const ValueId source = op.operands[sent ? 1 : 0], target = op.operands[sent ? 0 : 1];
  perChoice(l, source, [&] {
    perChoice(l, target, [&] {
      const mlir::Value from = unsqueezed(l, source), to = unsqueezed(l, target);
      checkShapes(op, sent ? to : from, sent ? from : to);
      l.create("tpu.wait_dma", {from, to, unsqueezed(l, op.operands[sent ? 3 : 2])}, {},
               {l.b.getNamedAttr("operandSegmentSizes", l.b.getDenseI32ArrayAttr({1, 0, 1, 1, 0, 0, 0})),
                l.b.getNamedAttr("priority", l.b.getI32IntegerAttr(0)),
                l.b.getNamedAttr("strict_ordering", l.b.getBoolAttr(false)),
                l.b.getNamedAttr("wait_target", l.b.getBoolAttr(true))});
    });
  });
}

void lowerSelectRef(DialectLowering& l, const Op& op) { l.defer(op); }

void lowerTouch(DialectLowering&, const Op&) {}

constexpr OpTable kCopyOps{
    OpRecord{.name = "dma_start", .types = noResults, .lower = lowerStart, .effect = true},
    OpRecord{.name = "dma_wait", .types = noResults, .lower = lowerWait, .effect = true},
    OpRecord{.name = "select_ref", .types = oneResult, .lower = lowerSelectRef},
    OpRecord{.name = "touch", .types = noResults, .lower = lowerTouch, .effect = true},
};
const OpFamily kCopyFamily(kCopyOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Trace;

std::string refStr(const Ref& r) { return r.node() ? r.node()->type.str() : "an empty Ref"; }

void checkTypes(const Ref& src, const Ref& dst) {
  if (!src.node() || !dst.node() || is_semaphore(src.dtype()) || is_semaphore(dst.dtype()))
    lang::refuse({.code = "SM6501",
                  .message = "DMA source and destination must be Refs of data",
                  .place = {},
                  .need = "two Refs",
                  .have = fmt::format("{} and {}", refStr(src), refStr(dst)),
                  .help = "the order is source, destination, semaphore"});
  if (src.dtype() != dst.dtype())
    lang::refuse({.code = "SM6501",
                  .message = "DMA source and target have different dtypes",
                  .place = {},
                  .need = refStr(src),
                  .have = refStr(dst),
                  .help = "a copy converts nothing: bitcast one of the Refs, or convert after the copy"});
  if (src.dtype() == DType::pred)
    lang::refuse({.code = "SM6501",
                  .message = "DMAs with bool dtypes are not supported",
                  .place = {},
                  .need = "numbers",
                  .have = refStr(src),
                  .help = "keep the mask as i32 and compare after the copy"});
}

void checkSemaphore(const Ref& sem) {
  if (sem.node() && is_semaphore(sem.dtype()) && sem.rank() == 0) return;
  const bool array = sem.node() && is_semaphore(sem.dtype());
  lang::refuse(
      {.code = "SM6502",
       .message = array ? "a copy takes one semaphore of an array of them" : "a copy needs a semaphore",
       .place = {},
       .need = "a ()-shaped DMA semaphore",
       .have = refStr(sem),
       .help = array ? "choose one: sem.at(i)" : "allocate one: semaphore_type::dma() in scratch or run_scoped"});
}

}  // namespace

void AsyncCopyDescriptor::record(const char* op, std::optional<bool> waitTarget, StartOptions options,
                                 const Location& at) const {
  SourceLocationScope place(at);
  Trace& trace = lang::kernelTrace(op);
  std::vector<ValueId> operands{trace.use(src_), trace.use(dst_), trace.use(sem_)};
  if (send_) operands.push_back(trace.use(*send_));
  if (device_) operands.push_back(trace.use(*device_));
  lang::Attributes attributes{{"remote", is_remote()}};
  if (waitTarget)
    attributes.emplace_back("wait_target", *waitTarget);
  else
    attributes.emplace_back("priority", int64_t{options.priority});
  trace.record(waitTarget ? lang::kCopyOps["dma_wait"] : lang::kCopyOps["dma_start"], std::move(operands), {},
               std::move(attributes));
}

void AsyncCopyDescriptor::start(StartOptions options, Location at) const {
  SourceLocationScope place(at);
  std::string wrong;
  if (options.priority < 0)
    wrong = fmt::format("DMA start priority must be non-negative: {}", options.priority);
  else if (options.priority > 1)
    wrong = fmt::format("only support priority 0 or 1, but got {}", options.priority);
  else if (options.priority > 0 && is_remote())
    wrong = "non-zero priority is not supported for remote DMA";
  else if (options.add)
    wrong = "DMA with add=True is not supported";
  if (!wrong.empty())
    lang::refuse({.code = "SM6503",
                  .message = std::move(wrong),
                  .place = {},
                  .need = "priority 0, or 1 for copies on this device, without add",
                  .help = options.add ? "copy to scratch and add there" : "leave the option out"});
  record("dma_start", std::nullopt, options, at);
}

void AsyncCopyDescriptor::wait(Location at) const {
  if (is_remote()) wait_send(at);
  wait_recv(at);
}

void AsyncCopyDescriptor::wait_send(Location at) const {
  SourceLocationScope place(at);
  if (!is_remote())
    lang::refuse({.code = "SM6504",
                  .message = "Cannot `wait_send` on a local copy",
                  .place = {},
                  .need = "a copy of make_async_remote_copy",
                  .help = "call wait(): a local copy has one end"});
  record("dma_wait", false, {}, at);
}

void AsyncCopyDescriptor::wait_recv(Location at) const {
  SourceLocationScope place(at);
  if (sem_.dtype() != DType::dma_semaphore)
    lang::refuse({.code = "SM6504",
                  .message = "dma_wait requires a DMA semaphore, but got a regular semaphore",
                  .place = {},
                  .need = "semaphore_type::dma()",
                  .have = refStr(sem_),
                  .help = "use semaphore_wait instead: the copy adds 1 to a regular semaphore"});
  record("dma_wait", true, {}, at);
}

AsyncCopyDescriptor make_async_copy(const Ref& src, const Ref& dst, const Ref& sem, Location at) {
  SourceLocationScope place(at);
  lang::kernelTrace("make_async_copy");
  checkTypes(src, dst);
  checkSemaphore(sem);
  return {src, dst, sem, at};
}

AsyncCopyDescriptor async_copy(const Ref& src, const Ref& dst, const Ref& sem, StartOptions options, Location at) {
  const AsyncCopyDescriptor copy = make_async_copy(src, dst, sem, at);
  copy.start(options, at);
  return copy;
}

void sync_copy(const Ref& src, const Ref& dst, Location at) {
  run_scoped(
      [&](const Ref& sem) {
        const AsyncCopyDescriptor copy = make_async_copy(src, dst, sem, at);
        copy.start({}, at);
        copy.wait(at);
      },
      semaphore_type::dma({}, at));
}

AsyncCopyDescriptor make_async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem, const Ref& recv_sem,
                                           const DeviceId& device_id, DeviceIdType type, Location at) {
  SourceLocationScope place(at);
  lang::kernelTrace("make_async_remote_copy");
  checkTypes(src, dst);
  checkSemaphore(send_sem);
  checkSemaphore(recv_sem);
  return {src, dst, send_sem, recv_sem, lang::logicalId(device_id, type), at};
}

AsyncCopyDescriptor async_remote_copy(const Ref& src, const Ref& dst, const Ref& send_sem, const Ref& recv_sem,
                                      const DeviceId& device_id, DeviceIdType type, Location at) {
  const AsyncCopyDescriptor copy = make_async_remote_copy(src, dst, send_sem, recv_sem, device_id, type, at);
  copy.start({}, at);
  return copy;
}

Ref select_ref(const Operand& index, const std::vector<Ref>& refs) {
  SourceLocationScope place(index.at());
  Trace& trace = lang::kernelTrace("select_ref");
  std::string wrong;
  if (index.rank() != 0 || !is_integer(index.dtype()))
    wrong = "the index of select_ref is not an integer scalar";
  else if (refs.size() < 2)
    wrong = "select_ref needs at least two Refs";
  for (const Ref& r : refs)
    if (wrong.empty() &&
        (!r.node() || r.node()->type != refs[0].node()->type || r.memory_space() != refs[0].memory_space()))
      wrong = fmt::format("select_ref needs Refs of one type: {} and {} differ", refStr(refs[0]), refStr(r));
  if (!wrong.empty())
    lang::refuse({.code = "SM6507",
                  .message = std::move(wrong),
                  .place = {},
                  .need = "an integer and two or more Refs of the same shape, dtype and memory",
                  .help = "choose between blocks of one Ref with ref.at(i)"});
  std::vector<ValueId> operands{trace.use(astype(index.array(), DType::i32))};
  for (const Ref& r : refs) operands.push_back(trace.use(r));
  return trace.recordRef(lang::kCopyOps["select_ref"], std::move(operands), refs[0].node()->type,
                         refs[0].memory_space());
}

void touch(const Ref& ref, Location at) {
  SourceLocationScope place(at);
  Trace& trace = lang::kernelTrace("touch");
  trace.record(lang::kCopyOps["touch"], {trace.use(ref)}, {});
}

}  // namespace smalti
