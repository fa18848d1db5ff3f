// Programs whose meshes are spread over processes: what the devices of one process get from those of the others.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/io/ByteStream.h"
#include "driver/program/ProgramRunner.h"
#include "llvm/Support/xxhash.h"
#include "machine/ProcessTransport.h"

namespace smalti::driver {
namespace {

std::span<const std::byte> bytesOf(const Array& a) { return {a.data(), static_cast<size_t>(a.bytes())}; }
uint64_t hashOf(const Array& a) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(a.data()), static_cast<size_t>(a.bytes())));
}

void addArray(ByteWriter& w, const Array& a) {
  w.align();
  w.addBytes(bytesOf(a));
}
/// The bytes that addArray needs.
size_t sizeOf(const Array& a) { return kMessageAlignment + static_cast<size_t>(a.bytes()); }

/// The array that addArray wrote, in the memory of the message.
Result<Array> readArray(ByteReader& reader, const ArrayType& type, const std::shared_ptr<ReceivedMessage>& message) {
  reader.align();
  const auto bytes = reader.next(static_cast<size_t>(type.bytes()));
  if (reader.ok()) return Array::view(type, const_cast<std::byte*>(bytes.data()), message);
  return fail(otherProgram({}, fmt::format("{} of {} bytes", type.str(), type.bytes()),
                           "a shorter message from another process"));
}

}  // namespace

Result<DeviceShare> ProgramRunner::shareOfMesh(const DeviceMesh& mesh, const Op& op, DeviceStates states) const {
  if (!shared_) return DeviceShare{0, mesh.numDevices()};
  const bool whole = states.size() == 1 && states[0]->coordinates->empty();
  const auto& manual = std::get<std::vector<std::string>>(*op.find("manual_axes"));
  if (whole && manual.size() == mesh.axes.size()) return shareOf(shared_->group(), mesh.numDevices(), op);
  return fail({.code = "SM5013",
               .message = "a shard_map over some axes of its mesh cannot be spread over processes",
               .place = op.place,
               .need = "one shard_map that names every axis of its mesh",
               .have = whole ? fmt::format("{} of {} axes", manual.size(), mesh.axes.size()) : "one inside another",
               .help = "name all axes in one shard_map, or run each process by itself with SMALTI_MPI=off"});
}

Status ProgramRunner::gatherSent(const Function& f, const Op& op, const Exchange& exchange, SentByDevice& sent) {
  const Processes& processes = shared_->group().processes;
  const int64_t perProcess = share_.count;
  const auto processOf = [&](size_t device) { return device / static_cast<size_t>(perProcess); };
  const auto here = static_cast<size_t>(processes.rank());
  // [process][device]: whether a device of the process receives from it.
  std::vector<std::vector<bool>> wants(static_cast<size_t>(processes.count()), std::vector<bool>(sent.size()));
  for (size_t receiver = 0; receiver < exchange.from.size(); ++receiver)
    if (const int list = exchange.from[receiver]; list >= 0)
      for (const int64_t sender : exchange.senders[static_cast<size_t>(list)])
        wants[processOf(receiver)][static_cast<size_t>(sender)] = true;
  const auto isSent = [&](size_t device, int to) {
    return processOf(device) == here && wants[static_cast<size_t>(to)][device];
  };
  // Only with processes that give or take something: the others may not come here at all.
  std::vector<bool> with(wants.size());
  for (size_t r = 0; r < wants.size(); ++r)
    for (size_t d = 0; d < sent.size() && r != here; ++d)
      if (isSent(d, static_cast<int>(r)) || (processOf(d) == r && wants[here][d])) with[r] = true;
  const auto write = [&](int to, ByteWriter& w) {
    size_t size = 0;
    for (size_t d = 0; d < sent.size(); ++d)
      if (isSent(d, to) && sent[d])
        for (const Array& operand : *sent[d]) size += sizeof(int64_t) + sizeOf(operand);
    w.reserve(size);
    for (size_t d = 0; d < sent.size(); ++d) {
      if (!isSent(d, to) || !sent[d]) continue;  // a device that did not come
      w.add(static_cast<int64_t>(d));
      for (const Array& operand : *sent[d]) addArray(w, operand);
    }
  };
  auto got = shared_->exchange(write, op, with);
  if (!got) return fail(std::move(got.error()));
  for (int r = 0; r < processes.count(); ++r) {
    const auto message = std::make_shared<ReceivedMessage>(std::move((*got)[static_cast<size_t>(r)]));
    ByteReader reader = message->reader();
    while (r != processes.rank() && !reader.rest().empty() && reader.ok()) {
      const auto device = reader.get<int64_t>();
      if (device / perProcess != r || device >= static_cast<int64_t>(sent.size())) break;
      std::vector<Array>& operands = sent[static_cast<size_t>(device)].emplace();
      for (const ValueId v : op.operands) {
        auto array = readArray(reader, f.values[v], message);
        if (!array) return fail(std::move(array.error()));
        operands.push_back(std::move(*array));
      }
    }
  }
  return {};
}

