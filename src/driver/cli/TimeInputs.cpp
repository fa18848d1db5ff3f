#include "driver/cli/TimeInputs.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/Text.h"
#include "interop/npy/Npy.h"

namespace smalti::cli {

Result<std::vector<std::optional<Array>>> timeInputsOf(const driver::ModuleOrCase& module,
                                                       const std::vector<std::string>& in) {
  const std::vector<ArrayType> types = driver::argumentTypes(*module.program);
  std::vector<std::optional<Array>> inputs(types.size());
  if (module.recorded && in.empty())
    for (size_t i = 0; i < std::min(inputs.size(), module.recorded->arguments.size()); ++i) {
      if (module.recorded->arguments[i].file.empty()) continue;
      auto array = interop::readNpy(module.recorded->arguments[i].file, types[i].dtype);
      if (!array) return fail(array.error());
      inputs[i] = std::move(*array);
    }
  size_t next = 0;
  for (const std::string& text : in) {
    std::string path = text;
    size_t index = next;
    if (const size_t equals = text.find('='); equals != std::string::npos) {
      size_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + equals, number);
      if (error == std::errc() && end == text.data() + equals) {
        index = number;
        path = text.substr(equals + 1);
      }
    }
    if (index >= types.size())
      return fail({.code = "SM1008",
                   .message = fmt::format("'{}' has no input {}", module.path, index),
                   .place = {},
                   .need = counted(types.size(), "input"),
                   .have = fmt::format("--in {}", text),
                   .help = "smalti describe lists them"});
    auto array = interop::readNpy(path, types[index].dtype);
    if (!array) return fail(array.error());
    if (array->type() != types[index])
      return fail({.code = "SM1008",
                   .message = fmt::format("input {} ('{}') is not what the module takes", index, path),
                   .place = {},
                   .need = types[index].str(),
                   .have = array->type().str()});
    inputs[index] = std::move(*array);
    next = index + 1;
  }
  return inputs;
}

}  // namespace smalti::cli
