// Conversions between dtypes.
#include <fmt/format.h>

#include "lang/eager/Eager.h"
#include "lang/lower/DialectLowering.h"
#include "lang/ops/Support.h"
#include "lang/transform/rules/Elementwise.h"
#include "smalti/ops/elementwise.h"

namespace smalti {
namespace lang {
namespace {

void lowerConvert(DialectLowering& l, const Op& op) {
  const ArrayType &from = l.typeOf(op.operands[0]), &to = l.typeOf(op.results[0]);
  l.set(op.results[0], convertTo(l, l.value(op.operands[0]), from.dtype, to.dtype));
}

void lowerBitcastConvert(DialectLowering& l, const Op& op) {
  const mlir::Value x = l.value(op.operands[0]);
  const mlir::Type type = l.mlirType(l.typeOf(op.results[0]));
  const bool vector = mlir::isa<mlir::VectorType>(type);
  l.set(op.results[0], x.getType() == type ? x : l.create1(vector ? "tpu.bitcast" : "arith.bitcast", x, type));
}

constexpr OpTable kConvertOps{
    OpRecord{.name = "bitcast_convert",
             .jaxName = "bitcast_convert_type",
             .lower = lowerBitcastConvert,
             .jvp = jvpZero,
             .batch = batchElementwise},
    OpRecord{.name = "convert",
             .jaxName = "convert_element_type",
             .lower = lowerConvert,
             .jvp = jvpConvert,
             .transpose = transposeConvert,
             .batch = batchElementwise},
};
const OpFamily kConvertFamily(kConvertOps);

}  // namespace

Array convertTo(const Array& a, DType t) {
  if (a.dtype() == t) return a;
  if (is_complex(a.dtype()) && !is_complex(t))
    refuse(
        {.code = "SM6302",
         .message = fmt::format("a conversion from {} to {} would lose the imaginary part", name(a.dtype()), name(t)),
         .place = {},
         .need = "operands of one dtype, and a function of complex numbers",
         .have = a.type().str(),
         .help = "compute with the real and the imaginary part as two arrays"});
  if (!a.is_traced() && a.rank() == 0) {  // a number: the constant of the other dtype
    const ArrayType type{t, {}};
    return computeNow(kConvertOps["convert"], {&a, 1}, {&type, 1}, {})[0];
  }
  return bind1(kConvertOps["convert"], {a}, {t, a.shape()});
}

}  // namespace lang

using lang::SourceLocationScope;

Array astype(const Operand& x, DType dtype) {
  SourceLocationScope place(x.at());
  return lang::convertTo(x.array(), dtype).with_weak_type(false);
}

Array bitcast_convert_type(const Operand& x, DType dtype) {
  SourceLocationScope place(x.at());
  if (x.dtype() == dtype) return x.array();
  if (bit_width(x.dtype()) != bit_width(dtype))
    lang::refuse({.code = "SM6306",
                  .message = "bitcast_convert_type cannot change the width of elements",
                  .place = {},
                  .need = std::to_string(bit_width(x.dtype())) + " bits",
                  .have = std::to_string(bit_width(dtype)) + " bits",
                  .help = "use bitcast, which packs along the second-minor axis"});
  return lang::bind1(lang::kConvertOps["bitcast_convert"], {x.array()}, {dtype, x.shape()});
}

}  // namespace smalti
