#include "lang/transform/JvpKernel.h"

#include <algorithm>

#include <fmt/format.h>

#include "lang/call/DerivedKernel.h"
#include "lang/cost/Cost.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/Custom.h"
#include "lang/transform/kernel/KernelFunction.h"
#include "lang/transform/kernel/VjpKernel.h"
#include "smalti/error.h"
#include "smalti/ops/create.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;

constexpr std::string_view kNotDifferentiated = "SM7112";

[[noreturn]] void refuseKernel(std::string why) {
  refuse({.code = "SM7112",
          .message = "this pallas_call cannot be differentiated: " + why,
          .place = {},
          .need = "blocks, scratch, arithmetic and control flow",
          .have = std::move(why),
          .help = "give the function around the call a derivative of its own with custom_vjp or custom_jvp"});
}

/// Records a body again, with tangents.
class BodyJvp {
 public:
  BodyJvp(const TracedFunction& body, Trace& trace)
      : body_(body),
        trace_(trace),
        arrays_(body.function.values.size()),
        tangents_(arrays_.size()),
        refs_(arrays_.size()),
        tangentRefs_(arrays_.size()) {}

  void define(ValueId ref, const Ref& primal, std::optional<Ref> tangent) {
    refs_[ref] = primal;
    tangentRefs_[ref] = std::move(tangent);
  }

  Differentiated ops(const std::vector<Op>& list) {
    for (const Op& op : list) {
      if (op.name == "return") return valuesOf(op.operands);
      const RecordedLocationScope place(op.place);
      run(op, *findOp(op.name));
    }
    return {};
  }

 private:
  const ArrayType& type(ValueId v) const { return body_.function.values[v]; }
  bool isRef(ValueId v) const { return body_.refs[v].has_value(); }
  std::vector<ArrayType> types(std::span<const ValueId> ids) const {
    std::vector<ArrayType> list;
    for (const ValueId v : ids) list.push_back(type(v));
    return list;
  }
  Differentiated valuesOf(std::span<const ValueId> ids) const {
    Differentiated d;
    for (const ValueId v : ids) {
      d.results.push_back(arrays_[v]);
      d.tangents.push_back(tangents_[v]);
    }
    return d;
  }
  void set(std::span<const ValueId> ids, const Differentiated& d) {
    for (size_t i = 0; i < ids.size(); ++i) {
      arrays_[ids[i]] = d.results[i];
      tangents_[ids[i]] = is_float(type(ids[i]).dtype) ? d.tangents[i] : std::nullopt;
    }
  }
  std::vector<ValueId> use(std::span<const ValueId> ids) {
    std::vector<ValueId> used;
    for (const ValueId v : ids) used.push_back(isRef(v) ? trace_.use(refs_[v]) : trace_.use(arrays_[v]));
    return used;
  }

