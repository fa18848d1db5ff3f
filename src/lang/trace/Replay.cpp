#include "lang/trace/Replay.h"

#include <algorithm>

#include "lang/trace/KernelOnly.h"
#include "lang/trace/SourceLocationScope.h"

namespace smalti::lang {
namespace {

class Replay {
 public:
  explicit Replay(const TracedFunction& traced) : traced_(traced), values_(traced.function.values.size()) {}

  void define(std::span<const ValueId> ids, std::span<const TracedArgument> values) {
    for (size_t i = 0; i < ids.size(); ++i) values_[ids[i]] = values[i];
  }

  /// The operands of the block's "return".
  std::vector<Array> ops(const std::vector<Op>& list) {
    for (const Op& op : list) {
      if (op.name == "return") return arrays(op.operands);
      if (op.name == "constant") {
        values_[op.results[0]] = std::get<Array>(*op.find("value"));
        continue;
      }
      const RecordedLocationScope place(op.place);
      const OpRecord& record = *findOp(op.name);
      if (needsTrace(record, op))
        again(record, op);
      else
        bind(record, op);
    }
    return {};
  }

 private:
  bool isRef(ValueId v) const { return traced_.refs[v].has_value(); }
  /// Refs are values of traces alone, and so are the ops that kernels alone have.
  bool needsTrace(const OpRecord& record, const Op& op) const {
    const auto ref = [&](ValueId v) { return isRef(v); };
    return std::any_of(op.operands.begin(), op.operands.end(), ref) ||
           std::any_of(op.results.begin(), op.results.end(), ref) ||
           (!evaluatorOf(record) && !record.run && !record.inPrograms && op.kernel < 0 && !op.find("custom"));
  }

  std::vector<Array> arrays(std::span<const ValueId> ids) const {
    std::vector<Array> list;
    for (const ValueId v : ids) list.push_back(std::get<Array>(values_[v]));
    return list;
  }
  std::vector<ArrayType> types(std::span<const ValueId> ids) const {
    std::vector<ArrayType> list;
    for (const ValueId v : ids) list.push_back(traced_.function.values[v]);
    return list;
  }

  void bind(const OpRecord& record, const Op& op) {
    std::vector<Region> regions;
    for (const Block& block : op.regions)
      regions.push_back({types(block.arguments), [&](std::span<const Array> inside) {
                           for (size_t i = 0; i < inside.size(); ++i) values_[block.arguments[i]] = inside[i];
                           return ops(block.ops);
                         }});
    const std::vector<Array> operands = arrays(op.operands);
    const std::vector<ArrayType> results = types(op.results);
    OpCall call{record, operands, results, op.attributes, regions};
    if (!regions.empty()) call.settled = &results;
    if (op.kernel >= 0) call.kernel = traced_.kernels[op.kernel];
    if (const Attribute* custom = op.find("custom")) call.custom = traced_.customs[std::get<int64_t>(*custom)];
    const std::vector<Array> made = Tracer::current().bind(std::move(call));
    for (size_t i = 0; i < made.size(); ++i) values_[op.results[i]] = made[i];
  }

  /// Records the op as it is.
  void again(const OpRecord& record, const Op& op) {
    Trace& trace = kernelTrace(op.name);
    std::vector<Block> regions;
    for (const Block& block : op.regions) {
      std::vector<std::pair<ArrayType, MemorySpace>> refs;
      for (const ValueId v : block.arguments) refs.emplace_back(traced_.function.values[v], *traced_.refs[v]);
      regions.push_back(trace.refBlock(refs, [&](std::span<const Ref> inside) {
        for (size_t i = 0; i < inside.size(); ++i) values_[block.arguments[i]] = inside[i];
        return ops(block.ops);
      }));
    }
    std::vector<ValueId> operands;
    for (const ValueId v : op.operands)
      operands.push_back(isRef(v) ? trace.use(std::get<Ref>(values_[v])) : trace.use(std::get<Array>(values_[v])));
    if (op.results.size() == 1 && isRef(op.results[0])) {
      values_[op.results[0]] = trace.recordRef(record, std::move(operands), traced_.function.values[op.results[0]],
                                               *traced_.refs[op.results[0]], op.attributes);
      return;
    }
    const std::vector<Array> made =
        trace.record(record, std::move(operands), types(op.results), op.attributes, std::move(regions));
    for (size_t i = 0; i < made.size(); ++i) values_[op.results[i]] = made[i];
  }

  const TracedFunction& traced_;
  std::vector<TracedArgument> values_;  ///< by ValueId
};

}  // namespace

std::vector<Array> replay(const TracedFunction& traced, std::span<const TracedArgument> arguments) {
  Replay run(traced);
  run.define(traced.function.arguments, arguments);
  return run.ops(traced.function.ops);
}

std::vector<Array> replay(const TracedFunction& traced, std::span<const Array> arguments) {
  const std::vector<TracedArgument> values(arguments.begin(), arguments.end());
  return replay(traced, values);
}

}  // namespace smalti::lang
