#include "cpu/lower/Bitcast.h"

#include <array>

#include "cpu/lower/Columns.h"
#include "cpu/lower/Watch.h"
#include "ir/TpuOpsMemory.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace smalti::cpu {
namespace {

/// Elements' bits as integers of their storage.
class Words {
 public:
  Words(Lowering& l, const View& view) : l_(l), view_(view) {}
  Reg load(Reg at, int lanes, Reg mask) const {
    llvm::Type* type = as(8 * storage_bytes(view_.dtype), lanes);
    return mask ? l_.b.CreateMaskedLoad(type, elementAt(l_, view_, at), align(), mask,
                                        llvm::Constant::getNullValue(type))
                : static_cast<Reg>(l_.b.CreateAlignedLoad(type, elementAt(l_, view_, at), align()));
  }
  /// `bits`: an integer of the element's width.
  void store(Reg bits, Reg at, int lanes, Reg mask) const {
    llvm::Type* type = as(8 * storage_bytes(view_.dtype), lanes);
    Reg word = is_signed_integer(view_.dtype) ? l_.b.CreateSExtOrTrunc(bits, type) : l_.b.CreateZExtOrTrunc(bits, type);
    if (mask)
      l_.b.CreateMaskedStore(word, elementAt(l_, view_, at), align(), mask);
    else
      l_.b.CreateAlignedStore(word, elementAt(l_, view_, at), align());
  }
  llvm::Type* as(int bits, int lanes) const {
    llvm::Type* t = l_.b.getIntNTy(static_cast<unsigned>(bits));
    return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
  }

 private:
  llvm::Align align() const { return llvm::Align(static_cast<uint64_t>(storage_bytes(view_.dtype))); }
  Lowering& l_;
  const View& view_;
};

/// tpu.bitcast between widths. Of one width it is an op of nests.
Native lowerBitcast(Lowering& l, mlir::Operation& op) {
  const DType from = elementDType(op.getOperand(0).getType()), to = elementDType(op.getResult(0).getType());
  const Shape shape = shapeOf(op.getOperand(0).getType()), out = shapeOf(op.getResult(0).getType());
  const bool split = bit_width(from) > bit_width(to);
  const int narrow = std::min(bit_width(from), bit_width(to)), k = std::max(bit_width(from), bit_width(to)) / narrow;
  if (k == 1 || narrow < 2 || shape.size() < 2 ||
      num_elements(split ? shape : out) * k != num_elements(split ? out : shape) || shape.back() != out.back())
    return lowerInterpreted(l, op);
  if (auto ok = l.flush(); !ok) return ok;
  const View source = denseView(l, op.getOperand(0));
  View result = l.allocate(to, out);
  bitcastRows(l, source, result);
  l.setView(op.getResult(0), std::move(result));
  return {};
}

constexpr std::array<LowerRow, 1> kTable{{{"tpu.bitcast", lowerBitcast}}};

}  // namespace

void bitcastRows(Lowering& l, const View& from, const View& to) {
  if (to.elements() == 0) return;
  const bool split = bit_width(from.dtype) > bit_width(to.dtype);
  const int narrow = std::min(bit_width(from.dtype), bit_width(to.dtype)),
            wide = std::max(bit_width(from.dtype), bit_width(to.dtype)), k = wide / narrow;
  Builder& b = l.b;
  const int64_t columns = to.shape.back(), rows = (split ? from : to).elements() / columns;
  const Words in(l, from), words(l, to);
  l.loop(l.index(0), l.index(rows), l.index(1), [&](Reg row) {
    Reg wideRow = b.CreateMul(row, l.index(columns)), firstNarrow = b.CreateMul(row, l.index(columns * k));
    forColumns(l, columns, l.processor.lanes(4), [&](Reg start, int lanes, Reg mask) {
      const auto narrowAt = [&](int j) { return b.CreateAdd(b.CreateAdd(firstNarrow, l.index(columns * j)), start); };
      const auto shift = [&](int j) { return static_cast<uint64_t>(j) * static_cast<uint64_t>(narrow); };
      if (split) {
        Reg word = in.load(b.CreateAdd(wideRow, start), lanes, mask);
        for (int j = 0; j < k; ++j)
          words.store(b.CreateTrunc(b.CreateLShr(word, shift(j)), in.as(narrow, lanes)), narrowAt(j), lanes, mask);
        return;
      }
      Reg word = nullptr;
      for (int j = 0; j < k; ++j) {
        Reg part = b.CreateTrunc(in.load(narrowAt(j), lanes, mask), in.as(narrow, lanes));
        part = b.CreateShl(b.CreateZExt(part, in.as(wide, lanes)), shift(j));
        word = word ? b.CreateOr(word, part) : part;
      }
      words.store(word, b.CreateAdd(wideRow, start), lanes, mask);
    });
  });
}

