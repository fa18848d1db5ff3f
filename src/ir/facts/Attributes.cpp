#include "ir/facts/Attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace smalti {
namespace {

std::string text(auto&& printable) {
  std::string s;
  llvm::raw_string_ostream(s) << printable;
  return s;
}

/// The text between the outermost '<' and '>', or the whole text.
llvm::StringRef insideAngles(llvm::StringRef s) {
  const size_t open = s.find('<'), close = s.rfind('>');
  return open == llvm::StringRef::npos || close == llvm::StringRef::npos ? s : s.substr(open + 1, close - open - 1);
}

}  // namespace

std::string typeText(mlir::Type t) {
  std::string s = text(t);
  constexpr size_t kLongest = 120;
  if (s.size() > kLongest) s = s.substr(0, kLongest) + "…";
  return s;
}

std::string opText(mlir::Operation& op) {
  std::string s = op.getName().getStringRef().str() + " (";
  llvm::interleave(op.getOperandTypes(), [&](mlir::Type t) { s += typeText(t); }, [&] { s += ", "; });
  s += ") -> ";
  if (op.getNumResults() != 1) s += "(";
  llvm::interleave(op.getResultTypes(), [&](mlir::Type t) { s += typeText(t); }, [&] { s += ", "; });
  if (op.getNumResults() != 1) s += ")";
  return s;
}

int64_t integerAttribute(mlir::Operation& op, llvm::StringRef name, int64_t otherwise) {
  auto a = op.getAttrOfType<mlir::IntegerAttr>(name);
  return a && a.getValue().getSignificantBits() <= 64 ? a.getValue().getSExtValue() : otherwise;
}

bool boolAttribute(mlir::Operation& op, llvm::StringRef name) {
  mlir::Attribute a = op.getAttr(name);
  if (!a) return false;
  if (auto b = llvm::dyn_cast<mlir::BoolAttr>(a)) return b.getValue();
  return llvm::isa<mlir::UnitAttr>(a);
}

std::string stringAttribute(mlir::Operation& op, llvm::StringRef name) {
  auto a = op.getAttrOfType<mlir::StringAttr>(name);
  return a ? a.getValue().str() : "";
}

std::vector<int64_t> integersAttribute(mlir::Operation& op, llvm::StringRef name) {
  std::vector<int64_t> values;
  mlir::Attribute a = op.getAttr(name);
  if (!a) return values;
  if (auto dense = llvm::dyn_cast<mlir::DenseI32ArrayAttr>(a))
    values.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
  else if (auto dense = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(a))
    values.assign(dense.asArrayRef().begin(), dense.asArrayRef().end());
  else if (auto array = llvm::dyn_cast<mlir::ArrayAttr>(a))
    for (mlir::Attribute element : array)
      if (auto integer = llvm::dyn_cast<mlir::IntegerAttr>(element)) values.push_back(integer.getInt());
  return values;
}

std::string keywordAttribute(mlir::Operation& op, llvm::StringRef name) {
  mlir::Attribute a = op.getAttr(name);
  return a ? insideAngles(text(a)).str() : "";
}

}  // namespace smalti
