#include "lang/fuse/FusedKernel.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/RowMajor.h"
#include "lang/call/DerivedKernel.h"
#include "lang/cost/Cost.h"
#include "lang/lower/Lower.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/kernel/KernelFunction.h"
#include "smalti/control.h"
#include "smalti/error.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

class FusedKernel : public CalledKernel {
 public:
  FusedKernel(TracedKernel kernel, KernelPackage package) : kernel_(std::move(kernel)), package_(std::move(package)) {}
  const TracedKernel& traced() const override { return kernel_; }
  KernelPackage package() const override { return package_.copy(); }
  std::vector<Array> call(std::span<const Array> operands) const override { return runAsFunction(kernel_, operands); }
  DerivedKernels& derived() const override { return derived_; }
  std::shared_ptr<const ActiveSettings> settings() const override { return nullptr; }

 private:
  TracedKernel kernel_;
  KernelPackage package_;
  mutable DerivedKernels derived_;
};

/// The number of rows per program: enough work for a call, and enough programs for the cores.
int64_t blockRows(int64_t rows, int64_t columns) {
  constexpr int64_t kElements = 16384, kPrograms = 8;
  int64_t block = std::max<int64_t>(kElements / std::max<int64_t>(columns, 1), 1);
  if (rows * columns >= kElements * 2)
    block = std::min(block, std::max<int64_t>((rows + kPrograms - 1) / kPrograms, 1));
  return std::min(block >= 8 ? block / 8 * 8 : block, std::max<int64_t>(rows, 1));
}

/// The position of an operand of the group: the first row and column, in an array of rows and columns.
struct TakenFrom {
  ValueId source;
  Shape shape;  ///< of the whole array
  int64_t firstRow = 0, firstColumn = 0;
};

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

/// The slice of `shape` as rows, the axes before `split`, of an array of rows; nothing where they are not next to each
/// other, or not pieces of rows.
std::optional<TakenFrom> accessOf(const View& view, const Shape& source, const Shape& shape, size_t split) {
  const auto isWhole = [&](size_t axis) { return shape[axis] == source[axis]; };
  for (size_t a = 0; a < shape.size(); ++a)
    if (a != 0 && a != split && !isWhole(a)) return std::nullopt;
  const std::span<const int64_t> all(source);
  const int64_t columns = product(all.subspan(split));
  TakenFrom access{view.source, {product(all.first(split)), columns}};
  if (split > 0) access.firstRow = view.starts[0] * product(all.first(split).subspan(1));
  if (split < shape.size()) access.firstColumn = view.starts[split] * product(all.subspan(split + 1));
  return access;
}

class Builder {
 public:
  Builder(const Group& group, const std::vector<ArrayType>& types, const std::map<ValueId, Array>& constants,
          const Views& views)
      : group_(group), types_(types), constants_(constants) {
    std::tie(rows_, columns_) = group.rowsAndColumns();
    block_ = blockRows(rows_, columns_);
    for (const auto& [v, form] : group.taken()) {
      if (constants.count(v)) continue;
      const auto view = views.find(v);
      std::optional<TakenFrom> access;
      if (view != views.end()) access = accessOf(view->second, types[view->second.source].shape, v, form);
      access_.emplace(v, access.value_or(TakenFrom{v, shapeIn(group, form)}));
    }
    // Rows from an offset that is not a multiple of a block's rows: a partial block would reach past them.
    if (std::any_of(access_.begin(), access_.end(), [&](const auto& a) { return readsAnyRow(a.first, a.second); }))
      while (rows_ % block_ != 0) --block_;
  }

