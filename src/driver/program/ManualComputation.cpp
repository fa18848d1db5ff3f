// sdy.manual_computation: each device runs the body on its part of the global arrays.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ArrayPiece.h"
#include "base/RowMajor.h"
#include "base/Success.h"
#include "driver/program/ProgramRunner.h"
#include "eval/Shape.h"
#include "ir/program/Exchange.h"

namespace smalti::driver {
namespace {

int64_t offsetOf(const Shape& starts, const std::vector<int64_t>& strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < starts.size(); ++d) offset += starts[d] * strides[d];
  return offset;
}

bool sameBytes(const Array& a, const Array& b) {
  return a.bytes() == 0 || a.data() == b.data() || std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

/// The global array of that type if the arrays are its pieces: adjacent in one block of memory, in its order, and owned
/// only by the devices that returned them (not an argument or a constant). Otherwise nothing.
std::optional<Array> asPieces(const ArrayType& type, std::span<const ReturnedPart* const> parts,
                              std::span<const Array* const> arrays, std::span<const std::vector<Array>> returned) {
  constexpr uintptr_t kAlignment = 64;  // as Array::allocate has it
  const auto& owner = ownerOf(*arrays[0]);
  const auto begin = reinterpret_cast<uintptr_t>(arrays[0]->data()) -
                     static_cast<uintptr_t>(parts[0]->part.first.value_or(0) * storage_bytes(type.dtype));
  if (!owner || begin % kAlignment != 0) return std::nullopt;
  int64_t elements = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]->part.first || ownerOf(*arrays[i]) != owner) return std::nullopt;
    const auto place = begin + static_cast<uintptr_t>(*parts[i]->part.first * storage_bytes(type.dtype));
    if (reinterpret_cast<uintptr_t>(arrays[i]->data()) != place) return std::nullopt;
    elements += arrays[i]->elements();
  }
  if (elements != type.elements()) return std::nullopt;
  long holders = 0;
  for (const std::vector<Array>& ofDevice : returned)
    for (const Array& a : ofDevice) holders += ownerOf(a) == owner;
  if (owner.use_count() != holders) return std::nullopt;
  return Array::view(type, reinterpret_cast<void*>(begin), owner);
}

Result<Array> joined(const ArrayType& type, std::span<const ReturnedPart* const> parts,
                     std::span<const Array* const> arrays, const plain::ShareWork& share) {
  auto global = Array::allocate(type);
  if (!global || global->elements() == 0) return global;
  const int bytes = storage_bytes(type.dtype);
  const Shape strides = rowMajorStrides(type.shape);
  std::vector<plain::Move> moves;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Array& local = *arrays[i];
    if (parts[i]->part.first)
      moves.push_back({local.data(), global->data() + *parts[i]->part.first * bytes, 1, local.bytes(), 0, 0});
    else if (local.elements() > 0)
      eval::copyStrided(local.data(), rowMajorStrides(local.shape()),
                        global->data() + offsetOf(parts[i]->part.starts, strides) * bytes, strides, local.shape(),
                        bytes);
  }
  plain::moveAll(moves, share);
  return global;
}

