// Communication between devices of a shard_map, recorded as JAX lowers it: the ops of ir/program/Exchange.h, whose
// groups are numbers of devices.
#include "smalti/collectives.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Text.h"
#include "lang/devices/CollectiveRules.h"
#include "lang/devices/MeshAround.h"
#include "lang/ops/OpRecord.h"
#include "lang/ops/Support.h"
#include "lang/trace/SourceLocationScope.h"
#include "lang/transform/rules/Support.h"
#include "smalti/ops.h"

namespace smalti::lang {
namespace {

constexpr OpTable kCollectiveOps{
    OpRecord{.name = "all_gather",
             .inPrograms = true,
             .jvp = jvpLinear,
             .transpose = transposeAllGather,
             .batch = batchCollective},
    OpRecord{.name = "all_reduce", .jaxName = "psum", .inPrograms = true, .control = &kAllReduceRules},
    OpRecord{.name = "all_to_all",
             .inPrograms = true,
             .jvp = jvpLinear,
             .transpose = transposeAllToAll,
             .batch = batchCollective},
    OpRecord{.name = "collective_broadcast",
             .jaxName = "pbroadcast",
             .inPrograms = true,
             .jvp = jvpLinear,
             .transpose = transposeBroadcastFrom,
             .batch = batchCollective},
    OpRecord{.name = "collective_permute",
             .jaxName = "ppermute",
             .inPrograms = true,
             .jvp = jvpLinear,
             .transpose = transposePermute,
             .batch = batchCollective},
    OpRecord{.name = "reduce_scatter", .inPrograms = true, .control = &kReduceScatterRules},
};
const OpFamily kCollectiveFamily(kCollectiveOps);

}  // namespace
}  // namespace smalti::lang

namespace smalti {
namespace {

using lang::SourceLocationScope, lang::Attributes;
using Groups = std::vector<std::vector<int64_t>>;

[[noreturn]] void refuseArguments(std::string message, std::string need, std::string have, std::string help) {
  lang::refuse({.code = "SM6233",
                .message = std::move(message),
                .place = {},
                .need = std::move(need),
                .have = std::move(have),
                .help = std::move(help)});
}

/// The devices along the axes that a collective names: lists of devices, each in the order of their index along them.
class Together {
 public:
  Together(std::string_view op, const AxisNames& names) : op_(op) {
    if (const lang::Trace* trace = lang::Trace::current(); trace && trace->kind() == lang::Trace::Kind::kernel)
      lang::refuse({.code = "SM6232",
                    .message = fmt::format("'{}' cannot be called inside a kernel", op),
                    .place = {},
                    .need = "a call in the function of a shard_map, outside kernels",
                    .have = trace->what(),
                    .help = "write it with make_async_remote_copy, or call it before or after the kernel"});
    const std::vector<MeshAxis>& mesh = lang::meshAround();
    std::vector<const MeshAxis*> axes;
    for (const std::string& name : names) {
      const MeshAxis* axis = lang::findAxis(mesh, name);
      if (!axis)
        lang::refuse(
            {.code = "SM6232",
             .message = fmt::format("unbound axis name: {}", name),
             .place = {},
             .need = mesh.empty() ? "a shard_map around, whose mesh has the axis" : "an axis of the mesh around",
             .have = lang::meshText(mesh),
             .help = "shard_map(f, mesh, in_specs, out_specs) runs f on each device of a mesh"});
      if (std::find(axes.begin(), axes.end(), axis) != axes.end())
        refuseArguments(fmt::format("{} names axis '{}' twice", op, name), "each axis once",
                        fmt::format("axes {}", fmt::join(names.names(), ", ")), "leave one of them out");
      axes.push_back(axis);
    }
    if (axes.empty())
      refuseArguments(fmt::format("{} names no axis", op), "an axis of the mesh", "none",
                      fmt::format("the mesh is {}", lang::meshText(mesh)));
    if (!std::ranges::is_sorted(axes))  // they point into the mesh
      otherOrder_ = fmt::format("axes {} of the mesh {}", fmt::join(names.names(), ", "), lang::meshText(mesh));
    groups_ = {{0}};
    for (const MeshAxis& axis : mesh)
      if (std::find(axes.begin(), axes.end(), &axis) == axes.end()) {
        Groups finer;
        for (const auto& group : groups_)
          for (int64_t i = 0; i < axis.size; ++i) finer.push_back({group[0] + i * lang::strideOf(mesh, axis)});
        groups_ = std::move(finer);
      }
    for (const MeshAxis* axis : axes)
      for (auto& group : groups_) {
        std::vector<int64_t> longer;
        for (const int64_t device : group)
          for (int64_t i = 0; i < axis->size; ++i) longer.push_back(device + i * lang::strideOf(mesh, *axis));
        group = std::move(longer);
      }
    along_ = static_cast<int64_t>(groups_[0].size());
  }

