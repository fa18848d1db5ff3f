// Ops whose elements depend on many elements: matrix products and reductions.
#include <algorithm>
#include <array>
#include <atomic>

#include "eval/Contract.h"
#include "eval/Reduce.h"
#include "eval/Scratch.h"
#include "eval/Shape.h"
#include "ir/program/MatrixOrder.h"
#include "plain/Moves.h"
#include "plain/PlainEvaluators.h"
#include "plain/RegionPlan.h"
#include "plain/linear/Kernels.h"

namespace smalti::plain {
namespace {

PlainResults dotGeneral(PlainCall& call);

/// The product of bools as numbers. If its results are bools, "and" multiplies and "or" adds: pairs that are both true
/// are counted.
PlainResults dotOfBools(PlainCall& call) {
  const bool toBools = call.results[0].dtype == DType::pred;
  const ArrayType counts{toBools ? DType::i32 : call.results[0].dtype, call.results[0].shape};
  std::vector<Array> operands;
  for (const Array& operand : call.operands) {
    auto numbers = converted(operand, counts.dtype);
    if (!numbers) return fail(std::move(numbers.error()));
    operands.push_back(std::move(*numbers));
  }
  PlainCall ofNumbers{call.op,       call.function, operands,     {&counts, 1}, call.device,
                      call.numerics, call.outer,    call.program, call.share,   call.permutations};
  auto sums = dotGeneral(ofNumbers);
  if (!sums || !toBools) return sums;
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  std::ranges::transform(std::span((*sums)[0].as<int32_t>(), static_cast<size_t>((*sums)[0].elements())),
                         result->as<uint8_t>(), [](int32_t count) { return count != 0; });
  return one(std::move(*result));
}

/// So many rows that each thread's copy of the other operand in the layout of the product takes little of its time.
constexpr int64_t kRowsOfAPiece = 128;

int64_t sizeOf(std::span<const int64_t> shape, std::span<const int64_t> dims) {
  int64_t size = 1;
  for (const int64_t d : dims) size *= shape[static_cast<size_t>(d)];
  return size;
}

/// The columns that eval::dotGeneral prepares at a time: pieces of as many are summed in the same order as all.
constexpr int64_t kColumnsOfAPiece = 512;

/// A product whose columns threads share, of operands without batches: each makes some, and copies them to their
/// places. `multiply` has the first column and their number as well.
template <class Multiply>
Product sharedColumns(const ShareWork& share, int64_t rows, int64_t columns, int64_t depth, const Multiply& multiply) {
  return [=, &share](eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output to) {
    const int64_t bytes = storage_bytes(to.dtype);
    std::atomic<bool> known{true};
    shareInPieces(share, columns, kColumnsOfAPiece, rows * columns * depth / 8, [&](int64_t first, int64_t last) {
      static thread_local constinit eval::ThreadScratch scratch, accumulators;
      const int64_t count = last - first;
      const Shape shape{rows, count};
      eval::Input ofAcc = acc;
      ofAcc.shape = shape;
      if (!acc.splat && rows == 1) ofAcc.data += first * storage_bytes(acc.dtype);
      if (rows == 1 || count == columns) {
        if (!multiply(lhs, rhs, ofAcc, {to.data + first * bytes, to.dtype, shape}, first, count)) known = false;
        return;
      }
      if (!acc.splat) {
        const int64_t accBytes = storage_bytes(acc.dtype);
        auto* copy = accumulators.get<std::byte>(rows * count * accBytes);
        moveAll(std::array{Move{.from = acc.data + first * accBytes,
                                .to = copy,
                                .rows = rows,
                                .rowBytes = count * accBytes,
                                .fromStride = columns * accBytes,
                                .toStride = count * accBytes}},
                {});
        ofAcc.data = copy;
      }
      auto* part = scratch.get<std::byte>(rows * count * bytes);
      if (!multiply(lhs, rhs, ofAcc, {part, to.dtype, shape}, first, count)) known = false;
      moveAll(std::array{Move{.from = part,
                              .to = to.data + first * bytes,
                              .rows = rows,
                              .rowBytes = count * bytes,
                              .fromStride = count * bytes,
                              .toStride = columns * bytes}},
              {});
    });
    return known.load();
  };
}

/// A product of f64 whose operands are batches of matrices in memory, by Eigen. False: it is another.
bool multiplyAsDoubles(eval::Input lhs, eval::Input rhs, const eval::DotDims& dims, eval::Input acc, eval::Output to) {
  if (lhs.dtype != DType::f64 || rhs.dtype != DType::f64 || to.dtype != DType::f64 || acc.dtype != DType::f64 ||
      lhs.splat || rhs.splat)
    return false;
  const auto ofLhs = contractsLast(dims.lhsBatch, dims.lhsContracting, dims.lhsFree),
             ofRhs = contractsLast(dims.rhsBatch, dims.rhsContracting, dims.rhsFree);
  if (!ofLhs || !ofRhs) return false;
  const int64_t batch = sizeOf(lhs.shape, dims.lhsBatch), rows = sizeOf(lhs.shape, dims.lhsFree),
                depth = sizeOf(lhs.shape, dims.lhsContracting), all = sizeOf(rhs.shape, dims.rhsFree),
                columns = dims.columns < 0 ? all : dims.columns;
  const auto numbers = [](const auto& array) { return reinterpret_cast<double*>(const_cast<std::byte*>(array.data)); };
  const int64_t elements = batch * rows * columns;
  if (acc.splat)
    std::fill_n(numbers(to), elements, *numbers(acc));
  else
    std::copy_n(numbers(acc), elements, numbers(to));
  if (depth == 0 || elements == 0) return true;
  const int64_t rowOfLhs = *ofLhs ? depth : 1, columnOfRhs = *ofRhs ? depth : 1;
  // In the pieces in which threads share it: then each is summed in the same order, whoever computes it.
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t row = 0; row < rows; row += kRowsOfAPiece)
      for (int64_t column = 0; column < columns; column += kColumnsOfAPiece) {
        const DenseMatrix left{numbers(lhs) + b * rows * depth + row * rowOfLhs, *ofLhs ? depth : rows, !*ofLhs};
        const DenseMatrix right{numbers(rhs) + b * depth * all + (dims.firstColumn + column) * columnOfRhs,
                                *ofRhs ? depth : all, *ofRhs};
        multiplyDoubles()(left, right, numbers(to) + (b * rows + row) * columns + column, columns,
                          std::min(kRowsOfAPiece, rows - row), depth, std::min(kColumnsOfAPiece, columns - column));
      }
  return true;
}

PlainResults dotGeneral(PlainCall& call) {
  if (call.operands[0].dtype() == DType::pred && call.operands[1].dtype() == DType::pred) return dotOfBools(call);
  const TypedOp op = call.typed();
  // The dimensions of an operand as it is given.
  const auto given = [&](size_t operand, std::span<const int64_t> dims) {
    return call.permutations.empty() ? axesAsGiven(dims, {}) : axesAsGiven(dims, call.permutations[operand]);
  };
  const auto free = [&](size_t operand, std::span<const int64_t> batching, std::span<const int64_t> contracting) {
    return given(operand, freeDims(call.operands[operand].shape().size(), batching, contracting));
  };
  const auto lhsBatching = op.integers("lhs_batching_dimensions"), rhsBatching = op.integers("rhs_batching_dimensions");
  const auto lhsContracting = op.integers("lhs_contracting_dimensions"),
             rhsContracting = op.integers("rhs_contracting_dimensions");
  const auto lb = given(0, lhsBatching), rb = given(1, rhsBatching);
  const auto lc = given(0, lhsContracting), rc = given(1, rhsContracting);
  const auto lf = free(0, lhsBatching, lhsContracting), rf = free(1, rhsBatching, rhsContracting);
  eval::DotDims dims{lc, rc, lf, rf, lb, rb};
  const auto multiply = [&](eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output to, int64_t firstColumn,
                            int64_t columns) {
    eval::DotDims part = dims;
    part.firstColumn = firstColumn;
    part.columns = columns;
    if (multiplyAsDoubles(lhs, rhs, part, acc, to)) return true;
    return eval::dotGeneral(lhs, rhs, part, acc, to, dotNumerics(call), is_unsigned_integer(lhs.dtype),
                            is_unsigned_integer(rhs.dtype));
  };
  const auto multiplyAll = [&](eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output to) {
    return multiply(lhs, rhs, acc, to, 0, -1);
  };
  const int64_t depth = sizeOf(call.operands[0].shape(), lc), rows = sizeOf(call.operands[0].shape(), lf);
  if (sizeOf(call.operands[0].shape(), lb) == 1 && rows < 2 * kRowsOfAPiece)
    return product(call, sharedColumns(call.share, rows, sizeOf(call.operands[1].shape(), rf), depth, multiply));
  const bool inBatches = !lb.empty() && lb[0] == 0 && rb[0] == 0;
  const bool inRows = lb.empty() && !lf.empty() && lf[0] == 0;
  if (!inBatches && !inRows) return product(call, multiplyAll);
  return product(
      call, sharedRows(call.share, {.lhs = true, .rhs = inBatches}, depth, inBatches ? 1 : kRowsOfAPiece, multiplyAll));
}

/// Rows `first` to `first + count` of the arrays, `width` elements each, are combined with `into` in their order.
void foldInOrder(RegionPlan& plan, const std::vector<Array>& rows, int64_t first, int64_t count, int64_t width,
                 std::vector<Array>& into) {
  std::vector<const std::byte*> arguments;
  std::vector<std::byte*> sums;
  std::vector<int64_t> rowBytes;
  for (Array& sum : into) {
    sums.push_back(sum.data());
    arguments.push_back(sum.data());
    rowBytes.push_back(width * storage_bytes(sum.dtype()));
  }
  for (size_t i = 0; i < rows.size(); ++i) arguments.push_back(rows[i].data() + first * rowBytes[i]);
  for (int64_t row = 0; row < count; ++row) {
    plan.run(arguments, sums, width);
    for (size_t i = 0; i < rows.size(); ++i) arguments[into.size() + i] += rowBytes[i];
  }
}

/// Elements that a step of a plan works on at least, so that finding them takes less time than the work.
constexpr int64_t kElementsOfAStep = 512;
/// Shorter runs are not divided: the result of a reducer that is not associative is that of the elements in order.
constexpr int64_t kShortestRun = 64;

/// `count` rows, combined in their order. Many are divided into runs that are combined side by side: a reducer is
/// associative.
Status foldRows(RegionPlan& plan, const std::vector<Array>& rows, int64_t count, int64_t width,
                std::vector<Array>& into) {
  const int64_t runs = std::min(kElementsOfAStep / width, count / kShortestRun), length = runs > 1 ? count / runs : 0;
  if (length > 0) {
    std::vector<Array> sideBySide, sums;
    for (const Array& array : rows) {
      auto moved = Array::allocate({array.dtype(), {length, runs, width}});
      auto sum = Array::allocate({array.dtype(), {runs, width}});
      if (!moved || !sum) return fail(std::move(moved ? sum.error() : moved.error()));
      eval::transpose({array.data(), array.dtype(), std::array{runs, length, width}}, std::array<int64_t, 3>{1, 0, 2},
                      out(*moved));
      std::copy_n(moved->data(), sum->bytes(), sum->data());
      sideBySide.push_back(std::move(*moved));
      sums.push_back(std::move(*sum));
    }
    foldInOrder(plan, sideBySide, 1, length - 1, runs * width, sums);
    foldInOrder(plan, sums, 0, runs, width, into);
  }
  foldInOrder(plan, rows, runs * length, count - runs * length, width, into);
  return {};
}

/// Any reducer: element by element along the reduced dimensions, for all results at once.
PlainResults reduceInOrder(PlainCall& call, std::span<const int64_t> dims) {
  const size_t n = call.results.size();
  const Shape& shape = call.operands[0].shape();
  const Shape outShape = call.results[0].shape;
  // Reduced dimensions first: then each step is one contiguous slab.
  std::vector<int64_t> permutation(dims.begin(), dims.end());
  int64_t steps = 1;
  for (const int64_t d : dims) steps *= shape[d];
  for (const int64_t d : freeDims(shape.size(), dims, {})) permutation.push_back(d);
  Shape moved;
  for (const int64_t d : permutation) moved.push_back(shape[d]);

  std::vector<Array> slabs, accumulators;
  for (size_t i = 0; i < n; ++i) {
    auto slab = Array::allocate({call.operands[i].dtype(), moved});
    auto accumulator = Array::allocate(call.results[i]);
    if (!slab || !accumulator) return fail(std::move(slab ? accumulator.error() : slab.error()));
    if (slab->elements() > 0) eval::transpose(in(call.operands[i]), permutation, out(*slab));
    eval::fill(accumulator->data(), call.operands[n + i].data(), accumulator->elements(),
               storage_bytes(accumulator->dtype()));
    slabs.push_back(std::move(*slab));
    accumulators.push_back(std::move(*accumulator));
  }
  if (num_elements(outShape) == 0) return accumulators;
  if (auto plan = RegionPlan::of(call, call.op.regions[0])) {
    if (Status ok = foldRows(*plan, slabs, steps, num_elements(outShape), accumulators); !ok)
      return fail(std::move(ok.error()));
    return accumulators;
  }
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Array> arguments = std::move(accumulators);
    for (size_t i = 0; i < n; ++i)
      arguments.push_back(Array::view(call.results[i], slabs[i].data() + step * call.results[i].bytes()));
    auto next = runLifted(call, call.op.regions[0], std::move(arguments), outShape);
    if (!next) return next;
    accumulators = std::move(*next);
  }
  // The elements of a view are freed with its slab.
  for (Array& a : accumulators)
    if (!a.unique()) {
      auto copy = a.clone();
      if (!copy) return fail(std::move(copy.error()));
      a = std::move(*copy);
    }
  return accumulators;
}

