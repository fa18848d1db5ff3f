// Values and refs in the threads' registers, distributed like a tile of a product.
#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

GpuLowering::Fragment GpuLowering::newFragment(const ProductTile& tile, mlir::Type type) {
  const Shape shape = shapeOf(type);
  llvm::Type* one = cpu::registerType(b.getContext(), elementDType(type), 1);
  return {.sums = slot(llvm::ArrayType::get(one, static_cast<uint64_t>(tile.sums()))),
          .type = one,
          .tile = tile,
          .rows = shape[shape.size() - 2],
          .columns = shape.back()};
}

const GpuLowering::Fragment* GpuLowering::resident(int memory) const {
  if (memory == View::kValue) return nullptr;
  for (const auto& [value, f] : fragments_)
    if (f.memory == memory) return &f;
  return nullptr;
}

const GpuLowering::Fragment* GpuLowering::fragment(mlir::Value v) const {
  if (const auto found = fragments_.find(v); found != fragments_.end()) return &found->second;
  const auto d = deferred_.find(v);
  return d == deferred_.end() || !d->second.box ? nullptr : resident(d->second.box->memory);
}

const GpuLowering::Fragment* GpuLowering::fragmentUnder(mlir::Value v) const {
  if (fragments_.empty()) return nullptr;
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!isVector(at) || !seen.insert(at).second) continue;
    if (const Fragment* f = fragment(at)) return f;
    if (views_.contains(at)) continue;
    if (const auto d = deferred_.find(at); d != deferred_.end() && !d->second.box)
      open.append(d->second.op->operand_begin(), d->second.op->operand_end());
  }
  return nullptr;
}

void GpuLowering::forFragment(const Fragment& f, std::span<const int64_t> shape,
                              const std::function<void(const ElementIndex&)>& body) {
  for (const auto& [value, kept] : fragments_)
    if (kept.pending) device.groupWait(b, 0, kept.sums, kept.tile.sums(), sumOf(kept.tile.dtype));
  const ProductTile& t = f.tile;
  Reg warp = b.CreateUDiv(thread, b.getInt32(kWarp)), lane = b.CreateURem(thread, b.getInt32(kWarp));
  Reg down = b.CreateURem(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown))),
      across = b.CreateUDiv(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown)));
  Reg firstRow =
      b.CreateZExt(b.CreateAdd(b.CreateMul(down, b.getInt32(ProductTile::kRows)), b.CreateUDiv(lane, b.getInt32(4))),
                   b.getInt64Ty());
  Reg firstColumn = b.CreateZExt(b.CreateAdd(b.CreateMul(across, b.getInt32(ProductTile::kColumns)),
                                             b.CreateMul(b.CreateURem(lane, b.getInt32(4)), b.getInt32(2))),
                                 b.getInt64Ty());
  const bool allInside = f.rows == t.rows() && f.columns == t.columns();
  for (int64_t i = 0; i < t.high; ++i)
    for (int64_t j = 0; j < t.wide; ++j)
      for (int64_t e = 0; e < ProductTile::kPiece; ++e) {
        Reg row = b.CreateAdd(firstRow, index(i * t.warpsDown * ProductTile::kRows + 8 * (e / 2)));
        Reg column = b.CreateAdd(firstColumn, index(j * t.warpsAcross * ProductTile::kColumns + e % 2));
        ElementIndex at(shape.size(), index(0));
        at[shape.size() - 2] = row;
        at[shape.size() - 1] = column;
        const auto one = [&] {
          const Scope scope(*this);
          currentSum_ = (i * t.wide + j) * ProductTile::kPiece + e;
          body(at);
          currentSum_ = -1;
        };
        if (allInside)
          one();
        else
          when(b.CreateAnd(b.CreateICmpULT(row, index(f.rows)), b.CreateICmpULT(column, index(f.columns))), one);
      }
}

void GpuLowering::setElement(const Fragment& f, Reg element) {
  b.CreateStore(element, b.CreateConstInBoundsGEP1_64(f.type, f.sums, static_cast<uint64_t>(currentSum_)));
}

}  // namespace smalti::gpu
