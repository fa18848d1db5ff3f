#include "interop/vhlo/AttributeText.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Lasting.h"
#include "interop/Limits.h"
#include "interop/stablehlo/Syntax.h"

namespace smalti::interop::vhlo {
namespace {

using bytecode::AttrCode;
using bytecode::TypeCode;

constexpr int kMaxDepth = 48;  // attributes and types inside each other

// Codes of VhloBytecode.cpp.
enum class Code : uint64_t {
  Array = 1,
  Boolean = 2,
  ComparisonDirection = 3,
  ComparisonType = 4,
  CustomCallApiVersion = 5,
  Dictionary = 6,
  FftType = 7,
  Float = 8,
  Integer = 9,
  OutputOperandAlias = 10,
  Precision = 11,
  RngAlgorithm = 12,
  RngDistribution = 13,
  String = 14,
  Tensor = 15,
  Transpose = 16,
  Type = 17,
  ResultAccuracyMode = 19,
  ResultAccuracy = 20,
};

enum class OwnType : uint64_t {
  Complex = 1,
  Function = 8,
  RankedTensor = 20,
  RankedTensorWithEncoding = 21,
  Token = 22,
  Tuple = 23,
  None = 33,
};

struct Scalar {
  uint64_t code;
  std::string_view name;
};
constexpr std::array kOwnScalars{Scalar{0, "i1"},          Scalar{2, "bf16"},        Scalar{3, "f16"},
                                 Scalar{4, "f32"},         Scalar{5, "f64"},         Scalar{6, "f8E4M3FN"},
                                 Scalar{7, "f8E5M2"},      Scalar{9, "index"},       Scalar{10, "i4"},
                                 Scalar{11, "i8"},         Scalar{12, "i16"},        Scalar{13, "i32"},
                                 Scalar{14, "i64"},        Scalar{15, "ui4"},        Scalar{16, "ui8"},
                                 Scalar{17, "ui16"},       Scalar{18, "ui32"},       Scalar{19, "ui64"},
                                 Scalar{27, "f8E4M3FNUZ"}, Scalar{28, "f8E5M2FNUZ"}, Scalar{29, "f8E4M3B11FNUZ"},
                                 Scalar{31, "i2"},         Scalar{32, "ui2"},        Scalar{34, "tf32"},
                                 Scalar{35, "f8E4M3"},     Scalar{36, "f8E3M4"},     Scalar{37, "f4E2M1FN"},
                                 Scalar{38, "f6E2M3FN"},   Scalar{39, "f6E3M2FN"},   Scalar{40, "f8E8M0FNU"}};
constexpr std::array kBuiltinScalars{Scalar{1, "index"},
                                     Scalar{3, "bf16"},
                                     Scalar{4, "f16"},
                                     Scalar{5, "f32"},
                                     Scalar{6, "f64"},
                                     Scalar{22, "f8E5M2"},
                                     Scalar{23, "f8E4M3"},
                                     Scalar{24, "f8E4M3FN"},
                                     Scalar{25, "f8E5M2FNUZ"},
                                     Scalar{26, "f8E4M3FNUZ"},
                                     Scalar{27, "f8E4M3B11FNUZ"},
                                     Scalar{28, "f8E3M4"},
                                     Scalar{29, "f4E2M1FN"},
                                     Scalar{30, "f6E2M3FN"},
                                     Scalar{31, "f6E3M2FN"},
                                     Scalar{32, "f8E8M0FNU"}};

template <size_t N>
std::string_view scalarName(const std::array<Scalar, N>& scalars, uint64_t code) {
  const auto found = std::find_if(scalars.begin(), scalars.end(), [&](const Scalar& s) { return s.code == code; });
  return found == scalars.end() ? std::string_view() : found->name;
}

struct Enumeration {
  Code code;
  std::string_view name;
  std::vector<std::string_view> values;
};
const std::vector<Enumeration>& enumerations() {
  static const auto& all = *new std::vector<Enumeration>{
      {Code::ComparisonDirection, "comparison_direction", {"EQ", "NE", "GE", "GT", "LE", "LT"}},
      {Code::ComparisonType, "comparison_type", {"", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"}},
      {Code::FftType, "fft_type", {"FFT", "IFFT", "RFFT", "IRFFT"}},
      {Code::Precision, "precision", {"DEFAULT", "HIGH", "HIGHEST"}},
      {Code::RngAlgorithm, "rng_algorithm", {"DEFAULT", "THREE_FRY", "PHILOX"}},
      {Code::RngDistribution, "rng_distribution", {"", "UNIFORM", "NORMAL"}},
      {Code::Transpose, "transpose", {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"}},
  };
  return all;
}

/// Bits of an integer or float type by its name; 0 for others.
int bitsOf(std::string_view type) {
  if (type == "index") return 64;
  const auto dtype = stablehlo::elementTypeFromName(type);
  return dtype ? bit_width(*dtype) : 0;
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text = "0x";
  text.reserve(2 + 2 * bytes.size());
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

}  // namespace

namespace {
const std::string& nothing() {
  static constinit Lasting<const std::string> text;
  return text.get();
}
}  // namespace

template <class Make>
const std::string& AttributeText::once(Slot& slot, uint64_t offset, Make&& make) {
  if (slot.known) return slot.text;
  if (!state_.ok()) return nothing();
  if (slot.open || depth_ >= kMaxDepth) {
    state_.fail(slot.open ? "SM2101" : "SM2106", offset,
                slot.open ? "an attribute or type holds itself" : "attributes or types are nested too deeply");
    return nothing();
  }
  slot.open = true;
  ++depth_;
  std::string text = make();
  --depth_;
  slot.open = false;
  bytes_ += text.size();
  if (bytes_ > limits::kMaxTextBytes)
    state_.fail("SM2106", offset, "attributes and types are too large",
                fmt::format("{} bytes as text", limits::kMaxTextBytes));
  if (!state_.ok()) return nothing();
  slot.text = std::move(text);
  slot.known = true;
  return slot.text;
}

const std::string& AttributeText::attribute(uint32_t index) {
  const bytecode::Entry& e = model_.attributes[index];
  return once(attributes_[index], e.offset, [&] {
    if (!e.encoded) return dialectText(e, '#');
    Cursor c = cursor(e);
    const uint64_t code = c.varint("an attribute's code");
    std::string text = dialect(e) == "vhlo"      ? ownAttribute(c, code)
                       : dialect(e) == "builtin" ? builtinAttribute(c, code)
                       : dialect(e) == "sdy"     ? sdyAttribute(c, code)
                                                 : unknownDialect(e);
    c.expectEnd("an attribute");
    return text;
  });
}

const std::string& AttributeText::type(uint32_t index) {
  const bytecode::Entry& e = model_.types[index];
  return once(types_[index], e.offset, [&] {
    if (!e.encoded) return dialectText(e, '!');
    Cursor c = cursor(e);
    const uint64_t code = c.varint("a type's code");
    std::string text = dialect(e) == "vhlo"      ? ownType(c, code)
                       : dialect(e) == "builtin" ? builtinType(c, code)
                                                 : unknownDialect(e);
    c.expectEnd("a type");
    return text;
  });
}

/// Each dialect has codes of its own.
std::string AttributeText::unknownDialect(const bytecode::Entry& e) {
  state_.fail("SM2105", e.offset, "an attribute or type has a dialect whose encoding is not known",
              "vhlo, builtin or sdy", fmt::format("dialect '{}'", dialect(e).substr(0, 40)),
              "give the text of the module: exported.mlir_module()");
  return "";
}

/// A dialect without an encoding of its own stores text: "#chlo<precision HIGH>".
std::string AttributeText::dialectText(const bytecode::Entry& e, char sigil) {
  std::string_view text = e.bytes;
  if (text.ends_with('\0')) text.remove_suffix(1);
  if (text.empty() || text.front() != sigil || text.size() > limits::kMaxTextBytes ||
      text.find('\0') != std::string_view::npos) {
    state_.fail("SM2105", e.offset, "an attribute or type is stored as text that is none", {},
                fmt::format("dialect '{}'", dialect(e).substr(0, 40)));
    return "";
  }
  return std::string(text);
}

const std::string& AttributeText::attributePart(Cursor& c) {
  const uint32_t index = c.index("an attribute", model_.attributes.size());
  return c.ok() ? attribute(index) : nothing();
}

const std::string& AttributeText::typePart(Cursor& c) {
  const uint32_t index = c.index("a type", model_.types.size());
  return c.ok() ? type(index) : nothing();
}

std::string AttributeText::list(Cursor& c, const char* what) {
  const uint64_t n = c.count(what);
  std::string text = "[";
  for (uint64_t i = 0; i < n && c.ok() && text.size() <= limits::kMaxTextBytes; ++i)
    (text += i ? ", " : "") += attributePart(c);
  return text + "]";
}

std::string AttributeText::integers(Cursor& c) {
  std::vector<int64_t> values(c.count("numbers"));
  for (int64_t& v : values) v = c.signedVarint("a number");
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string AttributeText::number(Cursor& c, bool isFloat) {
  const std::string type = typePart(c);
  const int width = bitsOf(type);
  if (c.ok() && width == 0) c.fail("SM2105", "a number has a type that is not known", {}, type.substr(0, 40));
  uint64_t bits = width <= 8 ? c.byte("a number") : static_cast<uint64_t>(c.signedVarint("a number"));
  if (!c.ok()) return "";
  if (type == "i1") return bits & 1 ? "true" : "false";
  if (width < 64) bits &= (uint64_t{1} << width) - 1;
  if (isFloat) return fmt::format("0x{:0{}X} : {}", bits, (width + 3) / 4, type);
  if (type.starts_with('u')) return fmt::format("{} : {}", bits, type);
  return fmt::format("{} : {}", static_cast<int64_t>(bits << (64 - width)) >> (64 - width), type);
}

/// dense<"0x…"> : tensor<…>. Of bool, one bit per element; a single byte of ones stands for all true.
std::string AttributeText::tensorElements(Cursor& c) {
  const std::string type = typePart(c);
  const std::string_view bytes = c.take(c.varint("the size of elements"), "elements");
  if (!c.ok()) return "";
  if (bytes.empty()) return fmt::format("dense<> : {}", type);
  if (!type.ends_with("xi1>") && type != "tensor<i1>") return fmt::format("dense<\"{}\"> : {}", hex(bytes), type);
  uint64_t elements = 1;
  for (size_t at = type.find('<') + 1; at < type.size() && std::isdigit(static_cast<unsigned char>(type[at]));) {
    const size_t end = type.find('x', at);
    if (__builtin_mul_overflow(elements, std::strtoull(type.c_str() + at, nullptr, 10), &elements))
      elements = UINT64_MAX;
    at = end + 1;
  }
  const bool splat = bytes.size() == 1 && (elements > 8 || bytes[0] == '\xff');
  if (splat || elements == 1) return fmt::format("dense<{}> : {}", bytes[0] != 0, type);
  if (bytes.size() != elements && bytes.size() != elements / 8 + (elements % 8 != 0)) {
    c.fail("SM2105", "wrong number of bool elements", fmt::format("{} bits", elements),
           fmt::format("{} bytes", bytes.size()));
    return "";
  }
  if (bytes.size() == elements) return fmt::format("dense<\"{}\"> : {}", hex(bytes), type);
  std::string unpacked(elements, '\0');
  for (size_t i = 0; i < unpacked.size(); ++i) unpacked[i] = static_cast<char>(bytes[i / 8] >> (i % 8) & 1);
  return fmt::format("dense<\"{}\"> : {}", hex(unpacked), type);
}

/// array<i64: 1, 2>
std::string AttributeText::arrayElements(Cursor& c) {
  const std::string type = typePart(c);
  const uint64_t n = c.varint("elements");
  const std::string_view bytes = c.take(c.varint("the size of elements"), "elements");
  const int width = type == "i1" ? 8 : bitsOf(type);
  if (c.ok() && (width % 8 != 0 || width == 0 || n > bytes.size() || n * (width / 8) != bytes.size()))
    c.fail("SM2105", "wrong number of elements of an array", {}, type.substr(0, 40));
  if (!c.ok()) return "";
  std::string text = fmt::format("array<{}", type);
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * (width / 8), width / 8);
    const int64_t value = static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
    text += i ? ", " : ": ";
    text += type == "i1" ? (value ? "true" : "false") : fmt::format("{}", value);
  }
  return text + ">";
}

std::string AttributeText::symbol(Cursor& c) {
  const uint32_t index = c.index("a symbol's name", model_.attributes.size());
  return c.ok() ? stablehlo::printSymbol(string(index)) : "";
}

std::string AttributeText::ownAttribute(Cursor& c, uint64_t code) {
  switch (static_cast<Code>(code)) {
    case Code::Array:
      return list(c, "elements of an array");
    case Code::Boolean:
      return c.varint("a boolean") ? "true" : "false";
    case Code::CustomCallApiVersion:
      return fmt::format("{} : i32", c.varint("a version"));
    case Code::Dictionary: {
      const uint64_t n = c.count("entries of a dictionary", 2);
      std::string text = "{";
      for (uint64_t i = 0; i < n && c.ok() && text.size() <= limits::kMaxTextBytes; ++i) {
        const uint32_t key = c.index("a dictionary's key", model_.attributes.size());
        if (!c.ok()) return "";
        text += fmt::format("{}{} = ", i ? ", " : "", stablehlo::printKey(string(key)));
        text += attributePart(c);
      }
      return text + "}";
    }
    case Code::Float:
    case Code::Integer:
      return number(c, static_cast<Code>(code) == Code::Float);
    case Code::OutputOperandAlias: {
      const std::string output = integers(c);
      const int64_t operand = c.signedVarint("an operand's number");
      return fmt::format(
          "#stablehlo.output_operand_alias<output_tuple_indices = {}, operand_index = {}, operand_tuple_indices = {}>",
          output, operand, integers(c));
    }
    case Code::String: {
      const uint32_t index = c.index("a string", model_.strings.size());
      return c.ok() ? stablehlo::quotedText(model_.strings[index]) : "";
    }
    case Code::Tensor:
      return tensorElements(c);
    case Code::Type:
      return typePart(c);
    case Code::ResultAccuracyMode:
      c.varint("a mode");
      return "";
    case Code::ResultAccuracy:  // how exact a function shall be: what is computed here is as exact as it can be
      c.take(c.remaining(), "an accuracy");
      return "";
    default:
      break;
  }
  for (const Enumeration& e : enumerations()) {
    if (static_cast<uint64_t>(e.code) != code) continue;
    const uint64_t value = c.varint("a choice");
    if (c.ok() && value >= e.values.size()) return unknown(c, "a choice", value);
    if (!c.ok() || e.values[value].empty()) return "";
    return fmt::format("#stablehlo<{} {}>", e.name, e.values[value]);
  }
  return unknown(c, "an attribute", code);
}

std::string AttributeText::builtinAttribute(Cursor& c, uint64_t code) {
  switch (static_cast<AttrCode>(code)) {
    case AttrCode::Array:
      return list(c, "elements of an array");
    case AttrCode::Dictionary: {
      const uint64_t n = c.count("entries of a dictionary", 2);
      std::string text = "{";
      for (uint64_t i = 0; i < n && c.ok() && text.size() <= limits::kMaxTextBytes; ++i) {
        const uint32_t key = c.index("a dictionary's key", model_.attributes.size());
        if (!c.ok()) return "";
        text += fmt::format("{}{} = ", i ? ", " : "", stablehlo::printKey(string(key)));
        text += attributePart(c);
      }
      return text + "}";
    }
    case AttrCode::String:
    case AttrCode::StringWithType: {
      const uint32_t index = c.index("a string", model_.strings.size());
      if (static_cast<AttrCode>(code) == AttrCode::StringWithType) typePart(c);
      return c.ok() ? stablehlo::quotedText(model_.strings[index]) : "";
    }
    case AttrCode::FlatSymbolRef:
      return symbol(c);
    case AttrCode::Type:
      return typePart(c);
    case AttrCode::Unit:
      return "unit";
    case AttrCode::Integer:
    case AttrCode::Float:
      return number(c, static_cast<AttrCode>(code) == AttrCode::Float);
    case AttrCode::DenseArray:
      return arrayElements(c);
    case AttrCode::DenseIntOrFPElements:
      return tensorElements(c);
    default:
      return unknown(c, "an attribute", code);
  }
}

std::string AttributeText::tensor(Cursor& c, bool hasEncoding) {
  const std::string encoding = hasEncoding ? ", " + attributePart(c) : "";
  const uint64_t rank = c.count("dimensions");
  if (rank > static_cast<uint64_t>(limits::kMaxRank))
    c.fail("SM2106", "a shape has too many dimensions", fmt::format("at most {}", limits::kMaxRank),
           fmt::format("{}", rank));
  std::string text = "tensor<";
  for (uint64_t i = 0; i < rank && c.ok(); ++i) {
    const int64_t size = c.signedVarint("a dimension");
    text += size < 0 ? "?x" : fmt::format("{}x", size);
  }
  return text + typePart(c) + encoding + ">";
}

std::string AttributeText::types(Cursor& c) {
  const uint64_t n = c.count("types");
  std::string text = "(";
  for (uint64_t i = 0; i < n && c.ok() && text.size() <= limits::kMaxTextBytes; ++i)
    (text += i ? ", " : "") += typePart(c);
  return text + ")";
}

std::string AttributeText::function(Cursor& c) {
  const std::string inputs = types(c);
  return inputs + " -> " + types(c);
}

std::string AttributeText::ownType(Cursor& c, uint64_t code) {
  if (const auto name = scalarName(kOwnScalars, code); !name.empty()) return std::string(name);
  switch (static_cast<OwnType>(code)) {
    case OwnType::Complex:
      return fmt::format("complex<{}>", typePart(c));
    case OwnType::Function:
      return function(c);
    case OwnType::RankedTensor:
    case OwnType::RankedTensorWithEncoding:
      return tensor(c, static_cast<OwnType>(code) == OwnType::RankedTensorWithEncoding);
    case OwnType::Token:
      return "!stablehlo.token";
    case OwnType::Tuple: {
      const std::string parts = types(c);
      return c.ok() ? fmt::format("tuple<{}>", parts.substr(1, parts.size() - 2)) : "";
    }
    case OwnType::None:
      return "";
  }
  return unknown(c, "a type", code);
}

std::string AttributeText::builtinType(Cursor& c, uint64_t code) {
  if (const auto name = scalarName(kBuiltinScalars, code); !name.empty()) return std::string(name);
  switch (static_cast<TypeCode>(code)) {
    case TypeCode::Integer: {
      const uint64_t widthAndSign = c.varint("an integer's width");
      constexpr std::array<std::string_view, 4> kSigns = {"i", "si", "ui", "i"};
      return fmt::format("{}{}", kSigns[widthAndSign & 3], widthAndSign >> 2);
    }
    case TypeCode::Function:
      return function(c);
    case TypeCode::Complex:
      return fmt::format("complex<{}>", typePart(c));
    case TypeCode::RankedTensor:
    case TypeCode::RankedTensorWithEncoding:
      return tensor(c, static_cast<TypeCode>(code) == TypeCode::RankedTensorWithEncoding);
    default:
      return unknown(c, "a type", code);
  }
}

std::string AttributeText::unknown(Cursor& c, const char* kind, uint64_t code) {
  c.fail("SM2105", fmt::format("the {} has {} that is not known", state_.what(), kind), {},
         fmt::format("code {}", code), "give the text of the module: exported.mlir_module()");
  return "";
}

std::string AttributeText::string(uint32_t index) {
  const bytecode::Entry& e = model_.attributes[index];
  Cursor c = cursor(e);
  const uint64_t code = e.encoded ? c.varint("an attribute's code") : UINT64_MAX;
  const bool isString = dialect(e) == "vhlo"
                            ? code == static_cast<uint64_t>(Code::String)
                            : dialect(e) == "builtin" && code == static_cast<uint64_t>(AttrCode::String);
  if (!isString) {
    if (c.ok()) c.fail("SM2105", "a name is an attribute of another kind");
    return "";
  }
  const uint32_t text = c.index("a string", model_.strings.size());
  return c.ok() ? std::string(model_.strings[text]) : "";
}

std::vector<std::pair<std::string, uint32_t>> AttributeText::dictionary(uint32_t index) {
  const bytecode::Entry& e = model_.attributes[index];
  Cursor c = cursor(e);
  std::vector<std::pair<std::string, uint32_t>> entries;
  if (!e.encoded || dialect(e) != "builtin" ||
      c.varint("an attribute's code") != static_cast<uint64_t>(AttrCode::Dictionary)) {
    if (c.ok()) c.fail("SM2105", "an op's attributes are not dictionary");
    return entries;
  }
  const uint64_t n = c.count("entries of a dictionary", 2);
  for (uint64_t i = 0; i < n && c.ok(); ++i) {
    const uint32_t key = c.index("a dictionary's key", model_.attributes.size());
    const uint32_t value = c.index("a dictionary's value", model_.attributes.size());
    if (c.ok()) entries.emplace_back(string(key), value);
  }
  return entries;
}

const std::string& AttributeText::location(uint32_t index) {
  if (locations_.empty()) locations_.resize(model_.attributes.size());
  std::string& text = locations_[index];
  constexpr int kMaxParts = 1000;  // of one location: they share parts, so a small file can spell many
  int budget = kMaxParts;
  if (text.empty()) text = fmt::format("loc({})", place(index, 0, budget));
  return text;
}

std::string AttributeText::place(uint32_t index, int depth, int& budget) {
  constexpr int kMaxFrames = 400;
  const bytecode::Entry& e = model_.attributes[index];
  if (!e.encoded || dialect(e) != "builtin" || depth > kMaxFrames || --budget < 0) return "unknown";
  Cursor c = cursor(e);
  const auto part = [&]() -> std::string {
    const uint32_t inner = c.index("a location", model_.attributes.size());
    return c.ok() ? place(inner, depth + 1, budget) : "unknown";
  };
  const auto code = static_cast<AttrCode>(c.varint("an attribute's code"));
  switch (code) {
    case AttrCode::CallSiteLoc: {
      std::string callee = part();
      return callee == "unknown" ? part() : callee;
    }
    case AttrCode::NameLoc:
      c.index("a location's name", model_.attributes.size());
      return part();
    case AttrCode::FusedLoc:
    case AttrCode::FusedLocWithMetadata: {
      std::string found = "unknown";
      for (uint64_t n = c.count("locations"); n-- > 0 && c.ok() && found == "unknown";) found = part();
      return found;
    }
    case AttrCode::FileLineColLoc:
    case AttrCode::FileLineColRange: {
      const uint32_t file = c.index("a location's file", model_.attributes.size());
      if (!c.ok()) return "unknown";
      const uint64_t n = code == AttrCode::FileLineColRange ? c.count("lines and columns") : 2;
      if (n == 0) return "unknown";
      const uint64_t line = c.varint("a line"), column = n > 1 ? c.varint("a column") : 0;
      if (!c.ok() || line > INT32_MAX || column > INT32_MAX) return "unknown";
      return fmt::format("{}:{}:{}", stablehlo::quotedText(string(file)), line, column);
    }
    default:
      return "unknown";
  }
}

}  // namespace smalti::interop::vhlo
