// Arrays of numbers, dense vector constants and strided layouts in the builtin dialect's binary encoding.
#include <algorithm>

#include "interop/bytecode/AttrTypeParts.h"
#include "interop/bytecode/AttrTypeReader.h"
#include "ir/facts/SymbolicDims.h"

namespace smalti::interop::bytecode {

mlir::Attribute AttrTypeReader::denseArrayAttribute(Frame& f) {
  mlir::Type element = typePart(f);
  const uint64_t size = f.cursor.varint("an array's size");
  std::string_view raw = f.cursor.take(f.cursor.varint("an array's bytes"), "an array's elements");
  if (!f.cursor.ok()) return {};
  const bool known =
      element.isIntOrFloat() && (element.getIntOrFloatBitWidth() == 1 || element.getIntOrFloatBitWidth() % 8 == 0);
  const uint64_t bytesEach = known ? std::max(1u, element.getIntOrFloatBitWidth() / 8) : 0;
  if (!known || raw.size() % bytesEach != 0 || raw.size() / bytesEach != size) {
    f.cursor.fail("SM2105", "an array attribute of the kernel body has another size than it says", {},
                  fmt::format("{} elements in {} bytes", size, raw.size()));
    return {};
  }
  if (element.isInteger(1) && !std::ranges::all_of(raw, [](char c) { return c == 0 || c == 1; })) {
    f.cursor.fail("SM2105", "a boolean array of the kernel body holds other values than 0 and 1");
    return {};
  }
  return mlir::DenseArrayAttr::get(element, size, llvm::ArrayRef<char>(raw.data(), raw.size()));
}

namespace {

// Writers disagree on i1 constants: a splat is one byte, 0x00 or 0xff (0x01 in stable_mosaic 10 and later for a while);
// other values are packed eight to a byte, or one byte each. One byte 0x01 is taken as a splat: kernels have only
// those.
std::optional<std::vector<bool>> decodeBools(std::string_view raw, uint64_t elements) {
  auto bit = [&](uint64_t i) { return (static_cast<uint8_t>(raw[i / 8]) >> (i % 8) & 1) != 0; };
  const uint8_t first = raw.empty() ? 0 : static_cast<uint8_t>(raw[0]);
  if (raw.size() == 1 && (first == 0x00 || first == 0x01 || first == 0xff)) return std::vector<bool>{first != 0};
  std::vector<bool> values;
  if (raw.size() == elements && std::ranges::all_of(raw, [](char c) { return c == 0 || c == 1; })) {
    for (char c : raw) values.push_back(c != 0);
  } else if (raw.size() == (elements + 7) / 8) {
    for (uint64_t i = 0; i < elements; ++i) values.push_back(bit(i));
  } else {
    return std::nullopt;
  }
  return values;
}

}  // namespace

mlir::Attribute AttrTypeReader::denseElementsAttribute(Frame& f) {
  mlir::Type t = typePart(f);
  std::string_view raw = f.cursor.take(f.cursor.varint("a constant's bytes"), "a constant's elements");
  if (!f.cursor.ok()) return {};
  auto type = mlir::dyn_cast<mlir::VectorType>(t);
  if (!type) {
    f.cursor.fail("SM2105", "a dense constant of the kernel body is not a vector");
    return {};
  }
  // As long as sizes are symbolic, numbers of elements mean nothing: one stands for all.
  if (std::ranges::any_of(type.getShape(), isSymbolicDim) && raw.size() > (type.getElementTypeBitWidth() + 7) / 8) {
    f.cursor.fail("SM2105", "a dense constant of symbolic size is not one value for all elements");
    return {};
  }
  if (type.getElementType().isInteger(1)) {
    if (auto bools = decodeBools(raw, type.getNumElements())) {
      llvm::SmallVector<bool> values(bools->begin(), bools->end());
      return mlir::DenseElementsAttr::get(type, values);
    }
  } else {
    std::string bytes(raw);
    if (const unsigned width = type.getElementType().isIndex() ? 64 : type.getElementTypeBitWidth(); width < 8)
      for (char& b : bytes)
        b &= static_cast<char>((1 << width) - 1);  // one element a byte; the bits above mean nothing
    const llvm::ArrayRef<char> buffer(bytes.data(), bytes.size());
    bool splat = false;
    if (mlir::DenseElementsAttr::isValidRawBuffer(type, buffer, splat))
      return mlir::DenseElementsAttr::getFromRawBuffer(type, buffer);
  }
  f.cursor.fail("SM2105", "a dense constant of the kernel body has another size than its type",
                fmt::format("{} elements, or one for all", type.getNumElements()), fmt::format("{} bytes", raw.size()));
  return {};
}

mlir::Attribute AttrTypeReader::stridedLayoutAttribute(Frame& f) {
  const int64_t offset = f.cursor.signedVarint("a layout's offset");
  std::vector<int64_t> strides(f.cursor.count("a layout's strides"));
  for (int64_t& s : strides) s = f.cursor.signedVarint("a stride");
  if (!f.cursor.ok()) return {};
  return mlir::StridedLayoutAttr::get(&context_, offset, strides);
}

}  // namespace smalti::interop::bytecode
