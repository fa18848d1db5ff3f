// The CUDA driver, loaded while the program runs, so that the same program runs on machines without a driver.
//
// cuGetProcAddress finds its functions, each in the version whose signature is declared here (CUDA Driver API, "Driver
// Entry Point Access").
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/Architecture.h"
#include "smalti/diagnostic.h"

namespace smalti::gpu {

// As in cuda.h.
using CudaDevice = int;
using CudaAddress = unsigned long long;
using CudaHandle = void*;  ///< a context, module, function, stream, event or graph

struct CudaFunctions {
  int (*deviceGetCount)(int*) = nullptr;
  int (*deviceGet)(CudaDevice*, int) = nullptr;
  int (*deviceGetName)(char*, int, CudaDevice) = nullptr;
  int (*deviceGetAttribute)(int*, int, CudaDevice) = nullptr;
  int (*primaryContextRetain)(CudaHandle*, CudaDevice) = nullptr;
  int (*contextGetCurrent)(CudaHandle*) = nullptr;
  int (*contextSetCurrent)(CudaHandle) = nullptr;
  int (*contextSynchronize)() = nullptr;
  int (*moduleLoad)(CudaHandle*, const void*, unsigned, int*, void**) = nullptr;
  int (*moduleUnload)(CudaHandle) = nullptr;
  int (*moduleGetFunction)(CudaHandle*, CudaHandle, const char*) = nullptr;
  int (*functionSetAttribute)(CudaHandle, int, int) = nullptr;
  int (*occupancy)(int*, CudaHandle, int, size_t) = nullptr;
  int (*allocate)(CudaAddress*, size_t) = nullptr;
  int (*release)(CudaAddress) = nullptr;
  int (*copyIn)(CudaAddress, const void*, size_t) = nullptr;
  int (*copyOut)(void*, CudaAddress, size_t) = nullptr;
  int (*launch)(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle, void**,
                void**) = nullptr;
  int (*errorText)(int, const char**) = nullptr;
  // Functions of streams return before the work is done.
  int (*copyOnDevice)(CudaAddress, CudaAddress, size_t, CudaHandle) = nullptr;
  int (*fill8)(CudaAddress, unsigned char, size_t, CudaHandle) = nullptr;
  int (*fill16)(CudaAddress, unsigned short, size_t, CudaHandle) = nullptr;
  int (*fill32)(CudaAddress, unsigned, size_t, CudaHandle) = nullptr;
  int (*streamCreate)(CudaHandle*, unsigned) = nullptr;
  int (*streamDestroy)(CudaHandle) = nullptr;
  int (*streamWaitEvent)(CudaHandle, CudaHandle, unsigned) = nullptr;
  int (*eventCreate)(CudaHandle*, unsigned) = nullptr;
  int (*eventRecord)(CudaHandle, CudaHandle) = nullptr;
  int (*eventDestroy)(CudaHandle) = nullptr;
  int (*captureBegin)(CudaHandle, int) = nullptr;
  int (*captureEnd)(CudaHandle, CudaHandle*) = nullptr;
  int (*graphInstantiate)(CudaHandle*, CudaHandle, unsigned long long) = nullptr;
  int (*graphLaunch)(CudaHandle, CudaHandle) = nullptr;
  int (*graphDestroy)(CudaHandle) = nullptr;
  int (*graphExecDestroy)(CudaHandle) = nullptr;
  /// Null where the driver has none.
  int (*streamIsCapturing)(CudaHandle, int*) = nullptr;
  /// Null before CUDA 12.
  int (*tensorMapEncode)(void*, int, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*,
                         const uint32_t*, int, int, int, int) = nullptr;
};

class CudaDriver {
 public:
  /// Loaded and initialised once for the process. The error is a sentence about what is missing (a driver, a device, a
  /// version), as Target::available has it.
  static Result<const CudaDriver*> open();
  /// Loads this file, again on each call; for tests.
  static Result<CudaDriver> load(const std::string& library);

  const CudaFunctions& call() const { return functions_; }
  int version() const { return version_; }  ///< 12040: 12.4
  int devices() const { return devices_; }
  /// Success for 0. SM7205, which names the failed action and the driver's error; SM7208 if a kernel has faulted, which
  /// loses the GPU.
  Status check(int result, std::string_view what) const;
  /// SM7205: the process is a child of the one that started the driver.
  Status usableHere() const;
  /// SM7205: it is older than the PTX of this architecture.
  Status assembles(const Architecture&) const;

 private:
  CudaFunctions functions_;
  int version_ = 0, devices_ = 0;
  pid_t startedBy_ = 0;
};

}  // namespace smalti::gpu
