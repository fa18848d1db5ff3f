#include "cpu/nest/NestValues.h"

#include "cpu/emit/elements/Elementwise.h"
#include "cpu/product/gemm/Ir.h"
#include "ir/TpuOpsShape.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::cpu {
namespace {

View flatView(const View& view, Reg one) {
  View flat = view;
  flat.shape = {view.elements()};
  flat.strides = {one};
  return flat;
}

}  // namespace

NestValues::NestValues(NativeLowering& lowering, const Segment& segment, const NestPlan& plan,
                       const NestDetails& details, const std::vector<View>& buffers)
    : l_(lowering),
      b_(lowering.b),
      s_(segment),
      plan_(plan),
      details_(details),
      buffers_(buffers),
      slots_(lowering, plan.rows.bufferedRows()) {}

// ---- memory

/// Position along one dimension; the column's is of its first lane.
Reg NestValues::position(const MapEntry& e, const Chunk& chunk) {
  Reg first = e.loop == MapEntry::kNone          ? l_.index(0)
              : e.loop == MapEntry::kBufferedRow ? at.bufferedRow
              : e.loop == plan_.column           ? chunk.start
                                                 : at.rows[static_cast<size_t>(e.loop)];
  return e.offset ? b_.CreateAdd(first, l_.index(e.offset)) : first;
}

Reg NestValues::pointer(const View& view, const ElementMap& map, const Chunk& chunk) {
  llvm::SmallVector<Reg, 6> positions;
  for (const MapEntry& e : map.entries) positions.push_back(position(e, chunk));
  return elementPointer(b_, view, positions);
}

/// Elements between neighbouring columns; null: one element for all.
Reg NestValues::columnStride(const View& view, const ElementMap& map) {
  for (size_t d = 0; d < map.entries.size(); ++d)
    if (map.entries[d].loop == plan_.column) return view.strides[d];
  return nullptr;
}

Elements NestValues::elements(const View& view, const ElementMap& map, const Chunk& chunk) {
  return {view, pointer(view, map, chunk), columnStride(view, map)};
}

/// Records the prefetched reads of the first phase, once even if it is emitted twice.
Reg NestValues::loadFrom(const View& v, const ElementMap& map, const Chunk& chunk, bool isPrefetched) {
  const Elements e = elements(map.flat ? flatView(v, l_.index(1)) : v, map, chunk);
  if (isPrefetched && at.phase == 0 && preheader && !map.flat && chunk.lanes > 1 && e.stride &&
      constantOf(e.stride) == 1 &&
      llvm::none_of(firstReads_, [&](const auto& read) { return read.first.base == v.base && read.second == map; }))
    firstReads_.push_back({v, map});
  return loadChunk(b_, e, chunk);
}

void NestValues::prefetchRowsAhead(const Chunk& chunk) {
  for (const auto& [view, map] : firstReads_) {
    const auto row = llvm::find_if(map.entries, [&](const MapEntry& e) { return e.loop == plan_.column - 1; });
    if (row == map.entries.end()) continue;
    Reg stride = view.strides[static_cast<size_t>(row - map.entries.begin())];
    Reg next = b_.CreateGEP(storageType(b_.getContext(), view.dtype), pointer(view, map, chunk),
                            b_.CreateMul(stride, l_.index(plan_.rows.prefetchRows)));
    prefetchLines(b_, next, chunk.lanes * storage_bytes(view.dtype),
                  plan_.rows.prefetchLevel == 1 ? CacheLevel::l1 : CacheLevel::l2);
  }
}

// ---- values

void NestValues::keepForLaterPhases(mlir::Value v, const ElementMap& map, Reg r) {
  if (plan_.rows.bufferedRows() > 1 && at.phase + 1 < plan_.phases()) slots_.keep(v, map, r, at.phase, at.bufferedRow);
}

Reg NestValues::splatTo(Builder& b, Reg r, int lanes) {
  return lanes > 1 && !llvm::isa<llvm::FixedVectorType>(r->getType()) ? splat(b, r, lanes) : r;
}

Reg NestValues::eval(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
  if (!isVector(v)) return l_.scalar(v);
  if (isSplatConstant(v)) return splatConstant(b_, v);
  if (perRow(map)) {
    if (Reg known = at.row.find(v, map)) return known;
    const Chunk one{l_.index(0), 1, nullptr};
    Reg r = nullptr;
    if (preheader && b_.GetInsertBlock() != preheader) {
      llvm::IRBuilderBase::InsertPointGuard guard(b_);
      b_.SetInsertPoint(preheader->getTerminator());
      r = computeForRow(v, map, one);
      preheader = b_.GetInsertBlock();
    } else {
      r = computeForRow(v, map, one);
    }
    if (r) at.row.add(v, map, r);
    return r;
  }
  if (Reg known = at.chunk.find(v, map)) return known;
  Reg r = compute(v, map, chunk);
  if (r) at.chunk.add(v, map, r);
  return r;
}