// A process that has a copy of a part gets the hash of the first copy, the others get its elements. Nothing is sent of
// results that are equal on all devices anyway.
Status ProgramRunner::gatherReturned(const Op& op, const ManualPlan& plan, std::vector<std::vector<Array>>& returned) {
  const Processes& processes = shared_->group().processes;
  const auto perProcess = static_cast<size_t>(share_.count);
  const auto ofProcess = [&](size_t device) { return static_cast<int>(device / perProcess); };
  const auto copyOf = [&](size_t first, size_t result, int process) -> std::optional<size_t> {
    const size_t begin = static_cast<size_t>(process) * perProcess;
    for (size_t d = begin; d < begin + perProcess; ++d)
      if (plan.devices[d].results[result].first == first) return d;
    return std::nullopt;
  };
  std::vector<std::vector<std::optional<uint64_t>>> hashes(plan.devices.size());  // by device and result
  const auto hashAt = [&](size_t device, size_t result) {
    hashes[device].resize(op.results.size());
    std::optional<uint64_t>& hash = hashes[device][result];
    return hash ? *hash : hash.emplace(hashOf(returned[device][result]));
  };
  const auto write = [&](int to, ByteWriter& w) {
    for (size_t d = 0; d < plan.devices.size(); ++d)
      for (size_t r = 0; r < op.results.size() && ofProcess(d) == processes.rank(); ++r) {
        if (plan.equal[r] || plan.devices[d].results[r].first != d) continue;
        if (copyOf(d, r, to))
          w.add(hashAt(d, r));
        else
          addArray(w, returned[d][r]);
      }
  };
  std::vector<std::shared_ptr<ReceivedMessage>> messages;
  std::vector<ByteReader> readers;
  if (std::ranges::count(plan.equal, false) > 0) {
    auto got = shared_->exchange(write, op);
    if (!got) return fail(std::move(got.error()));
    for (ReceivedMessage& message : *got)
      readers.push_back(messages.emplace_back(std::make_shared<ReceivedMessage>(std::move(message)))->reader());
  }
  const auto here = static_cast<size_t>(share_.first);
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    const auto process = static_cast<size_t>(ofProcess(d));
    if (ofProcess(d) == processes.rank()) continue;
    returned[d].resize(op.results.size());
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ReturnedPart& part = plan.devices[d].results[r];
      if (part.first != d) continue;
      if (plan.equal[r]) {
        returned[d][r] = returned[here][r];
        continue;
      }
      if (const auto copy = copyOf(d, r, processes.rank())) {
        if (readers[process].get<uint64_t>() != hashAt(*copy, r))
          return fail(copiesDiffer(op, r, plan.devices[d].coordinates, plan.devices[*copy].coordinates));
        returned[d][r] = returned[*copy][r];
        continue;
      }
      auto array = readArray(readers[process], part.type, messages[process]);
      if (!array) return fail(std::move(array.error()));
      returned[d][r] = std::move(*array);
    }
  }
  return {};
}

Result<machine::KernelResult> ProgramRunner::callKernel(int kernel, std::span<const std::vector<Array>> operands) {
  const TargetKernel& target = *compiled_.kernels[static_cast<size_t>(kernel)];
  if (!shared_) return target.run(operands, settings_);
  ExecuteSettings settings = settings_;
  settings.firstDevice = static_cast<int>(share_.first);
  if (compiled_.namesDevices[static_cast<size_t>(kernel)]) {
    settings.allDevices = static_cast<int>(allDevices_);
    settings.transport = machine::ProcessTransports{&shared_->group().kernelMessages, settings.allDevices};
  }
  return target.run(operands, settings);
}

}  // namespace smalti::driver
