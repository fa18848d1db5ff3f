#include "lang/refs/Indexer.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

constexpr int64_t kSlice = 1, kDynamicStart = 2, kDynamicSize = 4;

void checkScalar(const Array& a, int64_t axis) {
  if (a.rank() == 0 && is_integer(a.dtype())) return;
  refuse({.code = "SM6110",
          .message = fmt::format("the index of axis {} of a Ref is not an integer scalar", axis),
          .place = {},
          .need = "an integer, a traced i32 scalar, ds(start, size), all_of or _",
          .have = a.type().str(),
          .help = a.rank() > 0 ? "indexing by arrays is not done on a TPU: use take_along_axis on the value"
                               : "convert the index: astype(i, i32)"});
}

[[noreturn]] void outOfBounds(const Shape& of, int64_t axis, int64_t first, int64_t last) {
  refuse({.code = "SM6109",
          .message = fmt::format("out of bound index: axis {} of a Ref of shape [{}]", axis, fmt::join(of, ", ")),
          .place = {},
          .need = fmt::format("elements 0 to {}", of[axis] - 1),
          .have = first == last ? fmt::format("element {}", first) : fmt::format("elements {} to {}", first, last),
          .help = "take a smaller slice, or a larger block"});
}

AxisIndex scalarAxis(const Shape& of, int64_t axis, const Array& scalar, std::vector<Array>& dynamic) {
  checkScalar(scalar, axis);
  AxisIndex a{.isSlice = false};
  if (const auto value = concreteInteger(scalar)) {
    a.start = *value < 0 ? *value + of[axis] : *value;
    if (a.start < 0 || a.start >= of[axis]) outOfBounds(of, axis, *value, *value);
  } else {
    a.dynamicStart = true;
    dynamic.push_back(scalar);
  }
  return a;
}

AxisIndex sliceAxis(const Shape& of, int64_t axis, const Slice& slice, std::vector<Array>& dynamic) {
  checkScalar(slice.start, axis);
  checkScalar(slice.size, axis);
  if (slice.stride < 0)
    refuse({.code = "SM6111",
            .message = fmt::format("the stride of a slice of axis {} is negative", axis),
            .place = {},
            .need = "stride >= 0",
            .have = fmt::format("stride {}", slice.stride),
            .help = "slice forward and reverse the value"});
  AxisIndex a{.stride = slice.stride};
  if (const auto start = concreteInteger(slice.start)) {
    a.start = *start;
  } else {
    a.dynamicStart = true;
    dynamic.push_back(slice.start);
  }
  if (const auto size = concreteInteger(slice.size)) {
    a.size = *size;
  } else {
    a.dynamicSize = true;
    a.size = of[axis];
    dynamic.push_back(slice.size);
  }
  if (!a.dynamicSize) {
    const int64_t span = a.size == 0 ? 0 : (a.size - 1) * a.stride + 1;
    if (a.size < 0 || span > of[axis] || (!a.dynamicStart && (a.start < 0 || a.start + span > of[axis])))
      outOfBounds(of, axis, a.dynamicStart ? 0 : a.start, (a.dynamicStart ? 0 : a.start) + span - 1);
  }
  return a;
}

}  // namespace

std::optional<int64_t> concreteInteger(const Array& a) {
  if (a.is_traced() || a.rank() != 0) return std::nullopt;
  switch (a.dtype()) {
    case DType::i64:
      return *a.as<int64_t>();
    case DType::u64:  // no size or index is larger
      return static_cast<int64_t>(std::min<uint64_t>(*a.as<uint64_t>(), INT64_MAX));
    case DType::i32:
      return *a.as<int32_t>();
    case DType::u32:
      return *a.as<uint32_t>();
    case DType::i16:
      return *a.as<int16_t>();
    case DType::u16:
      return *a.as<uint16_t>();
    case DType::i8:
    case DType::i4:
    case DType::i2:
      return *a.as<int8_t>();
    case DType::u8:
    case DType::u4:
    case DType::u2:
    case DType::pred:
      return *a.as<uint8_t>();
    default:
      return std::nullopt;
  }
}

Shape Indexer::shape() const {
  Shape shape;
  for (const AxisIndex& a : axes)
    if (a.isSlice) shape.push_back(a.size);
  return shape;
}

bool Indexer::isWhole(std::span<const int64_t> of) const {
  for (size_t i = 0; i < axes.size(); ++i) {
    const AxisIndex& a = axes[i];
    if (!a.isSlice || a.dynamicStart || a.dynamicSize || a.start != 0 || a.stride != 1 || a.size != of[i]) return false;
  }
  return true;
}

std::vector<int64_t> Indexer::encode() const {
  std::vector<int64_t> code;
  for (const AxisIndex& a : axes)
    code.insert(code.end(),
                {(a.isSlice ? kSlice : 0) | (a.dynamicStart ? kDynamicStart : 0) | (a.dynamicSize ? kDynamicSize : 0),
                 a.start, a.size, a.stride});
  return code;
}

std::vector<AxisIndex> decodeIndex(std::span<const int64_t> code) {
  std::vector<AxisIndex> axes;
  for (size_t i = 0; i + 4 <= code.size(); i += 4)
    axes.push_back({.isSlice = (code[i] & kSlice) != 0,
                    .dynamicStart = (code[i] & kDynamicStart) != 0,
                    .dynamicSize = (code[i] & kDynamicSize) != 0,
                    .start = code[i + 1],
                    .size = code[i + 2],
                    .stride = code[i + 3]});
  return axes;
}

Indexer makeIndexer(const Shape& of, std::span<const Index> index) {
  const auto rank = static_cast<int64_t>(of.size());
  const int64_t ellipses =
      std::count_if(index.begin(), index.end(), [](const Index& i) { return i.kind == Index::Kind::ellipsis; });
  const int64_t given = static_cast<int64_t>(index.size()) - ellipses;
  if (given > rank || ellipses > 1)
    refuse(
        {.code = "SM6108",
         .message = ellipses > 1 ? "an index holds more than one _" : "an index has more entries than the Ref has axes",
         .place = {},
         .need = ellipses > 1 ? "at most one _ (Python's ...)" : fmt::format("at most {} entries", rank),
         .have =
             ellipses > 1 ? fmt::format("{}", ellipses) : fmt::format("{} for shape [{}]", given, fmt::join(of, ", ")),
         .help = ellipses > 1 ? "write all_of for a whole axis (Python's :)" : "leave entries out"});
  Indexer indexer;
  const auto whole = [&](int64_t count) {
    for (int64_t i = 0; i < count; ++i) indexer.axes.push_back({.size = of[indexer.axes.size()]});
  };
  for (const Index& i : index) {
    const auto axis = static_cast<int64_t>(indexer.axes.size());
    switch (i.kind) {
      case Index::Kind::ellipsis:
        whole(rank - given);
        break;
      case Index::Kind::all:
        whole(1);
        break;
      case Index::Kind::scalar:
        indexer.axes.push_back(scalarAxis(of, axis, i.scalar, indexer.dynamic));
        break;
      case Index::Kind::slice:
        indexer.axes.push_back(sliceAxis(of, axis, i.slice, indexer.dynamic));
        break;
    }
  }
  whole(rank - static_cast<int64_t>(indexer.axes.size()));
  return indexer;
}

}  // namespace smalti::lang
