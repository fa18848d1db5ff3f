// Devices that run one call together in several processes, some in each: copies and signals to other processes
// are messages, which waiting threads deliver.
#pragma once

#include <memory>

#include "base/memory/BlockMemory.h"
#include "base/process/ProcessRun.h"
#include "cpu/runtime/Devices.h"

namespace smalti::cpu {

/// The devices of a call that run in this process.
struct ProcessSpread {
  KernelMessages* messages = nullptr;
  int allDevices = 0;
  int firstDevice = 0;  ///< first of the devices in this process, one per element of `operands`
};

/// The functions of DeviceGroup number the devices of this process from 0; `other` is a device's number among all.
///
/// Generated code copies data for another process into a mirror of its device's own memory, at the same offsets; `put`
/// sends the data from there. Copies thus work as they do within a process.
class ProcessDeviceGroup final : public DeviceGroup, private ProcessRun::Devices {
 public:
  ProcessDeviceGroup(const ProcessSpread&, int devicesHere, const std::atomic<bool>* stop);
  ~ProcessDeviceGroup() override;

  /// Waits until all processes have arrived with the same code, which `layout` identifies (0: none here); then memory
  /// may be written. False: some have different code, and the kernel does not run natively.
  Result<bool> begin(uint64_t layout);
  /// Waits until all have ended. `fault`: whether this process has a fault. Returns whether any process has one.
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
  struct FreeBlock {
    size_t bytes = 0;
    void operator()(std::byte* memory) const { freeBlock(memory, bytes); }
  };

  Status deliver(int from, ByteReader&) override;
  Status deliverPut(ByteReader&, const std::vector<Region>& memory);
  Status raise(ByteReader&, const std::vector<Region>& memory);
  bool idle() const override;
  bool isHere(int64_t device) const { return device >= first_ && device < first_ + devices(); }
  /// The header of a message to a device of another process.
  std::optional<ByteWriter> messageTo(int device, int64_t other, Kind, const std::byte* semaphore,
                                      int64_t amount) const;
  bool send(int64_t other, Bytes message);
  /// Delivers received messages, unless another thread does. False: the call must end.
  bool progress(bool mayProbe);

  const int first_, all_;
  std::vector<std::vector<Region>> mirror_;
  std::vector<std::unique_ptr<std::byte, FreeBlock>> mirrors_;
  std::vector<Waiting> waiting_;
  std::atomic<int> left_{0};
  std::atomic<uint64_t> waited_{0};  ///< number of completed waits
  std::mutex network_;
  ProcessRun run_;  ///< guarded by network_
};

}  // namespace smalti::cpu
