// tpu.matmul: with operands staged in shared memory if that is planned (TensorProduct.cpp); otherwise each thread has a
// tile of the result in registers, reads the operands in place, and sums along the contracted dimensions. Products of
// floats are exact and summed in f32, integers in i32.
#include "gpu/emit/Product.h"

#include <algorithm>
#include <array>
#include <bit>

#include "llvm/IR/Intrinsics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace smalti::gpu {
namespace {

/// Products by fused multiply-adds of operands in memory.
class ThreadTiles {
 public:
  ThreadTiles(GpuLowering& l, const ProductForm& p) : l_(l), b_(l.b), p_(p), isFloat_(is_float(p.out)) {}

  void run() {
    const Tile t = tileFor(p_.m(), p_.n());
    Reg thread = b_.CreateZExt(l_.thread, b_.getInt64Ty());
    Reg row = b_.CreateUDiv(thread, l_.index(t.columnThreads)),
        column = b_.CreateURem(thread, l_.index(t.columnThreads));
    l_.loop(l_.index(0), l_.index(num_elements(p_.batch)), l_.index(1), [&](Reg batch) {
      l_.loop(l_.index(0), l_.index(p_.m()), l_.index(t.rows * t.rowThreads), [&](Reg firstRow) {
        l_.loop(l_.index(0), l_.index(p_.n()), l_.index(t.columns * t.columnThreads), [&](Reg firstColumn) {
          tile(t, batch, b_.CreateAdd(firstRow, row), b_.CreateAdd(firstColumn, column));
        });
      });
    });
  }

 private:
  /// The part of the result that the threads compute at once.
  struct Tile {
    int64_t rows = 1, columns = 1;              // elements per thread
    int64_t rowThreads = 1, columnThreads = 1;  // threads of the block along rows and columns
  };

  Tile tileFor(int64_t m, int64_t n) const {
    Tile t;
    t.columnThreads = std::min<int64_t>(kWarp, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))));
    t.rowThreads = l_.plan.threads / t.columnThreads;
    constexpr int64_t kMax = 4;  // rows and columns per thread; chosen, not measured
    while (t.rows < kMax && t.rows * t.rowThreads < m) t.rows *= 2;
    while (t.columns < kMax && t.columns * t.columnThreads < n) t.columns *= 2;
    return t;
  }

  void tile(const Tile& t, Reg batch, Reg firstRow, Reg firstColumn) {
    const GpuLowering::Scope scope(l_);
    const ElementIndex batchPlace = l_.placeOf(batch, p_.batch);
    const auto clamped = [&](Reg i, int64_t size) {
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, i, l_.index(size - 1));
    };
    std::vector<Reg> rowAt, columnAt, rowBase, columnBase;
    for (int64_t i = 0; i < t.rows; ++i) {
      rowAt.push_back(b_.CreateAdd(firstRow, l_.index(i * t.rowThreads)));
      const ElementIndex at = l_.placeOf(clamped(rowAt.back(), p_.m()), p_.rows);
      rowBase.push_back(
          b_.CreateAdd(offsetIn(l_, p_.lhs, p_.dims.lhsBatch, batchPlace), offsetIn(l_, p_.lhs, p_.dims.lhsFree, at)));
    }
    for (int64_t j = 0; j < t.columns; ++j) {
      columnAt.push_back(b_.CreateAdd(firstColumn, l_.index(j * t.columnThreads)));
      const ElementIndex at = l_.placeOf(clamped(columnAt.back(), p_.n()), p_.columns);
      columnBase.push_back(
          b_.CreateAdd(offsetIn(l_, p_.rhs, p_.dims.rhsBatch, batchPlace), offsetIn(l_, p_.rhs, p_.dims.rhsFree, at)));
    }
    Reg zero = isFloat_ ? static_cast<Reg>(llvm::ConstantFP::get(b_.getFloatTy(), 0.0)) : b_.getInt32(0);
    const auto sums = l_.carry(l_.index(0), l_.index(p_.k()), l_.index(1),
                               std::vector<Reg>(static_cast<size_t>(t.rows * t.columns), zero),
                               [&](Reg k, const std::vector<Reg>& now) {
                                 const ElementIndex at = l_.placeOf(k, p_.depth);
                                 Reg left = offsetIn(l_, p_.lhs, p_.dims.lhsContracting, at),
                                     right = offsetIn(l_, p_.rhs, p_.dims.rhsContracting, at);
                                 std::vector<Reg> x, y, next;
                                 for (Reg base : rowBase) x.push_back(load(p_.lhs, b_.CreateAdd(base, left)));
                                 for (Reg base : columnBase) y.push_back(load(p_.rhs, b_.CreateAdd(base, right)));
                                 for (Reg xi : x)
                                   for (Reg yj : y) next.push_back(add(xi, yj, now[next.size()]));
                                 return next;
                               });
    for (int64_t i = 0; i < t.rows; ++i)
      for (int64_t j = 0; j < t.columns; ++j)
        storeSum(l_, p_, batchPlace, rowAt[static_cast<size_t>(i)], columnAt[static_cast<size_t>(j)],
                 sums[static_cast<size_t>(i * t.columns + j)]);
  }

  /// Loads an element as f32 or i32.
  Reg load(const View& v, Reg at) {
    Reg r = cpu::loadElements(b_, v.dtype, b_.CreateGEP(cpu::storageType(b_.getContext(), v.dtype), v.base, at), 1);
    if (r->getType()->isFloatTy()) return r;
    return isFloat_ ? b_.CreateSIToFP(r, b_.getFloatTy()) : b_.CreateSExtOrTrunc(r, b_.getInt32Ty());
  }
  Reg add(Reg x, Reg y, Reg sum) {
    return isFloat_ ? b_.CreateIntrinsic(llvm::Intrinsic::fma, {b_.getFloatTy()}, {x, y, sum})
                    : b_.CreateAdd(sum, b_.CreateMul(x, y));
  }

  GpuLowering& l_;
  Builder& b_;
  const ProductForm& p_;
  bool isFloat_;
};

