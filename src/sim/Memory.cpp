#include "sim/Memory.h"

#include <algorithm>

#include "ir/Types.h"
#include "tpu/Tiling.h"

namespace smalti::sim {
namespace {

std::optional<int64_t> elementOf(const Array& a, int64_t i) {
  if (i < 0 || i >= a.elements()) return std::nullopt;
  switch (a.dtype()) {
    case DType::i32:
      return a.as<int32_t>()[i];
    case DType::u32:
      return a.as<int32_t>()[i];  // numbers in kernels are signless
    case DType::i8:
      return a.as<int8_t>()[i];
    case DType::u8:
      return a.as<int8_t>()[i];
    case DType::i16:
      return a.as<int16_t>()[i];
    case DType::u16:
      return a.as<int16_t>()[i];
    case DType::pred:
      return a.as<uint8_t>()[i] != 0 ? 1 : 0;
    default:
      return std::nullopt;
  }
}

constexpr int64_t kMaxNumbers = int64_t{1} << 24;

void setShape(View& v, mlir::MemRefType type) {
  v.rank = std::min<size_t>(type.getRank(), View::kMaxDimensions);
  int64_t stride = 1;
  for (size_t d = v.rank; d-- > 0;) {
    const int64_t size = type.getShape()[d];
    v.shape[d] = mlir::ShapedType::isDynamic(size) ? 1 : size;
    v.strides[d] = stride;
    stride *= v.shape[d];
  }
}

}  // namespace

std::optional<int64_t> Buffer::read(int64_t element) const {
  if (element >= 0 && element < static_cast<int64_t>(numbers.size())) return numbers[static_cast<size_t>(element)];
  return array ? elementOf(*array, element) : std::nullopt;
}

void Buffer::write(int64_t element, std::optional<int64_t> value) {
  if (element >= 0 && element < static_cast<int64_t>(numbers.size())) numbers[static_cast<size_t>(element)] = value;
}

int64_t View::elements() const {
  int64_t n = 1;
  for (size_t d = 0; d < rank; ++d) n *= shape[d];
  return n;
}

double View::bytes(mlir::Type memref) const {
  const mlir::Type element = mlir::cast<mlir::MemRefType>(memref).getElementType();
  const auto dtype = dtypeOf(element);
  const double bits = dtype ? static_cast<double>(bit_width(*dtype)) : 32;
  double n = 1;
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = shape[d];
    if (d + 1 == rank && rank > 1) size = (size + tpu::kLanes - 1) / tpu::kLanes * tpu::kLanes;
    if (d + 2 == rank) size = (size + 7) / 8 * 8;
    n *= static_cast<double>(size);
  }
  return n * bits / 8;
}

View Memory::allocate(mlir::MemRefType type, std::string name, const Array* array, std::optional<size_t> operand) {
  Buffer b;
  b.space = tpu::memorySpaceOf(type).value_or(tpu::MemorySpace::vmem);
  b.name = std::move(name);
  b.array = array;
  b.operand = operand;
  View v;
  setShape(v, type);
  v.buffer = static_cast<int32_t>(buffers_.size());
  b.bytes = v.bytes(type);
  const int64_t elements = v.elements();
  if (b.space == tpu::MemorySpace::smem && elements <= kMaxNumbers) {
    b.numbers.resize(static_cast<size_t>(elements));
    for (int64_t i = 0; array && i < elements; ++i) b.numbers[static_cast<size_t>(i)] = elementOf(*array, i);
  }
  buffers_.push_back(std::move(b));
  return v;
}

void Memory::copy(const View& from, const View& to) {
  Buffer& target = of(to);
  if (target.numbers.empty()) return;
  const int64_t n = std::min(from.elements(), to.elements());
  const auto at = [](const View& v, int64_t i) {
    int64_t offset = v.offset;
    for (size_t d = v.rank; d-- > 0; i /= v.shape[d]) offset += i % v.shape[d] * v.strides[d];
    return offset;
  };
  for (int64_t i = 0; i < n; ++i) target.write(at(to, i), of(from).read(at(from, i)));
}

View viewAs(const View& v, mlir::MemRefType type) {
  View out;
  setShape(out, type);
  out.buffer = v.buffer;
  out.offset = v.offset;
  return out;
}

View squeezed(const View& v, mlir::MemRefType type) {
  View out = v;
  const auto wanted = type.getShape();
  out.rank = 0;
  for (size_t d = 0; d < v.rank; ++d) {
    const size_t left = v.rank - d, missing = wanted.size() - out.rank;
    if (v.shape[d] == 1 && left > missing) continue;
    out.shape[out.rank] = v.shape[d];
    out.strides[out.rank] = v.strides[d];
    ++out.rank;
  }
  return out;
}

}  // namespace smalti::sim