PlainResults reduce(PlainCall& call) {
  const auto dims = call.typed().integers("dimensions");
  const DType t = call.results[0].dtype;
  const auto kind = call.results.size() == 1 ? reduceKind(call.op.regions[0], t) : std::nullopt;
  if (!kind || call.operands[0].elements() == 0) return reduceInOrder(call, dims);
  auto result = Array::allocate(call.results[0]);
  if (!result) return fail(std::move(result.error()));
  eval::Input values = in(call.operands[0]), init = in(call.operands[1]);
  eval::Output reduced = out(*result);
  init.shape = result->shape();
  init.splat = true;
  if (t == DType::pred) values.dtype = init.dtype = reduced.dtype = DType::u8;
  if (eval::multiReduce(*kind, values, dims, init, reduced)) return one(std::move(*result));
  return reduceInOrder(call, dims);
}

constexpr std::array kContractEvaluators{
    EvaluatorRow{"dot_general", dotGeneral},
    EvaluatorRow{"reduce", reduce},
};

}  // namespace

eval::DotNumerics dotNumerics(const PlainCall& call) {
  if (call.numerics != Numerics::tpu) return eval::DotNumerics::full;
  const Attribute* config = call.op.find("precision_config");
  const auto* precisions = config ? std::get_if<std::vector<std::string>>(config) : nullptr;
  eval::DotNumerics numerics = eval::DotNumerics::bf16x1;
  if (precisions)
    for (const std::string& p : *precisions) {
      if (p == "HIGHEST") numerics = eval::DotNumerics::bf16x6;
      if (p == "HIGH" && numerics == eval::DotNumerics::bf16x1) numerics = eval::DotNumerics::bf16x3;
    }
  return numerics;
}

