// tpu.reduce_index: argmax and argmin (S-E13). The first NaN wins, else the first of the extreme values.
#include <array>

#include "gpu/emit/GpuLowering.h"

namespace smalti::gpu {
namespace {

NativeResult lowerReduceIndex(GpuLowering& l, mlir::Operation& op) {
  const mlir::Value source = op.getOperand(0), result = op.getResult(0);
  const Shape shape = shapeOf(source.getType());
  const DType in = elementDType(source.getType()), out = elementDType(result.getType());
  const int64_t axis = integerAttribute(op, "axis", -1);
  const std::string kind = keywordAttribute(op, "kind");
  if ((kind != "arg_max" && kind != "arg_min") || axis < 0 || axis >= static_cast<int64_t>(shape.size()) ||
      !cpu::computesNatively(in) || is_unsigned_integer(in) || !is_integer(out) || !cpu::computesNatively(out) ||
      bit_width(out) > 32 || shape[static_cast<size_t>(axis)] > INT32_MAX || num_elements(shape) == 0)
    return unsupported("a search of this kind or dtype");
  const bool isMax = kind == "arg_max";
  Shape rest = shape;
  rest.erase(rest.begin() + axis);
  if (rest != shapeOf(result.getType())) return unsupported("a search of an unknown form");
  Builder& b = l.b;
  const View made = l.allocate(out, rest);
  l.touch(l.reads(source), {made.memory});
  l.forElements(rest, [&](const ElementIndex& at) {
    const auto valueAt = [&](Reg i) -> Reg {
      ElementIndex place = at;
      place.insert(place.begin() + axis, i);
      Reg r = l.element(source, place);
      // false < true.
      return r && in == DType::pred ? b.CreateZExt(r, b.getInt8Ty()) : r;
    };
    Reg first = valueAt(l.index(0));
    if (!first) return;
    const auto best = l.carry(
        l.index(1), l.index(shape[static_cast<size_t>(axis)]), l.index(1), {first, b.getInt32(0)},
        [&](Reg i, const std::vector<Reg>& now) -> std::vector<Reg> {
          Reg value = valueAt(i);
          if (!value) return now;
          Reg wins = nullptr;
          if (value->getType()->isFloatingPointTy()) {
            wins = isMax ? b.CreateFCmpUGT(value, now[0]) : b.CreateFCmpULT(value, now[0]);  // or one of them is NaN
            wins = b.CreateAnd(wins, b.CreateFCmpORD(now[0], now[0]));
          } else {
            wins = isMax ? b.CreateICmpSGT(value, now[0]) : b.CreateICmpSLT(value, now[0]);
          }
          return {b.CreateSelect(wins, value, now[0]), b.CreateSelect(wins, b.CreateTrunc(i, b.getInt32Ty()), now[1])};
        });
    Reg index = b.CreateZExtOrTrunc(best[1], cpu::registerType(b.getContext(), out, 1));
    cpu::storeElements(b, out, index, cpu::elementPointer(b, made, at), 1);
  });
  if (isVector(result)) {
    l.setView(result, made);
  } else {
    l.touch({made.memory}, {});
    l.setScalar(result, cpu::loadElements(b, out, made.base, 1));
    l.hazards.markReusable(made.memory);
  }
  return l.status;
}

constexpr std::array<GpuOpRow, 1> kSearchTable{{{"tpu.reduce_index", lowerReduceIndex}}};

}  // namespace

std::span<const GpuOpRow> searchOps() { return kSearchTable; }

}  // namespace smalti::gpu
