// A group of plain ops that become one kernel: all on arrays of one shape, its domain, cut into rows. A value of the
// group is an element of every place of the domain, one per row (what reductions give), or the same in all rows.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "ir/program/Program.h"

namespace smalti::lang {

enum class Form : uint8_t { full, perRow, perColumn, scalar };

class Group {
 public:
  explicit Group(Shape domain) : domain_(std::move(domain)) {}

  /// Adds the op, if it fits; the types are those of the function's values.
  bool take(const Op&, const std::vector<ArrayType>& types);

  const Shape& domain() const { return domain_; }
  /// Axes before it are rows; without one, every op is element by element, and any will do.
  std::optional<size_t> split() const { return split_; }
  void splitAt(size_t axis) { split_ = axis; }
  const std::vector<const Op*>& ops() const { return ops_; }
  /// The form of the values that the group computes, and of those from outside.
  const std::map<ValueId, Form>& made() const { return made_; }
  const std::map<ValueId, Form>& taken() const { return taken_; }
  bool makes(ValueId v) const { return made_.count(v) > 0; }
  /// The numbers of rows and of columns.
  std::pair<int64_t, int64_t> rowsAndColumns() const;

 private:
  struct Fit {
    Form result = Form::full;
    std::optional<size_t> split;
    std::vector<std::pair<ValueId, Form>> taken;
  };
  std::optional<Fit> fit(const Op&, const std::vector<ArrayType>& types) const;
  bool fitElementwise(const Op&, const std::vector<ArrayType>& types, Fit&) const;
  bool fitBroadcast(const Op&, const std::vector<ArrayType>& types, Fit&) const;
  bool fitReduce(const Op&, const std::vector<ArrayType>& types, Fit&) const;
  bool isPerRow(const Shape&, std::optional<size_t> split) const;

  Shape domain_;
  std::optional<size_t> split_;
  std::vector<const Op*> ops_;
  std::map<ValueId, Form> made_, taken_;
};

/// Whether an op works element by element, and kernels have it.
bool isElementwise(const Op&);
/// "reduce_sum" for a reduce of sums, …; empty: it is none that kernels have.
std::string reductionOf(const Op&);
/// The domain of a group that starts with the op; nullopt: no group starts with it.
std::optional<Shape> domainOf(const Op&, const std::vector<ArrayType>& types);

}  // namespace smalti::lang