Product sharedRows(const ShareWork& share, Divided divided, int64_t depth, int64_t piece, const Product& multiply) {
  return [=, &share](eval::Input lhs, eval::Input rhs, eval::Input acc, eval::Output to) {
    const int64_t rows = to.shape[0];
    // The rows from `first` on; the same element stands for all rows of a splat.
    const auto part = [](auto array, bool isDivided, int64_t first, int64_t count, Shape& shape) {
      shape.assign(array.shape.begin(), array.shape.end());
      if (isDivided) shape[0] = count;
      array.shape = shape;
      bool isSplat = false;
      if constexpr (std::is_same_v<decltype(array), eval::Input>) isSplat = array.splat;
      if (isDivided && !isSplat) array.data += first * (num_elements(shape) / count) * storage_bytes(array.dtype);
      return array;
    };
    std::atomic<bool> known{true};
    shareInPieces(share, rows, piece, num_elements(to.shape) * depth / 8, [&](int64_t first, int64_t last) {
      Shape ofLhs, ofRhs, ofAcc, ofResult;
      const bool ok = multiply(
          part(lhs, divided.lhs, first, last - first, ofLhs), part(rhs, divided.rhs, first, last - first, ofRhs),
          part(acc, true, first, last - first, ofAcc), part(to, true, first, last - first, ofResult));
      if (!ok) known = false;
    });
    return known.load();
  };
}