  /// Versions of JAX differ in how they number the devices along axes that are named in another order than the mesh's,
  /// and newer ones refuse them.
  void requireMeshOrder() const {
    if (!otherOrder_.empty())
      refuseArguments(fmt::format("{} names axes in another order than the mesh", op_), "the order of the mesh's axes",
                      otherOrder_, "name them in the mesh's order, in which the devices are then numbered");
  }

  /// Splits them further, by their index along the axes.
  void split(const AxisIndexGroups& parts, bool ofOneSize = true) {
    if (parts.empty()) return;
    std::vector<int64_t> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    std::vector<int64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    bool wrong = static_cast<int64_t>(all.size()) != along_;
    for (size_t i = 0; i < sorted.size(); ++i) wrong |= sorted[i] != static_cast<int64_t>(i);
    for (const auto& part : parts) wrong |= part.empty() || (ofOneSize && part.size() != parts[0].size());
    const bool hasEmpty = std::ranges::any_of(parts, [](const auto& part) { return part.empty(); });
    if (wrong)
      refuseArguments(
          hasEmpty ? fmt::format("a group in axis_index_groups of {} is empty", op_)
                   : fmt::format("axis_index_groups of {} do not cover the devices", op_),
          fmt::format("each index from 0 to {} once{}", along_ - 1, ofOneSize ? ", in groups of one size" : ""),
          groupsText(parts), "name every index along the axes; a group may hold one alone");
    Groups finer;
    for (const auto& group : groups_)
      for (const auto& part : parts) {
        auto& list = finer.emplace_back();
        for (const int64_t i : part) list.push_back(group[static_cast<size_t>(i)]);
      }
    groups_ = std::move(finer);
  }

  const Groups& groups() const { return groups_; }
  /// Devices of a group, which have one size.
  int64_t size() const { return static_cast<int64_t>(groups_[0].size()); }
  bool hasOneGroupSize() const {
    return std::ranges::all_of(groups_, [&](const auto& group) { return group.size() == groups_[0].size(); });
  }
  int64_t along() const { return along_; }
  std::string_view op() const { return op_; }

  /// The attributes that every collective has.
  Attributes attributes(bool globalIds) const {
    size_t width = 0;
    for (const auto& group : groups_) width = std::max(width, group.size());
    auto matrix = Array::allocate({DType::i64, {static_cast<int64_t>(groups_.size()), static_cast<int64_t>(width)}});
    if (!matrix) lang::refuse(std::move(matrix.error()));
    auto* out = matrix->as<int64_t>();
    for (const auto& group : groups_)
      for (size_t i = 0; i < width; ++i) *out++ = i < group.size() ? group[i] : -1;
    Attributes list = channel();
    list.emplace_back("replica_groups", *matrix);
    if (globalIds) list.emplace_back("use_global_device_ids", true);
    return list;
  }
  static Attributes channel() { return {{"handle", int64_t{1}}, {"type", int64_t{1}}}; }

 private:
  static std::string groupsText(const AxisIndexGroups& groups) {
    std::vector<std::string> texts;
    for (const auto& g : groups) texts.push_back(fmt::format("[{}]", fmt::join(g, ", ")));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  }