Shape sizesOf(const View& v, const Shape& dims) {
  Shape sizes;
  for (const int64_t d : dims) sizes.push_back(v.shape[static_cast<size_t>(d)]);
  return sizes;
}

NativeResult lowerTensorProduct(GpuLowering& l, mlir::Operation& op, ProductForm& p, const PlannedProduct& plan) {
  const mlir::Value result = op.getResult(0);
  const StreamedProduct* streamed = l.stream ? l.plan.stream.find(&op) : nullptr;
  // The product begins with a barrier, after which the operands that other threads have written are visible.
  if (plan.result == ProductResult::accumulated) {
    Reg begins = plan.begins ? l.scalar(plan.begins) : nullptr;
    if (plan.begins && !begins) return unsupported("a condition that device code does not follow");
    const GpuLowering::Fragment scratch = *l.registersOfMemory(l.ref(plan.scratch).memory);
    emitTensorProduct(l, p, plan.tile, scratch.sums, streamed, begins);
    GpuLowering::Fragment sum = scratch;
    sum.memory = View::kValue;
    sum.pending = false;  // whoever reads the scratch waits for its products
    l.setFragment(plan.sum, sum);
    return l.status;
  }
  if (plan.result == ProductResult::registers) {
    const mlir::Value start = plan.start ? plan.start : p.acc;
    const GpuLowering::Fragment made = l.newFragment({plan.tile}, result.getType());
    l.touch(l.reads(start), {});
    if (plan.beginsAtZero)
      // Sums of an earlier step would occupy the registers until they are replaced.
      for (int64_t i = 0; i < made.distribution.elements(); ++i)
        l.b.CreateStore(llvm::UndefValue::get(made.type),
                        l.b.CreateConstInBoundsGEP1_64(made.type, made.sums, static_cast<uint64_t>(i)));
    else
      l.forDistributed(made.distribution, shapeOf(result.getType()), GpuLowering::RowsBeyond::repeatLast,
                       [&](const ElementIndex& at) {
                         if (Reg first = l.element(start, at)) l.setElement(made, first);
                       });
    emitTensorProduct(l, p, plan.tile, made.sums, streamed, plan.beginsAtZero ? l.b.getTrue() : nullptr);
    l.setFragment(plan.start ? plan.sum : result, made);
    return l.status;
  }
  p.made = l.allocate(p.out, shapeOf(result.getType()));
  if (p.made.elements() > 0) emitTensorProduct(l, p, plan.tile, nullptr, nullptr, nullptr);
  l.setView(result, std::move(p.made));
  return l.status;
}

