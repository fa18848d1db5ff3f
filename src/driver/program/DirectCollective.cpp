#include "driver/program/DirectCollective.h"

#include <algorithm>
#include <cstring>

#include "plain/Collectives.h"
#include "plain/Moves.h"

namespace smalti::driver {
namespace {

/// The only operation of `ops`, on these values, whose results are what is returned; null where there is more.
const Op* soleOp(const std::vector<Op>& ops, const std::vector<ValueId>& arguments) {
  const bool sole = ops.size() == 2 && ops[1].name == "return" && ops[0].operands == arguments &&
                    arguments.size() == 1 && ops[0].results == ops[1].operands && ops[0].results.size() == 1;
  return sole ? &ops[0] : nullptr;
}

bool isContiguous(const Part& part, size_t device) {
  return part.first == static_cast<int64_t>(device) * num_elements(part.shape);
}
/// Whether the parts of devices are contiguous in their order, so that they are the global array.
bool areArgumentsInOrder(const ManualPlan& plan) {
  for (size_t d = 0; d < plan.devices.size(); ++d)
    if (plan.devices[d].number != static_cast<int64_t>(d) || !isContiguous(plan.devices[d].arguments[0], d))
      return false;
  return true;
}
bool areResultsInOrder(const ManualPlan& plan) {
  for (size_t d = 0; d < plan.devices.size(); ++d)
    if (const ReturnedPart& part = plan.devices[d].results[0]; part.first != d || !isContiguous(part.part, d))
      return false;
  return true;
}
bool areResultsReplicated(const ManualPlan& plan) {
  return std::ranges::all_of(plan.devices, [](const auto& device) { return device.results[0].first == 0; });
}

/// Whether the dimension is the outermost one with several indices.
bool isOutermost(std::span<const int64_t> shape, int64_t dimension) {
  return num_elements(shape.first(static_cast<size_t>(dimension))) == 1;
}

}  // namespace

std::optional<DirectCollective> DirectCollective::of(const Program& program, const DevicePlans& plans) {
  const Function& main = program.functions[static_cast<size_t>(program.main)];
  const Op* manual = soleOp(main.ops, main.arguments);
  if (!manual || manual->name != "manual_computation") return std::nullopt;
  const Op* op = soleOp(manual->regions[0].ops, manual->regions[0].arguments);
  const ManualPlan* plan = plans.manual(*manual);
  if (!op || !plan || plan->devices.size() < 2) return std::nullopt;
  const auto devices = static_cast<int64_t>(plan->devices.size());
  const CollectivePlan* collective = plans.collective(*op, devices);
  if (!collective || !collective->amongAll || !areArgumentsInOrder(*plan)) return std::nullopt;

  DirectCollective direct;
  direct.devices_ = devices;
  direct.argument_ = main.values[main.arguments[0]];
  direct.result_ = main.values[manual->results[0]];
  const ArrayType &part = main.values[op->operands[0]], &received = main.values[op->results[0]];
  direct.partElements_ = part.elements();
  direct.partBytes_ = part.bytes();
  if (direct.argument_.bytes() >= plain::kWorthSharingBytes || direct.argument_.elements() == 0) return std::nullopt;
  const TypedOp typed{*op, main};
  if (op->name == "all_reduce" || op->name == "reduce_scatter") {
    direct.kind_ = Kind::reduce;
    direct.reduce_ = collective->reducer;
    const bool fits = op->name == "all_reduce"
                          ? areResultsReplicated(*plan)
                          : areResultsInOrder(*plan) && isOutermost(part.shape, typed.integer("scatter_dimension"));
    return fits && direct.reduce_ && direct.result_.elements() == direct.partElements_ ? std::optional(direct)
                                                                                       : std::nullopt;
  }
  if (op->name == "all_gather") {
    direct.kind_ = Kind::copy;
    const bool fits = areResultsReplicated(*plan) && isOutermost(part.shape, typed.integer("all_gather_dim"));
    return fits && direct.result_.elements() == received.elements() ? std::optional(direct) : std::nullopt;
  }
  if (op->name == "all_to_all") {
    direct.kind_ = Kind::transpose;
    const int64_t split = typed.integer("split_dimension"), concat = typed.integer("concat_dimension");
    Shape piece = part.shape;
    piece[static_cast<size_t>(split)] /= devices;
    const bool fits = areResultsInOrder(*plan) && isOutermost(part.shape, split) && isOutermost(piece, concat);
    return fits ? std::optional(direct) : std::nullopt;
  }
  return std::nullopt;
}

Result<Array> DirectCollective::run(const Array& argument) const {
  auto result = Array::allocate(result_);
  if (!result) return result;
  const std::byte* from = argument.data();
  std::byte* to = result->data();
  switch (kind_) {
    case Kind::reduce:
      reduce_(from, from + partBytes_, to, partElements_, eval::Splat::none);
      for (int64_t d = 2; d < devices_; ++d) reduce_(to, from + d * partBytes_, to, partElements_, eval::Splat::none);
      break;
    case Kind::copy:
      std::memcpy(to, from, static_cast<size_t>(devices_ * partBytes_));
      break;
    case Kind::transpose: {  // pieces: [sender, receiver] to [receiver, sender]
      const int64_t piece = partBytes_ / devices_;
      for (int64_t r = 0; r < devices_; ++r)
        for (int64_t s = 0; s < devices_; ++s)
          std::memcpy(to + (r * devices_ + s) * piece, from + (s * devices_ + r) * piece, static_cast<size_t>(piece));
      break;
    }
  }
  return result;
}

}  // namespace smalti::driver
