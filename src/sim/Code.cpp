#include "sim/Code.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <fmt/format.h>

#include "ir/Tpu.h"
#include "ir/TpuOps.h"

namespace smalti::sim {
namespace {

using namespace smalti::tpu;
namespace arith = mlir::arith;
namespace scf = mlir::scf;

bool isNumber(mlir::Type t) { return t.isIntOrIndex(); }
bool isRef(mlir::Type t) { return mlir::isa<mlir::MemRefType>(t); }
uint8_t bitsOf(mlir::Type t) { return t.isIndex() ? 64 : static_cast<uint8_t>(t.getIntOrFloatBitWidth()); }

std::optional<Binary> binaryOf(mlir::Operation* op) {
  return llvm::TypeSwitch<mlir::Operation*, std::optional<Binary>>(op)
      .Case([](arith::AddIOp) { return Binary::add; })
      .Case([](arith::SubIOp) { return Binary::sub; })
      .Case([](arith::MulIOp) { return Binary::mul; })
      .Case([](arith::DivSIOp) { return Binary::divS; })
      .Case([](arith::DivUIOp) { return Binary::divU; })
      .Case([](arith::RemSIOp) { return Binary::remS; })
      .Case([](arith::RemUIOp) { return Binary::remU; })
      .Case([](arith::FloorDivSIOp) { return Binary::floorDivS; })
      .Case([](arith::CeilDivSIOp) { return Binary::ceilDivS; })
      .Case([](arith::MinSIOp) { return Binary::minS; })
      .Case([](arith::MaxSIOp) { return Binary::maxS; })
      .Case([](arith::MinUIOp) { return Binary::minU; })
      .Case([](arith::MaxUIOp) { return Binary::maxU; })
      .Case([](arith::AndIOp) { return Binary::bitAnd; })
      .Case([](arith::OrIOp) { return Binary::bitOr; })
      .Case([](arith::XOrIOp) { return Binary::bitXor; })
      .Case([](arith::ShLIOp) { return Binary::shiftLeft; })
      .Case([](arith::ShRSIOp) { return Binary::shiftRightS; })
      .Case([](arith::ShRUIOp) { return Binary::shiftRightU; })
      .Case([](arith::ExtSIOp) { return Binary::signExtend; })
      .Case([](arith::ExtUIOp) { return Binary::zeroExtend; })
      .Case([](arith::TruncIOp) { return Binary::truncate; })
      .Case([](arith::IndexCastOp) { return Binary::truncate; })
      .Case([](arith::IndexCastUIOp) { return Binary::zeroExtend; })
      .Case([](mlir::math::CountLeadingZerosOp) { return Binary::countLeadingZeros; })
      .Case([](mlir::math::CtPopOp) { return Binary::popCount; })
      .Case([](arith::CmpIOp cmp) {
        using P = arith::CmpIPredicate;
        switch (cmp.getPredicate()) {
          case P::eq:
            return Binary::eq;
          case P::ne:
            return Binary::ne;
          case P::slt:
            return Binary::ltS;
          case P::sle:
            return Binary::leS;
          case P::sgt:
            return Binary::gtS;
          case P::sge:
            return Binary::geS;
          case P::ult:
            return Binary::ltU;
          case P::ule:
            return Binary::leU;
          case P::ugt:
            return Binary::gtU;
          case P::uge:
            return Binary::geU;
        }
        return Binary::eq;
      })
      .Default([](mlir::Operation*) { return std::nullopt; });
}

class Coder {
 public:
  explicit Coder(const Chip& chip) : chip_(chip) {}

  Result<Code> code(mlir::func::FuncOp f) {
    for (mlir::BlockArgument a : f.getArguments()) {
      code_.numberArguments.push_back(isNumber(a.getType()) ? number(a) : kNone);
      code_.refArguments.push_back(isRef(a.getType()) ? ref(a) : kNone);
    }
    block(f.getBody().front());
    flush();
    emit({.what = Do::finish});
    for (mlir::Value v : f.getBody().front().getTerminator()->getOperands())
      if (isNumber(v.getType())) code_.results.push_back(number(v));
    if (refusal_) return fail(std::move(*refusal_));
    return std::move(code_);
  }

 private:
  // ---- slots
  Slot number(mlir::Value v) {
    auto [it, isNew] = numbers_.try_emplace(v, code_.numbers);
    if (isNew) {
      ++code_.numbers;
      // Constants are created once, regardless of their position.
      if (const auto c = constantOf(v)) code_.constants.emplace_back(it->second, *c);
    }
    return it->second;
  }
  Slot ref(mlir::Value v) {
    auto [it, isNew] = refs_.try_emplace(v, code_.refs);
    if (isNew) ++code_.refs;
    return it->second;
  }
  Slot constant(int64_t value) {
    code_.constants.emplace_back(code_.numbers, value);
    return code_.numbers++;
  }

