#include "cpu/rewrite/DivideMoves.h"

#include <algorithm>

#include "cpu/analysis/ProductStore.h"
#include "ir/TpuOpsMemory.h"
#include "ir/TpuOpsShape.h"
#include "ir/Types.h"
#include "ir/facts/Attributes.h"
#include "ir/facts/Constants.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace smalti::cpu {
namespace {

/// More stores than this have more overhead than the copy that they save. Chosen, not measured.
constexpr unsigned kMostParts = 16;
/// Elements of a row: 32 bytes of f32, and a quarter of a cache line of bf16.
constexpr int64_t kShortestPart = 8;

using Values = llvm::SmallVector<mlir::Value>;

/// `v` + `offset`, constant if `v` is.
mlir::Value moved(mlir::OpBuilder& b, mlir::Location at, mlir::Value v, int64_t offset) {
  if (offset == 0) return v;
  if (const auto number = constantIndex(v)) return mlir::arith::ConstantIndexOp::create(b, at, *number + offset);
  return mlir::arith::AddIOp::create(b, at, v, mlir::arith::ConstantIndexOp::create(b, at, offset));
}

// ---- stores

/// Stores all of a vector that has no other use.
bool isPlain(tpu::VectorStoreOp store) {
  return !store.getMask() && !store.getAdd() && store.getStrides().empty() && store.getValueToStore().hasOneUse();
}

/// The concatenation that a store writes, if its parts can be stored instead.
tpu::ConcatenateOp concatenationIn(tpu::VectorStoreOp store) {
  const mlir::Value v = store.getValueToStore();
  if (!isPlain(store)) return {};
  auto joined = v.getDefiningOp<tpu::ConcatenateOp>();
  const auto ref = llvm::dyn_cast<mlir::MemRefType>(store.getBase().getType());
  if (!joined || !ref || ref.getRank() != static_cast<int64_t>(shapeOf(v.getType()).size()) ||
      joined->getBlock() != store->getBlock() || joined.getNumOperands() > kMostParts)
    return {};
  const auto dim = static_cast<size_t>(joined.getDimension());
  const bool ofRows = dim + 1 == shapeOf(v.getType()).size();
  const auto isShort = [&](mlir::Value part) { return shapeOf(part.getType())[dim] < kShortestPart; };
  return ofRows && llvm::any_of(joined.getSources(), isShort) ? tpu::ConcatenateOp() : joined;
}

/// Stores the parts; those that are concatenations are divided in turn.
void divide(tpu::VectorStoreOp store, llvm::SmallVector<tpu::VectorStoreOp>& made) {
  tpu::ConcatenateOp joined = concatenationIn(store);
  mlir::OpBuilder b(store);
  const auto dim = static_cast<size_t>(joined.getDimension());
  int64_t offset = 0;
  for (const mlir::Value part : joined.getSources()) {
    Values indices(store.getIndices());
    indices[dim] = moved(b, store.getLoc(), indices[dim], offset);
    offset += shapeOf(part.getType())[dim];
    made.push_back(tpu::VectorStoreOp::create(b, store.getLoc(), part, store.getBase(), indices, mlir::Value(),
                                              llvm::ArrayRef<int32_t>{}, false));
  }
  store.erase();
  joined.erase();
}

// ---- loads

/// Where a part of a load is, inside the ref; nullopt: not known, or the op takes no such part.
std::optional<llvm::SmallVector<int64_t>> partOfLoad(mlir::vector::ExtractStridedSliceOp slice) {
  auto load = slice.getSource().getDefiningOp<mlir::vector::LoadOp>();
  const auto ref = load ? llvm::dyn_cast<mlir::MemRefType>(load.getBase().getType()) : mlir::MemRefType();
  const Shape whole = load ? shapeOf(load.getType()) : Shape();
  if (!ref || !ref.hasStaticShape() || ref.getRank() != static_cast<int64_t>(whole.size())) return std::nullopt;
  for (const int64_t step : integersAttribute(*slice, "strides"))
    if (step != 1) return std::nullopt;
  auto offsets = integersAttribute(*slice, "offsets");
  offsets.resize(whole.size(), 0);
  for (size_t d = 0; d < whole.size(); ++d) {
    const auto start = constantIndex(load.getIndices()[static_cast<unsigned>(d)]);
    if (!start) return std::nullopt;
    const int64_t from = *start, size = ref.getDimSize(static_cast<unsigned>(d));
    if (from < 0 || from > size || whole[d] > size - from) return std::nullopt;
  }
  return llvm::SmallVector<int64_t>(offsets.begin(), offsets.end());
}

/// Whether all that is taken of the load are parts: then nothing is loaded twice.
bool isLoadedInParts(mlir::vector::LoadOp load) {
  return llvm::all_of(load->getUsers(), [](mlir::Operation* user) {
    auto slice = llvm::dyn_cast<mlir::vector::ExtractStridedSliceOp>(user);
    return slice && partOfLoad(slice);
  });
}

void loadPart(mlir::vector::ExtractStridedSliceOp slice) {
  auto load = slice.getSource().getDefiningOp<mlir::vector::LoadOp>();
  const auto offsets = *partOfLoad(slice);
  mlir::OpBuilder b(load);
  Values indices(load.getIndices());
  for (size_t d = 0; d < indices.size(); ++d) indices[d] = moved(b, load.getLoc(), indices[d], offsets[d]);
  auto part = mlir::vector::LoadOp::create(b, load.getLoc(), llvm::cast<mlir::VectorType>(slice.getType()),
                                           load.getBase(), indices);
  slice.getResult().replaceAllUsesWith(part.getResult());
  slice.erase();
  if (load.use_empty()) load.erase();
}

// ---- reshapes

/// Whether dimensions of `coarse` are divided to give `fine`: strides of the one express the other, whatever they are.
bool divides(const Shape& fine, const Shape& coarse) {
  if (num_elements(fine) != num_elements(coarse) || num_elements(fine) == 0) return false;
  size_t next = 0;
  for (const int64_t size : coarse) {
    int64_t product = 1;
    while (product < size && next < fine.size()) product *= fine[next++];
    if (product != size) return false;
  }
  return std::all_of(fine.begin() + static_cast<ptrdiff_t>(next), fine.end(), [](int64_t size) { return size == 1; });
}

/// Whether an access to `box` is one to all of an argument, and strides of the argument express the shape `to`.
bool isWholeIn(const Shape& to, mlir::Value ref, mlir::ValueRange indices, const Shape& box) {
  const auto type = llvm::dyn_cast<mlir::MemRefType>(ref.getType());
  return type && llvm::isa<mlir::BlockArgument>(ref) && type.getLayout().isIdentity() && shapeOf(type) == box &&
         llvm::all_of(indices, [](mlir::Value v) { return constantIndex(v) == 0; }) && divides(to, box);
}

/// A reshape that is only stored, into a ref whose dimensions it joins. (Nests follow those of dimensions of size 1.)
mlir::vector::ShapeCastOp reshapeIn(tpu::VectorStoreOp store) {
  const mlir::Value v = store.getValueToStore();
  auto cast = v.getDefiningOp<mlir::vector::ShapeCastOp>();
  const bool divided =
      cast && isPlain(store) && !isUnitReshape(*cast) &&
      isWholeIn(shapeOf(cast.getSource().getType()), store.getBase(), store.getIndices(), shapeOf(v.getType()));
  return divided ? cast : mlir::vector::ShapeCastOp();
}

/// The load of a reshape that divides the ref's dimensions, if nothing else is done with what is loaded.
mlir::vector::LoadOp loadIn(mlir::vector::ShapeCastOp cast) {
  auto load = cast.getSource().getDefiningOp<mlir::vector::LoadOp>();
  const bool divided = load && load->hasOneUse() && !isUnitReshape(*cast) &&
                       isWholeIn(shapeOf(cast.getType()), load.getBase(), load.getIndices(), shapeOf(load.getType()));
  return divided ? load : mlir::vector::LoadOp();
}

/// A view of the ref in the shape of a vector, and the indices of its beginning.
std::pair<mlir::Value, Values> reshaped(mlir::OpBuilder& b, mlir::Location at, mlir::Value ref, mlir::Type vector) {
  const auto type = llvm::cast<mlir::MemRefType>(ref.getType());
  const Shape shape = shapeOf(vector);
  const auto to =
      mlir::MemRefType::get(shape, type.getElementType(), mlir::MemRefLayoutAttrInterface(), type.getMemorySpace());
  return {tpu::MemRefReshapeOp::create(b, at, to, ref),
          Values(shape.size(), mlir::arith::ConstantIndexOp::create(b, at, 0))};
}

tpu::VectorStoreOp storeReshaped(tpu::VectorStoreOp store) {
  auto cast = reshapeIn(store);
  mlir::OpBuilder b(store);
  const auto [ref, indices] = reshaped(b, store.getLoc(), store.getBase(), cast.getSource().getType());
  auto made = tpu::VectorStoreOp::create(b, store.getLoc(), cast.getSource(), ref, indices, mlir::Value(),
                                         llvm::ArrayRef<int32_t>{}, false);
  store.erase();
  cast.erase();
  return made;
}

void loadReshaped(mlir::vector::ShapeCastOp cast) {
  auto load = loadIn(cast);
  mlir::OpBuilder b(load);
  const auto [ref, indices] = reshaped(b, load.getLoc(), load.getBase(), cast.getType());
  auto made =
      mlir::vector::LoadOp::create(b, load.getLoc(), llvm::cast<mlir::VectorType>(cast.getType()), ref, indices);
  cast.getResult().replaceAllUsesWith(made.getResult());
  cast.erase();
  load.erase();
}

struct Found {
  llvm::SmallVector<tpu::VectorStoreOp> stores;
  llvm::SmallVector<mlir::vector::ExtractStridedSliceOp> slices;
  llvm::SmallVector<mlir::vector::ShapeCastOp> casts;

