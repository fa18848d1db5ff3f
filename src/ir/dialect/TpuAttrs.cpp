#include "llvm/ADT/TypeSwitch.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "ir/Tpu.h"

namespace smalti::tpu {
namespace {

// "[1, 2]" and "[]".
mlir::ParseResult parseIntegerList(mlir::AsmParser& parser, llvm::SmallVector<int64_t>& list) {
  return parser.parseCommaSeparatedList(mlir::AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(list.emplace_back()); });
}

void printIntegerList(mlir::AsmPrinter& printer, llvm::ArrayRef<int64_t> list) {
  printer << '[';
  llvm::interleaveComma(list, printer);
  printer << ']';
}

}  // namespace
}  // namespace smalti::tpu

#include "ir/TpuEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/TpuAttrs.cpp.inc"

namespace smalti::tpu {

void TpuDialect::addAttributes() {
  mlir::Dialect::addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/TpuAttrs.cpp.inc"
      >();
}

// (8,128)(2,1),[4,1]
mlir::Attribute TiledAttr::parse(mlir::AsmParser& parser, mlir::Type) {
  llvm::SMLoc where = parser.getCurrentLocation();
  llvm::SmallVector<int64_t> tiles, strides;
  if (parser.parseLess()) return {};
  while (parser.parseOptionalLParen().succeeded()) {
    const size_t rankAt = tiles.size();
    tiles.push_back(0);
    auto parseSize = [&] { return parser.parseInteger(tiles.emplace_back()); };
    if (parser.parseCommaSeparatedList(parseSize) || parser.parseRParen()) return {};
    tiles[rankAt] = static_cast<int64_t>(tiles.size() - rankAt - 1);
  }
  if (parser.parseComma() || parseIntegerList(parser, strides) || parser.parseGreater()) return {};
  return parser.getChecked<TiledAttr>(where, parser.getContext(), tiles, strides);
}

void TiledAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<';
  for (llvm::ArrayRef<int64_t> rest = getTiles(); !rest.empty(); rest = rest.drop_front(rest.front() + 1)) {
    printer << '(';
    llvm::interleave(rest.slice(1, rest.front()), printer, ",");
    printer << ')';
  }
  printer << ",[";
  llvm::interleave(getTileStrides(), printer, ",");
  printer << "]>";
}

llvm::LogicalResult TiledAttr::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                      llvm::ArrayRef<int64_t> tiles, llvm::ArrayRef<int64_t>) {
  for (llvm::ArrayRef<int64_t> rest = tiles; !rest.empty();) {
    const int64_t rank = rest.front();
    if (rank < 1 || rank >= static_cast<int64_t>(rest.size())) return emitError() << "a tile needs 1 or more sizes";
    for (int64_t size : rest.slice(1, rank))
      if (size < 1) return emitError() << "a tile's size must be positive, found " << size;
    rest = rest.drop_front(rank + 1);
  }
  return mlir::success();
}

// The layout does not move elements between indices as a map could say it (padding); like the dialect's own users,
// code that needs addresses reads the tiles.
mlir::AffineMap TiledAttr::getAffineMap() const {
  return mlir::AffineMap::getMultiDimIdentityMap(getTileStrides().size(), getContext());
}

llvm::LogicalResult TiledAttr::verifyLayout(llvm::ArrayRef<int64_t> shape,
                                            llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
  if (shape.size() == getTileStrides().size()) return mlir::success();
  return emitError() << "tiled layout has " << getTileStrides().size() << " tile strides, the memref has rank "
                     << shape.size();
}

}  // namespace smalti::tpu
