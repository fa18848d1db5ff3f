// Programs whose meshes are spread over processes: what the devices of one process get from those of the others.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/ByteStream.h"
#include "driver/program/ProgramRunner.h"
#include "llvm/Support/xxhash.h"
#include "machine/ProcessTransport.h"

namespace smalti::driver {
namespace {

std::span<const std::byte> bytesOf(const Array& a) { return {a.data(), static_cast<size_t>(a.bytes())}; }
uint64_t hashOf(const Array& a) {
  return llvm::xxh3_64bits(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(a.data()), static_cast<size_t>(a.bytes())));
}

/// Elements of that type, as they come next.
Result<Array> readArray(ByteReader& reader, const ArrayType& type) {
  auto array = Array::allocate(type);
  if (!array) return array;
  const auto bytes = reader.list(1);
  if (reader.ok() && bytes.size() == static_cast<size_t>(array->bytes())) {
    if (!bytes.empty()) std::memcpy(array->data(), bytes.data(), bytes.size());
    return array;
  }
  return fail(otherProgram({}, fmt::format("{} of {} bytes", type.str(), array->bytes()),
                           fmt::format("{} bytes from another process", bytes.size())));
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
  // Only with processes that give or take something: the others may not come here at all.
  std::vector<bool> with(wants.size());
  std::vector<Bytes> messages;
  for (size_t r = 0; r < wants.size(); ++r) {
    ByteWriter w;
    for (size_t d = 0; d < sent.size() && r != here; ++d) {
      if (processOf(d) == r && wants[here][d]) with[r] = true;
      if (processOf(d) != here || !wants[r][d]) continue;
      with[r] = true;
      if (!sent[d]) continue;  // a device that did not come
      w.add(static_cast<int64_t>(d));
      for (const Array& operand : *sent[d]) w.addList(bytesOf(operand));
    }
    messages.push_back(w.take());
  }
  auto got = shared_->exchange(Messages(messages.begin(), messages.end()), op, with);
  if (!got) return fail(std::move(got.error()));
  for (int r = 0; r < processes.count(); ++r) {
    ByteReader reader((*got)[static_cast<size_t>(r)].content());
    while (r != processes.rank() && !reader.rest().empty() && reader.ok()) {
      const auto device = reader.get<int64_t>();
      if (device / perProcess != r || device >= static_cast<int64_t>(sent.size())) break;
      std::vector<Array>& operands = sent[static_cast<size_t>(device)].emplace();
      for (const ValueId v : op.operands) {
        auto array = readArray(reader, f.values[v]);
        if (!array) return fail(std::move(array.error()));
        operands.push_back(std::move(*array));
      }
    }
  }
  return {};
}

// A process that has a copy of a part gets the hash of the first copy, the others get its elements.
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
  std::vector<ByteWriter> writers(static_cast<size_t>(processes.count()));
  for (size_t d = 0; d < plan.devices.size(); ++d)
    for (size_t r = 0; r < op.results.size() && ofProcess(d) == processes.rank(); ++r) {
      if (plan.devices[d].results[r].first != d) continue;
      std::optional<uint64_t> hash;
      for (int p = 0; p < processes.count(); ++p) {
        if (p == processes.rank()) continue;
        ByteWriter& w = writers[static_cast<size_t>(p)];
        if (!copyOf(d, r, p))
          w.addList(bytesOf(returned[d][r]));
        else
          w.add(hash ? *hash : hash.emplace(hashOf(returned[d][r])));
      }
    }
  Messages messages;
  for (const ByteWriter& w : writers) messages.emplace_back(w.bytes());
  auto got = shared_->exchange(messages, op);
  if (!got) return fail(std::move(got.error()));
  std::vector<ByteReader> readers;
  for (const ReceivedMessage& message : *got) readers.emplace_back(message.content());
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    if (ofProcess(d) == processes.rank()) continue;
    returned[d].resize(op.results.size());
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ReturnedPart& part = plan.devices[d].results[r];
      if (part.first != d) continue;
      ByteReader& reader = readers[static_cast<size_t>(ofProcess(d))];
      if (const auto copy = copyOf(d, r, processes.rank())) {
        if (reader.get<uint64_t>() != hashOf(returned[*copy][r]))
          return fail(copiesDiffer(op, r, plan.devices[d].coordinates, plan.devices[*copy].coordinates));
        returned[d][r] = returned[*copy][r];
        continue;
      }
      auto array = readArray(reader, part.type);
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
