#include "schedule/UnitDims.h"

namespace smalti::schedule {

std::optional<std::vector<int>> unitReshape(std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<int> source(to.size(), -1);
  size_t next = 0;
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d] == 1) continue;
    while (next < from.size() && from[next] == 1) ++next;
    if (next == from.size() || from[next] != to[d]) return std::nullopt;
    source[d] = static_cast<int>(next++);
  }
  while (next < from.size() && from[next] == 1) ++next;
  if (next != from.size()) return std::nullopt;
  return source;
}

Shape withoutUnits(std::span<const int64_t> shape) {
  Shape out;
  for (int64_t d : shape)
    if (d != 1) out.push_back(d);
  return out;
}

Shape rowsOf(std::span<const int64_t> shape) {
  return shape.empty() ? Shape{} : withoutUnits(shape.first(shape.size() - 1));
}

}  // namespace smalti::schedule
