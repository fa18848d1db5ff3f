#include "cpu/lower/RowSlots.h"

namespace smalti::cpu {

Reg Memo::find(mlir::Value v, const ElementMap& map) const {
  const auto at = known_.find(v);
  if (at == known_.end()) return nullptr;
  for (const Known& k : at->second)
    if (k.map == map) return k.value;
  return nullptr;
}

void RowSlots::keep(mlir::Value v, const ElementMap& map, Reg value, int phase, Reg row) {
  if (value->getType()->isVectorTy() || llvm::any_of(slots_[v], [&](const Slots& s) { return s.map == map; })) return;
  auto* type = llvm::ArrayType::get(value->getType(), static_cast<uint64_t>(rows_));
  auto& entry = l_.function->getEntryBlock();
  auto* memory = Builder(&entry, entry.getFirstInsertionPt()).CreateAlloca(type);
  slots_[v].push_back({map, memory, phase});
  l_.b.CreateStore(value, l_.b.CreateInBoundsGEP(value->getType(), memory, row));
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
