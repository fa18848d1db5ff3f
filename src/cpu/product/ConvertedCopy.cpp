#include "cpu/product/ConvertedCopy.h"

#include <functional>

#include "cpu/product/gemm/Ir.h"

namespace smalti::cpu {
namespace {

void convertLanes(NativeLowering& l, const View& from, const View& to, const std::vector<Reg>& at, int lanes) {
  Reg value = loadElements(l.b, from.dtype, elementPointer(l.b, from, at), lanes);
  llvm::Type* type = registerType(l.b.getContext(), to.dtype, lanes);
  if (is_integer(from.dtype))
    value = is_integer(to.dtype) ? l.b.CreateSExt(value, type) : l.b.CreateSIToFP(value, type);
  storeElements(l.b, to.dtype, roundTo(l.b, to.dtype, value), elementPointer(l.b, to, at), lanes);
}

}  // namespace

void convertElements(NativeLowering& l, const View& from, const View& to) {
  std::vector<Reg> at(to.shape.size(), l.index(0));
  const int lanes = l.processor.lanes(4);
  std::function<void(size_t)> walk = [&](size_t d) {
    const bool last = d + 1 == to.shape.size();
    if (d == to.shape.size() || (last && to.shape[d] < lanes) || (last && constantOf(from.strides[d]) != 1)) {
      if (d < to.shape.size()) {
        l.loop(l.index(0), l.index(to.shape[d]), l.index(1), [&](Reg i) {
          at[d] = i;
          convertLanes(l, from, to, at, 1);
        });
      } else {
        convertLanes(l, from, to, at, 1);
      }
      return;
    }
    const int64_t whole = last ? to.shape[d] / lanes * lanes : to.shape[d];
    l.loop(l.index(0), l.index(whole), l.index(last ? lanes : 1), [&](Reg i) {
      at[d] = i;
      if (last)
        convertLanes(l, from, to, at, lanes);
      else
        walk(d + 1);
    });
    if (last && whole < to.shape[d])
      l.loop(l.index(whole), l.index(to.shape[d]), l.index(1), [&](Reg i) {
        at[d] = i;
        convertLanes(l, from, to, at, 1);
      });
  };
  walk(0);
}

}  // namespace smalti::cpu