  /// The value of constants and of expressions of constants, which cost nothing.
  std::optional<int64_t> constantOf(mlir::Value v) {
    mlir::Operation* op = v.getDefiningOp();
    if (!op || !isNumber(v.getType())) return std::nullopt;
    if (auto it = folded_.find(v); it != folded_.end()) return it->second;
    std::optional<int64_t> value;
    if (auto c = mlir::dyn_cast<arith::ConstantOp>(op)) {
      if (auto i = mlir::dyn_cast<mlir::IntegerAttr>(c.getValue()))
        value =
            i.getType().isInteger(1) ? static_cast<int64_t>(i.getValue().getBoolValue()) : i.getValue().getSExtValue();
    } else if (const auto binary = binaryOf(op)) {
      const auto a = constantOf(op->getOperand(0));
      const auto b = op->getNumOperands() > 1 ? constantOf(op->getOperand(1)) : std::optional<int64_t>(0);
      if (a && b) value = compute(*binary, widthOf(op, *binary), *a, *b);
    } else if (auto select = mlir::dyn_cast<arith::SelectOp>(op)) {
      if (const auto c = constantOf(select.getCondition()))
        value = constantOf(*c != 0 ? select.getTrueValue() : select.getFalseValue());
    }
    folded_[v] = value;
    return value;
  }

  static uint8_t widthOf(mlir::Operation* op, Binary binary) {
    return bitsOf(binary == Binary::truncate ? op->getResult(0).getType() : op->getOperand(0).getType());
  }

  // ---- instructions
  int32_t emit(Instruction i) {
    code_.instructions.push_back(i);
    return static_cast<int32_t>(code_.instructions.size()) - 1;
  }
  int32_t here() const { return static_cast<int32_t>(code_.instructions.size()); }

  void flush() {
    if (stretch_.ops.empty() && stretch_.scalars == 0) return;
    emit({.what = Do::spend, .target = static_cast<int32_t>(code_.stretches.size())});
    code_.stretches.push_back(std::move(stretch_));
    stretch_ = {};
  }

  int32_t origin(const std::string& what, mlir::Operation* op) {
    code_.origins.push_back({what, placeOf(op->getLoc())});
    return static_cast<int32_t>(code_.origins.size()) - 1;
  }

  template <class Range>
  void list(Instruction& i, Range values) {
    i.first = static_cast<int32_t>(code_.lists.size());
    for (mlir::Value v : values) code_.lists.push_back(number(v));
    i.count = static_cast<int32_t>(code_.lists.size()) - i.first;
  }

  int32_t type(mlir::Type t) {
    code_.types.push_back(t);
    return static_cast<int32_t>(code_.types.size()) - 1;
  }

  /// Values that a region yields: all are read before any is written.
  void moves(mlir::ValueRange from, mlir::ValueRange to) {
    std::vector<std::pair<Slot, Slot>> second;
    for (auto [f, t] : llvm::zip(from, to)) {
      if (isNumber(t.getType())) {
        const Slot temporary = code_.numbers++;
        emit({.what = Do::move, .to = temporary, .a = number(f)});
        second.emplace_back(number(t), temporary);
      } else if (isRef(t.getType())) {
        emit({.what = Do::other, .to = ref(t), .a = ref(f)});
      }
    }
    for (auto [t, f] : second) emit({.what = Do::move, .to = t, .a = f});
  }

  void block(mlir::Block& b) {
    for (mlir::Operation& op : b.without_terminator()) {
      if (refusal_) return;
      this->op(&op);
    }
  }

  void op(mlir::Operation* op) {
    if (op->getNumResults() == 1 && constantOf(op->getResult(0))) return;
    if (auto loop = mlir::dyn_cast<scf::ForOp>(op)) return forLoop(loop);
    if (auto loop = mlir::dyn_cast<scf::WhileOp>(op)) return whileLoop(loop);
    if (auto branch = mlir::dyn_cast<scf::IfOp>(op)) return ifElse(branch);
    if (auto region = mlir::dyn_cast<RegionOp>(op)) {
      mlir::Block& body = region.getRegion().front();
      block(body);
      return moves(body.getTerminator()->getOperands(), op->getResults());
    }
    if (copyOrSemaphore(op) || view(op) || scalar(op)) return;
    if (op->getNumRegions() > 0) {
      refusal_ =
          Diagnostic{.code = "SM6903",
                     .message = fmt::format("the time of op '{}' is not known", op->getName().getStringRef().str()),
                     .place = placeOf(op->getLoc()),
                     .help = "time the kernel without it"};
      return;
    }
    if (const Work stores = maskedOperandsOf(*op, chip_); stores.cycles != Work().cycles) {
      stretch_.work += stores;
      stretch_.ops.emplace_back(op, stores);
      flush();
    }
    const Work work = workOf(*op, chip_);
    stretch_.work += work;
    if (work.cycles != Work().cycles) stretch_.ops.emplace_back(op, work);
    // A scalar computed from vectors or from floating-point numbers.
    for (mlir::Value r : op->getResults())
      if (isNumber(r.getType())) {
        ++stretch_.scalars;
        emit({.what = Do::unknown,
              .to = number(r),
              .origin = origin(fmt::format("a result of '{}'", op->getName().getStringRef().str()), op)});
      }
  }

