#include "driver/WriteObject.h"

#include <cstdio>

#include "base/Source.h"
#include "cpu/aot/Aot.h"
#include "driver/OutputNames.h"
#include "lang/call/Backend.h"

namespace smalti {
namespace driver {

Result<WrittenObject> writeObject(const KernelPackage& kernel, const std::string& path, const ObjectOptions& options) {
  auto names = outputNames(path, options.symbol, "kernel.o");
  if (!names) return fail(std::move(names.error()));
  const auto target = cpu::processorNamed(options.processor);
  if (!target) return fail(target.error());
  const auto made = cpu::compileAheadOfTime(kernel, *target, names->symbol, options.step_limit);
  if (!made) return fail(made.error());
  if (Status status = writeWithHeader(path, made->object, names->header, made->header); !status)
    return fail(status.error());
  WrittenObject written{.header = std::move(names->header), .symbol = std::move(names->symbol), .processor = {}};
  written.processor = target->name;
  written.bytes = static_cast<int64_t>(made->object.size());
  return written;
}

}  // namespace driver

Status write_object(const Lowered& lowered, const std::string& path, const ObjectOptions& options) {
  return lang::withPackage(lowered, [&](const KernelPackage& kernel) -> Status {
    auto written = driver::writeObject(kernel, path, options);
    if (written) return {};
    showSource(written.error());
    return fail(std::move(written.error()));
  });
}

int object_main(int argc, const char* const* argv, Lowered (*kernel)()) {
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: %s OUTPUT.o [PROCESSOR]\n", argc > 0 ? argv[0] : "");
    return 2;
  }
  const auto lowered = attempt(kernel);
  if (!lowered) {
    std::fputs(lowered.error().str().c_str(), stderr);
    return 3;
  }
  const Status written = write_object(*lowered, argv[1], {.processor = argc > 2 ? argv[2] : "host"});
  if (written) return 0;
  std::fputs(written.error().str().c_str(), stderr);
  return 3;
}

}  // namespace smalti
