// Writes small kernel modules as text, op by op, for tests of the machine: a kernel reads top to bottom as in Pallas.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/KernelPackage.h"
#include "machine/Machine.h"

namespace smalti::machine::testing {

/// An SSA value or a memref argument of the kernel, with its MLIR type.
struct Val {
  std::string name, type;
};

/// How an operand's blocks follow the grid. `map`: the index map's results over %i, %j, %k (grid indices),
/// %p0, %p1 (prefetch refs) and constants %c0…%c9; `lines` come before. Default: no window (ANY).
struct Spec {
  std::string dtype = "f32";  ///< of the array ("u8" too)
  Shape array;
  Shape block = {};
  std::string map = {};
  std::string lines = {};
  std::string space = "vmem";
  std::string attributes = {};  ///< further entries of the window's dictionary
};

class TextKernel {
 public:
  explicit TextKernel(std::vector<int64_t> grid = {}, std::string semantics = "arbitrary");

  Val prefetch(const std::string& dtype, Shape shape);
  Val input(Spec);
  Val output(Spec);
  Val scratch(const std::string& dtype, Shape shape, const std::string& space = "vmem");
  Val semaphore(Shape shape = {}) { return scratch("!tpu.semaphore", std::move(shape), "semaphore_mem"); }
  Val dmaSemaphore(Shape shape = {}) { return scratch("!tpu.dma_semaphore", std::move(shape), "semaphore_mem"); }
  void alias(int operand, int output) { aliases_.push_back({output, operand}); }
  /// Grid index: %i, %j, %k.
  Val id(int dim) const { return {std::string("%") + "ijk"[dim], "i32"}; }

  Val constant(int32_t value);
  Val f32(double value);
  /// A vector of one value.
  Val splat(const Val& scalar, const Shape& shape);
  /// Binary op on equal types: "arith.addf".
  Val binary(const std::string& op, const Val& a, const Val& b);
  Val compare(const std::string& predicate, const Val& a, const Val& b);  ///< cmpi on i32
  Val toFloat(const Val& i32);
  /// The whole ref, or `shape` elements from `start` (i32 values).
  Val load(const Val& ref);
  Val load(const Val& ref, const Shape& shape, const std::vector<Val>& start);
  void store(const Val& value, const Val& ref, const std::vector<Val>& start = {});
  Val scalarLoad(const Val& ref, const std::vector<Val>& index);
  void scalarStore(const Val& value, const Val& ref, const std::vector<Val>& index);
  Val slice(const Val& ref, const std::vector<Val>& start, const Shape& shape);
  Val squeeze(const Val& ref, const Shape& shape);
  /// The semaphore at `index` of an array of them.
  Val at(const Val& semaphores, const Val& index);
  void when(const Val& condition, const std::function<void()>& body);
  void whileLoop(const std::function<Val()>& condition, const std::function<void()>& body);
  void loop(const Val& from, const Val& to, const std::function<void(Val)>& body);
  void region(const std::function<void()>& body);
  Val alloc(const std::string& dtype, const Shape& shape, const std::string& space = "vmem");
  Val semAlloc(const std::string& type, const Shape& shape = {});
  Val barrier();
  Val deviceId();
  Val iterationBound(int dim);
  Val semRead(const Val& semaphore);
  void semWait(const Val& semaphore, const Val& amount);
  void semSignal(const Val& semaphore, const Val& amount, std::optional<Val> device = {}, std::optional<Val> core = {});
  void dma(const Val& source, const Val& target, const Val& semaphore);
  void remoteDma(const Val& source, const Val& sendSemaphore, const Val& target, const Val& receiveSemaphore,
                 const Val& device);
  void waitDma(const Val& source, const Val& target, const Val& semaphore);
  /// wait_send: the bytes of the source.
  void waitSend(const Val& source, const Val& sendSemaphore, const Val& target, const Val& receiveSemaphore,
                const Val& device);
  void waitReceive(const Val& source, const Val& sendSemaphore, const Val& target, const Val& receiveSemaphore,
                   const Val& device);
  void raw(const std::string& line) { body_ += line + "\n"; }
  Val fresh(const std::string& type) { return {"%v" + std::to_string(next_++), type}; }

  std::string text() const;
  /// Parsed and finished; a test failure when that does not work.
  KernelPackage package() const;

 private:
  struct Argument {
    Spec spec;
    std::string name, memref;
    bool output = false;
  };
  Val addOperand(Spec, bool output);
  Val index(const Val& i32);
  std::vector<Val> starts(size_t rank, const std::vector<Val>& start);
  std::string signatureTypes() const;

  std::vector<int64_t> grid_;
  std::string semantics_;
  std::vector<Argument> prefetch_, operands_, scratch_;
  std::vector<Alias> aliases_;
  std::string body_;
  int next_ = 0;
};

std::string memref(const std::string& dtype, const Shape& shape, const std::string& space);
/// Shape and element type of "memref<…>" or "vector<…>".
Shape shapeIn(const std::string& type);
std::string elementIn(const std::string& type);

Array f32Array(Shape shape, const std::function<float(int64_t)>& element);
Array counting(Shape shape);  ///< f32: 0, 1, 2 …
Array i32Array(Shape shape, const std::function<int32_t(int64_t)>& element);
inline Array i32Scalar(int32_t value) {
  return i32Array({}, [=](int64_t) { return value; });
}
std::vector<float> floats(const Array&);
std::vector<int32_t> ints(const Array&);

/// Compiles and runs on as many devices as there are operand lists.
Result<KernelResult> runOn(const TextKernel&, const std::vector<std::vector<Array>>& operands,
                           const MachineOptions& = {}, std::span<Observer* const> extra = {});
/// On one device; its results. A test failure when it does not run.
std::vector<Array> results(const TextKernel&, const std::vector<Array>& operands, const MachineOptions& = {});
/// Every checker on.
MachineOptions checked();
/// Line of the kernel's text in which `words` stand for the `nth` time (from 0); 0 when they do not.
int lineOf(const TextKernel&, const std::string& words, int nth = 0);
/// Codes of the findings, in order.
std::vector<std::string> codes(const KernelResult&);

}  // namespace smalti::machine::testing
