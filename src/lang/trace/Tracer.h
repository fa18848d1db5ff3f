// Executes an op of the language: `bind` passes it to the current tracer. There is always one per thread: at the
// bottom the one that evaluates immediately, above it those that record (trace/Trace.h) or transform.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/program/Program.h"
#include "lang/ops/OpRecord.h"
#include "smalti/operand.h"

namespace smalti::lang {

using Attributes = std::vector<std::pair<std::string, Attribute>>;

class Trace;
class CalledKernel;
class CustomFunction;

/// A region of an op as a function: a tracer runs it on its own values, as often as needed.
struct Region {
  std::vector<ArrayType> arguments;
  std::function<std::vector<Array>(std::span<const Array>)> body;
};

/// One op, as passed to a tracer.
struct OpCall {
  const OpRecord& op;
  std::span<const Array> operands;
  std::span<const ArrayType> results;  ///< types of the results; empty with `settled`
  Attributes attributes = {};
  std::span<const Region> regions = {};
  /// Types of the results of an op with regions: known when the regions ran.
  const std::vector<ArrayType>* settled = nullptr;
  /// Place of an op with regions: what happens in these has places of its own.
  const Location* at = nullptr;
  std::shared_ptr<const CalledKernel> kernel = nullptr;    ///< pallas_call
  std::shared_ptr<const CustomFunction> custom = nullptr;  ///< a function with rules of its own

  /// In a replay, where the recorded place counts, none.
  Location location() const { return at ? *at : Location{}; }
  /// The attribute, which the op must have.
  template <class T>
  const T& attribute(std::string_view name) const {
    for (const auto& [key, value] : attributes)
      if (key == name) return std::get<T>(value);
    throw std::bad_variant_access();
  }
};

/// The target of a traced Array's `tracer()`: each kind of tracer derives its own.
struct TracedValue {
  uint64_t tracer;  ///< number of the tracer that made it
};
/// A number that no other tracer has.
uint64_t nextTracer();

class Tracer {
 public:
  virtual ~Tracer() = default;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Runs one op: on values of this tracer, and on any of those below, which are constants to it.
  virtual std::vector<Array> bind(OpCall) = 0;
  /// The nearest trace that records, from here on downwards; null: there is none.
  virtual Trace* recording() { return outer_ ? outer_->recording() : nullptr; }

  /// Whether a Linearizer is in force, under whatever else.
  virtual bool linearizes() const { return outer_ && outer_->linearizes(); }

  /// The tracer below, which was in force when this one was made.
  Tracer& outer() const { return outer_ ? *outer_ : eager(); }

  /// Whether the array is a traced value that this tracer made.
  bool owns(const Array&) const;

  /// The tracer in force on this thread.
  static Tracer& current();
  /// The tracer that evaluates immediately.
  static Tracer& eager();
  /// Whether ops are currently evaluated immediately.
  static bool isEager();

 protected:
  Tracer();
  explicit Tracer(Tracer* outer) : outer_(outer) {}
  const uint64_t serial_ = nextTracer();  ///< in the values that it makes

 private:
  friend class TracerScope;
  Tracer* outer_;
};

/// Puts a tracer in force until the end of the scope: a new one, or the one below while a rule runs its ops there.
class TracerScope {
 public:
  explicit TracerScope(Tracer&);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* before_;
};

/// Runs an op under the tracer in force.
std::vector<Array> bind(const OpRecord&, std::span<const Array> operands, std::span<const ArrayType> results,
                        Attributes = {});
/// The same with one result.
Array bind1(const OpRecord&, std::initializer_list<Array> operands, ArrayType result, Attributes = {});
/// An op with regions; the types of its results are read when the regions ran.
std::vector<Array> bindRegions(const OpRecord&, std::span<const Array> operands, const std::vector<ArrayType>& results,
                               std::span<const Region>, const Location& at, Attributes = {});

}  // namespace smalti::lang
