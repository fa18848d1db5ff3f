#include "cpu/runtime/EntryPoints.h"

#include <array>

#include "cpu/emit/Measured.h"
#include "cpu/emit/SharedLoop.h"
#include "cpu/runtime/Pool.h"

namespace smalti::cpu {
namespace {

int32_t smaltiCpuInterpret(void* context, int32_t op, void** pointers) {
  return static_cast<KernelContext*>(context)->fallback->run(op, pointers);
}

DmaHazardTracker& hazardsOf(void* context) { return static_cast<KernelContext*>(context)->fallback->hazards; }

int32_t smaltiCpuDmaStart(void* context, const std::byte* source, const std::byte* sourceEnd, const std::byte* target,
                          const std::byte* targetEnd, const void* semaphore, int64_t amount) {
  return hazardsOf(context).start({source, sourceEnd}, {target, targetEnd}, semaphore, amount) ? 0 : 1;
}
void smaltiCpuDmaWait(void* context, const std::byte* target, const std::byte* targetEnd, const void* semaphore,
                      int64_t amount) {
  hazardsOf(context).wait({target, targetEnd}, semaphore, amount);
}
int32_t smaltiCpuDmaAccess(void* context, const std::byte* begin, const std::byte* end, int32_t write) {
  return hazardsOf(context).access({begin, end}, write != 0) ? 0 : 1;
}

const std::byte* smaltiCpuReadOutside(void* context, const char* place, const std::byte* base,
                                      const ReadDimension* dimensions, int32_t rank, int32_t dtype) {
  return static_cast<KernelContext*>(context)->outside.read(place, base, {dimensions, static_cast<size_t>(rank)},
                                                            static_cast<DType>(dtype));
}

const std::byte* smaltiCpuBlockOutside(void* context, int32_t operand, const ReadDimension* dimensions, int32_t rank,
                                       int32_t dtype) {
  return static_cast<KernelContext*>(context)->outside.block(operand, {dimensions, static_cast<size_t>(rank)},
                                                             static_cast<DType>(dtype));
}

const DeviceMember& memberOf(void* context) { return static_cast<KernelContext*>(context)->member; }

int32_t smaltiCpuDevice(void* context) { return memberOf(context).number; }
std::byte* smaltiCpuPeer(void* context, int64_t device, std::byte* here) {
  const DeviceMember& m = memberOf(context);
  if (m.group) return m.group->peer(m.device, device, here);
  return device == 0 ? here : nullptr;
}
int32_t smaltiCpuSignal(void* context, int64_t device, int64_t* semaphore, int64_t amount) {
  const DeviceMember& m = memberOf(context);
  if (m.group) return m.group->signalTo(m.device, device, semaphore, amount) ? 0 : 1;
  if (device != 0) return 1;
  *semaphore += amount;
  return 0;
}
int32_t smaltiCpuPut(void* context, int64_t device, const std::byte* target, const CopiedBox* box, int64_t* semaphore,
                     int64_t amount) {
  const DeviceMember& m = memberOf(context);
  if (m.group) return m.group->put(m.device, device, target, *box, semaphore, amount) ? 0 : 1;
  return smaltiCpuSignal(context, device, semaphore, amount);
}
int32_t smaltiCpuWait(void* context, int64_t* semaphore, int64_t amount) {
  if (const DeviceMember& m = memberOf(context); m.group) return m.group->wait(m.device, semaphore, amount) ? 0 : 1;
  if (*semaphore < amount) return 1;
  *semaphore -= amount;
  return 0;
}

int64_t smaltiCpuRead(void* context, int64_t* semaphore) {
  const DeviceMember& m = memberOf(context);
  return m.group ? m.group->read(semaphore).value_or(INT64_MIN) : *semaphore;
}

void smaltiCpuShare(void* context, void (*compute)(const int64_t* range, void* values), void* values, int64_t count) {
  parallelFor(count, static_cast<KernelContext*>(context)->threads, [&](int64_t first, int64_t last, int) {
    const std::array<int64_t, 2> range{first, last};
    compute(range.data(), values);
  });
}

void smaltiCpuCopyStart(void* context, const Copy* copy, const void* semaphore) {
  static_cast<KernelContext*>(context)->copies.start(*copy, semaphore);
}
void smaltiCpuCopyFinish(void* context, const void* semaphore) {
  static_cast<KernelContext*>(context)->copies.finish(semaphore);
}

void smaltiCpuStamp(void* context, int32_t part, int32_t opens) {
  if (Stamps* stamps = static_cast<KernelContext*>(context)->stamps) stamps->stamp(part, opens != 0);
}
void smaltiCpuStep(void* context, int64_t number) {
  if (Stamps* stamps = static_cast<KernelContext*>(context)->stamps) stamps->step(number);
}

const RuntimeSymbol kRuntime[] = {{kInterpretSymbol, reinterpret_cast<void*>(&smaltiCpuInterpret)},
                                  {kDmaStartSymbol, reinterpret_cast<void*>(&smaltiCpuDmaStart)},
                                  {kDmaWaitSymbol, reinterpret_cast<void*>(&smaltiCpuDmaWait)},
                                  {kDmaAccessSymbol, reinterpret_cast<void*>(&smaltiCpuDmaAccess)},
                                  {kReadOutsideSymbol, reinterpret_cast<void*>(&smaltiCpuReadOutside)},
                                  {kBlockOutsideSymbol, reinterpret_cast<void*>(&smaltiCpuBlockOutside)},
                                  {kDeviceSymbol, reinterpret_cast<void*>(&smaltiCpuDevice)},
                                  {kPeerSymbol, reinterpret_cast<void*>(&smaltiCpuPeer)},
                                  {kPutSymbol, reinterpret_cast<void*>(&smaltiCpuPut)},
                                  {kSignalSymbol, reinterpret_cast<void*>(&smaltiCpuSignal)},
                                  {kReadSymbol, reinterpret_cast<void*>(&smaltiCpuRead)},
                                  {kCopyStartSymbol, reinterpret_cast<void*>(&smaltiCpuCopyStart)},
                                  {kCopyFinishSymbol, reinterpret_cast<void*>(&smaltiCpuCopyFinish)},
                                  {kShareSymbol, reinterpret_cast<void*>(&smaltiCpuShare)},
                                  {kStampSymbol, reinterpret_cast<void*>(&smaltiCpuStamp)},
                                  {kStepSymbol, reinterpret_cast<void*>(&smaltiCpuStep)},
                                  {kWaitSymbol, reinterpret_cast<void*>(&smaltiCpuWait)}};

}  // namespace

std::span<const RuntimeSymbol> runtimeSymbols() { return kRuntime; }

}  // namespace smalti::cpu
