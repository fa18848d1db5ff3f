#include "driver/WriteObject.h"

#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include "base/File.h"
#include "base/Source.h"
#include "cpu/aot/Aot.h"
#include "lang/call/Backend.h"

namespace smalti {
namespace driver {

Result<WrittenObject> writeObject(const KernelPackage& kernel, const std::string& path, const ObjectOptions& options) {
  const std::filesystem::path object(path);
  WrittenObject written;
  written.header = std::filesystem::path(object).replace_extension(".h").string();
  if (!object.has_stem() || path == "-" || written.header == path)
    return fail({.code = "SM1000",
                 .message = "an object file and its header need a name",
                 .place = {},
                 .help = "name the object: -o kernel.o; its header is kernel.h"});
  written.symbol = options.symbol.empty() ? cpu::cIdentifier(object.stem().string()) : options.symbol;
  if (!cpu::isCIdentifier(written.symbol))
    return fail({.code = "SM1000",
                 .message = fmt::format("'{}' cannot be the name of a C function", written.symbol),
                 .place = {},
                 .help = "a letter, then letters, digits and _; no word of C or C++ and no function of the C library: "
                         "--symbol NAME"});
  const auto target = cpu::processorNamed(options.processor);
  if (!target) return fail(target.error());
  const auto made = cpu::compileAheadOfTime(kernel, *target, written.symbol, options.step_limit);
  if (!made) return fail(made.error());
  if (Status status = writeFile(path, {made->object}); !status) return fail(status.error());
  if (Status status = writeFile(written.header, {made->header}); !status) {
    std::error_code gone;
    std::filesystem::remove(object, gone);
    return fail(status.error());
  }
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
