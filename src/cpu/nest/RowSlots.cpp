#include "cpu/nest/RowSlots.h"

namespace smalti::cpu {

Reg Memo::find(mlir::Value v, const ElementMap& map) const {
  const auto at = known_.find(v);
  if (at == known_.end()) return nullptr;
  for (const Known& k : at->second)
    if (k.map == map) return k.value;
  return nullptr;
}

RowSlots::Slots& RowSlots::getOrCreateSlots(mlir::Value v, const ElementMap& map, llvm::Type* element, int phase) {
  auto& slots = slots_[v];
  for (Slots& s : slots)
    if (s.map == map) return s;
  auto& entry = l_.function->getEntryBlock();
  auto* type = llvm::ArrayType::get(element, static_cast<uint64_t>(rows_));
  slots.push_back({map, Builder(&entry, entry.getFirstInsertionPt()).CreateAlloca(type), phase});
  return slots.back();
}

void RowSlots::expect(mlir::Value v, const ElementMap& map, int phase) {
  getOrCreateSlots(v, map, registerType(l_.b.getContext(), elementDType(v.getType()), 1), phase);
}

void RowSlots::keep(mlir::Value v, const ElementMap& map, Reg value, int phase, Reg row) {
  if (value->getType()->isVectorTy()) return;
  const Slots& s = getOrCreateSlots(v, map, value->getType(), phase);
  // Again where the phase is emitted twice.
  if (s.phase == phase) l_.b.CreateStore(value, l_.b.CreateInBoundsGEP(value->getType(), s.memory, row));
}

Reg RowSlots::find(mlir::Value v, const ElementMap& map, int phase, Reg row) {
  const auto at = slots_.find(v);
  if (at == slots_.end()) return nullptr;
  for (const Slots& s : at->second)
    if (s.map == map && s.phase < phase) {
      auto* type = llvm::cast<llvm::ArrayType>(s.memory->getAllocatedType())->getElementType();
      return l_.b.CreateLoad(type, l_.b.CreateInBoundsGEP(type, s.memory, row));
    }
  return nullptr;
}

}  // namespace smalti::cpu
