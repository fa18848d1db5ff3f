// A kernel's body, or an index map, on arrays: what its Refs refer to are values, which writes replace. Copies copy
// when they start, and waits do nothing: a kernel without races cannot tell.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lang/trace/Trace.h"
#include "lang/transform/kernel/RefValue.h"

namespace smalti::lang {

/// Why a body is not a function of arrays: "it sends to other devices"; empty where it is one. With `wide`, where every
/// float is an f64.
std::string whyNoFunction(const TracedFunction&, bool wide = false);

/// The parameters with which a body is computed.
struct BodyOptions {
  std::vector<Array> grid, gridSizes;  ///< of program_id and num_programs
  bool wide = false;                   ///< every float is an f64
};

class BodyFunction {
 public:
  using Options = BodyOptions;
  /// The memory behind each Ref that is an argument, by its value; what is not an argument of floats may be left out.
  using Memory = std::map<ValueId, Array>;

  BodyFunction(const TracedFunction&, Options);

  void define(ValueId argument, const Array& value) { values_[argument] = value; }
  /// The two Refs, which are arguments, are the same memory: that of `as`.
  void share(ValueId ref, ValueId as);
  /// Runs the ops under the tracer in force; `memory` is as they leave it. Gives what the function returns.
  std::vector<Array> run(Memory& memory);

 private:
  /// The origin of a Ref: memory, a part of another Ref, or one of several.
  struct View {
    std::optional<PartOf> part;
    std::vector<ValueId> of;
    Array which;
  };
  using Arrays = std::vector<Array>;

  ArrayType typeOf(ValueId) const;
  std::vector<ArrayType> typesOf(std::span<const ValueId>) const;
  Arrays arrays(std::span<const ValueId>) const;
  PartOf part(const Op&, size_t numStarts) const;
  Array read(ValueId ref) const;
  void write(ValueId ref, const Array&);
  Arrays ops(const std::vector<Op>&);
  void one(const Op&);
  void access(const Op&, bool writes);
  void view(const Op&);
  void branch(const Op&);
  void loop(const Op&, size_t numBounds);
  void scoped(const Op&);
  void plain(const Op&);
  void allocate(ValueId ref);
  std::vector<ValueId> writtenIn(std::span<const Block>) const;
  void noteWritten(const std::vector<Op>&, std::vector<ValueId>& roots) const;
  void findRoots(const std::vector<Op>&);
  Arrays inRegion(const Block&, std::span<const ValueId> roots, std::span<const Array> state);
  void settle(const Op&, std::span<const ValueId> roots, const Arrays& made);

  const TracedFunction& traced_;
  Options options_;
  std::vector<Array> values_;                ///< by ValueId
  std::vector<View> views_;                  ///< by ValueId
  std::vector<std::vector<ValueId>> roots_;  ///< by ValueId: the memory that a Ref may be in
  Memory memory_;
};

}  // namespace smalti::lang
