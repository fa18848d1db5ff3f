#include "cpu/emit/Measured.h"

#include <algorithm>

#include "ir/KernelPackage.h"
#include "llvm/IR/Module.h"

namespace smalti::cpu {
namespace {

llvm::CallInst* call(NativeLowering& l, const char* name, std::vector<Reg> arguments) {
  arguments.insert(arguments.begin(), l.context);
  std::vector<llvm::Type*> types;
  for (Reg r : arguments) types.push_back(r->getType());
  return l.b.CreateCall(l.module.getOrInsertFunction(name, llvm::FunctionType::get(l.b.getVoidTy(), types, false)),
                        arguments);
}

llvm::CallInst* stamp(NativeLowering& l, int32_t part, bool opens) {
  return call(l, kStampSymbol, {l.b.getInt32(static_cast<uint32_t>(part)), l.b.getInt32(opens ? 1 : 0)});
}

int32_t partOf(std::vector<MeasuredPart>& parts, const std::vector<mlir::Operation*>& ops) {
  MeasuredPart part;
  const auto add = [](auto& list, auto item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
  };
  for (mlir::Operation* op : ops) {
    if (const SourcePlace place = placeOf(op->getLoc()); place.known()) add(part.places, place);
    add(part.ops, op->getName().getStringRef().str());
  }
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i].places == part.places && parts[i].ops == part.ops) return static_cast<int32_t>(i);
  parts.push_back(std::move(part));
  return static_cast<int32_t>(parts.size()) - 1;
}

}  // namespace

MeasuredCode::MeasuredCode(NativeLowering& l, std::vector<mlir::Operation*> ops) : l_(l) {
  MeasuredLowering* measured = l.options.measured;
  if (!measured || ops.empty()) return;
  outer_ = measured->part;
  measured->part = partOf(measured->plan.parts, ops);
  stamp_ = stamp(l, measured->part, true);
}

MeasuredCode::~MeasuredCode() {
  if (!stamp_) return;
  l_.options.measured->part = outer_;
  llvm::BasicBlock* here = l_.b.GetInsertBlock();
  if (here->getTerminator()) return;
  if (!here->empty() && &here->back() == stamp_)
    stamp_->eraseFromParent();  // nothing was emitted
  else
    stamp(l_, outer_, false);
}

bool worthMeasuring(mlir::Operation& op) {
  if (op.getNumRegions() > 0) return false;
  const auto isArray = [](mlir::Type t) { return llvm::isa<mlir::VectorType>(t); };
  const auto isRef = [](mlir::Type t) { return llvm::isa<mlir::MemRefType>(t); };
  return llvm::any_of(op.getOperandTypes(), isArray) || llvm::any_of(op.getResultTypes(), isArray) ||
         (llvm::count_if(op.getOperandTypes(), isRef) > 1 && op.getNumResults() == 0);
}

void measureStep(NativeLowering& l, const std::vector<int64_t>& grid, const std::vector<Reg>& bounds,
                 const std::vector<Reg>& indices) {
  MeasuredLowering* measured = l.options.measured;
  if (!measured) return;
  measured->plan.grid = grid;
  Reg number = l.index(0);  // row-major
  for (size_t d = 0; d < grid.size(); ++d) number = l.b.CreateAdd(l.b.CreateMul(number, bounds[d]), indices[d]);
  call(l, kStepSymbol, {number});
}

}  // namespace smalti::cpu
