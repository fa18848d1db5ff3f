#include "gpu/pack/CallFolder.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "base/io/File.h"
#include "base/process/ThreadLasting.h"
#include "gpu/pack/CallText.h"

namespace smalti::gpu {
namespace {

namespace fs = std::filesystem;

/// The number of calls that have begun in the process.
std::atomic<int> calls{0};
/// The folder of the current call of this thread, and its description.
struct CurrentCall {
  std::string folder, text;
};
thread_local constinit ThreadLasting<CurrentCall> currentCall;

Status writeMemory(const std::string& path, const void* memory, int64_t bytes) {
  return writeFile(path, {std::string_view(static_cast<const char*>(memory), static_cast<size_t>(bytes))});
}

/// The name as part of a file name.
std::string fileName(const std::string& name) {
  std::string kept;
  for (const char c : name.substr(0, 60)) kept += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return kept;
}

/// The number after all those of the calls in a folder.
int nextNumber(const std::string& folder) {
  int next = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    next = std::max(next, number + 1);
  }
  return next;
}

}  // namespace

Result<std::shared_ptr<CallFolders>> CallFolders::make(const KernelPackage& package, std::string folder,
                                                       eval::Poison poison, bool checkBlocks) {
  auto made = std::make_shared<CallFolders>();
  made->folder_ = std::move(folder);
  made->name_ = fileName(package.name);
  auto codes = packCode(package, nullptr, poison, checkBlocks);
  if (!codes) return fail(std::move(codes.error()));
  made->codes_ = std::move(*codes);
  made->dynamicAxes_ = std::ranges::count(package.signature.grid, kDynamicBound);
  return made;
}

Status CallFolders::before(const WatchedCall& call) {
  auto& [current, description] = currentCall.get();
  current = fmt::format("{}/.unfinished-{}-{}", folder_, ::getpid(), calls++);
  if (Status ok = makeFolder(current); !ok) return ok;
  // The operands that give the sizes of grid axes come first.
  std::vector<int32_t> sizes;
  for (size_t i = 0; i < dynamicAxes_; ++i) sizes.push_back(*static_cast<const int32_t*>(call.pointers[i]));
  CallText text(codes_, sizes);
  if (call.printBytes > 0) text.prints(call.printBytes);
  for (size_t i = 0; i < call.operandBytes.size(); ++i) {
    if (call.aliases[i] >= 0) {
      text.alias(call.aliases[i]);
      continue;
    }
    text.operandFromFile(call.operandBytes[i]);
    if (Status ok = writeMemory(fmt::format("{}/operand{}.bin", current, i), call.pointers[i], call.operandBytes[i]);
        !ok)
      return ok;
  }
  for (size_t i = 0; i < call.resultBytes.size(); ++i) {
    text.result(call.resultBytes[i], call.resultTypes[i], true);
    if (Status ok = writeMemory(fmt::format("{}/result{}.before.bin", current, i),
                                call.pointers[call.operandBytes.size() + i], call.resultBytes[i]);
        !ok)
      return ok;
  }
  description = text.end();
  return writeCode(codes_, current);
}

Status CallFolders::after(const WatchedCall& call) {
  const auto& [current, text] = currentCall.get();
  for (size_t i = 0; i < call.resultBytes.size(); ++i)
    if (Status ok = writeMemory(fmt::format("{}/result{}.bin", current, i), call.pointers[call.operandBytes.size() + i],
                                call.resultBytes[i]);
        !ok)
      return ok;
  if (Status ok = writeFile(current + "/call.txt", {text}); !ok) return ok;
  std::error_code error;
  int number = nextNumber(folder_);
  do {
    // A folder that is there has files, so that the system does not replace it.
    fs::rename(current, fmt::format("{}/{:04}-{}", folder_, number++, name_), error);
  } while (error == std::errc::directory_not_empty || error == std::errc::file_exists);
  if (error)
    return fail({.code = "SM1006",
                 .message = fmt::format("cannot write '{}': {}", folder_, error.message()),
                 .place = {},
                 .help = "write to a folder that exists and that you may write to"});
  return {};
}

void CallFolders::givenUp() {
  std::error_code error;
  fs::remove_all(currentCall.get().folder, error);
}

}  // namespace smalti::gpu