/// A device as people read it: "(x=0, y=1)".
std::string coordinatesStr(const Coordinates& at) {
  std::vector<std::string> parts;
  for (const auto& [axis, value] : at) parts.push_back(fmt::format("{}={}", axis, value));
  return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace

Diagnostic copiesDiffer(const Op& op, size_t result, const Coordinates& one, const Coordinates& other) {
  return {.code = "SM5003",
          .message = fmt::format("result {} of a shard_map must be equal on devices that hold the same part of it, but "
                                 "is not",
                                 result),
          .place = op.place,
          .have = fmt::format("different elements on devices {} and {}", coordinatesStr(one), coordinatesStr(other)),
          .help = "name in out_specs every mesh axis over which the result differs"};
}

Status ProgramRunner::runManual(const Function& f, const Step& step, DeviceStates states) {
  const Op& op = *step.op;
  std::optional<ManualPlan> made;
  const ManualPlan* plan = states.size() == 1 && states[0]->coordinates->empty() ? compiled_.plans.manual(op) : nullptr;
  if (!plan) {
    std::vector<const Coordinates*> outer;
    for (const DeviceState* state : states) outer.push_back(state->coordinates);
    plan = &made.emplace(planManual(program_, f, op, outer));
  }
  const auto share = shareOfMesh(*plan->mesh, op, states);
  if (!share) return fail(share.error());
  const std::vector<ManualPlan::Device>& devices = plan->devices;

  std::vector<DeviceState> inner(devices.size());
  std::vector<DeviceState*> pointers;
  std::vector<std::vector<Array>> arguments;
  for (size_t d = 0; d < devices.size(); ++d) {
    const ManualPlan::Device& device = devices[d];
    if (!share->holds(device.number)) continue;
    const std::vector<Array>& outside = states[device.outer]->values;
    DeviceState& state = inner[d];
    state.device = device.number;
    state.coordinates = &device.coordinates;
    state.values.resize(outside.size());
    for (const ValueId v : plan->taken) state.values[v] = outside[v];  // they share memory
    pointers.push_back(&state);
    auto& list = arguments.emplace_back();
    list.reserve(op.operands.size());
    for (size_t k = 0; k < op.operands.size(); ++k) {
      auto part = partOf(outside[op.operands[k]], device.arguments[k]);
      if (!part) return fail(std::move(part.error()));
      list.push_back(std::move(*part));
    }
  }
  const size_t outerLanes = std::exchange(allDevices_, static_cast<size_t>(plan->mesh->numDevices()));
  const bool outerManual = std::exchange(allAxesManual_, devices.size() == allDevices_);
  const DeviceShare outerShare = std::exchange(share_, *share);
  auto results = runBlock(f, op.regions[0], pointers, std::move(arguments));
  if (!results) return fail(std::move(results.error()));

  std::vector<std::vector<Array>> returned(devices.size());  // by device
  for (size_t d = 0, here = 0; d < devices.size(); ++d)
    if (share->holds(devices[d].number)) returned[d] = std::move((*results)[here++]);
  if (shared_)
    if (Status ok = gatherReturned(op, *plan, returned); !ok) return ok;
  allDevices_ = outerLanes;
  allAxesManual_ = outerManual;
  share_ = outerShare;

  for (size_t r = 0; r < op.results.size(); ++r) {
    const ArrayType& type = f.values[op.results[r]];
    for (size_t l = 0; l < states.size(); ++l) {
      std::vector<const ReturnedPart*> parts;
      std::vector<const Array*> arrays;
      for (size_t d = 0; d < devices.size(); ++d) {
        if (devices[d].outer != l) continue;
        const ReturnedPart& part = devices[d].results[r];
        if (part.first == d) {
          parts.push_back(&part);
          arrays.push_back(&returned[d][r]);
        } else if (!plan->equal[r] && share->holds(devices[d].number) &&
                   !sameBytes(returned[d][r], returned[part.first][r])) {
          return fail(copiesDiffer(op, r, devices[part.first].coordinates, devices[d].coordinates));
        }
      }
      if (auto whole = asPieces(type, parts, arrays, returned)) {
        states[l]->values[op.results[r]] = std::move(*whole);
        continue;
      }
      auto global = joined(type, parts, arrays, shareWork());
      if (!global) return fail(std::move(global.error()));
      states[l]->values[op.results[r]] = std::move(*global);
    }
  }
  // A process whose devices returned different copies gives up, and notifies the others here.
  if (plan->copies && shared_)
    if (auto agreed = shared_->exchange([](int, ByteWriter&) {}, op); !agreed) return fail(std::move(agreed.error()));
  return success();
}

}  // namespace smalti::driver