  std::string_view op_;
  Groups groups_;
  int64_t along_ = 1;
  std::string otherOrder_;  ///< the axes as they are named, if that is not the mesh's order
};

using Combine = Array (*)(const Operand&, const Operand&);

std::vector<lang::Region> reducer(DType dtype, Combine combine) {
  const ArrayType scalar{dtype, {}};
  return {{{scalar, scalar}, [combine](std::span<const Array> v) { return std::vector<Array>{combine(v[0], v[1])}; }}};
}

Array onlyOne(std::vector<Array> results) { return std::move(results[0]); }

/// bool has no sum of its own.
Array summand(const Operand& x) {
  return x.dtype() == DType::pred ? lang::convertTo(x.array(), DType::i32) : x.array();
}

/// A constant that is the same on every device, which JAX sums without communication.
bool isNumber(const Operand& x) { return x.rank() == 0 && x.array().weak_type() && !x.array().is_traced(); }

Array allReduce(std::string_view op, const Operand& x, const AxisNames& names, const ReduceOptions& options,
                Combine combine) {
  Together together(op, names);
  together.split(options.axis_index_groups, false);
  if (isNumber(x)) {
    if (combine != add) return x.array();
    if (together.hasOneGroupSize()) return multiply(x, Operand(together.size(), x.at())).with_weak_type(false);
  }
  const Array value = combine == add ? summand(x) : x.array();
  const std::vector<ArrayType> results{value.type()};
  return onlyOne(lang::bindRegions(lang::kCollectiveOps["all_reduce"], {&value, 1}, results,
                                   reducer(value.dtype(), combine), x.at(), together.attributes(true)));
}

int64_t checkedDim(std::string_view op, std::string_view what, int64_t axis, int64_t rank) {
  const int64_t from = axis < 0 ? axis + rank : axis;
  if (from >= 0 && from < rank) return from;
  refuseArguments(fmt::format("{} {} of {} is none of the array", what, axis, op),
                  rank == 0 ? "an array with an axis" : fmt::format("an axis from 0 to {}", rank - 1),
                  fmt::format("axis {} of {}", axis, counted(static_cast<size_t>(rank), "axis")),
                  "axes count from 0; negative ones from the end");
}

void checkDivides(std::string_view op, std::string_view what, const Operand& x, int64_t axis, int64_t devices) {
  const int64_t size = x.shape()[static_cast<size_t>(axis)];
  if (size % devices == 0) return;
  refuseArguments(fmt::format("{} {} of {} does not divide into its devices", what, axis, op),
                  fmt::format("a multiple of {}", devices), fmt::format("{} of {}", size, x.array().type().str()),
                  "pad the array, or choose another axis");
}
void checkEquals(std::string_view op, std::string_view what, const Operand& x, int64_t axis, int64_t devices) {
  const int64_t size = x.shape()[static_cast<size_t>(axis)];
  if (size == devices) return;
  refuseArguments(fmt::format("{} {} of {} is not as long as there are devices", what, axis, op),
                  fmt::format("{}", devices), fmt::format("{} of {}", size, x.array().type().str()),
                  "set .tiled = true to split an axis that is a multiple of it");
}

Array permuteBy(const Together& together, const Operand& x, const std::vector<std::pair<int64_t, int64_t>>& perm) {
  together.requireMeshOrder();
  std::vector<int64_t> pairs, sources, targets;
  for (const auto& [source, target] : perm) {
    for (const auto& [index, seen, role] : {std::tuple{source, &sources, "source"}, {target, &targets, "target"}}) {
      if (index < 0 || index >= together.along())
        refuseArguments(fmt::format("{} has a {} that is not there", together.op(), role),
                        fmt::format("an index from 0 to {}", together.along() - 1), fmt::format("{}", index),
                        "indices count the devices along the axes");
      if (std::find(seen->begin(), seen->end(), index) != seen->end())
        refuseArguments(fmt::format("{} sources and destinations must be unique", together.op()),
                        fmt::format("each {} once", role), fmt::format("{} {} twice", role, index),
                        "a device sends to one and hears from one; use all_gather for more");
      seen->push_back(index);
    }
  }
  for (const std::vector<int64_t>& group : together.groups()) {
    for (const auto& [source, target] : perm)
      pairs.insert(pairs.end(), {group[static_cast<size_t>(source)], group[static_cast<size_t>(target)]});
  }
  Attributes attributes = Together::channel();
  attributes.emplace_back("source_target_pairs", std::move(pairs));
  return lang::bind1(lang::kCollectiveOps["collective_permute"], {x.array()}, x.array().type(), std::move(attributes));
}

}  // namespace

Array psum(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options) {
  SourceLocationScope place(x.at());
  return allReduce("psum", x, axis_name, options, add);
}

Array pmean(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options) {
  SourceLocationScope place(x.at());
  const Array sum = allReduce("pmean", x, axis_name, options, add);
  const Array count = allReduce("pmean", Operand(1, x.at()), axis_name, options, add);
  return divide(Operand(sum, x.at()), Operand(count.with_weak_type(true), x.at()));
}

Array pmax(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options) {
  SourceLocationScope place(x.at());
  return allReduce("pmax", x, axis_name, options, maximum);
}

Array pmin(const Operand& x, const AxisNames& axis_name, const ReduceOptions& options) {
  SourceLocationScope place(x.at());
  return allReduce("pmin", x, axis_name, options, minimum);
}

Array all_gather(const Operand& x, const AxisNames& axis_name, const GatherOptions& options) {
  SourceLocationScope place(x.at());
  Together together("all_gather", axis_name);
  together.split(options.axis_index_groups);
  const int64_t axis = checkedDim("all_gather", "axis", options.axis, x.rank() + (options.tiled ? 0 : 1));
  const Array part = options.tiled ? x.array() : expand_dims(x, axis);
  ArrayType whole = part.type();
  whole.shape[static_cast<size_t>(axis)] *= together.size();
  Attributes attributes = together.attributes(true);
  attributes.insert(attributes.begin(), {"all_gather_dim", axis});
  return lang::bind1(lang::kCollectiveOps["all_gather"], {part}, whole, std::move(attributes));
}

Array psum_scatter(const Operand& x, const AxisNames& axis_name, const ScatterOptions& options) {
  SourceLocationScope place(x.at());
  Together together("psum_scatter", axis_name);
  together.split(options.axis_index_groups);
  const int64_t axis = checkedDim("psum_scatter", "scatter_dimension", options.scatter_dimension, x.rank());
  (options.tiled ? checkDivides : checkEquals)("psum_scatter", "scatter_dimension", x, axis, together.size());
  const Array value = summand(x);
  std::vector<ArrayType> results{value.type()};
  results[0].shape[static_cast<size_t>(axis)] /= together.size();
  Attributes attributes = together.attributes(true);
  attributes.emplace_back("scatter_dimension", axis);
  const Array part = onlyOne(lang::bindRegions(lang::kCollectiveOps["reduce_scatter"], {&value, 1}, results,
                                               reducer(value.dtype(), add), x.at(), std::move(attributes)));
  return options.tiled ? part : squeeze(part, {axis});
}

Array ppermute(const Operand& x, const AxisNames& axis_name, const std::vector<std::pair<int64_t, int64_t>>& perm) {
  SourceLocationScope place(x.at());
  return permuteBy(Together("ppermute", axis_name), x, perm);
}

Array pshuffle(const Operand& x, const AxisNames& axis_name, const std::vector<int64_t>& perm) {
  SourceLocationScope place(x.at());
  const Together together("pshuffle", axis_name);
  if (static_cast<int64_t>(perm.size()) != together.along())
    refuseArguments("the permutation of pshuffle has another length than there are devices",
                    counted(static_cast<size_t>(together.along()), "entry"), fmt::format("{}", perm.size()),
                    "give the source of each device along the axes");
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < perm.size(); ++i) pairs.emplace_back(perm[i], static_cast<int64_t>(i));
  return permuteBy(together, x, pairs);
}