mlir::Operation* widthCastOf(mlir::Operation& load) {
  mlir::Operation* cast = load.getOperand(0).getDefiningOp();
  if (!llvm::isa_and_present<tpu::MemRefBitcastOp>(cast)) return nullptr;
  const DType from = elementDType(cast->getOperand(0).getType()), to = elementDType(cast->getResult(0).getType());
  return bit_width(from) != bit_width(to) ? cast : nullptr;
}

bool isOnlyLoaded(mlir::Operation& cast) {
  return llvm::all_of(cast.getResult(0).getUsers(),
                      [](mlir::Operation* user) { return llvm::isa<mlir::vector::LoadOp, tpu::StridedLoadOp>(user); });
}

Native lowerBitcastLoad(Lowering& l, mlir::Operation& load, mlir::Operation& cast) {
  constexpr const char* kOther = "a load through a bitcast of a ref to another width";
  if (!l.hasRef(cast.getOperand(0))) return notNative("a ref that native code does not follow");
  const View& whole = l.ref(cast.getOperand(0));
  const DType to = elementDType(cast.getResult(0).getType());
  const Shape seen = shapeOf(cast.getResult(0).getType()), shape = shapeOf(load.getResult(0).getType());
  const auto indices = load.getOperands().drop_front();
  const size_t rank = shape.size();
  if (rank < 2 || indices.size() != rank || seen.size() != rank || whole.shape.size() != rank || whole.dynamic() ||
      !whole.present.empty() || is_semaphore(whole.dtype) || is_semaphore(to) || num_elements(shape) == 0)
    return notNative(kOther);
  const size_t rowAxis = rank - 2;
  const bool split = bit_width(whole.dtype) > bit_width(to);
  const int narrow = std::min(bit_width(whole.dtype), bit_width(to)),
            k = std::max(bit_width(whole.dtype), bit_width(to)) / narrow;
  if (narrow < 2) return notNative(kOther);
  for (size_t d = 0; d < rank; ++d) {
    const int64_t here = d == rowAxis && split ? whole.shape[d] * k : whole.shape[d];
    if (here != (d == rowAxis && !split ? seen[d] * k : seen[d])) return notNative(kOther);
  }
  std::vector<int64_t> steps = integersAttribute(load, "strides");
  if (steps.empty()) steps.assign(rank, 1);
  if (steps.size() != rank) return notNative(kOther);

  // The rows of a word are one more dimension of the box in memory.
  View box = whole;
  box.shape.clear();
  box.strides.clear();
  box.upcoming = nullptr;
  box.forgetTurns();
  for (size_t d = 0; d < rank; ++d) {
    Reg start = l.scalar(indices[d]);
    int64_t span = 0;
    if (!start || steps[d] < 1 || __builtin_mul_overflow(shape[d] - 1, steps[d], &span) || span >= seen[d])
      return notNative(kOther);
    l.require(l.b.CreateICmpULE(start, l.index(seen[d] - 1 - span)));
    int64_t size = shape[d];
    Reg stride = whole.strides[d];
    Reg step = l.b.CreateMul(stride, l.index(steps[d]));
    if (d == rowAxis && split) {
      const auto first = constantOf(start);
      if (!first || *first % k != 0 || steps[d] != 1 || size % k != 0) return notNative(kOther);
      start = l.index(*first / k);
      size /= k;
    } else if (d == rowAxis) {
      start = l.b.CreateMul(start, l.index(k));
      step = l.b.CreateMul(step, l.index(k));
    }
    box.base = l.b.CreateGEP(storageType(l.b.getContext(), whole.dtype), box.base, l.b.CreateMul(start, stride));
    box.shape.push_back(size);
    box.strides.push_back(step);
    if (d == rowAxis && !split) {
      box.shape.push_back(k);
      box.strides.push_back(stride);
    }
  }
  watchAccess(l, load, box, false);
  if (l.liveness().dead(&load)) return {};
  if (auto ok = l.flush(); !ok) return ok;
  View result = l.allocate(to, shape);
  bitcastRows(l, l.denseCopy(box), result);
  l.setView(load.getResult(0), std::move(result));
  return {};
}

std::span<const LowerRow> bitcastOps() { return kTable; }

}  // namespace smalti::cpu
