// Parts of an array, as unions of boxes.
#pragma once

#include <cstdint>
#include <vector>

namespace smalti::cpu {

struct Range {
  int64_t low = 0, size = 0;
  int64_t end() const { return low + size; }
  bool operator==(const Range&) const = default;
};
using Box = std::vector<Range>;  ///< one range per axis; none: the one element of a scalar

/// A lower bound of a set of elements: every element in it is in the set, but the number of boxes is limited.
class Boxes {
 public:
  void add(const Box&);
  bool contains(const Box&) const;
  /// The intersection.
  static Boxes intersect(const Boxes&, const Boxes&);
  bool operator==(const Boxes&) const = default;

 private:
  std::vector<Box> boxes_;
};

}  // namespace smalti::cpu
