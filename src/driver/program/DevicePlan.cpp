#include "driver/program/DevicePlan.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/Lasting.h"
#include "driver/program/EqualValues.h"
#include "plain/Collectives.h"

namespace smalti::driver {
ManualPlan planManual(const Program& program, const Function& f, const Op& op,
                      std::span<const Coordinates* const> outer) {
  const auto& inShardings = std::get<std::vector<Sharding>>(*op.find("in_shardings"));
  const auto& outShardings = std::get<std::vector<Sharding>>(*op.find("out_shardings"));
  const auto& manualAxes = std::get<std::vector<std::string>>(*op.find("manual_axes"));
  const DeviceMesh& mesh = meshOf(program, op);
  ManualPlan plan{.mesh = &mesh,
                  .devices = {},
                  .equal = std::vector<bool>(op.results.size()),
                  .copies = false,
                  .taken = takenBy(op.regions[0])};

  // Each device of the enclosing computation becomes one for every position over the new axes, in the mesh's order.
  for (size_t o = 0; o < outer.size(); ++o) {
    std::vector<Coordinates> positions{*outer[o]};
    for (const auto& axis : mesh.axes) {
      if (std::find(manualAxes.begin(), manualAxes.end(), axis.name) == manualAxes.end()) continue;
      std::vector<Coordinates> finer;
      for (const Coordinates& p : positions)
        for (int64_t i = 0; i < axis.size; ++i) (finer.emplace_back(p))[axis.name] = i;
      positions = std::move(finer);
    }
    for (Coordinates& p : positions) {
      ManualPlan::Device device{.number = 0, .outer = o, .coordinates = {}, .arguments = {}, .results = {}};
      for (const auto& axis : mesh.axes)
        device.number = device.number * axis.size + (p.contains(axis.name) ? p[axis.name] : 0);
      device.coordinates = std::move(p);
      plan.devices.push_back(std::move(device));
    }
  }
  std::ranges::stable_sort(plan.devices, {}, &ManualPlan::Device::number);

  std::map<std::tuple<size_t, size_t, Shape>, size_t> first;  // result, enclosing device, part's start → first device
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    ManualPlan::Device& device = plan.devices[d];
    for (size_t k = 0; k < op.operands.size(); ++k)
      device.arguments.push_back(partAt(f.values[op.operands[k]].shape, inShardings[k], mesh, device.coordinates));
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ArrayType& type = f.values[op.results[r]];
      Part part = partAt(type.shape, outShardings[r], mesh, device.coordinates);
      const size_t same = first.emplace(std::tuple(r, device.outer, part.starts), d).first->second;
      plan.copies |= same != d;
      device.results.push_back({{type.dtype, part.shape}, part, same});
    }
  }
  return plan;
}

Result<CollectivePlan> planCollective(const Function& f, const Op& op, int64_t devices) {
  auto exchange = exchangeOf({op, f}, devices);
  if (!exchange) return fail(std::move(exchange.error()));
  CollectivePlan plan{
      .devices = devices, .exchange = std::move(*exchange), .receivers = {}, .together = {}, .results = {}};
  for (const ValueId v : op.results) plan.results.push_back(f.values[v]);
  plan.receivers.resize(plan.exchange.senders.size());
  for (int64_t d = 0; d < devices; ++d)
    if (const int list = plan.exchange.from[static_cast<size_t>(d)]; list >= 0)
      plan.receivers[static_cast<size_t>(list)].push_back(d);
  for (size_t g = 0; g < plan.receivers.size(); ++g) {
    std::set<int64_t> together(plan.receivers[g].begin(), plan.receivers[g].end());
    together.insert(plan.exchange.senders[g].begin(), plan.exchange.senders[g].end());
    plan.together.emplace_back(together.begin(), together.end());
  }
  if (op.name == "all_reduce" || op.name == "reduce_scatter")
    plan.reducer = plain::reducerOf(op.regions[0], f.values[op.operands[0]].dtype);
  std::vector<int64_t> all(static_cast<size_t>(devices));
  std::iota(all.begin(), all.end(), 0);
  plan.amongAll = plan.exchange.senders.size() == 1 && plan.exchange.senders[0] == all &&
                  std::ranges::all_of(plan.exchange.from, [](int list) { return list == 0; });
  return plan;
}

void DevicePlans::add(const Program& program, const Function& f, const std::vector<Op>& ops,
                      const std::vector<bool>& kernels) {
  static constinit Lasting<const Coordinates> kNone;
  for (const Op& op : ops) {
    if (op.name == "manual_computation") {
      const Coordinates* const none = &kNone.get();
      const auto [at, isNew] = manual_.emplace(&op, planManual(program, f, op, {&none, 1}));
      ManualPlan& plan = at->second;
      const int64_t devices = plan.mesh->numDevices();
      addCollectives(f, op.regions[0].ops, devices);
      EqualValues values = equalValues(f, op, kernels, [&](const Op& inner) {
        const CollectivePlan* const known = collective(inner, devices);
        return known ? &known->exchange : nullptr;
      });
      plan.equal = std::move(values.results);
      once_.insert(values.ops.begin(), values.ops.end());
      plan.copies = std::ranges::any_of(plan.devices, [&](const ManualPlan::Device& device) {
        for (size_t r = 0; r < device.results.size(); ++r)
          if (!plan.equal[r] && &plan.devices[device.results[r].first] != &device) return true;
        return false;
      });
    } else {
      for (const Block& block : op.regions) add(program, f, block.ops, kernels);
    }
  }
}

void DevicePlans::addCollectives(const Function& f, const std::vector<Op>& ops, int64_t devices) {
  for (const Op& op : ops) {
    if (isCollective(op.name))
      if (auto plan = planCollective(f, op, devices)) collective_.emplace(&op, std::move(*plan));
    if (op.name == "manual_computation") continue;
    for (const Block& block : op.regions) addCollectives(f, block.ops, devices);
  }
}

const ManualPlan* DevicePlans::manual(const Op& op) const {
  const auto found = manual_.find(&op);
  return found == manual_.end() ? nullptr : &found->second;
}

const CollectivePlan* DevicePlans::collective(const Op& op, int64_t devices) const {
  const auto found = collective_.find(&op);
  return found == collective_.end() || found->second.devices != devices ? nullptr : &found->second;
}

}  // namespace smalti::driver
