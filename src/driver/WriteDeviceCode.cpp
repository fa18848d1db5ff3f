#include "driver/WriteDeviceCode.h"

#include "base/io/File.h"
#include "driver/OutputNames.h"
#include "driver/target/cuda/Cuda.h"
#include "gpu/NoDeviceCode.h"
#include "gpu/ptx/LaunchHeader.h"
#include "gpu/ptx/Ptx.h"
#include "gpu/ptx/Tools.h"

namespace smalti::driver {

Result<WrittenDeviceCode> writeDeviceCode(const KernelPackage& kernel, const std::string& path, bool isCubin,
                                          const std::string& gpu, const std::string& symbol) {
  auto names = outputNames(path, symbol, isCubin ? "kernel.cubin" : "kernel.ptx");
  if (!names) return fail(std::move(names.error()));
  const auto architecture = gpu::architectureNamed(gpu);
  if (!architecture) return fail(architecture.error());
  const auto ready = kernelForGpus(kernel, {});
  if (!ready) return fail(ready.error());
  auto code = gpu::compileToPtx(*ready, *architecture, eval::Poison::intMin, true);
  if (!code) return fail(std::move(code.error()));
  if (code->lowered.prints) return fail(gpu::noDeviceCode("debug prints, which only Smalti can format"));
  std::string bytes = std::move(code->ptx);
  if (isCubin) {
    const auto ptxas = gpu::findTool("ptxas");
    if (!ptxas)
      return fail(
          {.code = "SM7204",
           .message = "a cubin needs ptxas, which is not installed",
           .place = {},
           .help =
               "pip install nvidia-cuda-nvcc, or use --format ptx, which the driver assembles when it loads the code"});
    auto assembled = gpu::assemble(*ptxas, bytes, architecture->name);
    if (!assembled) return fail(std::move(assembled.error()));
    bytes = std::move(assembled->cubin);
  }
  const std::string header = gpu::launchHeader(kernel, code->lowered, *architecture, names->symbol, names->file);
  if (Status ok = writeWithHeader(path, bytes, names->header, header); !ok) return fail(std::move(ok.error()));
  return WrittenDeviceCode{.header = names->header,
                           .symbol = names->symbol,
                           .gpu = std::string(architecture->name),
                           .bytes = static_cast<int64_t>(bytes.size())};
}

}  // namespace smalti::driver
