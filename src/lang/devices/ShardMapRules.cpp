#include "lang/devices/ShardMapRules.h"

#include <algorithm>

#include "lang/devices/MeshAround.h"
#include "lang/trace/Replay.h"
#include "lang/transform/Batch.h"
#include "lang/transform/Dependence.h"
#include "lang/transform/Prune.h"
#include "smalti/collectives.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

using Arrays = std::vector<Array>;
using Types = std::vector<ArrayType>;
using Shardings = std::vector<Sharding>;

template <class T, class U>
void appendTo(std::vector<T>& to, const U& more) {
  to.insert(to.end(), more.begin(), more.end());
}
template <class T>
std::vector<T> selectByMask(const std::vector<T>& all, const Mask& mask) {
  std::vector<T> some;
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) some.push_back(all[i]);
  return some;
}
Mask others(Mask mask) {
  mask.flip();
  return mask;
}
bool isAny(const Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }

/// The call with a sharding for each input and result; what its function takes from around it is whole on each device.
class Mapped {
 public:
  explicit Mapped(const ClosedCall& c)
      : call(c), in(c.attribute<Shardings>("in_shardings")), out(c.attribute<Shardings>("out_shardings")) {
    in.resize(c.inputs.size());
    if (out.size() == 1) out.resize(c.results.size(), out[0]);
    const auto& names = c.attribute<std::vector<std::string>>("manual_axes");
    const auto& sizes = c.attribute<std::vector<int64_t>>("mesh_sizes");
    for (size_t i = 0; i < names.size(); ++i) mesh.push_back({names[i], sizes[i]});
  }

  const TracedFunction& function() const { return *call.regions[0].function; }
  Functional functional() const {
    return [f = call.regions[0].function](std::span<const Array> x) { return replay(*f, x); };
  }
  /// The types of the parts that a device has of the inputs.
  Types parts() const {
    Types types;
    for (const ValueId v : function().function.arguments) types.push_back(function().function.values[v]);
    return types;
  }

  /// A shard_map over the same devices.
  Arrays bind(const Arrays& operands, Types parts, const Shardings& inputs, const Shardings& outputs,
              const Types& results, const std::function<Arrays(std::span<const Array>)>& body) const {
    const Region region{std::move(parts), [&](std::span<const Array> inside) {
                          const MeshScope devices(mesh);
                          return body(inside);
                        }};
    Attributes attributes = call.attributes;
    for (auto& [key, value] : attributes) {
      if (key == "in_shardings") value = inputs;
      if (key == "out_shardings") value = outputs;
    }
    return bindRegions(*call.op, operands, results, {&region, 1}, call.at, std::move(attributes));
  }

  /// The mesh axes along which an array is replicated.
  std::vector<std::string> copiedAlong(const Sharding& sharding) const {
    std::vector<std::string> names;
    for (const MeshAxis& axis : mesh) {
      const auto splits = [&](const std::vector<std::string>& dim) {
        return std::find(dim.begin(), dim.end(), axis.name) != dim.end();
      };
      if (std::none_of(sharding.dims.begin(), sharding.dims.end(), splits)) names.push_back(axis.name);
    }
    return names;
  }
  int64_t copies(const Sharding& sharding) const {
    int64_t count = 1;
    for (const std::string& name : copiedAlong(sharding)) count *= findAxis(mesh, name)->size;
    return count;
  }

  ClosedCall call;
  Shardings in, out;
  std::vector<MeshAxis> mesh;
};

Differentiated jvpShardMap(const ClosedCall& c, std::span<const MaybeZero> tangents) {
  const Mapped m(c);
  const Mask has = nonzero(tangents), mask = dependent(m.function(), has, Through::floats);
  Arrays operands = c.inputs;
  for (const MaybeZero& t : tangents)
    if (t) operands.push_back(*t);
  const Types whole = m.parts();
  Types parts = whole, results = c.results;
  Shardings in = m.in, out = m.out;
  appendTo(parts, selectByMask(whole, has));
  appendTo(in, selectByMask(m.in, has));
  appendTo(results, selectByMask(c.results, mask));
  appendTo(out, selectByMask(m.out, mask));
  const size_t n = c.inputs.size();
  return unflat(m.bind(operands, parts, in, out, results,
                       [&](std::span<const Array> inside) {
                         std::vector<MaybeZero> given;
                         size_t next = n;
                         for (const bool is : has) given.push_back(is ? MaybeZero(inside[next++]) : std::nullopt);
                         return flat(jvp(m.functional(), inside.first(n), given), mask);
                       }),
                mask);
}

/// The arguments of a function that only uses the known inputs; the others are placeholders.
Arrays withKnown(std::span<const Array> known, const Mask& isLinear) {
  Arrays all;
  size_t next = 0;
  for (const bool is : isLinear) all.push_back(is ? Array() : known[next++]);
  return all;
}

