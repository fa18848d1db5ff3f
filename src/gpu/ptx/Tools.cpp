#include "gpu/ptx/Tools.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/io/WriteAll.h"
#include "base/process/PythonPackages.h"
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

/// A file in memory that child processes open by its path: nothing is left behind if this process is ended.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content = {}) : fd_(::memfd_create("smalti_tool", 0)) {
    if (fd_ >= 0 && !writeAll(fd_, content)) ::close(std::exchange(fd_, -1));
  }
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  bool isThere() const { return fd_ >= 0; }
  std::string path() const { return fmt::format("/dev/fd/{}", fd_); }
  std::string content() const {
    std::string all(static_cast<size_t>(std::max<off_t>(::lseek(fd_, 0, SEEK_END), 0)), '\0');
    const ssize_t n = ::pread(fd_, all.data(), all.size(), 0);
    all.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return all;
  }

 private:
  int fd_;
};

Diagnostic noMemory(const std::string& tool) {
  return {.code = "SM7204",
          .message = fmt::format("'{}' cannot be run", tool),
          .place = {},
          .have = "no memory for its files",
          .help = "end other programs, and run it again"};
}

/// The tool itself failed, whatever the code is.
Diagnostic endedEarly(const std::string& tool, std::string have) {
  return {.code = "SM7204",
          .message = fmt::format("'{}' ended without a result", tool),
          .place = {},
          .have = std::move(have),
          .help = "run it again, or install another version of it"};
}

/// What the tool has written to stdout and stderr. SM7204.
Result<std::string> runTool(const std::string& tool, const std::vector<std::string>& arguments) {
  constexpr unsigned kSecondsLimit = 900;  // ptxas takes two minutes for 300,000 lines
  constexpr size_t kShownBytes = 1000;
  const MemoryFile output;
  if (!output.isThere()) return fail(noMemory(tool));
  std::vector<llvm::StringRef> all{tool};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::string problem;
  const std::string path = output.path();
  const int code = llvm::sys::ExecuteAndWait(tool, all, std::nullopt,
                                             {llvm::StringRef(""), llvm::StringRef(path), llvm::StringRef(path)},
                                             kSecondsLimit, 0, &problem);
  if (code < 0) return fail(endedEarly(tool, problem));
  std::string said = output.content();
  if (code != 0) return fail(failure(tool, said.substr(0, kShownBytes)));
  return said;
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

Result<Assembled> assemble(const std::string& ptxas, const std::string& ptx, std::string_view architecture) {
  const MemoryFile input(ptx), output;
  if (!input.isThere() || !output.isThere()) return fail(noMemory(ptxas));
  const auto said = runTool(ptxas, {"-v", fmt::format("-arch={}", architecture), "-o", output.path(), input.path()});
  if (!said) return fail(said.error());
  std::string cubin = output.content();
  if (cubin.empty()) return fail(endedEarly(ptxas, "no error, and no code"));
  return Assembled{std::move(cubin), parseResources(*said)};
}

Result<std::string> disassemble(const std::string& nvdisasm, const std::string& cubin) {
  const MemoryFile input(cubin);
  if (!input.isThere()) return fail(noMemory(nvdisasm));
  return runTool(nvdisasm, {"-c", input.path()});
}

}  // namespace smalti::gpu
