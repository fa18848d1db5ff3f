#include "driver/processes/ProcessGroup.h"

#include <deque>
#include <mutex>

#include <fmt/format.h>

#include "base/Lasting.h"
#include "base/io/ByteStream.h"
#include "base/process/StoppedProcess.h"
#include "driver/processes/LoadMpi.h"
#include "driver/processes/SimulatedNetwork.h"
#include "driver/program/TimeLimit.h"

namespace smalti::driver {
namespace {

using Channel = Processes::Channel;

enum class Kind : uint8_t { values, gaveUp };

constexpr std::chrono::milliseconds kLookForStop{100};

ByteWriter header(uint64_t run, Kind kind) {
  ByteWriter w;
  w.add(run);
  w.add(kind);
  return w;
}

std::string described(const Op& op) {
  return fmt::format("{} at {}", op.name, op.place.known() ? op.place.str() : "?");
}

}  // namespace

Diagnostic otherProgram(const SourcePlace& place, std::string need, std::string have) {
  return {.code = "SM5012",
          .message = "the processes do not run the same program",
          .place = place,
          .need = std::move(need),
          .have = std::move(have),
          .help = "start all processes with the same program, inputs, options and version of Smalti"};
}

Result<ProcessGroup*> processGroup(std::string_view mpi, std::string_view net) {
  const auto network = parseNetwork(net);
  if (!network) return fail(network.error());
  if (mpi == "off") return nullptr;
  auto processes = mpiProcesses(/*needed=*/mpi == "on");
  if (!processes) return fail(std::move(processes.error()));
  if (!*processes) return nullptr;
  // A group for each network: messages of one are not read by the other.
  struct Groups {
    std::mutex mutex;
    std::deque<std::pair<Network, std::unique_ptr<ProcessGroup>>> groups;
    std::deque<std::unique_ptr<Processes>> slow;
  };
  static constinit Lasting<Groups> kept;
  auto& [mutex, groups, slow] = kept.get();
  const std::lock_guard lock(mutex);
  for (auto& [of, group] : groups)
    if (of == *network) return group.get();
  Processes* chosen = *processes;
  if (*network != Network{}) chosen = slow.emplace_back(slowed(**processes, *network)).get();
  return groups.emplace_back(*network, std::make_unique<ProcessGroup>(*chosen)).second.get();
}

Result<DeviceShare> shareOf(const ProcessGroup& group, int64_t devices, const Op& op) {
  const int64_t n = group.processes.count();
  if (devices % n == 0) return DeviceShare{group.processes.rank() * (devices / n), devices / n};
  return fail({.code = "SM5013",
               .message = "the processes cannot share the devices of a mesh evenly",
               .place = op.place,
               .need = fmt::format("a multiple of {} devices, as many for each process", n),
               .have = fmt::format("a mesh of {}", devices),
               .help = fmt::format("start it with a number of processes that divides {}, or run each process by itself "
                                   "with SMALTI_MPI=off",
                                   devices)});
}

Result<std::vector<ReceivedMessage>> SharedRun::exchange(const Write& write, const Op& at,
                                                         const std::vector<bool>& with) {
  return exchangeAt(write, described(at), at.place, with);
}

Status SharedRun::agree(const std::string& identity) {
  auto agreed = exchangeAt([](int, ByteWriter&) {}, identity, {}, {});
  if (!agreed) return fail(std::move(agreed.error()));
  return {};
}

Result<std::vector<ReceivedMessage>> SharedRun::exchangeAt(const Write& write, const std::string& where,
                                                           const SourcePlace& place, const std::vector<bool>& with) {
  Processes& p = group_.processes;
  const auto takesPart = [&](int r) { return r != p.rank() && (with.empty() || with[static_cast<size_t>(r)]); };
  for (int r = 0; r < p.count(); ++r) {
    if (!takesPart(r)) continue;
    ByteWriter w = header(run_, Kind::values);
    w.add(++exchanges_[static_cast<size_t>(r)]);
    w.add(where);
    write(r, w);
    if (Status ok = p.send(r, Channel::program, w.take()); !ok) return fail(std::move(ok.error()));
  }
  std::vector<ReceivedMessage> got(static_cast<size_t>(p.count()));
  for (int r = 0; r < p.count(); ++r) {
    while (takesPart(r)) {
      if (stop_ && stop_->load(std::memory_order_relaxed))
        return fail(stoppedAt(place, fmt::format("in an exchange with {}", p.name(r))));
      auto message = p.receive(Channel::program, r, kLookForStop);
      if (!message) return fail(std::move(message.error()));
      if (!*message) continue;
      ByteReader reader((*message)->bytes);
      if (const auto run = reader.get<uint64_t>(); reader.ok() && run < run_) continue;  // of one that was given up
      const Kind kind = reader.get<Kind>();
      if (kind == Kind::gaveUp)
        return fail(stoppedProcess(fmt::format("{}: it has given up", p.name(r)), kSeeItsOutput, place));
      const auto number = reader.get<uint64_t>();
      const std::string theirs = reader.text();
      if (!reader.ok() || number != exchanges_[static_cast<size_t>(r)] || theirs != where)
        return fail(
            otherProgram(place, fmt::format("every process at {}", where), fmt::format("{} at {}", p.name(r), theirs)));
      const size_t head = (*message)->bytes.size() - reader.rest().size();
      got[static_cast<size_t>(r)] = {std::move((*message)->bytes), head};
      break;
    }
  }
  return got;
}

void SharedRun::giveUp() {
  for (int r = 0; r < group_.processes.count(); ++r)
    if (r != group_.processes.rank())
      (void)group_.processes.send(r, Channel::program, header(run_, Kind::gaveUp).bytes());
}

}  // namespace smalti::driver
