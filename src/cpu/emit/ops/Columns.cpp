#include "cpu/emit/ops/Columns.h"

#include <bit>

namespace smalti::cpu {

void forColumns(NativeLowering& l, int64_t n, int lanes, const ColumnBody& body) {
  if (n <= 0) return;
  while (lanes > 1 && lanes / 2 >= n) lanes /= 2;
  const int64_t whole = n / lanes * lanes;
  l.loop(l.index(0), l.index(whole), l.index(lanes), [&](Reg start) { body(start, lanes, nullptr); });
  const int64_t rest = n - whole;
  if (rest == 0) return;
  const auto width = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(rest)));
  if (width == rest) return body(l.index(whole), width, nullptr);
  llvm::SmallVector<llvm::Constant*, 64> on;
  for (int k = 0; k < width; ++k) on.push_back(l.b.getInt1(k < rest));
  body(l.index(whole), width, llvm::ConstantVector::get(on));
}

Split::Split(std::span<const int64_t> shape, size_t d) : n(shape[d]) {
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k < d) outer *= shape[k];
    if (k > d) inner *= shape[k];
  }
}

View denseView(NativeLowering& l, mlir::Value v) {
  View view = l.view(v);
  return isDense(view) ? view : l.denseCopy(view);
}

Reg elementAt(NativeLowering& l, const View& v, Reg at) {
  return l.b.CreateGEP(storageType(l.b.getContext(), v.dtype), v.base, at);
}

}  // namespace smalti::cpu
