// tpu.reduce_index: argmax and argmin (S-E13). The first NaN wins, else the first of the extreme values.
#include <array>
#include <bit>

#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"
#include "cpu/nest/CarriedLoop.h"

namespace smalti::cpu {
namespace {

/// The best value so far and its index, per lane.
struct Best {
  Reg value = nullptr, index = nullptr;
};

class Search {
 public:
  Search(NativeLowering& l, View in, View out, Split split, bool isMax)
      : l_(l), b_(l.b), in_(std::move(in)), out_(std::move(out)), s_(split), isMax_(isMax) {}

  void run() {
    l_.loop(l_.index(0), l_.index(s_.outer), l_.index(1), [&](Reg outer) {
      if (s_.inner == 1)
        row(outer);
      else
        columns(outer);
    });
  }

 private:
  llvm::Type* as(llvm::Type* t, int lanes) const {
    return lanes == 1 ? t : llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes));
  }
  Reg load(Reg at, int lanes, Reg mask = nullptr) {
    Reg r = loadElements(b_, in_.dtype, elementAt(l_, in_, at), lanes, mask);
    // false < true.
    return in_.dtype == DType::pred ? b_.CreateZExt(r, as(b_.getInt8Ty(), lanes)) : r;
  }
  void store(Reg index, Reg at, int lanes, Reg mask = nullptr) {
    llvm::Type* type = as(registerType(b_.getContext(), out_.dtype, 1), lanes);
    storeElements(b_, out_.dtype, b_.CreateZExtOrTrunc(index, type), elementAt(l_, out_, at), lanes, mask);
  }

  /// Whether `a`, the later element, wins.
  Reg beats(Reg a, Reg b) {
    if (!a->getType()->isFPOrFPVectorTy()) return isMax_ ? b_.CreateICmpSGT(a, b) : b_.CreateICmpSLT(a, b);
    Reg wins = isMax_ ? b_.CreateFCmpUGT(a, b) : b_.CreateFCmpULT(a, b);  // or an operand is NaN
    return b_.CreateAnd(wins, b_.CreateFCmpORD(b, b));
  }
  Best choose(Reg condition, const Best& x, const Best& y) {
    return {b_.CreateSelect(condition, x.value, y.value), b_.CreateSelect(condition, x.index, y.index)};
  }

  /// A loop over [from, to) that carries a Best.
  Best carry(int64_t from, int64_t to, int64_t step, const Best& best,
             const std::function<Best(Reg, const Best&)>& body) {
    const Values last = carriedLoop(l_, from, to, step, {best.value, best.index}, [&](Reg i, const Values& now) {
      const Best next = body(i, {now[0], now[1]});
      return Values{next.value, next.index};
    });
    return {last[0], last[1]};
  }

  /// For a contiguous dimension. Each lane searches with a stride, then lanes are compared.
  void row(Reg outer) {
    int lanes = l_.processor.lanes(4);
    while (lanes > s_.n) lanes /= 2;
    Reg base = b_.CreateMul(outer, l_.index(s_.n));
    llvm::SmallVector<llvm::Constant*, 64> numbers;
    for (int k = 0; k < lanes; ++k) numbers.push_back(b_.getInt32(static_cast<uint32_t>(k)));
    Reg lane = lanes == 1 ? static_cast<Reg>(b_.getInt32(0)) : llvm::ConstantVector::get(numbers);
    const auto at = [&](Reg i) { return b_.CreateAdd(splat(b_, b_.CreateTrunc(i, b_.getInt32Ty()), lanes), lane); };
    const int64_t whole = s_.n / lanes * lanes;
    Best best = carry(lanes, whole, lanes, {load(base, lanes), lane}, [&](Reg i, const Best& old) {
      Reg value = load(b_.CreateAdd(base, i), lanes);
      return choose(beats(value, old.value), {value, at(i)}, old);
    });
    for (int n = lanes; n > 1; n /= 2) best = halved(best, n);
    if (lanes > 1) {
      best.value = b_.CreateExtractElement(best.value, uint64_t{0});
      best.index = b_.CreateExtractElement(best.index, uint64_t{0});
    }
    best = carry(whole, s_.n, 1, best, [&](Reg i, const Best& old) {
      Reg value = load(b_.CreateAdd(base, i), 1);
      return choose(beats(value, old.value), {value, b_.CreateTrunc(i, b_.getInt32Ty())}, old);
    });
    store(best.index, outer, 1);
  }

  /// Compares each lane with the lane n / 2 further on and keeps the better one; ties keep the lower index.
  Best halved(const Best& best, int n) {
    llvm::SmallVector<int, 64> low, high;
    for (int k = 0; k < n / 2; ++k) {
      low.push_back(k);
      high.push_back(k + n / 2);
    }
    const Best a{b_.CreateShuffleVector(best.value, low), b_.CreateShuffleVector(best.index, low)};
    const Best c{b_.CreateShuffleVector(best.value, high), b_.CreateShuffleVector(best.index, high)};
    Reg earlier = b_.CreateAnd(b_.CreateICmpULT(c.index, a.index), b_.CreateNot(beats(a.value, c.value)));
    return choose(b_.CreateOr(beats(c.value, a.value), earlier), c, a);
  }

  /// For another dimension. Columns are searched in parallel.
  void columns(Reg outer) {
    Reg base = b_.CreateMul(outer, l_.index(s_.n * s_.inner)), target = b_.CreateMul(outer, l_.index(s_.inner));
    forColumns(l_, s_.inner, l_.processor.lanes(4), [&](Reg start, int lanes, Reg mask) {
      Reg first = b_.CreateAdd(base, start);
      const Best zero{load(first, lanes, mask), llvm::Constant::getNullValue(as(b_.getInt32Ty(), lanes))};
      const Best best = carry(1, s_.n, 1, zero, [&](Reg i, const Best& old) {
        Reg value = load(b_.CreateAdd(first, b_.CreateMul(i, l_.index(s_.inner))), lanes, mask);
        Reg index = splat(b_, b_.CreateTrunc(i, b_.getInt32Ty()), lanes);
        return choose(beats(value, old.value), {value, index}, old);
      });
      store(best.index, b_.CreateAdd(target, start), lanes, mask);
    });
  }

  NativeLowering& l_;
  Builder& b_;
  View in_, out_;
  Split s_;
  bool isMax_;
};

NativeResult lowerReduceIndex(NativeLowering& l, mlir::Operation& op) {
  const Shape shape = shapeOf(op.getOperand(0).getType());
  const DType out = elementDType(op.getResult(0).getType());
  const int64_t axis = integerAttribute(op, "axis", -1);
  Shape rest = shape;
  rest.erase(rest.begin() + axis);
  const View source = denseView(l, op.getOperand(0));
  View result = l.allocate(out, rest);
  if (num_elements(shape) == 0)
    l.fill(result, llvm::Constant::getNullValue(registerType(l.b.getContext(), out, 1)));
  else
    Search(l, source, result, Split(shape, static_cast<size_t>(axis)), keywordAttribute(op, "kind") == "arg_max").run();
  if (isVector(op.getResult(0)))
    l.setView(op.getResult(0), result);
  else
    l.setScalar(op.getResult(0), loadElements(l.b, out, result.base, 1));
  return {};
}

constexpr std::array<NativeOpRow, 1> kArgReduceOps{{{"tpu.reduce_index", lowerReduceIndex}}};

}  // namespace

std::span<const NativeOpRow> argReduceOps() { return kArgReduceOps; }

}  // namespace smalti::cpu
