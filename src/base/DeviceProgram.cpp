#include "base/DeviceProgram.h"

#include <fmt/format.h>

#include "base/CheckArrays.h"
#include "base/Executable.h"
#include "base/Guarded.h"

namespace smalti {
namespace {

std::optional<ArrayFault> memoryFault(const DeviceArray& a) {
  constexpr uint64_t kAlignment = 16;
  if (a.type().elements() == 0 || (a.address() != 0 && a.address() % kAlignment == 0)) return std::nullopt;
  return ArrayFault{"is not aligned", fmt::format("an address that is a multiple of {} bytes", kAlignment),
                    fmt::format("address {:#x}", a.address())};
}

Status checkTypes(std::span<const DeviceArray> given, const std::vector<ArrayType>& types, const char* code,
                  std::string_view what) {
  return checkArrays(given, types, code, what, memoryFault);
}

}  // namespace

Result<DeviceProgram> DeviceProgram::bind(const Executable& executable, std::span<const DeviceArray> inputs,
                                          const BindOptions& options) {
  return guarded([&]() -> Result<DeviceProgram> {
    const Executable::State& compiled = *executable.state();
    if (Status ok = checkTypes(inputs, compiled.arguments, "SM1008", "input"); !ok) return fail(std::move(ok.error()));
    if (!options.outputs.empty())
      if (Status ok = checkTypes(options.outputs, compiled.results, "SM1017", "output"); !ok)
        return fail(std::move(ok.error()));
    for (size_t i = 0; i < options.outputs.size(); ++i)
      if (options.outputs[i].read_only())
        return fail({.code = "SM1017",
                     .message = fmt::format("output {} is read-only", i),
                     .place = {},
                     .need = "memory that its owner lets others write",
                     .have = "a read-only tensor of DLPack",
                     .help = "omit `outputs`, or pass a writable array"});
    auto bound = compiled.bind(inputs, options);
    if (!bound) return fail(std::move(bound.error()));
    return DeviceProgram(std::move(*bound));
  });
}

Result<int> DeviceProgram::gpu_of(const Executable& executable) {
  return guarded([&] { return executable.state()->gpu(); });
}

const std::vector<DeviceArray>& DeviceProgram::results() const { return state_->results; }

Status DeviceProgram::launch(void* stream) const {
  return guarded([&] { return state_->launch(stream); });
}

Status DeviceProgram::wait() const {
  return guarded([&] { return state_->wait(); });
}

Status DeviceProgram::ready_on(void* stream) const {
  return guarded([&] { return state_->readyOn(stream); });
}

}  // namespace smalti
