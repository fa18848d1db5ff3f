// Elements of an array that are updated by a region of scalars: those of scatter and select_and_scatter.
#pragma once

#include <span>
#include <vector>

#include "plain/PlainEvaluators.h"

namespace smalti::plain {

/// The next index of `shape` in row-major order; false after the last.
bool advance(Shape& index, const Shape& shape);

/// One update: an element of the updates and the element of the operand that it goes to.
struct Update {
  int64_t from, to;
};

/// The updates in rounds: within one no element is updated twice, and of several updates to one element the earlier
/// come in an earlier round.
class UpdateRounds {
 public:
  explicit UpdateRounds(int64_t elements) : seen_(static_cast<size_t>(elements), 0) {}
  void add(Update);
  const std::vector<std::vector<Update>>& all() const { return rounds_; }

 private:
  std::vector<int32_t> seen_;  ///< updates of each element so far
  std::vector<std::vector<Update>> rounds_;
};

/// The elements of `array` that `pick` names.
Result<Array> gatherElements(const Array& array, const std::vector<Update>&, int64_t Update::* pick);

/// The results with every element replaced by what `region` makes of it and its update.
PlainResults applyUpdates(const PlainCall&, const Block& region, const UpdateRounds&, std::vector<Array> results,
                          std::span<const Array> updates);

}  // namespace smalti::plain
