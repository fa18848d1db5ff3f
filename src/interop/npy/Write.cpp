#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/io/File.h"
#include "interop/npy/Npy.h"

namespace smalti::interop {
namespace {

std::string_view descr(DType dtype) {
  const std::string_view stored = numpyStoredName(dtype);
  struct Row {
    std::string_view name, descr;
  };
  static constexpr std::array kRows{
      Row{"bool", "|b1"},      Row{"int8", "|i1"},        Row{"int16", "<i2"},   Row{"int32", "<i4"},
      Row{"int64", "<i8"},     Row{"uint8", "|u1"},       Row{"uint16", "<u2"},  Row{"uint32", "<u4"},
      Row{"uint64", "<u8"},    Row{"float16", "<f2"},     Row{"float32", "<f4"}, Row{"float64", "<f8"},
      Row{"complex64", "<c8"}, Row{"complex128", "<c16"},
  };
  for (const Row& row : kRows)
    if (row.name == stored) return row.descr;
  return "|u1";
}

}  // namespace

std::string npyHeader(const ArrayType& type) {
  const std::string dims =
      type.shape.size() == 1 ? fmt::format("{},", type.shape[0]) : fmt::format("{}", fmt::join(type.shape, ", "));
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr(type.dtype), dims);
  // The elements begin at a multiple of 64 bytes, as numpy does it.
  constexpr size_t kAlignment = 64;
  const bool isLong = text.size() + 10 + kAlignment > 0xffff;
  const size_t begin = isLong ? 12 : 10;
  text.append(kAlignment - 1 - (begin + text.size()) % kAlignment, ' ');
  text += '\n';
  std::string header = "\x93NUMPY";
  header += isLong ? '\2' : '\1';
  header += '\0';
  for (size_t i = 0; i < begin - 8; ++i) header += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return header + text;
}

Status writeNpy(const std::string& path, const Array& array) {
  const std::string header = npyHeader(array.type());
  const auto* data = reinterpret_cast<const char*>(array.data());
  const int bits = bit_width(array.dtype());
  if (bits >= 8 || array.dtype() == DType::pred)
    return writeFile(path, {header, std::string_view(data, static_cast<size_t>(array.bytes()))});
  std::string raw(data, static_cast<size_t>(array.bytes()));
  for (char& c : raw) c = static_cast<char>(c & ((1 << bits) - 1));
  return writeFile(path, {header, raw});
}

}  // namespace smalti::interop
