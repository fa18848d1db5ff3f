#include "Safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/io/File.h"

namespace smalti::minilm {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 4;  // header, tensor, shape; metadata is flat too
constexpr size_t kMaxRank = 32;

tl::unexpected<Diagnostic> notSafetensors(const std::string& name, std::string what, std::string need = {},
                                          std::string have = {}) {
  return fail({.code = "SM6001",
               .message = fmt::format("'{}' is not a safetensors file that can be read: {}", name, what),
               .place = {},
               .need = std::move(need),
               .have = std::move(have)});
}

/// Names come from the file: bounded where they are shown.
std::string shown(const std::string& tensor) { return tensor.substr(0, 100); }

tl::unexpected<Diagnostic> badEntry(const std::string& name, const std::string& tensor, std::string what) {
  return fail(
      {.code = "SM6002",
       .message = fmt::format("tensor '{}' of '{}' is not described as it must be: {}", shown(tensor), name, what),
       .place = {},
       .need = R"({"dtype": "F32", "shape": [8, 128], "data_offsets": [0, 4096]})"});
}

tl::unexpected<Diagnostic> badPlace(const std::string& name, const std::string& tensor, std::string what,
                                    std::string need, std::string have) {
  return fail({.code = "SM6003",
               .message = fmt::format("tensor '{}' of '{}' {}", shown(tensor), name, what),
               .place = {},
               .need = std::move(need),
               .have = std::move(have),
               .help = "the file is cut off or damaged: fetch it again"});
}

struct DTypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kDTypes{
    DTypeName{"F64", DType::f64},          DTypeName{"F32", DType::f32},        DTypeName{"F16", DType::f16},
    DTypeName{"BF16", DType::bf16},        DTypeName{"I64", DType::i64},        DTypeName{"I32", DType::i32},
    DTypeName{"I16", DType::i16},          DTypeName{"I8", DType::i8},          DTypeName{"U64", DType::u64},
    DTypeName{"U32", DType::u32},          DTypeName{"U16", DType::u16},        DTypeName{"U8", DType::u8},
    DTypeName{"F8_E4M3", DType::f8e4m3fn}, DTypeName{"F8_E5M2", DType::f8e5m2},
};

std::optional<DType> dtypeNamed(std::string_view name) {
  for (const DTypeName& d : kDTypes)
    if (d.name == name) return d.dtype;
  return std::nullopt;
}

std::string dtypeNames() {
  std::string names;
  for (const DTypeName& d : kDTypes) names += fmt::format("{}{}", names.empty() ? "" : ", ", d.name);
  return names;
}

/// The header as JSON. Nesting is bounded, and a name that stands twice is refused: readers would differ about it.
Result<json> parseHeader(std::string_view text, const std::string& name) {
  std::string fault;
  std::set<std::string> seen;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth && fault.empty()) fault = "its header is nested too deeply";
    if (event == json::parse_event_t::key && depth == 1 && !seen.insert(parsed.get<std::string>()).second &&
        fault.empty())
      fault = fmt::format("its header names '{}' twice", shown(parsed.get<std::string>()));
    return fault.empty();
  };
  json header = json::parse(text, watch, /*allow_exceptions=*/false);
  if (!fault.empty()) return notSafetensors(name, fault);
  if (!header.is_object()) return notSafetensors(name, "its header is not a JSON object");
  return header;
}

/// A whole number from 0 to 2^62, so that two may be added.
std::optional<int64_t> sizeFrom(const json& value) {
  constexpr uint64_t kLimit = uint64_t{1} << 62;
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kLimit) return std::nullopt;
  return static_cast<int64_t>(value.get<uint64_t>());
}

Result<Shape> shapeFrom(const json& entry, const std::string& name, const std::string& tensor) {
  const auto found = entry.find("shape");
  if (found == entry.end() || !found->is_array() || found->size() > kMaxRank)
    return badEntry(name, tensor, fmt::format("'shape' is not a list of at most {} sizes", kMaxRank));
  Shape shape;
  int64_t elements = 1;
  for (const json& size : *found) {
    const auto n = sizeFrom(size);
    if (!n) return badEntry(name, tensor, "'shape' holds something that is not a size");
    if (__builtin_mul_overflow(elements, *n, &elements) || elements > kMaxSafetensorsBytes)
      return badEntry(name, tensor, "'shape' has more elements than a file can hold");
    shape.push_back(*n);
  }
  return shape;
}

