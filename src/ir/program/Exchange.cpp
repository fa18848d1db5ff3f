#include "ir/program/Exchange.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "base/Lasting.h"

namespace smalti {
namespace {

struct CollectiveKind {
  std::string_view op;
  bool isByPartition;     ///< a channel alone makes its ids those of partitions (else it takes use_global_device_ids)
  bool hasEqualGroups;    ///< of one size
  bool needsEveryDevice;  ///< each in a group; else the others get zeros
};
constexpr std::array kKinds{
    CollectiveKind{"all_gather", false, true, true},         CollectiveKind{"all_reduce", false, false, true},
    CollectiveKind{"all_to_all", true, true, true},          CollectiveKind{"collective_broadcast", true, false, false},
    CollectiveKind{"collective_permute", true, true, false}, CollectiveKind{"reduce_scatter", false, true, true},
};

const CollectiveKind* findKind(std::string_view op) {
  const auto row = std::find_if(kKinds.begin(), kKinds.end(), [&](const CollectiveKind& k) { return k.op == op; });
  return row == kKinds.end() ? nullptr : &*row;
}

constexpr std::string_view kOnce = "name each device once, in axis_index_groups or in the pairs of ppermute";
constexpr std::string_view kExportAgainHelp = "export the module again; it was edited or truncated";

tl::unexpected<Diagnostic> wrongExchange(const TypedOp& op, std::string message, std::string need, std::string have,
                                         std::string_view help) {
  return fail({.code = "SM2014",
               .message = std::move(message),
               .place = op.op.place,
               .need = std::move(need),
               .have = std::move(have),
               .help = std::string(help)});
}

std::string devicesFromZero(int64_t n) { return n == 1 ? "device 0" : fmt::format("devices 0 to {}", n - 1); }

/// Each id in [0, limit), none twice.
Status checkIds(const TypedOp& op, const std::vector<int64_t>& ids, int64_t limit, std::string_view role) {
  std::vector<bool> seen(static_cast<size_t>(limit), false);
  for (const int64_t id : ids) {
    if (id < 0 || id >= limit)
      return wrongExchange(op, fmt::format("{} names a device that is not there", op.op.name), devicesFromZero(limit),
                           fmt::format("device {}", id), "call it inside a shard_map over a mesh of that many devices");
    if (seen[static_cast<size_t>(id)])
      return wrongExchange(op, fmt::format("{} names device {} twice", op.op.name, id),
                           fmt::format("each device at most once {}", role), fmt::format("device {} twice", id), kOnce);
    seen[static_cast<size_t>(id)] = true;
  }
  return {};
}

/// The rows of replica_groups, without the -1 that fill up short ones.
std::vector<std::vector<int64_t>> rowsOf(const TypedOp& op) {
  const Array& matrix = std::get<Array>(*op.op.find("replica_groups"));
  std::vector<std::vector<int64_t>> rows;
  const int64_t width = matrix.shape()[1];
  for (int64_t r = 0; r < matrix.shape()[0] && width > 0; ++r) {
    const int64_t* row = matrix.as<int64_t>() + r * width;
    std::copy_if(row, row + width, std::back_inserter(rows.emplace_back()), [](int64_t id) { return id != -1; });
  }
  std::erase_if(rows, [](const auto& row) { return row.empty(); });
  return rows;
}

std::vector<int64_t> upTo(int64_t n) {
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

/// StableHLO's process groups. Without a channel ids are those of replicas, of which there is one: devices are its
/// partitions, and each is alone. With one, an id is a partition's, or the replica's with all its partitions.
Result<std::vector<std::vector<int64_t>>> groupsOf(const TypedOp& op, const CollectiveKind& kind, int64_t devices) {
  const bool hasChannel = op.integer("handle") > 0;
  const bool ofPartitions = hasChannel && (kind.isByPartition || op.op.find("use_global_device_ids"));
  const int64_t limit = ofPartitions ? devices : 1;
  std::vector<std::vector<int64_t>> groups = rowsOf(op);
  if (groups.empty()) groups.push_back(upTo(limit));
  std::vector<int64_t> ids;
  for (const auto& group : groups) ids.insert(ids.end(), group.begin(), group.end());
  if (Status ok = checkIds(op, ids, limit, "in all groups"); !ok) return fail(std::move(ok.error()));
  if (kind.needsEveryDevice && static_cast<int64_t>(ids.size()) < limit) {
    const auto all = upTo(limit);
    const auto isOut = [&](int64_t d) { return std::find(ids.begin(), ids.end(), d) == ids.end(); };
    return wrongExchange(
        op, fmt::format("{} leaves out device {}", op.op.name, *std::find_if(all.begin(), all.end(), isOut)),
        fmt::format("{}, each in a group", devicesFromZero(limit)), fmt::format("{} in groups", ids.size()),
        "put every device in a group; a group may hold one device alone");
  }
  for (const auto& group : groups)
    if (kind.hasEqualGroups && group.size() != groups[0].size())
      return wrongExchange(op, fmt::format("the groups of {} differ in size", op.op.name), "groups of one size",
                           fmt::format("groups of {} and {} devices", groups[0].size(), group.size()),
                           "split the devices into groups of one size");
  if (ofPartitions) return groups;
  if (hasChannel) return std::vector<std::vector<int64_t>>{upTo(devices)};
  groups.clear();
  for (int64_t d = 0; d < devices; ++d) groups.push_back({d});
  return groups;
}

/// The result of each operand, where that depends on the number of devices in a group.
Status checkSizes(const TypedOp& op, int64_t n) {
  if (op.op.name == "all_to_all" && op.integer("split_count") != n)
    return wrongExchange(op, "all_to_all does not split into one part for each device of a group",
                         fmt::format("{} parts", n), fmt::format("{} parts", op.integer("split_count")),
                         kExportAgainHelp);
  const bool gathers = op.op.name == "all_gather";
  if (!gathers && op.op.name != "reduce_scatter") return {};
  const auto dim = static_cast<size_t>(op.integer(gathers ? "all_gather_dim" : "scatter_dimension"));
  for (int i = 0; i < op.numOperands(); ++i) {
    const ArrayType &small = gathers ? op.operand(i) : op.result(i), &large = gathers ? op.result(i) : op.operand(i);
    if (large.shape[dim] % n == 0 && large.shape[dim] / n == small.shape[dim]) continue;
    return wrongExchange(op, fmt::format("{} does not fit its groups of {} devices", op.op.name, n),
                         fmt::format("dimension {} {} times as large as the other's", dim, n),
                         fmt::format("{} -> {}", op.operand(i).str(), op.result(i).str()), kExportAgainHelp);
  }
  return {};
}

Result<Exchange> permute(const TypedOp& op, int64_t devices) {
  const auto pairs = op.integers("source_target_pairs");
  const bool alone = op.integer("handle") <= 0;  // ids of replicas: each device sends to itself or to none
  std::vector<int64_t> sources, targets;
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    sources.push_back(pairs[i]);
    targets.push_back(pairs[i + 1]);
  }
  for (const auto& [ids, role] : {std::pair{&sources, "as a source"}, {&targets, "as a target"}})
    if (Status ok = checkIds(op, *ids, alone ? 1 : devices, role); !ok) return fail(std::move(ok.error()));
  if (alone && !sources.empty()) sources = targets = upTo(devices);
  Exchange exchange{.senders = {}, .from = std::vector<int>(static_cast<size_t>(devices), -1)};
  for (size_t i = 0; i < sources.size(); ++i) {
    exchange.from[static_cast<size_t>(targets[i])] = static_cast<int>(i);
    exchange.senders.push_back({sources[i]});
  }
  return exchange;
}

}  // namespace

bool isCollective(std::string_view op) { return findKind(op) != nullptr; }

Result<Exchange> exchangeOf(const TypedOp& op, int64_t devices) {
  if (op.op.name == "collective_permute") return permute(op, devices);
  auto groups = groupsOf(op, *findKind(op.op.name), devices);
  if (!groups) return fail(std::move(groups.error()));
  if (Status ok = checkSizes(op, static_cast<int64_t>((*groups)[0].size())); !ok) return fail(std::move(ok.error()));
  Exchange exchange{.senders = std::move(*groups), .from = std::vector<int>(static_cast<size_t>(devices), -1)};
  for (size_t g = 0; g < exchange.senders.size(); ++g) {
    for (const int64_t d : exchange.senders[g]) exchange.from[static_cast<size_t>(d)] = static_cast<int>(g);
    if (op.op.name == "collective_broadcast") exchange.senders[g].resize(1);  // the first of the group has the value
  }
  return exchange;
}

const DeviceMesh& meshOf(const Program& program, const Op& op) {
  static constinit Lasting<const DeviceMesh> kNone;
  for (const char* key : {"in_shardings", "out_shardings"})
    for (const Sharding& s : std::get<std::vector<Sharding>>(*op.find(key)))
      if (const DeviceMesh* mesh = program.findMesh(s.mesh)) return *mesh;
  return program.meshes.empty() ? kNone.get() : program.meshes.front();
}

}  // namespace smalti
