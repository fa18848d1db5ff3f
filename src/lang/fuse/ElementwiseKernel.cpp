#include "lang/fuse/ElementwiseKernel.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "lang/fuse/FusedKernel.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

/// Elements of a block: enough work for a grid step, few enough for L2.
constexpr int64_t kBlock = 16384;

/// Which kernels keep in memory as arrays have them.
bool isInMemory(DType t) {
  return t == DType::f32 || t == DType::bf16 || t == DType::f16 ||
         (is_integer(t) && bit_width(t) >= 8 && bit_width(t) <= 32);
}

/// How an array lies in the rows and columns of the elements.
struct Spread {
  bool alongRows = false, alongColumns = false;
  Shape of(int64_t rows, int64_t columns) const { return {alongRows ? rows : 1, alongColumns ? columns : 1}; }
};

class Elementwise {
 public:
  Elementwise(const ElementwiseForm& form, const std::vector<ArrayType>& types) : form_(form), types_(types) {}

  ElementwiseKernel build() {
    ElementwiseKernel made;
    if (!findColumns()) return made;
    TracedKernel k;
    k.name = "elementwise";
    k.place = form_.ops[0]->place;
    blockColumns_ = std::min(columns_, kBlock);
    blockRows_ = std::clamp<int64_t>(kBlock / blockColumns_, 1, rows_);
    k.grid = {(rows_ + blockRows_ - 1) / blockRows_, (columns_ + blockColumns_ - 1) / blockColumns_};
    k.semantics.assign(2, DimensionSemantics::parallel);
    for (const ElementwiseForm::Operand& o : form_.operands) {
      if (!isInMemory(o.dtype)) return made;
      made.operands.push_back(spreadOf(o).of(rows_, columns_));
      k.operands.push_back(operand(o.dtype, spreadOf(o), k));
    }
    k.numInputs = static_cast<int>(k.operands.size());
    for (const ValueId v : form_.results) {
      if (!isInMemory(types_[v].dtype)) return made;
      made.results.push_back({rows_, columns_});
      k.operands.push_back(operand(types_[v].dtype, {true, true}, k));
    }
    made.kernel = kernelOf(std::move(k), [&](std::span<const Ref> refs) { body(refs); });
    return made;
  }

 private:
  /// Rows and columns so that each array has an element for every one, for every row or column, or one. One row of all
  /// elements where none repeats.
  bool findColumns() {
    std::optional<int64_t> columns;
    const auto need = [&](int64_t n) {
      const bool fits = !columns || *columns == n;
      columns = n;
      return fits;
    };
    for (const ElementwiseForm::Operand& o : form_.operands) {
      if (o.count == 1 || (o.inner == 1 && o.count == form_.elements)) continue;
      if (o.inner > 1 && o.inner * o.count != form_.elements) return false;
      if (!need(o.inner > 1 ? o.inner : o.count)) return false;
    }
    columns_ = columns.value_or(form_.elements);
    rows_ = form_.elements / columns_;
    return true;
  }
  Spread spreadOf(const ElementwiseForm::Operand& o) const {
    if (o.inner == 1 && o.count == form_.elements) return {true, true};
    if (o.count == 1) return {};
    return {o.inner > 1, o.inner == 1};
  }

  TracedOperand operand(DType t, Spread spread, const TracedKernel& k) const {
    TracedOperand o;
    o.name = fmt::format("operand {}", k.operands.size());
    o.array = {t, spread.of(rows_, columns_)};
    for (const int64_t size : spread.of(blockRows_, blockColumns_)) o.block.emplace_back(size);
    Trace map("the index map of element-wise ops");
    map.grid = k.grid;
    const Array row = map.addArgument({DType::i32, {}}), column = map.addArgument({DType::i32, {}});
    const Array zero = full({}, 0, DType::i32);
    o.indexMap = map.finish({spread.alongRows ? row : zero, spread.alongColumns ? column : zero});
    return o;
  }

  void body(std::span<const Ref> refs) {
    const Shape block{blockRows_, blockColumns_};
    std::map<ValueId, Array> values;
    for (size_t i = 0; i < form_.operands.size(); ++i) {
      const Array given = refs[i][{Index(_)}];
      values.insert_or_assign(form_.operands[i].value, given.shape() == block ? given : broadcast_to(given, block));
    }
    // Where it is used: a broadcast far away would be kept in memory.
    const auto value = [&](ValueId v) {
      const auto constant = form_.constants.find(v);
      return constant == form_.constants.end() ? values.at(v) : broadcast_to(reshape(constant->second, {}), block);
    };
    for (const Op* op : form_.ops) {
      const RecordedLocationScope place(op->place);
      const ValueId result = op->results[0];
      if (op->name == "reshape" || op->name == "optimization_barrier") {
        values.insert_or_assign(result, value(op->operands[0]));
        continue;
      }
      std::vector<Array> operands;
      for (const ValueId v : op->operands) operands.push_back(value(v));
      const ArrayType type{types_[result].dtype, block};
      values.insert_or_assign(result, bind(*findOp(op->name), operands, {&type, 1}, op->attributes)[0]);
    }
    for (size_t r = 0; r < form_.results.size(); ++r)
      refs[form_.operands.size() + r][{Index(_)}] = value(form_.results[r]);
  }

  const ElementwiseForm& form_;
  const std::vector<ArrayType>& types_;
  int64_t rows_ = 1, columns_ = 1, blockRows_ = 1, blockColumns_ = 1;
};

bool isInKernels(const Op& op) {
  if (op.name == "reshape" || op.name == "optimization_barrier") return true;
  // Kernels compare floats by value.
  if (const Attribute* type = op.find("compare_type"); type && std::get<std::string>(*type) == "TOTALORDER")
    return false;
  const OpRecord* record = findOp(op.name);
  return record && record->lower;
}

}  // namespace

ElementwiseKernel elementwiseKernel(const ElementwiseForm& form, const std::vector<ArrayType>& types) {
  if (form.elements == 0 || !std::ranges::all_of(form.ops, [](const Op* op) { return isInKernels(*op); })) return {};
  return Elementwise(form, types).build();
}

}  // namespace smalti::lang