/// Takes the upper bf16 of an f32, as f32, and leaves the rest of it. Both are multiplied by infinities, which a zero
/// would turn into NaNs: the rest of a number therefore contains 2^-30 of it, too little to change a product of f32.
/// The rest of an infinity or NaN is the same again.
Reg takeBf16(Builder& b, Reg& value) {
  constexpr uint32_t kUpperHalf = 0xffff0000;
  const auto number = [&](double x) { return llvm::ConstantFP::get(b.getFloatTy(), x); };
  Reg bits = b.CreateAnd(b.CreateBitCast(value, b.getInt32Ty()), b.getInt32(kUpperHalf));
  Reg upper = b.CreateBitCast(bits, b.getFloatTy());
  Reg isFinite = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value),
                                 llvm::ConstantFP::getInfinity(b.getFloatTy()));
  Reg left = b.CreateFSub(value, upper);  // exact
  Reg rest = b.CreateIntrinsic(llvm::Intrinsic::fma, {b.getFloatTy()}, {value, number(0x1p-30), left});
  value = b.CreateSelect(isFinite, rest, value);
  return upper;
}

/// Computes the fragments of a left operand from values in registers.
NativeResult leftFromRegisters(GpuLowering& l, mlir::Value lhs, const ProductTile& tile, ProductForm& p) {
  const auto from = l.distributionUnder(lhs);
  if (!from) return unsupported("a left operand that is not in registers");
  Builder& b = l.b;
  // One instruction rounds and packs two elements of 16 bits.
  if (const mlir::Value f32 = l.unrounded(lhs)) lhs = f32;
  l.touch(l.reads(lhs), {});
  const GpuLowering::Fragment left = l.newFragment(*from, lhs.getType());
  const auto slot = [&](int64_t i) {
    return b.CreateConstInBoundsGEP1_64(left.type, left.sums, static_cast<uint64_t>(i));
  };
  // Rows beyond the end are multiplied as well.
  if (!l.coversAll(*from, shapeOf(lhs.getType())))
    for (int64_t i = 0; i < from->elements(); ++i) b.CreateStore(llvm::Constant::getNullValue(left.type), slot(i));
  l.forDistributed(*from, shapeOf(lhs.getType()), GpuLowering::RowsBeyond::repeatLast, [&](const ElementIndex& at) {
    if (Reg r = l.element(lhs, at)) l.setElement(left, r);
  });
  if (!l.status) return l.status;
  std::vector<Reg> elements;  // in the order of the sums
  for (int64_t i = 0; i < from->elements(); ++i) elements.push_back(b.CreateLoad(left.type, slot(i)));
  if (tile.unit == ProductUnit::threads) {
    for (size_t i = 0; i + 4 <= elements.size(); i += 4)
      p.left.push_back({elements[i], elements[i + 1], elements[i + 2], elements[i + 3]});
    return {};
  }
  // A fragment of 16 rows × 16 along K consists of two fragments of sums; each has two neighbours of the rows 0 … 7,
  // then two of the rows 8 … 15. A word contains two neighbours.
  for (int part = 1; part <= tile.parts; ++part) {
    std::vector<Reg> taken;
    for (Reg& e : elements) taken.push_back(part < tile.parts ? takeBf16(b, e) : e);
    const auto word = [&](size_t first) { return l.device.packed(b, taken[first], taken[first + 1], tile.dtype); };
    for (size_t i = 0; i + 8 <= taken.size(); i += 8)
      p.left.push_back({word(i), word(i + 2), word(i + 4), word(i + 6)});
  }
  return {};
}