  FusedCall call(std::span<const ValueId> results) {
    TracedKernel k;
    k.name = "fused";
    k.place = group_.ops()[0]->place;
    k.grid = {(rows_ + block_ - 1) / block_};
    k.semantics = {DimensionSemantics::parallel};
    FusedCall made;
    std::map<ValueId, size_t> refOf;  // by value that is taken: slices of one array share it
    for (const auto& [v, access] : access_) {
      const bool anyRow = readsAnyRow(v, access);
      const Shape block{anyRow ? access.shape[0] : blockOf(formOf(v))[0], access.shape[1]};
      const bool moves = !anyRow && hasRows(formOf(v));
      size_t ref = 0;
      while (ref < made.operands.size() && !(made.operands[ref].value == access.source &&
                                             made.operands[ref].shape == access.shape && moving_[ref] == moves))
        ++ref;
      if (ref == made.operands.size()) {
        made.operands.push_back({access.source, access.shape});
        moving_.push_back(moves);
        k.operands.push_back(operand({types_[v].dtype, access.shape}, block, moves, k));
      }
      refOf[v] = ref;
    }
    k.numInputs = static_cast<int>(k.operands.size());
    for (const ValueId v : results) {
      const Form form = formOf(v);
      k.operands.push_back(operand({types_[v].dtype, shapeIn(group_, form)}, blockOf(form), hasRows(form), k));
    }
    made.kernel = kernelOf(std::move(k), [&](std::span<const Ref> refs) {
      for (const auto& [v, access] : access_) values_[v] = load(refs[refOf[v]], v, access);
      for (const Op* op : group_.ops()) {
        const RecordedLocationScope place(op->place);
        values_[op->results[0]] = compute(*op);
      }
      for (size_t i = 0; i < results.size(); ++i)
        refs[refs.size() - results.size() + i][{Index(_)}] = values_.at(results[i]);
    });
    return made;
  }

 private:
  static bool hasRows(Form form) { return form == Form::full || form == Form::perRow; }
  static bool hasColumns(Form form) { return form == Form::full || form == Form::perColumn; }

  std::optional<TakenFrom> accessOf(const View& view, const Shape& source, ValueId v, Form form) const {
    const Shape& shape = types_[v].shape;
    if (form == Form::full) {
      if (group_.split()) return lang::accessOf(view, source, shape, *group_.split());
      return std::nullopt;  // rows and columns of its own choice
    }
    // One row, or one column.
    size_t first = 0;
    while (first < shape.size() && shape[first] == 1 && source[first] != 1) ++first;
    for (size_t a = first + 1; a < shape.size(); ++a)
      if (shape[a] != source[a]) return std::nullopt;
    int64_t offset = 0;
    const Shape strides = rowMajorStrides(source);
    for (size_t a = 0; a < shape.size(); ++a) offset += view.starts[a] * strides[a];
    const int64_t all = product(source);
    if (form == Form::perRow) return TakenFrom{view.source, {all, 1}, offset, 0};
    return TakenFrom{view.source, {1, all}, 0, offset};
  }
  /// Whether its rows are not those of the domain, so that a block of them is none of the array.
  bool readsAnyRow(ValueId v, const TakenFrom& access) const {
    return hasRows(formOf(v)) && (access.firstRow != 0 || access.shape[0] != rows_);
  }
  Array load(const Ref& ref, ValueId v, const TakenFrom& access) const {
    const Shape block = blockOf(formOf(v));
    if (ref.shape() == block) return ref[{Index(_)}];
    const Index columns(ds(access.firstColumn, block[1]));
    if (!readsAnyRow(v, access)) return ref[{Index(all_of), columns}];
    return ref[{Index(ds(program_id(0) * block_ + access.firstRow, block_)), columns}];
  }

