#include "lang/devices/CollectiveRules.h"

#include <algorithm>

#include "lang/devices/MeshAround.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/trace/Trace.h"
#include "lang/transform/Batch.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Cotangents = std::span<const MaybeZero>;

template <class List>
auto* attributeOf(List& attributes, std::string_view name) {
  const auto at = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == name; });
  return at == attributes.end() ? nullptr : &at->second;
}
int64_t integerOf(const Attributes& attributes, std::string_view name) {
  return std::get<int64_t>(*attributeOf(attributes, name));
}

/// The groups and the channel, which all grouped collectives have.
Attributes groupsOf(const Attributes& attributes) {
  Attributes groups;
  for (const char* name : {"handle", "type", "replica_groups"})
    groups.emplace_back(name, *attributeOf(attributes, name));
  groups.emplace_back("use_global_device_ids", true);
  return groups;
}

/// Sums over the groups of another collective.
Array sumOver(const Attributes& like, std::string_view op, const Array& x, ArrayType result, Attributes more = {}) {
  Attributes attributes = groupsOf(like);
  attributes.insert(attributes.end(), more.begin(), more.end());
  const ArrayType scalar{x.dtype(), {}};
  const Region region{{scalar, scalar}, [](std::span<const Array> v) { return std::vector<Array>{add(v[0], v[1])}; }};
  return bindRegions(*findOp(op), {&x, 1}, {std::move(result)}, {&region, 1}, Location::current(),
                     std::move(attributes))[0];
}
Array summed(const Attributes& like, const Array& x) { return sumOver(like, "all_reduce", x, x.type()); }

/// How the region combines two elements.
const std::string& combination(const ClosedCall& c) { return c.regions[0].function->function.ops[0].name; }
bool isSum(const ClosedCall& c) { return combination(c) == "add"; }

Array again(const ClosedCall& c, const Array& x) { return bindAgain(c, {&x, 1})[0]; }

/// Among devices that have the same extreme the tangents are averaged.
Differentiated jvpOverDevices(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const Array &x = c.inputs[0], y = again(c, x);
  if (isSum(c)) return {{y}, {again(c, *tangents[0])}};
  const Array is = astype(x == y, x.dtype());
  return {{y}, {div(summed(c.attributes, *tangents[0] * is), summed(c.attributes, is))}};
}

void checkLinear(const ClosedCall& c) {
  if (isSum(c)) return;
  const SourceLocationScope place(c.at);
  refuse({.code = "SM7102",
          .message = "an extreme over devices cannot be transposed, which reverse mode needs",
          .place = {},
          .need = "sums of tangents",
          .have = combination(c),
          .help = "use plain ops on tangents"});
}

std::vector<Array> linearizeAllReduce(Linearizer& linearizer, const ClosedCall& c, const Mask&) {
  checkLinear(c);
  return linearizer.note(c.inputs, c.results, [attributes = c.attributes](Cotangents ct) {
    return std::vector<MaybeZero>{summed(attributes, *ct[0])};
  });
}

std::vector<Array> linearizeReduceScatter(Linearizer& linearizer, const ClosedCall& c, const Mask&) {
  checkLinear(c);
  return linearizer.note(c.inputs, c.results, [attributes = c.attributes, whole = c.inputs[0].type()](Cotangents ct) {
    Attributes gathers = groupsOf(attributes);
    gathers.emplace_back("all_gather_dim", integerOf(attributes, "scatter_dimension"));
    return std::vector<MaybeZero>{bind1(*findOp("all_gather"), {*ct[0]}, whole, gathers)};
  });
}

/// The attributes for arrays with the axis of the examples in front.
Attributes shiftedAxes(Attributes attributes) {
  for (const char* name : {"all_gather_dim", "scatter_dimension", "concat_dimension", "split_dimension"})
    if (auto* axis = attributeOf(attributes, name)) *axis = std::get<int64_t>(*axis) + 1;
  return attributes;
}

ControlRules::Batched batchOverDevices(const ClosedCall& c, const Mask&, int64_t size) {
  ClosedCall all = c;
  all.attributes = shiftedAxes(c.attributes);
  all.results[0] = batchedType(c.results[0], size);
  return {{again(all, c.inputs[0])}, {true}};
}

}  // namespace

const ControlRules kAllReduceRules{jvpOverDevices, linearizeAllReduce, batchOverDevices};
const ControlRules kReduceScatterRules{jvpOverDevices, linearizeReduceScatter, batchOverDevices};

std::vector<MaybeZero> transposeAllGather(const OpCall& call, const Mask&, Cotangents ct) {
  return {sumOver(call.attributes, "reduce_scatter", *ct[0], call.operands[0].type(),
                  {{"scatter_dimension", integerOf(call.attributes, "all_gather_dim")}})};
}

std::vector<MaybeZero> transposeAllToAll(const OpCall& call, const Mask&, Cotangents ct) {
  Attributes attributes = call.attributes;
  std::swap(*attributeOf(attributes, "concat_dimension"), *attributeOf(attributes, "split_dimension"));
  return {bind1(call.op, {*ct[0]}, call.operands[0].type(), std::move(attributes))};
}

std::vector<MaybeZero> transposePermute(const OpCall& call, const Mask&, Cotangents ct) {
  Attributes attributes = call.attributes;
  auto& pairs = std::get<std::vector<int64_t>>(*attributeOf(attributes, "source_target_pairs"));
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) std::swap(pairs[i], pairs[i + 1]);
  return {bind1(call.op, {*ct[0]}, call.operands[0].type(), std::move(attributes))};
}

/// The sum, on the device that everybody has it from: the first of its group.
std::vector<MaybeZero> transposeBroadcastFrom(const OpCall& call, const Mask&, Cotangents ct) {
  const Array& groups = std::get<Array>(*attributeOf(call.attributes, "replica_groups"));
  const Array device = deviceNumber();
  Array isSource = full({}, false);
  for (int64_t g = 0; g < groups.dim(0); ++g)
    isSource = logical_or(isSource, device == full({}, groups.as<int64_t>()[g * groups.dim(1)], DType::u32));
  const Array total = summed(call.attributes, *ct[0]);
  return {where(isSource, total, zeros(total.shape(), total.dtype()))};
}

std::vector<Array> batchCollective(const OpCall& call, const Mask&, int64_t size) {
  const ArrayType type = batchedType(call.results[0], size);
  return bind(call.op, call.operands, {&type, 1}, shiftedAxes(call.attributes));
}

}  // namespace smalti::lang
