// Values and refs in the threads' registers, distributed like a tile of a product.
#include "gpu/emit/GpuLowering.h"
#include "llvm/IR/Intrinsics.h"

namespace smalti::gpu {
namespace {

size_t rowDimension(std::span<const int64_t> shape) { return shape.size() == 1 ? 0 : shape.size() - 2; }

Reg elementAt(Builder& b, const GpuLowering::Fragment& f, int64_t number) {
  return b.CreateConstInBoundsGEP1_64(f.type, f.sums, static_cast<uint64_t>(number));
}

}  // namespace

GpuLowering::Fragment GpuLowering::newFragment(const Distribution& d, mlir::Type type) {
  const Shape shape = shapeOf(type);
  llvm::Type* one = cpu::registerType(b.getContext(), elementDType(type), 1);
  return {.sums = slot(llvm::ArrayType::get(one, static_cast<uint64_t>(d.elements()))),
          .type = one,
          .distribution = d,
          .rows = d.perRow ? num_elements(shape) : shape[shape.size() - 2]};
}

const GpuLowering::Fragment* GpuLowering::registersOfMemory(int memory) const {
  if (memory == View::kValue) return nullptr;
  for (const auto& [value, f] : fragments_)
    if (f.memory == memory) return &f;
  return nullptr;
}

const GpuLowering::Fragment* GpuLowering::fragment(mlir::Value v) const {
  if (const auto found = fragments_.find(v); found != fragments_.end()) return &found->second;
  const auto d = deferred_.find(v);
  return d == deferred_.end() || !d->second.box ? nullptr : registersOfMemory(d->second.box->memory);
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

bool GpuLowering::coversAll(const Distribution& d, std::span<const int64_t> shape) {
  return shape[rowDimension(shape)] == d.tile.rows() && (d.perRow || shape.back() == d.tile.columns());
}

void GpuLowering::forDistributed(const Distribution& d, std::span<const int64_t> shape, RowsBeyond beyond,
                                 const std::function<void(const ElementIndex&)>& body) {
  for (const auto& [value, kept] : fragments_)
    if (kept.pending) device.groupWait(b, 0, kept.sums, kept.tile().sums(), sumOf(kept.tile().dtype));
  const ProductTile& t = d.tile;
  Reg own = threadOfElements ? threadOfElements : thread;
  Reg warp = b.CreateUDiv(own, b.getInt32(kWarp)), lane = b.CreateURem(own, b.getInt32(kWarp));
  Reg down = b.CreateURem(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown))),
      across = b.CreateUDiv(warp, b.getInt32(static_cast<uint32_t>(t.warpsDown)));
  Reg firstRow =
      b.CreateZExt(b.CreateAdd(b.CreateMul(down, b.getInt32(ProductTile::kRows)), b.CreateUDiv(lane, b.getInt32(4))),
                   b.getInt64Ty());
  Reg firstColumn = b.CreateZExt(b.CreateAdd(b.CreateMul(across, b.getInt32(ProductTile::kColumns)),
                                             b.CreateMul(b.CreateURem(lane, b.getInt32(4)), b.getInt32(2))),
                                 b.getInt64Ty());
  const size_t rowDim = rowDimension(shape);
  const int64_t rows = shape[rowDim], columns = d.perRow ? 1 : shape.back();
  const int64_t fragmentsN = d.perRow ? 1 : t.fragmentsN, neighbours = d.perRow ? 1 : 2;
  const auto whenInside = [&](bool always, Reg place, int64_t end, const std::function<void()>& then) {
    if (always)
      then();
    else
      when(b.CreateICmpULT(place, index(end)), then);
  };
  const auto one = [&](int64_t i, int64_t j, int64_t half, int64_t neighbour, Reg row) {
    ElementIndex at(shape.size(), index(0));
    at[rowDim] = row;
    if (!d.perRow) at.back() = b.CreateAdd(firstColumn, index(j * t.warpsAcross * ProductTile::kColumns + neighbour));
    whenInside(d.perRow || columns == t.columns(), at.back(), columns, [&] {
      const Scope scope(*this);
      currentSum_ = (i * t.fragmentsN + j) * ProductTile::kFragmentSums + 2 * half + neighbour;
      currentRow_ = 2 * i + half;
      body(at);
      currentSum_ = currentRow_ = -1;
    });
  };
  const auto rowAt = [&](int64_t i, int64_t half) {
    return b.CreateAdd(firstRow, index(i * t.warpsDown * ProductTile::kRows + 8 * half));
  };
  for (int64_t i = 0; i < t.fragmentsM; ++i) {
    if (rows == t.rows()) {  // in the order of the sums
      for (int64_t j = 0; j < fragmentsN; ++j)
        for (const int64_t half : {0, 1})
          for (int64_t k = 0; k < neighbours; ++k) one(i, j, half, k, rowAt(i, half));
      continue;
    }
    // At most one branch for all elements of a row, and no code for rows that no thread has.
    for (const int64_t half : {0, 1}) {
      if (i * t.warpsDown * ProductTile::kRows + 8 * half >= rows) break;
      Reg row = rowAt(i, half);
      const bool repeats = beyond == RowsBeyond::repeatLast;
      if (repeats) row = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, row, index(rows - 1));
      whenInside(repeats, row, rows, [&] {
        for (int64_t j = 0; j < fragmentsN; ++j)
          for (int64_t k = 0; k < neighbours; ++k) one(i, j, half, k, row);
      });
    }
  }
}

Reg GpuLowering::currentElement(const Fragment& f) {
  if (currentSum_ < 0) return refuse("elements in registers that other threads need");
  return b.CreateLoad(f.type, elementAt(b, f, f.perRow() ? currentRow_ : currentSum_));
}

void GpuLowering::setElement(const Fragment& f, Reg element) {
  b.CreateStore(element, elementAt(b, f, f.perRow() ? currentRow_ : currentSum_));
}

}  // namespace smalti::gpu
