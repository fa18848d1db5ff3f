// The processes that run a program's meshes together, and their communication between its kernels.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "base/io/ByteStream.h"
#include "base/process/ProcessRun.h"
#include "base/process/Processes.h"
#include "ir/program/Program.h"

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
/// Error SM5014: "on" without MPI, or in a process that MPI has not started.
Result<ProcessGroup*> processGroup(std::string_view mpi, std::string_view net);

/// The devices of a mesh that are this process's. SM5013 when they cannot be shared evenly.
Result<DeviceShare> shareOf(const ProcessGroup&, int64_t devices, const Op&);

/// SM5012.
Diagnostic otherProgram(const SourcePlace&, std::string need, std::string have);

/// A message from another process: after its header, the content.
class ReceivedMessage {
 public:
  ReceivedMessage() = default;
  ReceivedMessage(Bytes bytes, size_t header) : bytes_(std::move(bytes)), header_(header) {}
  /// At the beginning of the content.
  ByteReader reader() const {
    ByteReader reader(bytes_);
    reader.next(header_);
    return reader;
  }

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
  /// Writes the content of the message to a process.
  using Write = std::function<void(int to, ByteWriter&)>;
  /// Sends a message to processes and receives theirs, by rank: those in `with`, each of which reaches the same op and
  /// exchanges with this one; empty: all. Errors: SM5012 (one reaches another op), SM5011 (one has given up), SM9006
  /// (the run is stopped).
  Result<std::vector<ReceivedMessage>> exchange(const Write&, const Op& at, const std::vector<bool>& with = {});
  /// Called first: checks that all processes run the same program, by its `identity` (SM5012).
  Status agree(const std::string& identity);
  /// Called after an error of this process: the others need not wait.
  void giveUp();

 private:
  Result<std::vector<ReceivedMessage>> exchangeAt(const Write&, const std::string& where, const SourcePlace&,
                                                  const std::vector<bool>& with);

  ProcessGroup& group_;
  const uint64_t run_;
  const std::atomic<bool>* stop_;
  std::vector<uint64_t> exchanges_;  ///< by process: how many there have been with it
};

}  // namespace smalti::driver
