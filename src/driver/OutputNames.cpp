#include "driver/OutputNames.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "cpu/aot/Aot.h"

namespace smalti::driver {

Result<OutputNames> outputNames(const std::string& path, const std::string& symbol, const std::string& example) {
  const std::filesystem::path code(path);
  OutputNames names;
  names.header = std::filesystem::path(code).replace_extension(".h").string();
  names.file = code.filename().string();
  const std::string kind = example.ends_with(".o") ? "an object file" : "a file of device code";
  if (!code.has_stem() || path == "-" || names.header == path)
    return fail(
        {.code = "SM1000",
         .message = fmt::format("{} and its header need a name", kind),
         .place = {},
         .help = fmt::format("name the {}: -o {}; its header is {}", example.ends_with(".o") ? "object" : "code",
                             example, std::filesystem::path(example).replace_extension(".h").string())});
  names.symbol = symbol.empty() ? cpu::cIdentifier(code.stem().string()) : symbol;
  if (!cpu::isCIdentifier(names.symbol))
    return fail({.code = "SM1000",
                 .message = fmt::format("'{}' cannot be the name of a C function", names.symbol),
                 .place = {},
                 .help = "a letter, then letters, digits and _; no word of C or C++ and no function of the C library: "
                         "--symbol NAME"});
  return names;
}

Status writeWithHeader(const std::string& path, const std::string& code, const std::string& headerPath,
                       const std::string& header) {
  if (Status status = writeFile(path, {code}); !status) return status;
  Status status = writeFile(headerPath, {header});
  std::error_code gone;
  if (!status) std::filesystem::remove(path, gone);
  return status;
}

}  // namespace smalti::driver
