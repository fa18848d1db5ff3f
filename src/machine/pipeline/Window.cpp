#include "machine/pipeline/Window.h"

#include <algorithm>
#include <cstring>

#include "base/RowMajor.h"
#include "eval/Shape.h"

namespace smalti::machine {

WindowCopy::WindowCopy(Buffer& array, Buffer& window, DType undefined, bool tracks, Poison poison)
    : array_(&array),
      window_(&window),
      arrayStrides_(rowMajorStrides(array.type.shape)),
      windowStrides_(rowMajorStrides(window.type.shape)),
      zeroStrides_(window.type.shape.size(), 0),
      index_(window.type.shape.size(), 0),
      undefined_(undefined),
      tracks_(tracks),
      poison_(poison) {}

int64_t WindowCopy::offset(const std::vector<int64_t>& start, const Shape& strides) const {
  int64_t at = 0;
  for (size_t d = 0; d < start.size(); ++d) at += start[d] * strides[d];
  return at;
}

void WindowCopy::copy(const BlockRegion& region, const std::byte* from, const Shape& fromStrides, std::byte* to,
                      const Shape& toStrides, int elementBytes) {
  // Trailing dimensions that are contiguous on both sides are one run.
  int outer = static_cast<int>(region.size.size());
  int64_t run = 1;
  while (outer > 0 && fromStrides[outer - 1] == run && toStrides[outer - 1] == run) run *= region.size[--outer];
  while (outer > 0 && region.size[outer - 1] == 1) --outer;
  const auto bytes = static_cast<size_t>(run * elementBytes);
  if (outer == 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::fill(index_.begin(), index_.end(), 0);
  while (true) {
    std::memcpy(to, from, bytes);
    int d = outer - 1;
    for (; d >= 0; --d) {
      from += fromStrides[d] * elementBytes;
      to += toStrides[d] * elementBytes;
      if (++index_[d] < region.size[d]) break;
      from -= fromStrides[d] * elementBytes * region.size[d];
      to -= toStrides[d] * elementBytes * region.size[d];
      index_[d] = 0;
    }
    if (d < 0) return;
  }
}

void WindowCopy::fetch(const BlockRegion& region) {
  const int bytes = window_->elementBytes();
  const int64_t from = offset(region.arrayStart, arrayStrides_), to = offset(region.windowStart, windowStrides_);
  if (!region.empty)
    copy(region, array_->data() + from * bytes, arrayStrides_, window_->data() + to * bytes, windowStrides_, bytes);
  if (!tracks_) return;
  if (region.full && array_->allDefined) {
    window_->allDefined = true;
    window_->defined.clear();
    return;
  }
  window_->allDefined = false;
  window_->defined.assign(window_->type.elements(), 0);
  if (region.empty) return;
  auto* mask = reinterpret_cast<std::byte*>(window_->defined.data()) + to;
  if (array_->allDefined) {
    const std::byte one{1};
    eval::copyStrided(&one, zeroStrides_, mask, windowStrides_, region.size, 1);
  } else {
    copy(region, reinterpret_cast<const std::byte*>(array_->defined.data()) + from, arrayStrides_, mask, windowStrides_,
         1);
  }
}

void WindowCopy::writeBack(const BlockRegion& region) {
  if (region.empty) return;
  const int bytes = window_->elementBytes();
  const int64_t to = offset(region.arrayStart, arrayStrides_), from = offset(region.windowStart, windowStrides_);
  copy(region, window_->data() + from * bytes, windowStrides_, array_->data() + to * bytes, arrayStrides_, bytes);
  if (!tracks_ || (window_->allDefined && array_->allDefined)) return;
  array_->materialiseShadow();
  auto* mask = reinterpret_cast<std::byte*>(array_->defined.data()) + to;
  if (window_->allDefined) {
    const std::byte one{1};
    eval::copyStrided(&one, zeroStrides_, mask, arrayStrides_, region.size, 1);
  } else {
    copy(region, reinterpret_cast<const std::byte*>(window_->defined.data()) + from, windowStrides_, mask,
         arrayStrides_, 1);
  }
}

void WindowCopy::makeUndefined() {
  const int64_t n = window_->type.elements();
  poison(undefined_, poison_, window_->data(), n);
  if (!tracks_) return;
  window_->allDefined = false;
  window_->defined.assign(n, 0);
}

}  // namespace smalti::machine
