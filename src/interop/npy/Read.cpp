#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interop/npy/Header.h"
#include "interop/npy/Npy.h"

namespace smalti::interop {
namespace {

using npy::Header;
using npy::Stored;

/// The source of the bytes: a file or memory.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  /// Reads exactly `bytes` at `offset`; false when the file ends before or cannot be read.
  virtual bool read(int64_t offset, std::byte* out, int64_t bytes) = 0;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::string_view bytes) : bytes_(bytes) {}
  int64_t size() const override { return static_cast<int64_t>(bytes_.size()); }
  bool read(int64_t offset, std::byte* out, int64_t bytes) override {
    if (offset + bytes > size()) return false;
    if (bytes > 0) std::memcpy(out, bytes_.data() + offset, static_cast<size_t>(bytes));
    return true;
  }

 private:
  std::string_view bytes_;
};

class FileSource : public Source {
 public:
  explicit FileSource(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
      error_ = std::generic_category().message(errno);
    } else if (!S_ISREG(status.st_mode)) {
      error_ = "it is not a regular file";
    } else {
      size_ = status.st_size;
    }
  }
  ~FileSource() override {
    if (fd_ >= 0) ::close(fd_);
  }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  const std::string& error() const { return error_; }
  int64_t size() const override { return size_; }
  bool read(int64_t offset, std::byte* out, int64_t bytes) override {
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, out, static_cast<size_t>(bytes), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      offset += n, out += n, bytes -= n;
    }
    return true;
  }

 private:
  int fd_;
  int64_t size_ = 0;
  std::string error_;
};

/// The type that `numpy.load` would name, or the one that raw bytes stand for.
Result<DType> decideType(const Stored& stored, std::optional<DType> wanted, const std::string& name) {
  if (!wanted) {
    if (stored.dtype) return *stored.dtype;
    if (stored.bytes == 2) return DType::bf16;
    return fail({.code = "SM1005",
                 .message = fmt::format("'{}' contains raw bytes of unknown type", name),
                 .place = {},
                 .need = "a type from a module or a case",
                 .have = fmt::format("descr '{}'", stored.descr)});
  }
  if (stored.dtype == wanted) return *wanted;
  const bool sameSize = stored.bytes == storage_bytes(*wanted);
  const bool rawBits = !stored.dtype || is_unsigned_integer(*stored.dtype);
  const bool hasRawForm = numpyStoredName(*wanted) != numpyName(*wanted);
  // int4 arrays also come as int8 with the sign extended.
  const bool extended = stored.dtype == DType::i8 && is_signed_integer(*wanted);
  if (sameSize && hasRawForm && (rawBits || extended)) return *wanted;
  return fail({.code = "SM1005",
               .message = fmt::format("'{}' holds elements of the wrong type", name),
               .place = {},
               .need = std::string(numpyName(*wanted)) +
                       (hasRawForm ? fmt::format(" (stored as {})", numpyStoredName(*wanted)) : ""),
               .have = stored.dtype ? std::string(numpyName(*stored.dtype)) : fmt::format("descr '{}'", stored.descr),
               .help = fmt::format("convert it: numpy.save(path, array.astype(\"{}\"))",
                                   hasRawForm ? numpyStoredName(*wanted) : numpyName(*wanted))});
}

void swapBytes(Array& array) {
  const int width = storage_bytes(part_of(array.dtype()));
  for (std::byte *p = array.data(), *end = p + array.bytes(); p != end; p += width) std::reverse(p, p + width);
}

/// Storage of sub-byte types is extended to the byte; false when an element has more bits than the type.
bool extendSubByte(Array& array) {
  const int bits = bit_width(array.dtype());
  auto* p = array.as<uint8_t>();
  if (array.dtype() == DType::pred) {
    for (int64_t i = 0; i < array.elements(); ++i) p[i] = p[i] != 0;
    return true;
  }
  if (bits >= 8) return true;
  const bool isSigned = is_signed_integer(array.dtype());
  const int mask = (1 << bits) - 1, signBit = 1 << (bits - 1);
  for (int64_t i = 0; i < array.elements(); ++i) {
    const int low = p[i] & mask;
    const int extended = isSigned ? (low ^ signBit) - signBit : low;
    if (p[i] != low && p[i] != static_cast<uint8_t>(extended)) return false;
    p[i] = static_cast<uint8_t>(extended);
  }
  return true;
}

/// Elements in Fortran order to C order.
Result<Array> transposed(const Array& columns, const Shape& shape) {
  auto rows = Array::allocate({columns.dtype(), shape});
  if (!rows) return rows;
  const int width = storage_bytes(columns.dtype());
  const int rank = static_cast<int>(shape.size());
  Shape index(rank, 0), stride(rank, 1);
  for (int d = 1; d < rank; ++d) stride[d] = stride[d - 1] * shape[d - 1];
  int64_t source = 0;
  std::byte* out = rows->data();
  for (int64_t i = 0, n = rows->elements(); i < n; ++i, out += width) {
    std::memcpy(out, columns.data() + source * width, width);
    for (int d = rank - 1; d >= 0; --d) {
      source += stride[d];
      if (++index[d] < shape[d]) break;
      source -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return rows;
}

Result<Array> parse(Source& source, const std::string& name, std::optional<DType> wanted) {
  std::string prefix(static_cast<size_t>(std::min(source.size(), npy::kPreludeBytes + npy::kMaxHeaderBytes)), '\0');
  auto truncated = [&](int64_t need) {
    return fail({.code = "SM1004",
                 .message = fmt::format("'{}' does not match its header", name),
                 .place = {},
                 .need = fmt::format("{} bytes", need),
                 .have = fmt::format("{} bytes", source.size())});
  };
  if (!source.read(0, reinterpret_cast<std::byte*>(prefix.data()), static_cast<int64_t>(prefix.size())))
    return truncated(npy::kPreludeBytes);
  const auto header = npy::parseHeader(prefix, name);
  if (!header) return fail(header.error());
  if (header->dataBytes != source.size() - header->dataOffset) return truncated(header->dataOffset + header->dataBytes);
  const auto dtype = decideType(header->stored, wanted, name);
  if (!dtype) return fail(dtype.error());
  auto array = Array::allocate({*dtype, header->shape});
  if (!array) return array;
  if (!source.read(header->dataOffset, array->data(), header->dataBytes))
    return truncated(header->dataOffset + header->dataBytes);
  if (header->stored.bigEndian) swapBytes(*array);
  if (!extendSubByte(*array))
    return fail({.code = "SM1005",
                 .message = fmt::format("'{}' has elements that do not fit their type", name),
                 .place = {},
                 .need = fmt::format("{} of {} bits, one per byte", numpyName(*dtype), bit_width(*dtype)),
                 .have = "bytes with further bits set"});
  if (header->fortranOrder && header->shape.size() > 1) return transposed(*array, header->shape);
  return array;
}

}  // namespace

Result<Array> readNpy(const std::string& path, std::optional<DType> wanted) {
  FileSource source(path);
  if (!source.error().empty())
    return fail({.code = "SM1001", .message = fmt::format("cannot read '{}': {}", path, source.error()), .place = {}});
  return parse(source, path, wanted);
}

Result<Array> parseNpy(std::string_view bytes, const std::string& name, std::optional<DType> wanted) {
  MemorySource source(bytes);
  return parse(source, name, wanted);
}

}  // namespace smalti::interop