namespace {

/// The type of the sums of products: of the results, unless operands have more bits, or parts that the result lacks;
/// then that of the operands, and the sums are converted, as XLA does.
DType sumType(std::span<const Array> operands, DType result) {
  const auto any = [&](const auto& which) {
    return std::ranges::any_of(operands, [&](const Array& a) { return which(a.dtype()); });
  };
  const auto is = [&](DType t) { return any([=](DType d) { return d == t; }); };
  if (any(is_complex) || is_complex(result))
    return is(DType::c128) || is(DType::f64) || result == DType::c128 ? DType::c128 : DType::c64;
  if (is(DType::f64)) return DType::f64;
  if (any(is_float)) return is_float(result) ? result : DType::f32;
  for (const DType wide : {DType::i64, DType::u64})
    if (is(wide) && bit_width(result) < 64) return wide;
  return result;
}

Status convertAll(std::vector<Array>& arrays, DType to) {
  for (Array& array : arrays) {
    auto whole = converted(array, to);
    if (!whole) return fail(std::move(whole.error()));
    array = std::move(*whole);
  }
  return {};
}

}  // namespace

PlainResults product(PlainCall& call, const Product& multiply) {
  const ArrayType& type = call.results[0];
  if (const DType sums = sumType(call.operands, type.dtype); sums != type.dtype) {
    const ArrayType ofSums{sums, type.shape};
    PlainCall summed{call.op,       call.function, call.operands, {&ofSums, 1}, call.device,
                     call.numerics, call.outer,    call.program,  call.share,   call.permutations};
    auto made = product(summed, multiply);
    if (!made) return made;
    auto result = converted((*made)[0], type.dtype);
    if (!result) return fail(std::move(result.error()));
    return one(std::move(*result));
  }
  const bool isWide = bit_width(type.dtype) >= 64;  // complex numbers, too
  if (isWide)
    if (Status ok = convertAll(call.operands, type.dtype); !ok) return fail(std::move(ok.error()));
  if (is_complex(type.dtype)) return complexProduct(call, multiply);
  auto result = Array::allocate(type);
  if (!result) return fail(std::move(result.error()));
  const int64_t zero = 0;
  const DType accumulator = isWide ? type.dtype : is_float(type.dtype) ? DType::f32 : DType::i32;
  const eval::Input acc{reinterpret_cast<const std::byte*>(&zero), accumulator, result->shape(), true};
  if (result->elements() > 0 && !multiply(in(call.operands[0]), in(call.operands[1]), acc, out(*result)))
    return fail(noEvaluation(call, call.operands[0].dtype()));
  return one(std::move(*result));
}

std::vector<int64_t> freeDims(size_t rank, std::span<const int64_t> batch, std::span<const int64_t> contracting) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      dims.push_back(d);
  return dims;
}

std::span<const EvaluatorRow> contractEvaluators() { return kContractEvaluators; }

}  // namespace smalti::plain
