#include "driver/case/RunInChild.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "base/Guarded.h"
#include "driver/Json.h"
#include "driver/Module.h"
#include "driver/target/Target.h"
#include "driver/target/tpu/FindTpu.h"
#include "driver/target/tpu/Tpu.h"
#include "pjrt/TpuCompiler.h"

namespace smalti::driver {
namespace {

/// Memory that a child and its parent share.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) memory_ = nullptr;
  }
  ~SharedMemory() {
    if (memory_) ::munmap(memory_, bytes_);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  bool there() const { return bytes_ == 0 || memory_ != nullptr; }
  void* get() const { return memory_; }

 private:
  size_t bytes_;
  void* memory_ = nullptr;
};

size_t bytesOf(std::span<const ArrayType> types) {
  size_t bytes = 0;
  for (const ArrayType& t : types) bytes += static_cast<size_t>(t.bytes());
  return bytes;
}

}  // namespace

bool isForeignCode(const CompileOptions& options) {
  const Target* target = findTarget(options.target);
  return target && target->foreign &&
         std::ranges::all_of(options.contract.checks, [&](const auto* row) { return target->checks(*row); });
}

void prepareChild(const CompileOptions& options) {
  if (isForeignCode(options) && !hasTpu("/")) pjrt::setCompileOnlyEnvironment();
}

std::string fatalLine(const std::string& standardError) {
  for (size_t begin = 0; begin < standardError.size();) {
    const size_t end = std::min(standardError.find('\n', begin), standardError.size());
    const std::string_view line = std::string_view(standardError).substr(begin, end - begin);
    begin = end + 1;
    if (line.size() < 6 || line[0] != 'F' || !std::all_of(line.begin() + 1, line.begin() + 5, ::isdigit)) continue;
    const size_t bracket = line.find("] ");
    const size_t file = line.substr(0, bracket).find_last_of(' ');
    return std::string(file == std::string_view::npos ? line : line.substr(file + 1));
  }
  return "";
}

std::string endOf(const ChildResult& result) {
  const std::string line = fatalLine(result.standardError);
  return (result.signal ? fmt::format("signal {} ({})", result.signal, ::strsignal(result.signal))
                        : std::string("no answer")) +
         (line.empty() ? "" : ": " + line);
}

Diagnostic foreignCodeFailure(const ChildResult& result, const CompileOptions& options, double limitSeconds,
                              std::string_view work) {
  std::vector<std::string> where{fmt::format("target '{}'", findTarget(options.target)->name)};
  if (const auto plugin = pluginOf(options.target)) where.push_back(fmt::format("plugin '{}'", *plugin));
  if (result.timedOut)
    return {.code = "SM6811",
            .message = fmt::format("the devices timed out in this {}", work),
            .place = {},
            .where = std::move(where),
            .need = fmt::format("at most {} s", limitSeconds),
            .help = "raise --timeout-seconds: it includes starting the devices and compiling"};
  return {.code = "SM6810",
          .message = fmt::format("the plugin of the devices crashed in this {}", work),
          .place = {},
          .where = std::move(where),
          .have = endOf(result),
          .help =
              "the plugin itself crashed: check with smalti compile whether its compiler accepts the kernels, and "
              "with --target interpret whether they are correct"};
}

Result<RunOutcome> runInChild(const Program& program, std::span<const Array> arguments, const RunSettings& settings) {
  const std::vector<ArrayType>& types = resultTypes(program);
  const SharedMemory shared(bytesOf(types));
  if (!shared.there()) return fail({.code = "SM9013", .message = "out of memory for the results", .place = {}});
  const auto work = [&](int64_t) -> std::string {
    prepareChild(settings.compile);
    auto outcome = guarded([&] { return runProgram(program, arguments, settings); });
    if (!outcome) return dump(toJson(outcome.error()));
    auto* to = static_cast<std::byte*>(shared.get());
    for (const Array& result : outcome->results) {
      if (result.bytes() > 0) std::memcpy(to, result.data(), static_cast<size_t>(result.bytes()));
      to += result.bytes();
    }
    return "";
  };
  const double limit = settings.execute.timeLimitSeconds;
  ChildLimits limits{.seconds = limit > 0 ? limit : std::numeric_limits<double>::infinity(),
                     .errorBytes = kPluginErrorBytes};
  ChildResult ended;
  runInChildren(1, limits, work, [&](int64_t, const ChildResult& result) { ended = result; }, [] {});
  if (!ended.finished) return fail(foreignCodeFailure(ended, settings.compile, limit, "run"));
  if (!ended.output.empty()) return fail(diagnosticFromJson(Json::parse(ended.output)));
  RunOutcome outcome;
  const auto* from = static_cast<const std::byte*>(shared.get());
  for (const ArrayType& type : types) {
    auto array = Array::allocate(type);
    if (!array) return fail(std::move(array.error()));
    if (array->bytes() > 0) std::memcpy(array->data(), from, static_cast<size_t>(array->bytes()));
    from += array->bytes();
    outcome.results.push_back(std::move(*array));
  }
  return outcome;
}

}  // namespace smalti::driver