Reg NestValues::computeForRow(mlir::Value v, const ElementMap& map, const Chunk& one) {
  if (Reg kept = slots_.find(v, map, at.phase, at.bufferedRow)) return kept;
  Reg r = compute(v, map, one);
  if (r && details_.keptRowValues.contains(v)) keepForLaterPhases(v, map, r);
  return r;
}

bool NestValues::isKept(mlir::Value v) const {
  auto kept = plan_.rowBuffers.find(v);
  return kept != plan_.rowBuffers.end() && kept->second.phase < at.phase;
}

/// Null: the divisor has no reciprocal.
Reg NestValues::byInverse(mlir::Operation& op, const ElementMap& map, llvm::ArrayRef<Reg> operands, int lanes) {
  if (at.reciprocals.empty() || !llvm::isa<mlir::arith::DivFOp>(op)) return nullptr;
  const auto divisor = rowValueOf(s_, op.getOperand(1), map, plan_.column);
  for (const auto& [value, inverse] : at.reciprocals)
    if (divisor && value == *divisor)
      return roundTo(b_, elementDType(op.getResult(0).getType()),
                     quotientByInverse(b_, operands[0], operands[1], splatTo(b_, inverse, lanes)));
  return nullptr;
}

Reg NestValues::compute(mlir::Value v, const ElementMap& map, const Chunk& chunk) {
  if (isKept(v) && map == identityMap(shapeOf(v.getType()), plan_.column)) {
    const RowBuffer& row = plan_.rowBuffers.find(v)->second;
    return loadFrom(buffers_[row.buffer], row.map, chunk);
  }
  const bool isPrefetched = details_.prefetched.contains(v);
  if (const View* view = l_.findView(v)) return loadFrom(*view, map, chunk, isPrefetched);
  const ScheduledOp* p = s_.find(v);
  if (!p) {
    mlir::Operation* maker = v.getDefiningOp();
    return refuse("the value of " + (maker ? maker->getName().getStringRef().str() : "a block") + " has no memory");
  }
  mlir::Operation& op = *p->op;
  if (p->isLoad()) return loadFrom(l_.boxOf(&op), map, chunk, isPrefetched);
  if (llvm::isa<tpu::IotaOp>(op)) return iota(op, map, chunk);
  if (schedule::isReduction(op)) return refuse("a reduction is used before its row is done");
  if (isRematerializable(*p)) {
    auto inner = operandMap(op, 0, map);
    if (!inner) return refuse("a reshape inside a nest");
    Reg r = eval(op.getOperand(0), *inner, chunk);
    return r && !perRow(map) ? splatTo(b_, r, chunk.lanes) : r;
  }
  const EmitElement emit = findElementwise(op);
  std::vector<Reg> operands;
  bool wide = false;
  for (mlir::Value operand : op.getOperands()) {
    operands.push_back(eval(operand, map, chunk));
    if (!operands.back()) return nullptr;
    wide |= llvm::isa<llvm::FixedVectorType>(operands.back()->getType());
  }
  if (wide)
    for (Reg& r : operands) r = splatTo(b_, r, chunk.lanes);
  if (Reg quotient = wide ? byInverse(op, map, operands, chunk.lanes) : nullptr) return quotient;
  Reg r = emit({b_, op, operands, elementDType(op.getOperand(0).getType()), elementDType(v.getType())});
  return r ? r : refuse("an op has no native code");
}

Reg NestValues::iota(mlir::Operation& op, const ElementMap& map, const Chunk& chunk) {
  const auto d = static_cast<size_t>(iotaDimension(op));
  const MapEntry& e = map.entries[d];
  llvm::Type* type = registerType(b_.getContext(), elementDType(op.getResult(0).getType()), 1);
  Reg first = b_.CreateTrunc(position(e, chunk), type);
  if (e.loop != plan_.column || chunk.lanes == 1) return first;
  llvm::SmallVector<llvm::Constant*, 64> numbers;
  for (int k = 0; k < chunk.lanes; ++k) numbers.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(k)));
  return b_.CreateAdd(splat(b_, first, chunk.lanes), llvm::ConstantVector::get(numbers));
}

Reg NestValues::refuse(std::string why) {
  if (status) status = unsupported(std::move(why));
  return nullptr;
}

}  // namespace smalti::cpu
