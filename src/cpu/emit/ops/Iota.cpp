// tpu.iota over several dimensions, whose elements are row-major indices. Nests compute tpu.iota over one dimension.
#include <array>

#include "cpu/emit/ops/Columns.h"
#include "cpu/emit/ops/OpTables.h"

namespace smalti::cpu {
namespace {

NativeResult lowerIota(NativeLowering& l, mlir::Operation& op) {
  const DType t = elementDType(op.getResult(0).getType());
  const Shape shape = shapeOf(op.getResult(0).getType());
  const auto dims = integersAttribute(op, "dimensions");
  std::vector<int64_t> weights(shape.size(), 0);
  int64_t weight = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    weights[static_cast<size_t>(dims[k])] += weight;
    weight *= shape[static_cast<size_t>(dims[k])];
  }
  const View out = l.allocate(t, shape);
  l.setView(op.getResult(0), out);
  Builder& b = l.b;
  llvm::Type* type = registerType(b.getContext(), t, 1);
  const size_t last = shape.size() - 1;
  std::function<void(size_t, Reg, Reg)> walk = [&](size_t d, Reg value, Reg row) {
    if (d < last) {
      l.loop(l.index(0), l.index(shape[d]), l.index(1), [&](Reg i) {
        walk(d + 1, b.CreateAdd(value, b.CreateMul(i, l.index(weights[d]))),
             b.CreateAdd(b.CreateMul(row, l.index(shape[d])), i));
      });
      return;
    }
    forColumns(l, shape[last], l.processor.lanes(4), [&](Reg start, int lanes, Reg mask) {
      llvm::SmallVector<llvm::Constant*, 64> lane;
      for (int k = 0; k < lanes; ++k)
        lane.push_back(llvm::ConstantInt::get(
            type, llvm::APInt(64, static_cast<uint64_t>(k * weights[last])).zextOrTrunc(type->getIntegerBitWidth())));
      Reg first = b.CreateZExtOrTrunc(b.CreateAdd(value, b.CreateMul(start, l.index(weights[last]))), type);
      Reg numbers = lanes == 1 ? first : b.CreateAdd(splat(b, first, lanes), llvm::ConstantVector::get(lane));
      Reg at = b.CreateAdd(b.CreateMul(row, l.index(shape[last])), start);
      storeElements(b, t, numbers, elementAt(l, out, at), lanes, mask);
    });
  };
  walk(0, l.index(0), l.index(0));
  return {};
}

constexpr std::array<NativeOpRow, 1> kIotaOps{{{"tpu.iota", lowerIota}}};

}  // namespace

std::span<const NativeOpRow> iotaOps() { return kIotaOps; }

}  // namespace smalti::cpu
