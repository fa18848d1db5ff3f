#include "driver.h"

#include <dlfcn.h>

#include "fail.h"

struct Driver cu;
struct Device device;

int check(int result, const char* what) {
  enum { kFirstFault = 700, kLastFault = 719 };
  if (result == 0) return 1;
  const char* text = "unknown";
  if (cu.errorText) cu.errorText(result, &text);
  if (result >= kFirstFault && result <= kLastFault) device.lost = 1;
  return fail("the driver cannot %s: error %d, %s", what, result, text);
}

static int loadDriver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return fail("there is no NVIDIA driver here: libcuda.so.1 cannot be loaded");
  const struct {
    const char* name;
    void* to;
  } wanted[] = {{"cuInit", &cu.init},
                {"cuDriverGetVersion", &cu.driverVersion},
                {"cuDeviceGet", &cu.deviceGet},
                {"cuDeviceGetName", &cu.deviceName},
                {"cuDeviceGetAttribute", &cu.attribute},
                {"cuDevicePrimaryCtxRetain", &cu.retain},
                {"cuCtxSetCurrent", &cu.setCurrent},
                {"cuModuleLoadDataEx", &cu.moduleLoad},
                {"cuModuleUnload", &cu.moduleUnload},
                {"cuModuleGetFunction", &cu.getFunction},
                {"cuFuncSetAttribute", &cu.setFunction},
                {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &cu.occupancy},
                {"cuMemAlloc_v2", &cu.allocate},
                {"cuMemFree_v2", &cu.release},
                {"cuMemcpyHtoD_v2", &cu.copyIn},
                {"cuMemcpyDtoH_v2", &cu.copyOut},
                {"cuMemcpyDtoDAsync_v2", &cu.copy},
                {"cuMemsetD8Async", &cu.fill},
                {"cuLaunchKernel", &cu.launch},
                {"cuEventCreate", &cu.newEvent},
                {"cuEventDestroy_v2", &cu.freeEvent},
                {"cuEventRecord", &cu.record},
                {"cuEventQuery", &cu.query},
                {"cuEventElapsedTime", &cu.elapsed},
                {"cuGetErrorString", &cu.errorText}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i)
    if (!(*(void**)wanted[i].to = dlsym(library, wanted[i].name)))
      return fail("the NVIDIA driver has no %s", wanted[i].name);
  *(void**)&cu.encodeMap = dlsym(library, "cuTensorMapEncodeTiled");
  return 1;
}

int startDevice(void) {
  enum {
    kProcessors = 16,
    kClock = 13,
    kMemoryClock = 36,
    kCache = 38,
    kMajor = 75,
    kMinor = 76
  }; /* CUdevice_attribute */
  int number = 0, major = 0, minor = 0;
  void* context = 0;
  if (!loadDriver() || !check(cu.init(0), "start") || !check(cu.deviceGet(&number, 0), "find a GPU") ||
      !check(cu.retain(&context, number), "start the GPU") || !check(cu.setCurrent(context), "use the GPU") ||
      !check(cu.driverVersion(&device.driver), "tell its version") ||
      !check(cu.deviceName(device.name, sizeof device.name - 1, number), "tell the name of the GPU"))
    return 0;
  if (!check(cu.attribute(&device.processors, kProcessors, number), "describe the GPU") ||
      !check(cu.attribute(&major, kMajor, number), "describe the GPU") ||
      !check(cu.attribute(&minor, kMinor, number), "describe the GPU"))
    return 0;
  /* Only printed: 0 if the driver does not tell them. */
  cu.attribute(&device.clockMhz, kClock, number);
  cu.attribute(&device.memoryMhz, kMemoryClock, number);
  cu.attribute(&device.cacheBytes, kCache, number);
  device.clockMhz /= 1000; /* the driver's are in kHz */
  device.memoryMhz /= 1000;
  device.capability = major * 10 + minor;
  return 1;
}
