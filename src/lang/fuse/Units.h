// Groups the plain ops of a block that become one kernel.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "lang/fuse/Group.h"

namespace smalti::lang {

/// The most arrays that a group reads: prefetchers and registers do not keep up with more streams.
inline constexpr size_t kMaxTaken = 24;

/// The ops of one block as units, each a group or a single op, that run one after the other.
class Units {
 public:
  Units(const std::vector<Op>& ops, const std::vector<ArrayType>& types);
  struct Unit {
    std::vector<const Op*> ops;
    std::optional<Group> group;
    std::set<size_t> needs;  ///< units whose results it takes
  };

  /// The units in an order in which each follows those that it needs; otherwise in the order of their first ops.
  std::vector<const Unit*> ordered() const;

 private:
  void add(const Op& op);
  /// Merges two groups into one unit, if they are compatible and no other unit must run between them.
  void merge(size_t into, size_t from);
  void collect(const Op& op, std::set<size_t>& needs) const;
  /// Whether one of `from`, but for the unit itself, needs the unit, over others too.
  bool leadsTo(const std::set<size_t>& from, size_t unit) const;
  void visit(size_t i, std::vector<bool>& done, std::vector<const Unit*>& list) const;

  const std::vector<ArrayType>& types_;
  std::vector<Unit> units_;
  std::map<ValueId, size_t> madeBy_;
};

}  // namespace smalti::lang
