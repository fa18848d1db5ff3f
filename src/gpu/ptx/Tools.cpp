#include "gpu/ptx/Tools.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "base/process/PythonPackages.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Program.h"

namespace smalti::gpu {
namespace {

namespace fs = std::filesystem;

Diagnostic failure(const std::string& tool, std::string have) {
  return {.code = "SM7204",
          .message = fmt::format("'{}' rejects the kernel's code", tool),
          .place = {},
          .have = std::move(have),
          .help = "this is a bug in Smalti, or a tool older than the GPU: please report it with the module"};
}

/// The number before the first `label` that has one, otherwise 0.
int64_t numberBefore(std::string_view text, std::string_view label) {
  for (size_t at = text.find(label); at != text.npos; at = text.find(label, at + 1)) {
    size_t begin = at;
    while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
    if (begin == at) continue;
    int64_t value = 0;
    std::from_chars(text.data() + begin, text.data() + at, value);
    return value;
  }
  return 0;
}

struct Ran {
  std::string output;  ///< of stdout and stderr
  bool ok = false;
};

Result<Ran> runTool(const std::string& tool, const std::vector<std::string>& arguments) {
  constexpr unsigned kSecondsLimit = 900;  // ptxas takes two minutes for 300,000 lines
  llvm::SmallString<128> output;
  if (llvm::sys::fs::createTemporaryFile("smalti_tool", "txt", output))
    return fail(failure(tool, "there is no room for temporary files"));
  const llvm::FileRemover remove(output);
  std::vector<llvm::StringRef> all{tool};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::string problem;
  const int code = llvm::sys::ExecuteAndWait(tool, all, std::nullopt,
                                             {llvm::StringRef(""), llvm::StringRef(output), llvm::StringRef(output)},
                                             kSecondsLimit, 0, &problem);
  auto text = readFile(output.str().str());
  if (!text) return fail(std::move(text.error()));
  return Ran{problem.empty() ? std::move(*text) : problem, code == 0};
}

}  // namespace

std::optional<std::string> findTool(std::string_view name) {
  std::error_code error;
  for (const fs::path& packages : pythonPackageFolders())
    for (const auto& entry : fs::directory_iterator(packages / "nvidia", error))
      if (const fs::path file = entry.path() / "bin" / name; fs::is_regular_file(file, error)) return file.string();
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable))
      if (const fs::path file = fs::path(folder) / "bin" / name; fs::is_regular_file(file, error)) return file.string();
  if (auto found = llvm::sys::findProgramByName(llvm::StringRef(name.data(), name.size()))) return *found;
  return std::nullopt;
}

Resources parseResources(std::string_view report) {
  return {.registers = numberBefore(report, " registers"),
          .spillBytes = numberBefore(report, " bytes spill stores"),
          .stackBytes = numberBefore(report, " bytes stack frame"),
          .sharedBytes = numberBefore(report, " bytes smem")};
}

Result<Assembled> assemble(const std::string& ptxas, const std::string& ptx, const Architecture& architecture) {
  llvm::SmallString<128> input, output;
  if (llvm::sys::fs::createTemporaryFile("smalti_kernel", "ptx", input) ||
      llvm::sys::fs::createTemporaryFile("smalti_kernel", "cubin", output))
    return fail(failure(ptxas, "there is no room for temporary files"));
  const llvm::FileRemover removeInput(input), removeOutput(output);
  if (Status written = writeFile(input.str().str(), {ptx}); !written) return fail(written.error());
  auto ran =
      runTool(ptxas, {"-v", "-arch=" + std::string(architecture.name), "-o", output.str().str(), input.str().str()});
  if (!ran) return fail(std::move(ran.error()));
  if (!ran->ok) return fail(failure(ptxas, ran->output.substr(0, 1000)));
  auto cubin = readFile(output.str().str());
  if (!cubin) return fail(std::move(cubin.error()));
  return Assembled{std::move(*cubin), parseResources(ran->output)};
}

Result<std::string> disassemble(const std::string& nvdisasm, const std::string& cubin) {
  llvm::SmallString<128> input;
  if (llvm::sys::fs::createTemporaryFile("smalti_kernel", "cubin", input))
    return fail(failure(nvdisasm, "there is no room for temporary files"));
  const llvm::FileRemover removeInput(input);
  if (Status written = writeFile(input.str().str(), {cubin}); !written) return fail(written.error());
  auto ran = runTool(nvdisasm, {"-c", input.str().str()});
  if (!ran) return fail(std::move(ran.error()));
  if (!ran->ok) return fail(failure(nvdisasm, ran->output.substr(0, 1000)));
  return std::move(ran->output);
}

}  // namespace smalti::gpu