Array pbroadcast(const Operand& x, const AxisNames& axis_name, int64_t source) {
  SourceLocationScope place(x.at());
  Together together("pbroadcast", axis_name);
  if (source < 0 || source >= together.along())
    refuseArguments("the source of pbroadcast is not there", fmt::format("an index from 0 to {}", together.along() - 1),
                    fmt::format("{}", source), "indices count the devices along the axis");
  AxisIndexGroups first{{source}};
  for (int64_t i = 0; i < together.along(); ++i)
    if (i != source) first[0].push_back(i);
  together.split(first);
  return lang::bind1(lang::kCollectiveOps["collective_broadcast"], {x.array()}, x.array().type(),
                     together.attributes(false));
}

Array all_to_all(const Operand& x, const AxisNames& axis_name, int64_t split_axis, int64_t concat_axis,
                 const AllToAllOptions& options) {
  SourceLocationScope place(x.at());
  Together together("all_to_all", axis_name);
  together.split(options.axis_index_groups);
  int64_t split = checkedDim("all_to_all", "split_axis", split_axis, x.rank());
  int64_t concat = checkedDim("all_to_all", "concat_axis", concat_axis, x.rank());
  (options.tiled ? checkDivides : checkEquals)("all_to_all", "split_axis", x, split, together.size());
  Array value = x.array();
  const bool moves = !options.tiled && split != concat;  // the new axis is made first, the old one dropped behind it
  if (moves && split < concat)
    value = expand_dims(Operand(value, x.at()), ++concat);
  else if (moves) {
    value = expand_dims(Operand(value, x.at()), concat);
    ++split;
  }
  ArrayType result = value.type();
  result.shape[static_cast<size_t>(split)] /= together.size();
  result.shape[static_cast<size_t>(concat)] *= together.size();
  Attributes attributes{{"concat_dimension", concat}};
  for (auto& a : together.attributes(false)) attributes.push_back(std::move(a));
  attributes.insert(attributes.end(), {{"split_count", together.size()}, {"split_dimension", split}});
  const Array exchanged = lang::bind1(lang::kCollectiveOps["all_to_all"], {value}, result, std::move(attributes));
  return moves ? squeeze(exchanged, {split}) : exchanged;
}

}  // namespace smalti