Result<Safetensors::Tensor> tensorFrom(const json& entry, const std::string& name, const std::string& tensor,
                                       int64_t dataBytes) {
  if (!entry.is_object()) return badEntry(name, tensor, "it is not an object");
  const auto dtypeName = entry.find("dtype");
  if (dtypeName == entry.end() || !dtypeName->is_string()) return badEntry(name, tensor, "'dtype' is not text");
  const auto dtype = dtypeNamed(dtypeName->get_ref<const std::string&>());
  if (!dtype)
    return fail({.code = "SM6004",
                 .message = fmt::format("tensor '{}' of '{}' has elements of type '{}', which is not known",
                                        shown(tensor), name, dtypeName->get_ref<const std::string&>().substr(0, 40)),
                 .place = {},
                 .need = "one of " + dtypeNames()});
  auto shape = shapeFrom(entry, name, tensor);
  if (!shape) return fail(shape.error());
  const auto offsets = entry.find("data_offsets");
  if (offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
    return badEntry(name, tensor, "'data_offsets' is not a pair");
  const auto begin = sizeFrom((*offsets)[0]), end = sizeFrom((*offsets)[1]);
  if (!begin || !end || *begin > *end) return badEntry(name, tensor, "'data_offsets' is not a range of bytes");
  if (*end > dataBytes)
    return badPlace(name, tensor, "reaches past the end of the file", fmt::format("{} bytes behind the header", *end),
                    fmt::format("{} bytes", dataBytes));
  const ArrayType type{*dtype, *shape};
  if (*end - *begin != type.bytes())
    return badPlace(name, tensor, "has another size than its shape asks for",
                    fmt::format("{} bytes for {}", type.bytes(), type.str()), fmt::format("{} bytes", *end - *begin));
  return Safetensors::Tensor{type, *begin, *end};
}

/// In the order of their bytes, each tensor begins where the one before ends, and the last ends the file.
Status checkCover(const std::map<std::string, Safetensors::Tensor>& tensors, int64_t dataBytes,
                  const std::string& name) {
  std::vector<const std::pair<const std::string, Safetensors::Tensor>*> order;
  for (const auto& entry : tensors) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  int64_t at = 0;
  for (const auto* entry : order) {
    const int64_t begin = entry->second.begin;
    if (begin != at)
      return badPlace(name, entry->first, begin < at ? "overlaps the tensor before it" : "leaves a hole before it",
                      fmt::format("to begin at byte {}", at), fmt::format("byte {}", begin));
    at = entry->second.end;
  }
  if (at != dataBytes)
    return notSafetensors(name, "bytes are left over behind the last tensor", fmt::format("{} bytes", at),
                          fmt::format("{} bytes", dataBytes));
  return {};
}

constexpr size_t kLengthBytes = 8;

/// Where the tensors begin: behind the length (in the first 8 of `bytes`) and the header of a file of `size` bytes.
Result<size_t> dataBegin(std::string_view bytes, int64_t size, const std::string& name) {
  if (bytes.size() < kLengthBytes)
    return notSafetensors(name, "it ends before its header", "at least 8 bytes", fmt::format("{} bytes", bytes.size()));
  uint64_t headerBytes = 0;
  for (size_t i = kLengthBytes; i-- > 0;) headerBytes = headerBytes << 8 | static_cast<unsigned char>(bytes[i]);
  const uint64_t behind = static_cast<uint64_t>(size) - kLengthBytes;
  if (headerBytes > std::min<uint64_t>(behind, kMaxHeaderBytes))
    return notSafetensors(name, "it ends inside its header, or it is another kind of file",
                          fmt::format("a header of {} bytes", headerBytes),
                          behind > kMaxHeaderBytes ? fmt::format("headers have at most {} bytes", kMaxHeaderBytes)
                                                   : fmt::format("{} bytes after the length", behind));
  return kLengthBytes + headerBytes;
}

/// What the header, the rest of `head` behind the length, says of a file of `size` bytes.
Result<std::map<std::string, Safetensors::Tensor>> tensorsOf(std::string_view head, int64_t size,
                                                             const std::string& name) {
  const auto header = parseHeader(head.substr(std::min(kLengthBytes, head.size())), name);
  if (!header) return fail(header.error());
  const int64_t dataBytes = size - static_cast<int64_t>(head.size());
  std::map<std::string, Safetensors::Tensor> tensors;
  for (const auto& [tensor, entry] : header->items()) {
    if (tensor == "__metadata__") continue;
    auto parsed = tensorFrom(entry, name, tensor, dataBytes);
    if (!parsed) return fail(parsed.error());
    tensors.emplace(tensor, std::move(*parsed));
  }
  if (Status status = checkCover(tensors, dataBytes, name); !status) return fail(status.error());
  return tensors;
}

}  // namespace

Result<Safetensors> Safetensors::read(const std::string& path) {
  // What the header says is judged before the tensors are read: a file may be large and something else.
  const auto length = readHead(path, kLengthBytes);
  if (!length) return fail(length.error());
  const auto dataAt = dataBegin(length->bytes, length->size, path);
  if (!dataAt) return fail(dataAt.error());
  const auto head = readHead(path, static_cast<int64_t>(*dataAt));
  if (!head) return fail(head.error());
  if (const auto tensors = tensorsOf(head->bytes, head->size, path); !tensors) return fail(tensors.error());
  auto bytes = readFile(path, kMaxSafetensorsBytes);
  if (!bytes) return fail(bytes.error());
  return parse(std::move(*bytes), path);
}

Result<Safetensors> Safetensors::parse(std::string bytes, const std::string& name) {
  const auto size = static_cast<int64_t>(bytes.size());
  const auto dataAt = dataBegin(bytes, size, name);
  if (!dataAt) return fail(dataAt.error());
  auto tensors = tensorsOf(std::string_view(bytes).substr(0, *dataAt), size, name);
  if (!tensors) return fail(tensors.error());
  Safetensors file;
  file.name_ = name;
  file.dataAt_ = *dataAt;
  file.tensors_ = std::move(*tensors);
  file.bytes_ = std::make_shared<std::string>(std::move(bytes));
  return file;
}

Result<Array> Safetensors::array(const std::string& tensor) const {
  const Tensor& t = tensors_.at(tensor);
  char* data = bytes_->data() + dataAt_ + t.begin;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<size_t>(storage_bytes(t.type.dtype)) == 0)
    return Array::view(t.type, data, bytes_);
  auto copy = Array::allocate(t.type);
  if (copy) std::memcpy(copy->data(), data, static_cast<size_t>(t.type.bytes()));
  return copy;
}

}  // namespace smalti::minilm
