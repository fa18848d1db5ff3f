// Devices that run one call together in several processes, some in each: copies and signals to those of other processes
// are messages, which whoever waits here delivers.
#pragma once

#include <memory>

#include "base/ProcessRun.h"
#include "cpu/runtime/Devices.h"

namespace smalti::cpu {

/// Where some of the devices of a call are.
struct Spread {
  KernelMessages* messages = nullptr;
  int allDevices = 0, firstDevice = 0;  ///< and as many here as there are operands
};

/// The functions of DeviceGroup number the devices of this process from 0; `other` is a device's number among all.
///
/// Code writes what it copies to another process into a mirror of the device's own memory, at the same places, from
/// where `put` sends it: so that every way to copy is the same there as within a process.
class SpreadGroup final : public DeviceGroup, private ProcessRun::Devices {
 public:
  SpreadGroup(const Spread&, int devicesHere, const std::atomic<bool>* stop);
  ~SpreadGroup() override;

  /// All processes have come here with the same code, which `layout` tells (0: this one has none), and memory may be
  /// written to. False: some have not, and the kernel runs elsewhere.
  Result<bool> begin(uint64_t layout);
  /// All have ended; whether with a fault here, and then anywhere.
  Result<bool> end(bool fault);

  void setMemory(int device, std::vector<Region> regions) override;
  std::byte* peer(int device, int64_t other, const std::byte* here) const override;
  bool signalTo(int device, int64_t other, int64_t* semaphore, int64_t amount) override;
  bool put(int device, int64_t other, const std::byte* target, const CopiedBox&, int64_t* semaphore,
           int64_t amount) override;
  bool wait(int device, int64_t* semaphore, int64_t amount) override;
  std::optional<int64_t> read(int64_t* semaphore) override;
  void leave(bool failed) override;

 private:
  enum class Kind : uint8_t { put, signal };
  struct Waiting {
    std::atomic<int64_t*> semaphore{nullptr};
    std::atomic<int64_t> amount{0};
  };
  void stopWaiting(Waiting&);
  /// Memory that takes pages where it is written only.
  struct Unmap {
    size_t bytes = 0;
    void operator()(std::byte* memory) const;
  };

  Status deliver(int from, ByteReader&) override;
  Status deliverPut(ByteReader&, const std::vector<Region>& memory);
  Status raise(ByteReader&, const std::vector<Region>& memory);
  bool idle() const override;
  bool isHere(int64_t device) const { return device >= first_ && device < first_ + devices(); }
  /// The start of a message to a device that is elsewhere.
  std::optional<ByteWriter> messageTo(int device, int64_t other, Kind, const std::byte* semaphore,
                                      int64_t amount) const;
  bool send(int64_t other, Bytes message);
  /// Delivers what has come, unless another thread does. False: the call shall end.
  bool progress(bool mayProbe);

  const int first_, all_;
  std::vector<std::vector<Region>> mirror_;
  std::vector<std::unique_ptr<std::byte, Unmap>> mirrors_;
  std::vector<Waiting> waiting_;
  std::atomic<int> left_{0};
  std::atomic<uint64_t> waited_{0};  ///< waits that have ended
  std::mutex network_;
  ProcessRun run_;  ///< with the mutex
};

}  // namespace smalti::cpu