  bool scalar(mlir::Operation* op) {
    if (op->getNumResults() == 1 && isNumber(op->getResult(0).getType())) {
      const auto to = [&] { return number(op->getResult(0)); };
      if (const auto binary = binaryOf(op)) {
        ++stretch_.scalars;
        const Slot second = op->getNumOperands() > 1 ? number(op->getOperand(1)) : number(op->getOperand(0));
        emit({.what = Do::binary,
              .binary = *binary,
              .bits = widthOf(op, *binary),
              .to = to(),
              .a = number(op->getOperand(0)),
              .b = second});
        return true;
      }
      if (auto select = mlir::dyn_cast<arith::SelectOp>(op)) {
        ++stretch_.scalars;
        emit({.what = Do::select,
              .to = to(),
              .a = number(select.getCondition()),
              .b = number(select.getTrueValue()),
              .c = number(select.getFalseValue())});
        return true;
      }
      if (mlir::isa<AssumeMultipleOp>(op)) {
        emit({.what = Do::move, .to = to(), .a = number(op->getOperand(0))});
        return true;
      }
      if (auto bound = mlir::dyn_cast<IterationBoundOp>(op)) {
        emit({.what = Do::bound, .to = to(), .target = static_cast<int32_t>(bound.getDim())});
        return true;
      }
      if (mlir::isa<DeviceIdOp>(op)) {
        emit({.what = Do::move, .to = to(), .a = constant(0)});
        return true;
      }
      if (auto load = mlir::dyn_cast<mlir::memref::LoadOp>(op)) {
        ++stretch_.scalars;
        Instruction i{.what = Do::loadNumber, .to = to(), .a = ref(load.getMemref())};
        list(i, load.getIndices());
        i.origin = origin("a number in memory", op);
        emit(i);
        return true;
      }
      if (auto read = mlir::dyn_cast<SemReadOp>(op)) {
        ++stretch_.scalars;
        emit({.what = Do::readSignal, .to = to(), .a = ref(read.getSemaphore()), .origin = origin("a semaphore", op)});
        return true;
      }
      return false;
    }
    if (auto store = mlir::dyn_cast<mlir::memref::StoreOp>(op)) {
      ++stretch_.scalars;
      const bool isKnown = isNumber(store.getValueToStore().getType());
      Instruction i{
          .what = Do::storeNumber, .a = ref(store.getMemref()), .b = isKnown ? number(store.getValueToStore()) : kNone};
      list(i, store.getIndices());
      i.origin = origin("a number in memory", op);
      emit(i);
      return true;
    }
    return false;
  }

  bool view(mlir::Operation* op) {
    if (op->getNumResults() != 1 || !isRef(op->getResult(0).getType())) return false;
    const Slot to = ref(op->getResult(0));
    const mlir::Type result = op->getResult(0).getType();
    if (op->getNumOperands() == 0 || !isRef(op->getOperand(0).getType())) {
      emit({.what = Do::allocate, .to = to, .target = type(result)});
    } else if (auto slice = mlir::dyn_cast<MemRefSliceOp>(op)) {
      stretch_.scalars += static_cast<int64_t>(slice.getBaseIdx().size()) / 2;
      Instruction i{.what = Do::slice, .to = to, .a = ref(slice.getMemRef()), .target = type(result)};
      list(i, llvm::concat<mlir::Value>(slice.getBaseIdx(), slice.getDynamicSizes()));
      emit(i);
    } else if (mlir::isa<MemRefSqueezeOp>(op)) {
      emit({.what = Do::squeeze, .to = to, .a = ref(op->getOperand(0)), .target = type(result)});
    } else {
      emit({.what = Do::other, .to = to, .a = ref(op->getOperand(0)), .target = type(result)});
    }
    return true;
  }