  void run(const Op& op, const OpRecord& record) {
    if (op.name == "constant") {
      arrays_[op.results[0]] = std::get<Array>(*op.find("value"));
    } else if (op.name == "get") {
      access(op, record, {});
    } else if (op.name == "swap") {
      access(op, record, op.operands.size() - (op.find("masked") ? 2 : 1));
    } else if (op.name == "ref_slice" || op.name == "ref_reshape") {
      view(op, record);
    } else if (op.name == "if") {
      branch(op, record);
    } else if (op.name == "for") {
      loop(op, record, 2);
    } else if (op.name == "while") {
      loop(op, record, 0);
    } else if (op.name == "custom_function") {
      custom(op);
    } else if (std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId v) { return isRef(v); }) ||
               std::any_of(op.results.begin(), op.results.end(), [&](ValueId v) { return isRef(v); }) ||
               record.effect || !op.regions.empty()) {
      refuseKernel(fmt::format("it uses {}", record.shownName()));
    } else if (op.operands.empty()) {
      const std::vector<ArrayType> results = types(op.results);
      set(op.results, {trace_.record(record, {}, results, op.attributes), std::vector<MaybeZero>(results.size())});
    } else {
      pure(op, record);
    }
  }

  void pure(const Op& op, const OpRecord& record) {
    const Differentiated operands = valuesOf(op.operands);
    const std::vector<ArrayType> results = types(op.results);
    set(op.results, jvp([&](std::span<const Array> x) { return lang::bind(record, x, results, op.attributes); },
                        operands.results, operands.tangents));
  }

  void custom(const Op& op) {
    const auto& function = body_.customs[std::get<int64_t>(*op.find("custom"))];
    const Differentiated operands = valuesOf(op.operands);
    const std::vector<ArrayType> results = types(op.results);
    set(op.results, jvp([&](std::span<const Array> x) { return bindCustom(function, x, results); }, operands.results,
                        operands.tangents));
  }

  /// A read or write of both Refs; `stored` is the operand that is written.
  void access(const Op& op, const OpRecord& record, std::optional<size_t> stored) {
    const ValueId ref = op.operands[0], result = op.results[0];
    const ArrayType of = type(result);
    std::vector<ValueId> operands = use(op.operands);
    arrays_[result] = trace_.record(record, operands, {&of, 1}, op.attributes)[0];
    tangents_[result].reset();
    if (!tangentRefs_[ref]) {
      if (stored && tangents_[op.operands[*stored]] && is_float(of.dtype))
        refuseKernel("it writes into an input or another Ref without tangents");
      return;
    }
    operands[0] = trace_.use(*tangentRefs_[ref]);
    if (stored) {
      const ValueId v = op.operands[*stored];
      operands[*stored] = trace_.use(instantiated(tangents_[v], type(v)));
    }
    tangents_[result] = trace_.record(record, operands, {&of, 1}, op.attributes)[0];
  }

  void view(const Op& op, const OpRecord& record) {
    const ValueId result = op.results[0];
    std::vector<ValueId> operands = use(op.operands);
    refs_[result] = trace_.recordRef(record, operands, type(result), *body_.refs[result], op.attributes);
    const std::optional<Ref>& tangent = tangentRefs_[op.operands[0]];
    if (!tangent) return;
    operands[0] = trace_.use(*tangent);
    tangentRefs_[result] = trace_.recordRef(record, operands, type(result), *body_.refs[result], op.attributes);
  }

  /// Flags of the values that have tangents around a region: all floats.
  Mask floats(std::span<const ValueId> ids) const {
    Mask mask;
    for (const ValueId v : ids) mask.push_back(is_float(type(v).dtype));
    return mask;
  }
  static std::vector<ArrayType> doubled(std::vector<ArrayType> types, const Mask& mask) {
    const size_t n = types.size();
    for (size_t i = 0; i < n; ++i)
      if (mask[i]) types.push_back(types[i]);
    return types;
  }

  void branch(const Op& op, const OpRecord& record) {
    const Mask mask = floats(op.results);
    std::vector<Region> regions;
    for (const Block& block : op.regions)
      regions.push_back({{}, [&](std::span<const Array>) { return flat(ops(block.ops), mask); }});
    const Array condition = arrays_[op.operands[0]];
    set(op.results,
        unflat(bindRegions(record, {&condition, 1}, doubled(types(op.results), mask), regions, {}, op.attributes),
               mask));
  }

  /// Carries follow `bounds` operands; the body is the last region, and takes an index first where there are bounds.
  void loop(const Op& op, const OpRecord& record, size_t bounds) {
    const auto carries = std::span(op.operands).subspan(bounds);
    const Mask mask = floats(carries);
    Arrays operands;
    for (size_t i = 0; i < bounds; ++i) operands.push_back(arrays_[op.operands[i]]);
    const Arrays start = flat(valuesOf(carries), mask);
    operands.insert(operands.end(), start.begin(), start.end());
    const std::vector<ArrayType> results = doubled(types(op.results), mask);
    std::vector<Region> regions;
    for (const Block& block : op.regions) {
      const bool isCondition = op.regions.size() == 2 && &block == &op.regions[0];
      const size_t before = bounds == 0 ? 0 : 1;
      std::vector<ArrayType> arguments = results;
      if (before) arguments.insert(arguments.begin(), {DType::i32, {}});
      regions.push_back({arguments, [&, isCondition, before](std::span<const Array> inside) {
                           if (before) arrays_[block.arguments[0]] = inside[0];
                           set(std::span(block.arguments).subspan(before),
                               unflat({inside.begin() + static_cast<ptrdiff_t>(before), inside.end()}, mask));
                           const Differentiated d = ops(block.ops);
                           return isCondition ? d.results : flat(d, mask);
                         }});
    }
    set(op.results, unflat(bindRegions(record, operands, results, regions, {}, op.attributes), mask));
  }

  const TracedFunction& body_;
  Trace& trace_;
  Arrays arrays_;  ///< by ValueId, as the rest
  std::vector<MaybeZero> tangents_;
  std::vector<Ref> refs_;
  std::vector<std::optional<Ref>> tangentRefs_;
};

