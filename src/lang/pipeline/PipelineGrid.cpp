#include "lang/pipeline/PipelineGrid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/pipeline/Conditions.h"
#include "lang/refs/Indexer.h"
#include "lang/trace/SourceLocationScope.h"
#include "smalti/ops.h"

namespace smalti::lang {

PipelineGrid::PipelineGrid(const std::vector<GridDim>& grid) {
  std::vector<std::string> text;
  bool positive = true;
  for (const GridDim& d : grid) {
    if (d.at_call)
      refuse({.code = "SM6520",
              .message = "`dynamic` is not a size of a pipeline's grid",
              .place = {},
              .need = "a size, or a traced i32 scalar",
              .have = "dynamic",
              .help = "read the size from SMEM, or take it from num_programs, and pass that"});
    const auto known = d.dynamic ? concreteInteger(*d.dynamic) : std::optional<int64_t>(d.size);
    sizes_.push_back(known ? constantI32(*known) : astype(*d.dynamic, DType::i32));
    bounds_.push_back(known ? *known : INT64_MIN);
    text.push_back(known ? fmt::format("{}", *known) : "traced");
    positive = positive && (!known || *known > 0);
  }
  if (!positive)
    refuse({.code = "SM6520",
            .message = "All elements in the grid must be strictly positive",
            .place = {},
            .need = "sizes of at least 1",
            .have = fmt::format("grid ({})", fmt::join(text, ", ")),
            .help = "run the pipeline under when(size > 0, …), or give the size as a traced scalar"});
  steps_ = constantI32(1);
  for (const Array& size : sizes_) steps_ = times(steps_, size);
}

GridPoint PipelineGrid::first() const { return GridPoint(sizes_.size(), constantI32(0)); }

GridPoint PipelineGrid::simplified(GridPoint p) const {
  for (size_t i = 0; i < p.size(); ++i)
    if (bounds_[i] == 1) p[i] = constantI32(0);
  return p;
}

GridPoint PipelineGrid::next(const GridPoint& p) const {
  GridPoint q = p;
  Array carry = condition(true);
  for (size_t i = p.size(); i-- > 0;) {
    if (bounds_[i] == 1) continue;
    const Array stepped = selectValue(carry, plus(p[i], 1), p[i]);
    carry = isEqual(stepped, sizes_[i]);
    q[i] = selectValue(carry, constantI32(0), stepped);
  }
  return q;
}

GridPoint PipelineGrid::previous(const GridPoint& p) const {
  GridPoint q = p;
  Array borrow = condition(true);
  for (size_t i = p.size(); i-- > 0;) {
    if (bounds_[i] == 1) continue;
    const Array stepped = selectValue(borrow, plus(p[i], -1), p[i]);
    borrow = isEqual(stepped, constantI32(-1));
    q[i] = selectValue(borrow, plus(sizes_[i], -1), stepped);
  }
  return q;
}

}  // namespace smalti::lang
