#include "interop/bytecode/AttrTypeReader.h"

#include <algorithm>

#include "interop/bytecode/AttrTypeParts.h"
#include "interop/bytecode/BytecodeLimits.h"
#include "interop/bytecode/TextAttributes.h"
#include "ir/facts/SymbolicDims.h"

namespace smalti::interop::bytecode {

AttrTypeReader::AttrTypeReader(const BodyModel& model, mlir::MLIRContext& context, ReadState& state,
                               CapturedDiagnostics& captured)
    : model_(model),
      context_(context),
      state_(state),
      captured_(captured),
      attributes_(model.attributes.size()),
      types_(model.types.size()),
      strings_(model.strings.size()),
      hasSymbolicDims_(std::ranges::any_of(
          model.strings, [](std::string_view s) { return symbolicDimOf(s, kDimModule).has_value(); })) {}

mlir::Attribute AttrTypeReader::attribute(uint32_t index) {
  return resolve(model_.attributes, attributes_, index, nodesUsed_);
}

mlir::Type AttrTypeReader::type(uint32_t index) { return resolve(model_.types, types_, index, nodesUsed_); }

mlir::DictionaryAttr AttrTypeReader::dictionary(uint32_t index) {
  mlir::Attribute a = attribute(index);
  if (auto d = mlir::dyn_cast_or_null<mlir::DictionaryAttr>(a)) return d;
  state_.fail("SM2105", model_.attributes[index].offset, "an op's attributes are not dictionary");
  return mlir::DictionaryAttr::get(&context_);
}

mlir::Location AttrTypeReader::location(uint32_t index) {
  mlir::Attribute a = attribute(index);
  if (auto l = mlir::dyn_cast_or_null<mlir::LocationAttr>(a)) return l;
  state_.fail("SM2105", model_.attributes[index].offset, "an op's location is another kind of attribute");
  return mlir::UnknownLoc::get(&context_);
}

template <class T>
T AttrTypeReader::resolve(const std::vector<Entry>& entries, std::vector<Slot<T>>& slots, uint32_t index,
                          uint64_t& nodes) {
  if (!state_.ok()) return {};
  const Entry& entry = entries[index];
  Slot<T>& slot = slots[index];
  if (!slot.value) {
    if (slot.open)
      state_.fail("SM2105", entry.offset, "an attribute or type of the kernel body holds itself");
    else if (depth_ >= kMaxAttributeDepth)
      state_.fail("SM2106", entry.offset, "attributes or types are nested too deeply",
                  fmt::format("at most {} levels", kMaxAttributeDepth));
    if (!state_.ok()) return {};
    slot.open = true;
    ++depth_;
    Frame frame{Cursor(state_, entry.bytes, entry.offset)};
    T value = decode(entry, frame, T());
    frame.cursor.expectEnd("an attribute or type");
    --depth_;
    slot.open = false;
    if (frame.nodes > kMaxAttributeNodes)
      state_.fail("SM2106", entry.offset, "an attribute or type of the kernel body is too large",
                  fmt::format("at most {} parts", kMaxAttributeNodes));
    if (!value && state_.ok()) state_.fail("SM2105", entry.offset, "an attribute or type cannot be read");
    if (!state_.ok()) return {};
    slot.value = value;
    slot.nodes = static_cast<uint32_t>(frame.nodes);
  }
  nodes += slot.nodes;
  return slot.value;
}

template mlir::Attribute AttrTypeReader::resolve(const std::vector<Entry>&, std::vector<Slot<mlir::Attribute>>&,
                                                 uint32_t, uint64_t&);
template mlir::Type AttrTypeReader::resolve(const std::vector<Entry>&, std::vector<Slot<mlir::Type>>&, uint32_t,
                                            uint64_t&);

mlir::Attribute AttrTypeReader::decode(const Entry& entry, Frame& f, mlir::Attribute) {
  const std::string_view dialect = model_.dialects[entry.dialect];
  if (!entry.encoded) return parseAttributeText(f.cursor, dialect, context_, captured_);
  if (dialect == "builtin") return builtinAttribute(f);
  f.cursor.fail("SM2104",
                fmt::format("an attribute of dialect '{}' is in a binary encoding this reader does not know", dialect));
  return {};
}

mlir::Type AttrTypeReader::decode(const Entry& entry, Frame& f, mlir::Type) {
  const std::string_view dialect = model_.dialects[entry.dialect];
  if (!entry.encoded) return parseTypeText(f.cursor, dialect, context_, captured_);
  if (dialect == "builtin") return builtinType(f);
  f.cursor.fail("SM2104",
                fmt::format("a type of dialect '{}' is in a binary encoding this reader does not know", dialect));
  return {};
}

mlir::Type AttrTypeReader::typePart(Frame& f) {
  const uint32_t i = f.cursor.index("a type", model_.types.size());
  return f.cursor.ok() ? resolve(model_.types, types_, i, f.nodes) : mlir::Type();
}

std::vector<mlir::Type> AttrTypeReader::typeParts(Frame& f, const char* what) {
  std::vector<mlir::Type> parts(f.cursor.count(what));
  for (mlir::Type& part : parts) part = typePart(f);
  return f.cursor.ok() ? parts : std::vector<mlir::Type>{};
}

std::vector<int64_t> AttrTypeReader::shapePart(Frame& f) {
  std::vector<int64_t> shape(f.cursor.count("dimensions"));
  for (int64_t& d : shape) d = f.cursor.signedVarint("a dimension");
  if (shape.size() > kMaxRank)
    f.cursor.fail("SM2106", "a shape has too many dimensions", fmt::format("at most {}", kMaxRank),
                  fmt::format("{}", shape.size()));
  return f.cursor.ok() ? shape : std::vector<int64_t>{};
}

mlir::StringAttr AttrTypeReader::stringPart(Frame& f) {
  const uint32_t i = f.cursor.index("a string", model_.strings.size());
  if (!f.cursor.ok()) return {};
  if (!strings_[i])
    strings_[i] = mlir::StringAttr::get(&context_, llvm::StringRef(model_.strings[i].data(), model_.strings[i].size()));
  return strings_[i];
}

// One byte up to eight bits; above, the zero-extended value as a signed varint.
llvm::APInt AttrTypeReader::bitsPart(Frame& f, unsigned width) {
  const uint64_t bits = width <= 8 ? f.cursor.byte("a number") : f.cursor.signedVarint("a number");
  return llvm::APInt(64, bits).zextOrTrunc(width);
}

bool AttrTypeReader::checkElements(Frame& f, llvm::ArrayRef<int64_t> shape) {
  uint64_t elements = 1;
  for (int64_t d : shape) {
    if (mlir::ShapedType::isDynamic(d) || (hasSymbolicDims_ && isSymbolicDim(d))) continue;
    if (d < 0 || static_cast<uint64_t>(d) > kMaxElements / elements) {
      f.cursor.fail("SM2106", "a shape has an impossible size", fmt::format("0 to {} elements", kMaxElements));
      return false;
    }
    elements *= std::max<uint64_t>(d, 1);
  }
  return true;
}

void AttrTypeReader::unknownCode(Frame& f, const char* kind, uint64_t code) {
  f.cursor.fail("SM2104", fmt::format("the kernel body has {} of an encoding this reader does not know", kind),
                "the encodings that JAX up to 0.12 writes (stable_mosaic 1 to 18)",
                fmt::format("code {}, by {}", code, state_.producer()),
                "print the module as generic Mosaic text and import that, or export it with an older JAX");
}

void AttrTypeReader::refusedByMlir(Frame& f, const char* what) {
  f.cursor.fail("SM2105", fmt::format("{} of the kernel body is invalid: {}", what, captured_.takeMessage()));
}

}  // namespace smalti::interop::bytecode
