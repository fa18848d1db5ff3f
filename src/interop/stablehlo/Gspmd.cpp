#include "interop/stablehlo/Gspmd.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include <fmt/format.h>

#include "interop/Limits.h"
#include "interop/stablehlo/HloSharding.h"

namespace smalti::interop::stablehlo {
namespace {

/// mhlo.num_partitions of the module, else 1.
int64_t numPartitions(const Program& program) {
  constexpr std::string_view kKey = "mhlo.num_partitions = ";
  const std::string& text = program.moduleAttributes;
  int64_t n = 1;
  if (const size_t at = text.find(kKey); at != std::string::npos)
    std::from_chars(text.data() + at + kKey.size(), text.data() + text.size(), n);
  return std::clamp<int64_t>(n, 1, limits::kMaxDevices);
}

std::string shardingText(const Op& op) {
  const Attribute* text = op.find("mhlo.sharding");
  return text ? std::get<std::string>(*text) : "{replicated}";
}

bool isMark(const Op& op) { return op.name == kFullToShard || op.name == kShardToFull; }
bool isManualMark(const Op& op) { return op.name == "sharding_constraint" && shardingText(op) == "{manual}"; }

Diagnostic notLifted(const Op& op, std::string have) {
  return {.code = "SM2004",
          .message = "this shard_map was lowered for the old partitioner (GSPMD), in a form that is not known here",
          .place = op.place,
          .have = std::move(have),
          .help = "lower with `jax.config.update(\"jax_use_shardy_partitioner\", True)`"};
}

class Lifter {
 public:
  explicit Lifter(Program& program) : program_(program) {}

  Status run() {
    for (Function& f : program_.functions)
      if (Status ok = forEachList(f.ops, [&](auto& ops) { return collect(ops); }); !ok) return ok;
    if (shardings_.empty()) return {};
    const auto mesh = commonMesh(shardings_, numPartitions(program_));
    if (!mesh || !program_.meshes.empty())
      return fail(notLifted(*firstMark_, mesh ? "a mesh next to it" : "shardings over no common mesh"));
    mesh_ = *mesh;
    for (Function& f : program_.functions) {
      function_ = &f;
      if (Status ok = forEachList(f.ops, [&](auto& ops) { return lift(ops); }); !ok) return ok;
    }
    program_.meshes.push_back(std::move(mesh_));
    return {};
  }

 private:
  template <class Visit>
  Status forEachList(std::vector<Op>& ops, const Visit& visit) {
    for (Op& op : ops)
      for (Block& block : op.regions)
        if (Status ok = forEachList(block.ops, visit); !ok) return ok;
    return visit(ops);
  }

  void findDefinitions(const std::vector<Op>& ops) {
    definitions_.clear();
    for (const Op& op : ops)
      for (const ValueId v : op.results) definitions_.emplace(v, &op);
  }
  const Op* definition(ValueId v) const {
    const auto found = definitions_.find(v);
    return found == definitions_.end() ? nullptr : found->second;
  }

  /// How a mark's whole array is split: what stands at the array itself, or at the mark that makes it.
  std::string wholeSharding(const Op& mark) const {
    if (mark.name == kShardToFull) return shardingText(mark);
    const Op* whole = definition(mark.operands[0]);
    return whole && whole->name == "sharding_constraint" ? shardingText(*whole) : "{replicated}";
  }

  Status collect(const std::vector<Op>& ops) {
    findDefinitions(ops);
    for (const Op& op : ops) {
      if (!isMark(op)) continue;
      if (!firstMark_) firstMark_ = &op;
      const std::string text = wholeSharding(op);
      const auto sharding = readHloSharding(text);
      if (!sharding) return fail(notLifted(op, text));
      if (op.name == kFullToShard && shardingText(op) != "{manual}") return fail(notLifted(op, shardingText(op)));
      shardings_.push_back(*sharding);
    }
    return {};
  }

  Sharding shardingOf(const Op& mark, ValueId whole) const {
    const HloSharding sharding = *readHloSharding(wholeSharding(mark));
    return overMesh(sharding, mesh_, function_->values[static_cast<size_t>(whole)].shape.size());
  }

  /// The part that a mark makes whole, as its call gives it.
  ValueId partOf(const Op& shardToFull) const {
    ValueId part = shardToFull.operands[0];
    while (const Op* op = definition(part)) {
      if (!isManualMark(*op)) break;
      part = op->operands[0];
    }
    return part;
  }

  Status lift(std::vector<Op>& ops) {
    if (std::none_of(ops.begin(), ops.end(), isMark)) return {};
    findDefinitions(ops);
    std::set<const Op*> done;
    std::vector<Op> lifted;
    for (const Op& op : ops) {
      if (op.name != "call") {
        if (!isMark(op) && !isManualMark(op)) lifted.push_back(op);
        continue;
      }
      Op manual = manualOf(op, ops, done);
      lifted.push_back(manual.operands.empty() && manual.results.empty() ? op : std::move(manual));
    }
    for (const Op& op : ops)
      if (isMark(op) && !done.contains(&op)) return fail(notLifted(op, "no call of a function next to it"));
    ops = std::move(lifted);
    return {};
  }

  /// The call in a manual_computation. Arrays of the marks before it are operands, those of the marks behind it
  /// results; the parts are arguments and results of the body.
  Op manualOf(const Op& call, const std::vector<Op>& ops, std::set<const Op*>& done) const {
    Op manual{.name = "manual_computation", .place = call.place};
    std::vector<Sharding> ins, outs;
    Block body;
    for (const ValueId part : call.operands) {
      const Op* mark = definition(part);
      if (!mark || mark->name != kFullToShard || !done.insert(mark).second) continue;
      manual.operands.push_back(mark->operands[0]);
      ins.push_back(shardingOf(*mark, mark->operands[0]));
      body.arguments.push_back(part);
    }
    Op last{.name = "return", .place = call.place};
    for (const Op& mark : ops) {
      if (mark.name != kShardToFull || definition(partOf(mark)) != &call) continue;
      done.insert(&mark);
      manual.results.push_back(mark.results[0]);
      outs.push_back(shardingOf(mark, mark.results[0]));
      last.operands.push_back(partOf(mark));
    }
    body.ops = {call, std::move(last)};
    std::vector<std::string> axes;
    for (const DeviceMesh::Axis& axis : mesh_.axes) axes.push_back(axis.name);
    manual.attributes = {
        {"in_shardings", std::move(ins)}, {"out_shardings", std::move(outs)}, {"manual_axes", std::move(axes)}};
    manual.regions.push_back(std::move(body));
    return manual;
  }

  Program& program_;
  const Function* function_ = nullptr;
  const Op* firstMark_ = nullptr;
  DeviceMesh mesh_;
  std::vector<HloSharding> shardings_;
  std::map<ValueId, const Op*> definitions_;  ///< in the list of ops being looked at
};

}  // namespace

Status liftShardMaps(Program& program) { return Lifter(program).run(); }

}  // namespace smalti::interop::stablehlo