/// The cotangents: of a result that devices hold copies of, each has its share; those of an input that they hold copies
/// of are added up. The inside is computed again.
std::vector<MaybeZero> transposeShardMap(const Mapped& m, const std::shared_ptr<const TracedFunction>& function,
                                         const Arrays& known, const Mask& isLinear, const Shardings& outputs,
                                         std::span<const MaybeZero> cotangents) {
  const Types parts = m.parts();
  Arrays operands = known;
  Types arguments = selectByMask(parts, others(isLinear));
  Shardings in = selectByMask(m.in, others(isLinear));
  for (size_t i = 0; i < cotangents.size(); ++i) {
    if (!cotangents[i]) continue;
    operands.push_back(*cotangents[i]);
    const Function& f = function->function;
    arguments.push_back(f.resultTypes[i]);
    in.push_back(outputs[i]);
  }
  const Shardings out = selectByMask(m.in, isLinear);
  Types results;
  for (size_t i = 0; i < isLinear.size(); ++i)
    if (isLinear[i]) results.push_back(m.call.inputs[i].type());
  const Types made = selectByMask(parts, isLinear);
  const Arrays all = m.bind(operands, arguments, in, out, results, [&](std::span<const Array> inside) {
    std::vector<MaybeZero> given, values;
    size_t next = 0;
    for (const bool is : isLinear) values.push_back(is ? std::nullopt : MaybeZero(inside[next++]));
    for (size_t i = 0; i < cotangents.size(); ++i) {
      given.emplace_back();
      if (!cotangents[i]) continue;
      const Array& ct = inside[next++];
      const int64_t copies = m.copies(outputs[i]);
      given.back() = copies == 1 ? ct : div(ct, astype(copies, ct.dtype()));
    }
    const std::vector<MaybeZero> cts = transposed(*function, values, given);
    Arrays sums;
    for (size_t i = 0; i < cts.size(); ++i) {
      const std::vector<std::string> axes = m.copiedAlong(out[i]);
      const Array ct = instantiated(cts[i], made[i]);
      sums.push_back(!cts[i] || axes.empty() ? ct : psum(ct, AxisNames(axes)));
    }
    return sums;
  });
  return {all.begin(), all.end()};
}

std::vector<Array> linearizeShardMap(Linearizer& linearizer, const ClosedCall& c, const Mask& isLinear) {
  const Mapped m(c);
  const Mask taint = dependent(m.function(), isLinear, Through::floats), isKnown = others(taint);
  const Arrays known = selectByMask(c.inputs, others(isLinear)), linear = selectByMask(c.inputs, isLinear);
  Arrays results;
  if (isAny(isKnown)) {
    const auto kept = keepResults(m.function(), isKnown);
    results = m.bind(known, selectByMask(m.parts(), others(isLinear)), selectByMask(m.in, others(isLinear)),
                     selectByMask(m.out, isKnown), selectByMask(c.results, isKnown),
                     [&](std::span<const Array> inside) { return replay(*kept, withKnown(inside, isLinear)); });
  }
  const auto transpose = [m, known, isLinear, function = keepResults(m.function(), taint),
                          outputs = selectByMask(m.out, taint)](std::span<const MaybeZero> cotangents) {
    return transposeShardMap(m, function, known, isLinear, outputs, cotangents);
  };
  const Arrays unknown = linearizer.note(linear, selectByMask(c.results, taint), transpose);
  Arrays all;
  size_t k = 0, l = 0;
  for (const bool is : taint) all.push_back(is ? unknown[l++] : results[k++]);
  return all;
}

/// The examples are one more axis of each array, which is not split.
ControlRules::Batched batchShardMap(const ClosedCall& c, const Mask& isBatched, int64_t size) {
  const Mapped m(c);
  const Mask mask = dependent(m.function(), isBatched, Through::everything);
  Types parts = m.parts(), results = c.results;
  Shardings in = m.in, out = m.out;
  for (size_t i = 0; i < isBatched.size(); ++i)
    if (isBatched[i]) {
      parts[i] = batchedType(parts[i], size);
      in[i].dims.insert(in[i].dims.begin(), std::vector<std::string>{});
    }
  for (size_t i = 0; i < mask.size(); ++i)
    if (mask[i]) {
      results[i] = batchedType(results[i], size);
      out[i].dims.insert(out[i].dims.begin(), std::vector<std::string>{});
    }
  Arrays made = m.bind(c.inputs, parts, in, out, results, [&](std::span<const Array> inside) {
    BatchResults all = batch(m.functional(), inside, isBatched, size);
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] && !all.isBatched[i]) all.results[i] = spread(all.results[i], size);
    return std::move(all.results);
  });
  return {std::move(made), mask};
}

}  // namespace

const ControlRules kShardMapRules{jvpShardMap, linearizeShardMap, batchShardMap};

}  // namespace smalti::lang