/// `has`: which inputs have tangents. Outputs and scratch of floats have.
TracedKernel withTangents(const TracedKernel& kernel, const Mask& has) {
  TracedKernel k = kernel;
  const auto count = kernel.operands.size(), numInputs = static_cast<size_t>(kernel.numInputs);
  std::vector<TracedOperand> inputs, outputs;
  for (size_t i = 0; i < count; ++i) (i < numInputs ? inputs : outputs).push_back(kernel.operands[i]);
  const auto isDoubled = [&](size_t i) { return i < numInputs ? has[i] : is_float(kernel.operands[i].array.dtype); };
  for (size_t i = 0; i < count; ++i)
    if (isDoubled(i)) {
      auto& list = i < numInputs ? inputs : outputs;
      list.push_back(kernel.operands[i]);
      list.back().name = "the tangent of " + list.back().name;
    }
  k.numInputs = static_cast<int>(inputs.size());
  k.operands = std::move(inputs);
  k.operands.insert(k.operands.end(), outputs.begin(), outputs.end());
  for (const MemoryRef& s : kernel.scratch)
    if (is_float(s.dtype)) k.scratch.push_back(s);

  Trace trace(fmt::format("kernel '{}'", k.name));
  trace.grid = k.grid;
  std::vector<Ref> refs;
  for (const TracedOperand& o : k.operands)
    refs.push_back(trace.addRefArgument({o.array.dtype, o.refShape()}, o.space));
  for (const MemoryRef& s : k.scratch) refs.push_back(trace.addRefArgument({s.dtype, s.shape}, s.space));
  BodyJvp body(kernel.body, trace);
  const std::vector<ValueId>& arguments = kernel.body.function.arguments;
  size_t tangent = numInputs;
  for (size_t i = 0; i < numInputs; ++i)
    body.define(arguments[i], refs[i], has[i] ? std::optional(refs[tangent++]) : std::nullopt);
  const size_t numOutputs = count - numInputs;
  size_t primal = k.numInputs;
  tangent = primal + numOutputs;
  for (size_t i = numInputs; i < count; ++i, ++primal)
    body.define(arguments[i], refs[primal], isDoubled(i) ? std::optional(refs[tangent++]) : std::nullopt);
  primal = k.operands.size();
  tangent = primal + kernel.scratch.size();
  for (size_t i = 0; i < kernel.scratch.size(); ++i, ++primal)
    body.define(arguments[count + i], refs[primal],
                is_float(kernel.scratch[i].dtype) ? std::optional(refs[tangent++]) : std::nullopt);
  body.ops(kernel.body.function.ops);
  k.body = trace.finish();
  if (k.costIsGiven) {
    k.cost.flops = costTimes(k.cost.flops, 2);
    k.cost.transcendentals = costTimes(k.cost.transcendentals, 2);
    k.cost.bytes_accessed = costTimes(k.cost.bytes_accessed, 2);
  } else {
    k.cost = estimateCost(k);
  }
  return k;
}

}  // namespace

namespace {

/// The kernel with tangents, if it is one that can have them as JAX gives them.
std::shared_ptr<const CalledKernel> kernelWithTangents(const OpCall& call, const Mask& has) {
  const TracedKernel& kernel = call.kernel->traced();
  if (kernel.numDynamicBounds() > 0 || !kernel.prefetch.empty() || !kernel.aliases.empty()) return nullptr;
  std::string key = "jvp";
  for (const bool is : has) key += is ? " 1" : " 0";
  try {
    return call.kernel->derived().get(*call.kernel, key, [&] { return withTangents(kernel, has); });
  } catch (const Error& error) {
    if (error.diagnostic().code != kNotDifferentiated) throw;
    return nullptr;
  }
}

}  // namespace

Differentiated jvpKernel(const OpCall& call, std::span<const MaybeZero> tangents) {
  const TracedKernel& kernel = call.kernel->traced();
  const Mask has = nonzero(tangents);
  const auto derived = kernelWithTangents(call, has);
  if (!derived) {
    const std::string why = whyNoFunction(kernel, call.operands);
    if (!why.empty()) refuseKernel(why);
    return linearizedKernel(call, tangents);
  }
  std::vector<Array> operands(call.operands.begin(), call.operands.end());
  for (size_t i = 0; i < has.size(); ++i)
    if (has[i]) operands.push_back(*tangents[i]);
  const std::vector<Array> made = bindKernel(derived, operands, resultsOf(derived->traced()));
  Differentiated d;
  const size_t n = call.results.size();
  d.results.assign(made.begin(), made.begin() + static_cast<ptrdiff_t>(n));
  size_t next = n;
  for (size_t i = 0; i < n; ++i) {
    const bool isFloat = is_float(kernel.operands[kernel.numInputs + i].array.dtype);
    d.tangents.push_back(isFloat ? MaybeZero(made[next++]) : std::nullopt);
  }
  return d;
}

}  // namespace smalti::lang
