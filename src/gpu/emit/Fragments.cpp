// Values and refs in the threads' registers, distributed like a tile of a product.
#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {

GpuLowering::Fragment GpuLowering::newFragment(const Distribution& d, mlir::Type type) {
  const Shape shape = shapeOf(type);
  llvm::Type* one = cpu::registerType(b.getContext(), elementDType(type), 1);
  return {.sums = slot(llvm::ArrayType::get(one, static_cast<uint64_t>(d.elements()))),
          .type = one,
          .distribution = d,
          .rows = d.perRow ? num_elements(shape) : shape[shape.size() - 2]};
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

std::optional<Distribution> GpuLowering::distributionUnder(mlir::Value v) const {
  if (fragments_.empty()) return std::nullopt;
  const Fragment* found = nullptr;
  llvm::SmallVector<mlir::Value, 8> open{v};
  llvm::DenseSet<mlir::Value> seen;
  while (!open.empty()) {
    const mlir::Value at = open.pop_back_val();
    if (!isVector(at) || !seen.insert(at).second) continue;
    if (const Fragment* f = fragment(at)) {
      if (!found || found->perRow()) found = f;
      continue;
    }
    if (views_.contains(at)) continue;
    if (const auto d = deferred_.find(at); d != deferred_.end() && !d->second.box)
      open.append(d->second.op->operand_begin(), d->second.op->operand_end());
  }
  if (!found) return std::nullopt;
  const Shape shape = shapeOf(v.getType());
  if (num_elements(shape) == found->rows) return found->distribution.ofRows();
  return found->perRow() ? found->distribution.ofColumns(shape.back()) : found->distribution;
}

void GpuLowering::forDistributed(const Distribution& d, std::span<const int64_t> shape,
                                 const std::function<void(const ElementIndex&)>& body) {
  for (const auto& [value, kept] : fragments_)
    if (kept.pending) device.groupWait(b, 0, kept.sums, kept.tile().sums(), sumOf(kept.tile().dtype));
  const ProductTile& t = d.tile;
  Reg warp = b.CreateUDiv(thread, b.getInt32(kWarp)), lane = b.CreateURem(thread, b.getInt32(kWarp));
  Reg down = b.CreateURem(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown))),
      across = b.CreateUDiv(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown)));
  Reg firstRow =
      b.CreateZExt(b.CreateAdd(b.CreateMul(down, b.getInt32(ProductTile::kRows)), b.CreateUDiv(lane, b.getInt32(4))),
                   b.getInt64Ty());
  Reg firstColumn = b.CreateZExt(b.CreateAdd(b.CreateMul(across, b.getInt32(ProductTile::kColumns)),
                                             b.CreateMul(b.CreateURem(lane, b.getInt32(4)), b.getInt32(2))),
                                 b.getInt64Ty());
  const size_t rowDim = shape.size() == 1 ? 0 : shape.size() - 2;
  const int64_t rows = shape[rowDim], columns = d.perRow ? 1 : shape.back();
  const bool allInside = rows == t.rows() && (d.perRow || columns == t.columns());
  for (int64_t i = 0; i < t.high; ++i)
    for (int64_t j = 0; j < (d.perRow ? 1 : t.wide); ++j)
      for (int64_t e = 0; e < ProductTile::kPiece; e += d.perRow ? 2 : 1) {
        ElementIndex at(shape.size(), index(0));
        Reg row = at[rowDim] = b.CreateAdd(firstRow, index(i * t.warpsDown * ProductTile::kRows + 8 * (e / 2)));
        Reg inside = b.CreateICmpULT(row, index(rows));
        if (!d.perRow) {
          Reg column = at.back() = b.CreateAdd(firstColumn, index(j * t.warpsAcross * ProductTile::kColumns + e % 2));
          inside = b.CreateAnd(inside, b.CreateICmpULT(column, index(columns)));
        }
        const auto one = [&] {
          const Scope scope(*this);
          currentSum_ = (i * t.wide + j) * ProductTile::kPiece + e;
          currentRow_ = 2 * i + e / 2;
          body(at);
          currentSum_ = currentRow_ = -1;
        };
        if (allInside)
          one();
        else
          when(inside, one);
      }
}

namespace {

Reg elementAt(Builder& b, const GpuLowering::Fragment& f, int64_t number) {
  return b.CreateConstInBoundsGEP1_64(f.type, f.sums, static_cast<uint64_t>(number));
}

}  // namespace

Reg GpuLowering::currentElement(const Fragment& f) {
  if (currentSum_ < 0) return refuse("elements in registers that other threads need");
  return b.CreateLoad(f.type, elementAt(b, f, f.perRow() ? currentRow_ : currentSum_));
}

void GpuLowering::setElement(const Fragment& f, Reg element) {
  b.CreateStore(element, elementAt(b, f, f.perRow() ? currentRow_ : currentSum_));
}

}  // namespace smalti::gpu