  bool copyOrSemaphore(mlir::Operation* op) {
    if (auto copy = mlir::dyn_cast<EnqueueDMAOp>(op)) {
      flush();
      Instruction i{.what = Do::startCopy, .to = ref(copy.getTarget()), .a = ref(copy.getSource())};
      i.target = type(copy.getSource().getType());
      i.b = copy.getTargetSemaphore() ? ref(copy.getTargetSemaphore()) : kNone;
      i.c = copy.getSourceSemaphore() ? ref(copy.getSourceSemaphore()) : kNone;
      if (copy.getDeviceId()) list(i, mlir::ValueRange(copy.getDeviceId()));
      emit(i);
      return true;
    }
    if (auto wait = mlir::dyn_cast<WaitDMAOp>(op)) {
      flush();
      Instruction i{.what = Do::waitCopy, .to = ref(wait.getTarget()), .a = ref(wait.getSource())};
      i.target = type(wait.getSource().getType());
      const bool target = wait.getWaitTarget();
      i.b = target ? (wait.getTargetSemaphore() ? ref(wait.getTargetSemaphore()) : kNone)
                   : (wait.getSourceSemaphore() ? ref(wait.getSourceSemaphore()) : kNone);
      i.origin = origin("a copy", op);
      emit(i);
      return true;
    }
    if (auto signal = mlir::dyn_cast<SemSignalOp>(op)) {
      flush();
      ++stretch_.scalars;
      emit({.what = Do::signal,
            .a = ref(signal.getSemaphore()),
            .b = number(signal.getAmount()),
            .count = signal.getDeviceId() ? 1 : 0});
      return true;
    }
    if (auto wait = mlir::dyn_cast<SemWaitOp>(op)) {
      flush();
      ++stretch_.scalars;
      emit({.what = Do::waitSignal,
            .a = ref(wait.getSemaphore()),
            .b = number(wait.getAmount()),
            .origin = origin("a semaphore", op)});
      return true;
    }
    return false;
  }

  // ---- control flow
  void ifElse(scf::IfOp op) {
    if (const auto known = constantOf(op.getCondition())) {
      mlir::Region& region = *known != 0 ? op.getThenRegion() : op.getElseRegion();
      if (region.empty()) return;
      block(region.front());
      return moves(region.front().getTerminator()->getOperands(), op.getResults());
    }
    ++stretch_.scalars;
    flush();
    const int32_t test =
        emit({.what = Do::jumpUnless, .a = number(op.getCondition()), .origin = origin("a branch", op)});
    block(op.getThenRegion().front());
    flush();
    moves(op.thenYield().getOperands(), op.getResults());
    const int32_t over = emit({.what = Do::jump});
    code_.instructions[static_cast<size_t>(test)].target = here();
    if (!op.getElseRegion().empty()) {
      block(op.getElseRegion().front());
      flush();
      moves(op.elseYield().getOperands(), op.getResults());
    }
    code_.instructions[static_cast<size_t>(over)].target = here();
  }

  void forLoop(scf::ForOp op) {
    flush();
    const Slot counter = number(op.getInductionVar());
    emit({.what = Do::move, .to = counter, .a = number(op.getLowerBound())});
    moves(op.getInitArgs(), op.getRegionIterArgs());
    const int32_t test = emit({.what = Do::loopTest,
                               .a = counter,
                               .b = number(op.getUpperBound()),
                               .origin = origin("the number of rounds of a loop", op)});
    stretch_.scalars += 2;
    block(*op.getBody());
    flush();
    moves(op.getBody()->getTerminator()->getOperands(), op.getRegionIterArgs());
    emit({.what = Do::binary, .binary = Binary::add, .to = counter, .a = counter, .b = number(op.getStep())});
    emit({.what = Do::jump, .target = test});
    code_.instructions[static_cast<size_t>(test)].target = here();
    moves(op.getRegionIterArgs(), op.getResults());
  }

  void whileLoop(scf::WhileOp op) {
    flush();
    moves(op.getInits(), op.getBeforeArguments());
    const int32_t start = here();
    block(op.getBefore().front());
    flush();
    auto condition = op.getConditionOp();
    moves(condition.getArgs(), op.getAfterArguments());
    const int32_t test = emit({.what = Do::jumpUnless,
                               .a = number(condition.getCondition()),
                               .count = 1,
                               .origin = origin("the condition of a loop", op)});
    stretch_.scalars += 2;
    block(op.getAfter().front());
    flush();
    moves(op.getYieldOp().getOperands(), op.getBeforeArguments());
    emit({.what = Do::jump, .target = start});
    code_.instructions[static_cast<size_t>(test)].target = here();
    moves(op.getAfterArguments(), op.getResults());
  }

  const Chip& chip_;
  Code code_;
  Stretch stretch_;
  llvm::DenseMap<mlir::Value, Slot> numbers_, refs_;
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> folded_;
  std::optional<Diagnostic> refusal_;
};

}  // namespace

Result<Code> codeOf(mlir::func::FuncOp f, const tpu::Chip& chip) { return Coder(chip).code(f); }

}  // namespace smalti::sim
