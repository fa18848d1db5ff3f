// Bits seen as elements of another width.
#include <array>

#include "cpu/lower/Columns.h"

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

/// tpu.bitcast between widths (S-D7, S-D8): narrow row r·k + j holds part j of each word of wide row r. Of one width it
/// is an op of nests.
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
  l.setView(op.getResult(0), result);
  if (result.elements() == 0) return {};
  Builder& b = l.b;
  const int64_t columns = shape.back(), rows = num_elements(split ? shape : out) / columns;
  const Words in(l, source), words(l, result);
  const int wide = bit_width(split ? from : to);
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
  return {};
}

constexpr std::array<LowerRow, 1> kTable{{{"tpu.bitcast", lowerBitcast}}};

}  // namespace

std::span<const LowerRow> bitcastOps() { return kTable; }

}  // namespace smalti::cpu
