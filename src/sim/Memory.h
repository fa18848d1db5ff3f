// Memories as far as time depends on them: numbers in SMEM, semaphores, and where copies go.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinTypes.h"

#include "ir/Tpu.h"
#include "sim/Clock.h"
#include "smalti/array.h"

namespace smalti::sim {

struct Semaphore {
  struct Arrival {
    Clock::Copy copy;
    double bytes = 0;
  };
  struct Signal {
    double at = 0;  ///< when it is here, in cycles
    int64_t amount = 0;
  };
  std::deque<Arrival> arrivals;
  std::deque<Signal> signals;

  int64_t count() const {
    int64_t n = 0;
    for (const Signal& s : signals) n += s.amount;
    return n;
  }
};

struct Buffer {
  tpu::MemorySpace space = tpu::MemorySpace::vmem;
  std::string name;                             ///< "input 1"
  const Array* array = nullptr;                 ///< its content, if known
  std::optional<size_t> operand;                ///< of the kernel call, that it holds
  std::vector<std::optional<int64_t>> numbers;  ///< of SMEM
  std::map<int64_t, Semaphore> semaphores;
  /// Of HBM: what copies of the kernel's own moved, and all of the buffer.
  double movedBytes = 0, bytes = 0;
  int64_t copies = 0;

  std::optional<int64_t> read(int64_t element) const;
  void write(int64_t element, std::optional<int64_t> value);
};

/// A view of a buffer.
struct View {
  static constexpr size_t kMaxDimensions = 10;
  int32_t buffer = -1;
  int64_t offset = 0;  ///< elements
  size_t rank = 0;
  std::array<int64_t, kMaxDimensions> shape{}, strides{};

  int64_t elements() const;
  /// Moved when it is copied: whole tiles.
  double bytes(mlir::Type memref) const;
};

class Memory {
 public:
  /// A new buffer of the type, and the view of all of it.
  View allocate(mlir::MemRefType, std::string name, const Array* = nullptr, std::optional<size_t> operand = {});
  Buffer& of(const View& v) { return buffers_[static_cast<size_t>(v.buffer)]; }
  /// Numbers go along with a copy where they are known.
  void copy(const View& from, const View& to);
  const std::vector<Buffer>& buffers() const { return buffers_; }

 private:
  std::vector<Buffer> buffers_;
};

/// The same bytes under another type.
View viewAs(const View&, mlir::MemRefType);
/// Without the dimensions of size 1 that the type does not have.
View squeezed(const View&, mlir::MemRefType);

}  // namespace smalti::sim
