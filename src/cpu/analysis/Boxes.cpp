#include "cpu/analysis/Boxes.h"

#include <algorithm>
#include <optional>

namespace smalti::cpu {
namespace {

constexpr size_t kMaxBoxes = 256;

std::optional<Box> meet(const Box& a, const Box& b) {
  Box met(a.size());
  for (size_t d = 0; d < a.size(); ++d) {
    met[d].low = std::max(a[d].low, b[d].low);
    met[d].size = std::min(a[d].end(), b[d].end()) - met[d].low;
    if (met[d].size <= 0) return std::nullopt;
  }
  return met;
}

bool isWithin(const Box& inner, const Box& outer) {
  for (size_t d = 0; d < inner.size(); ++d)
    if (inner[d].low < outer[d].low || inner[d].end() > outer[d].end()) return false;
  return true;
}

/// Adds the parts of `from` that are not in `hole`.
void subtract(Box from, const Box& hole, std::vector<Box>& rest) {
  const std::optional<Box> cut = meet(from, hole);
  if (!cut) return rest.push_back(std::move(from));
  for (size_t d = 0; d < from.size(); ++d) {
    const Range whole = from[d], middle = (*cut)[d];
    if (middle.low > whole.low) {
      from[d] = {whole.low, middle.low - whole.low};
      rest.push_back(from);
    }
    if (middle.end() < whole.end()) {
      from[d] = {middle.end(), whole.end() - middle.end()};
      rest.push_back(from);
    }
    from[d] = middle;
  }
}

}  // namespace

void Boxes::add(const Box& box) {
  for (const Box& b : boxes_)
    if (isWithin(box, b)) return;
  std::erase_if(boxes_, [&](const Box& b) { return isWithin(b, box); });
  if (boxes_.size() < kMaxBoxes) boxes_.push_back(box);
}

bool Boxes::contains(const Box& box) const {
  if (std::any_of(box.begin(), box.end(), [](const Range& r) { return r.size <= 0; })) return true;
  std::vector<Box> rest{box};
  for (const Box& b : boxes_) {
    std::vector<Box> next;
    for (Box& part : rest) subtract(std::move(part), b, next);
    if (next.empty()) return true;
    if (next.size() > kMaxBoxes) return false;
    rest = std::move(next);
  }
  return false;
}

Boxes Boxes::intersect(const Boxes& a, const Boxes& b) {
  if (a == b) return a;
  Boxes result;
  for (const Box& x : a.boxes_)
    for (const Box& y : b.boxes_)
      if (const auto met = meet(x, y)) result.add(*met);
  return result;
}

}  // namespace smalti::cpu