NativeResult lowerMatmul(GpuLowering& l, mlir::Operation& op) {
  const auto planned = l.plan.products.products.find(&op);
  const bool isPlanned = planned != l.plan.products.products.end();
  ProductForm p;
  p.out = elementDType(op.getResult(0).getType());
  const DType a = elementDType(op.getOperand(0).getType()), c = elementDType(op.getOperand(1).getType());
  if (!cpu::computesNatively(a) || !cpu::computesNatively(c) || !cpu::computesNatively(p.out) || a == DType::pred ||
      c == DType::pred || (!is_float(p.out) && (is_float(a) || is_float(c) || bit_width(p.out) != 32)))
    return unsupported("a product of these dtypes");
  if (isPlanned && planned->second.lhsInRegisters) {
    if (auto ok = leftFromRegisters(l, op.getOperand(0), planned->second.tile, p); !ok) return ok;
    p.lhs.dtype = a;
    p.lhs.shape = shapeOf(op.getOperand(0).getType());
    p.lhs.strides = cpu::denseStrides(l.b, p.lhs.shape);
  } else {
    auto lhs = l.readable(op.getOperand(0));
    if (!lhs) return tl::unexpected(lhs.error());
    p.lhs = std::move(*lhs);
  }
  auto rhs = l.readable(op.getOperand(1));
  if (!rhs) return tl::unexpected(rhs.error());
  p.rhs = std::move(*rhs);
  p.dims = dotDimensionsOf(op);
  p.batch = sizesOf(p.lhs, p.dims.lhsBatch);
  p.rows = sizesOf(p.lhs, p.dims.lhsFree);
  p.columns = sizesOf(p.rhs, p.dims.rhsFree);
  p.depth = sizesOf(p.lhs, p.dims.lhsContracting);
  p.acc = op.getOperand(2);
  if (isPlanned && planned->second.start) {
    l.waitingProducts[&op] = std::make_shared<ProductForm>(std::move(p));
    return l.status;
  }
  if (isPlanned) return lowerTensorProduct(l, op, p, planned->second);
  p.made = l.allocate(p.out, shapeOf(op.getResult(0).getType()));
  MemorySet reads = l.reads(p.acc);
  reads.insert(p.lhs.memory);
  reads.insert(p.rhs.memory);
  l.touch(reads, {p.made.memory});
  if (p.made.elements() > 0) ThreadTiles(l, p).run();
  l.setView(op.getResult(0), std::move(p.made));
  return l.status;
}

constexpr std::array<GpuOpRow, 1> kProductTable{{{"tpu.matmul", lowerMatmul}}};

}  // namespace

NativeResult lowerWaitingProduct(GpuLowering& l, mlir::Operation& matmul) {
  const std::shared_ptr<ProductForm> p = std::move(l.waitingProducts[&matmul]);
  return lowerTensorProduct(l, matmul, *p, l.plan.products.products.find(&matmul)->second);
}

Reg offsetIn(GpuLowering& l, const View& v, const Shape& dims, const ElementIndex& at) {
  Reg sum = l.index(0);
  for (size_t d = 0; d < dims.size(); ++d)
    sum = l.b.CreateAdd(sum, l.b.CreateMul(at[d], v.strides[static_cast<size_t>(dims[d])]));
  return sum;
}

void storeSum(GpuLowering& l, const ProductForm& p, const ElementIndex& batch, Reg row, Reg column, Reg sum) {
  Builder& b = l.b;
  Reg inside = b.CreateAnd(b.CreateICmpULT(row, l.index(p.m())), b.CreateICmpULT(column, l.index(p.n())));
  l.when(inside, [&] {
    ElementIndex place = batch;
    for (Reg r : l.placeOf(row, p.rows)) place.push_back(r);
    for (Reg r : l.placeOf(column, p.columns)) place.push_back(r);
    Reg start = l.element(p.acc, place);
    if (!start) return;
    Reg all = is_float(p.out) ? cpu::roundTo(b, p.out, b.CreateFAdd(start, sum)) : b.CreateAdd(start, sum);
    cpu::storeElements(b, p.out, all, cpu::elementPointer(b, p.made, place), 1);
  });
}

std::span<const GpuOpRow> productOps() { return kProductTable; }

}  // namespace smalti::gpu