  Form formOf(ValueId v) const {
    const auto made = group_.made().find(v);
    return made != group_.made().end() ? made->second : group_.taken().at(v);
  }
  Shape blockOf(Form form) const { return {hasRows(form) ? block_ : 1, hasColumns(form) ? columns_ : 1}; }
  /// `moves`: a step has a block of rows of its own.
  static TracedOperand operand(ArrayType array, const Shape& block, bool moves, const TracedKernel& k) {
    TracedOperand o;
    o.name = fmt::format("operand {}", k.operands.size());
    o.array = std::move(array);
    for (const int64_t size : block) o.block.emplace_back(size);
    Trace map("the index map of a fused kernel");
    map.grid = k.grid;
    const Array row = map.addArgument({DType::i32, {}}), zero = full({}, 0, DType::i32);
    o.indexMap = map.finish({moves ? row : zero, zero});
    return o;
  }
  Array value(ValueId v) const {
    const auto constant = constants_.find(v);
    return constant != constants_.end() ? constant->second : values_.at(v);
  }
  Array compute(const Op& op) const {
    const Shape shape = blockOf(formOf(op.results[0]));
    if (op.name == "broadcast_in_dim") return broadcast_to(value(op.operands[0]), shape);
    if (op.name == "reshape") return value(op.operands[0]);
    const Axes columns{.axes = {1}, .keepdims = true};
    if (const std::string reduction = reductionOf(op); !reduction.empty()) {
      const Array x = value(op.operands[0]);
      return reduction == "reduce_sum"   ? sum(x, columns)
             : reduction == "reduce_max" ? max(x, columns)
                                         : min(x, columns);
    }
    std::vector<Array> operands;
    for (const ValueId v : op.operands) operands.push_back(value(v));
    const ArrayType type{types_[op.results[0]].dtype, shape};
    return bind(*findOp(op.name), operands, {&type, 1}, op.attributes)[0];
  }

  const Group& group_;
  const std::vector<ArrayType>& types_;
  const std::map<ValueId, Array>& constants_;
  int64_t rows_ = 0, columns_ = 0, block_ = 0;
  std::map<ValueId, TakenFrom> access_;  ///< of what is taken and no constant
  std::vector<bool> moving_;             ///< by operand: its blocks are the steps'
  std::map<ValueId, Array> values_;
};

}  // namespace

Shape shapeIn(const Group& group, Form form) {
  const auto [rows, columns] = group.rowsAndColumns();
  return {form == Form::full || form == Form::perRow ? rows : 1,
          form == Form::full || form == Form::perColumn ? columns : 1};
}

void chooseSplit(Group& group, const std::vector<ArrayType>& types, const Views& views) {
  if (group.split()) return;
  constexpr int64_t kLongest = 65536;  // of a single row, which one core computes
  const size_t rank = group.domain().size();
  size_t best = 0, bestSplit = 0;
  for (size_t split = rank == 1 ? 0 : 1; split < std::max<size_t>(rank, 1); ++split) {
    size_t count = 0;
    for (const auto& [v, form] : group.taken())
      if (const auto view = views.find(v); view != views.end() && form == Form::full)
        count += accessOf(view->second, types[view->second.source].shape, types[v].shape, split).has_value();
    if (count > best) best = count, bestSplit = split;
  }
  if (best == 0 || (rank == 1 && group.domain()[0] > kLongest)) return;
  group.splitAt(bestSplit);
}

FusedCall fusedKernel(const Group& group, std::span<const ValueId> results, const std::vector<ArrayType>& types,
                      const std::map<ValueId, Array>& constants, const Views& views) {
  return Builder(group, types, constants, views).call(results);
}

std::shared_ptr<const CalledKernel> kernelOf(TracedKernel k, const std::function<void(std::span<const Ref>)>& body) {
  std::shared_ptr<const CalledKernel> made;
  // An op that kernels do not support for these types is not fused.
  (void)attempt([&] {
    Trace trace("kernel '" + k.name + "'");
    trace.grid = k.grid;
    std::vector<Ref> refs;
    for (const TracedOperand& o : k.operands)
      refs.push_back(trace.addRefArgument({o.array.dtype, o.refShape()}, o.space));
    body(refs);
    k.body = trace.finish();
    k.cost = estimateCost(k);
    KernelPackage package = lowerKernel(k);
    made = std::make_shared<FusedKernel>(std::move(k), std::move(package));
  });
  return made;
}

}  // namespace smalti::lang
