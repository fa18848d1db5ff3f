// The processes that run a program's meshes together, and their communication between its kernels.
#pragma once

#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/ProcessRun.h"
#include "base/Processes.h"
#include "ir/Program.h"

namespace smalti::driver {

/// Lasts as long as the process. Programs that are spread over processes run one at a time.
class ProcessGroup {
 public:
  explicit ProcessGroup(Processes& processes) : processes(processes), kernelMessages{&processes, 0, {}} {}
  Processes& processes;
  KernelMessages kernelMessages;
  uint64_t programs = 0;        ///< that all processes have begun together
  std::set<std::string> known;  ///< identities of these
};

/// The group that `mpi` ("auto", "on", "off") selects here: null for a single process. `net`: as parseNetwork takes it.
/// SM5014 for "on" where MPI cannot be had, or has not started this process.
Result<ProcessGroup*> processGroup(std::string_view mpi, std::string_view net);

/// The devices of a mesh that are this process's. SM5013 when they cannot be shared evenly.
Result<DeviceShare> shareOf(const ProcessGroup&, int64_t devices, const Op&);

/// SM5012.
Diagnostic otherProgram(const SourcePlace&, std::string need, std::string have);

/// A message to each process, by rank.
using Messages = std::vector<std::span<const std::byte>>;
/// A message from another process, after its header.
class ReceivedMessage {
 public:
  ReceivedMessage() = default;
  ReceivedMessage(Bytes bytes, size_t header) : bytes_(std::move(bytes)), header_(header) {}
  std::span<const std::byte> content() const { return std::span<const std::byte>(bytes_).subspan(header_); }

 private:
  Bytes bytes_;
  size_t header_ = 0;
};

/// One run of a program by all processes of a group.
class SharedRun {
 public:
  SharedRun(ProcessGroup& group, const std::atomic<bool>* stop)
      : group_(group), run_(++group.programs), stop_(stop), exchanges_(static_cast<size_t>(group.processes.count())) {}

  ProcessGroup& group() const { return group_; }
  /// Gives processes a message and gets theirs, by rank: those `with` which it exchanges, each of which comes to the
  /// same op and says the same of this one; empty: all. SM5012 when one comes to another op, SM5011 when one has given
  /// up, SM9006 when the run is stopped.
  Result<std::vector<ReceivedMessage>> exchange(const Messages& to, const Op& at, const std::vector<bool>& with = {});
  /// Before anything else: all processes run the same program, as `identity` tells it. SM5012 else.
  Status agree(const std::string& identity);
  /// Called after an error of this process: the others need not wait.
  void giveUp();

 private:
  Result<std::vector<ReceivedMessage>> exchangeAt(const Messages& to, const std::string& where, const SourcePlace&,
                                                  const std::vector<bool>& with);

  ProcessGroup& group_;
  const uint64_t run_;
  const std::atomic<bool>* stop_;
  std::vector<uint64_t> exchanges_;  ///< by process: how many there have been with it
};

}  // namespace smalti::driver