  bool empty() const { return stores.empty() && slices.empty() && casts.empty(); }
};

Found find(const KernelPackage& package) {
  Found found;
  package.kernelFunction().walk([&](mlir::Operation* op) {
    if (auto store = llvm::dyn_cast<tpu::VectorStoreOp>(op); store && (concatenationIn(store) || reshapeIn(store)))
      found.stores.push_back(store);
    if (auto slice = llvm::dyn_cast<mlir::vector::ExtractStridedSliceOp>(op))
      if (auto load = slice.getSource().getDefiningOp<mlir::vector::LoadOp>(); load && isLoadedInParts(load))
        found.slices.push_back(slice);
    if (auto cast = llvm::dyn_cast<mlir::vector::ShapeCastOp>(op); cast && loadIn(cast)) found.casts.push_back(cast);
  });
  return found;
}

}  // namespace

std::optional<KernelPackage> divideMoves(const KernelPackage& package) {
  if (find(package).empty()) return std::nullopt;
  KernelPackage made = package.copy();
  Found found = find(made);
  for (const mlir::vector::ShapeCastOp cast : found.casts) loadReshaped(cast);
  for (size_t i = 0; i < found.stores.size(); ++i) {  // grows
    tpu::VectorStoreOp store = found.stores[i];
    if (reshapeIn(store)) store = storeReshaped(store);
    if (concatenationIn(store)) divide(store, found.stores);
  }
  for (const mlir::vector::ExtractStridedSliceOp slice : found.slices) loadPart(slice);
  return made;
}

}  // namespace smalti::cpu
