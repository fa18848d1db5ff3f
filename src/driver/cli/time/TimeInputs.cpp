#include "driver/cli/time/TimeInputs.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "base/Text.h"
#include "driver/term/Style.h"
#include "interop/npy/Npy.h"

namespace smalti::cli {
namespace {

template <class N>
std::optional<N> numberOf(std::string_view text) {
  N number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// "2", "arg2".
std::optional<size_t> inputNumber(std::string_view text) {
  if (text.starts_with("arg")) text.remove_prefix(3);
  return numberOf<size_t>(text);
}

std::string listOf(const std::vector<ArrayType>& types) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < types.size(); ++i) texts.push_back(fmt::format("{}: {}", i, types[i].str()));
  return fmt::format("{} ({})", counted(types.size(), "input"), fmt::join(texts, ", "));
}

Diagnostic noInput(const driver::ModuleOrCase& module, std::string_view input, const std::vector<ArrayType>& types,
                   std::string_view option, const std::string& text) {
  return {.code = "SM1008",
          .message = fmt::format("'{}' has no input {}", module.path, input),
          .place = {},
          .need = listOf(types),
          .have = fmt::format("{} {}", option, text),
          .help = "smalti describe lists them"};
}

Diagnostic notUnderstood(const std::string& text) {
  return {.code = "SM1000",
          .message = fmt::format("--assume cannot parse '{}'", text),
          .place = {},
          .need = "always, never, INPUT=NUMBER, INPUT=NUMBER,NUMBER,… or FILE:LINE=NUMBER",
          .have = text,
          .help = "--assume 2=16 says that every element of input 2 is 16"};
}

Status takeArrays(const driver::ModuleOrCase& module, const std::vector<ArrayType>& types,
                  const std::vector<std::string>& in, TimeInputs& to) {
  if (module.recorded && in.empty())
    for (size_t i = 0; i < std::min(types.size(), module.recorded->arguments.size()); ++i) {
      if (module.recorded->arguments[i].file.empty()) continue;
      auto array = interop::readNpy(module.recorded->arguments[i].file, types[i].dtype);
      if (!array) return fail(array.error());
      to.inputs[i] = std::move(*array);
    }
  size_t next = 0;
  for (const std::string& text : in) {
    std::string path = text;
    size_t index = next;
    if (const size_t equals = text.find('='); equals != std::string::npos)
      if (const auto number = inputNumber(std::string_view(text).substr(0, equals))) {
        index = *number;
        path = text.substr(equals + 1);
      }
    if (index >= types.size()) return fail(noInput(module, std::to_string(index), types, "--in", text));
    auto array = interop::readNpy(path, types[index].dtype);
    if (!array) return fail(array.error());
    if (array->type() != types[index])
      return fail({.code = "SM1008",
                   .message = fmt::format("input {} ('{}') does not match the module's parameter", index, path),
                   .place = {},
                   .need = types[index].str(),
                   .have = array->type().str()});
    to.inputs[index] = std::move(*array);
    next = index + 1;
  }
  return {};
}

template <class T>
void fillWith(Array& array, const std::vector<int64_t>& numbers) {
  for (int64_t i = 0; i < array.elements(); ++i)
    array.as<T>()[i] = static_cast<T>(numbers.size() == 1 ? numbers[0] : numbers[static_cast<size_t>(i)]);
}

/// An array of these numbers; nullopt for other dtypes than the integers that times depend on.
Result<std::optional<Array>> arrayOf(const ArrayType& type, const std::vector<int64_t>& numbers) {
  auto array = Array::allocate(type);
  if (!array) return fail(std::move(array.error()));
  switch (type.dtype) {
    case DType::i8:
      fillWith<int8_t>(*array, numbers);
      break;
    case DType::u8:
      fillWith<uint8_t>(*array, numbers);
      break;
    case DType::i16:
      fillWith<int16_t>(*array, numbers);
      break;
    case DType::i32:
      fillWith<int32_t>(*array, numbers);
      break;
    case DType::u32:
      fillWith<uint32_t>(*array, numbers);
      break;
    case DType::i64:
      fillWith<int64_t>(*array, numbers);
      break;
    default:
      return std::optional<Array>();
  }
  return std::optional(std::move(*array));
}

/// The range of an integer type: what does not fit would be another number.
bool fits(const ArrayType& type, int64_t n) {
  const int bits = bit_width(type.dtype);
  if (bits >= 64) return true;
  const int64_t most = int64_t{1} << (is_unsigned_integer(type.dtype) ? bits : bits - 1);
  return n < most && n >= (is_unsigned_integer(type.dtype) ? 0 : -most);
}

bool hasLine(const Program& program, const sim::Assumptions::Number& number) {
  for (const KernelPackage& kernel : program.kernels) {
    bool found = false;
    kernel.module.get()->walk([&](mlir::Operation* op) { found |= number.isOf(placeOf(op->getLoc())); });
    if (found) return true;
  }
  return false;
}

Status takeAssumption(const driver::ModuleOrCase& module, const std::vector<ArrayType>& types, const std::string& text,
                      const std::vector<bool>& given, TimeInputs& to) {
  if (text == "always" || text == "never") {
    to.assume.branches = text == "always" ? sim::Assume::always : sim::Assume::never;
    return {};
  }
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return fail(notUnderstood(text));
  const std::string name = text.substr(0, equals);
  std::vector<int64_t> numbers;
  for (std::string_view rest = std::string_view(text).substr(equals + 1);;) {
    const size_t comma = rest.find(',');
    const auto number = numberOf<int64_t>(rest.substr(0, comma));
    if (!number) return fail(notUnderstood(text));
    numbers.push_back(*number);
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  const auto index = inputNumber(name);
  if (!index) {
    if (name.find(':') == std::string::npos) return fail(noInput(module, name, types, "--assume", text));
    if (numbers.size() != 1)
      return fail({.code = "SM1008",
                   .message = fmt::format("line {} computes one number", name),
                   .place = {},
                   .need = "1 number",
                   .have = counted(numbers.size(), "number")});
    const sim::Assumptions::Number number{name, numbers.front()};
    if (!hasLine(*module.program, number))
      return fail({.code = "SM1008",
                   .message = fmt::format("no kernel op of '{}' comes from line {}", module.path, name),
                   .place = {},
                   .need = "FILE:LINE or FILE:LINE:COLUMN as messages print it",
                   .have = fmt::format("--assume {}", text),
                   .help = "time the module without it: the message says which line the number comes from"});
    to.assume.numbers.push_back(number);
    return {};
  }
  if (*index >= types.size()) return fail(noInput(module, name, types, "--assume", text));
  const ArrayType& type = types[*index];
  if (given[*index])
    return fail({.code = "SM1008",
                 .message = fmt::format("input {} is both given and assumed", *index),
                 .place = {},
                 .need = "either --in or --assume",
                 .have = fmt::format("both --in and --assume {}", text)});
  if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != type.elements())
    return fail({.code = "SM1008",
                 .message = fmt::format("--assume has a different number of elements than input {}", *index),
                 .place = {},
                 .need = type.elements() == 1 ? std::string("1 number")
                                              : fmt::format("1 number for all elements, or {}, of {}",
                                                            term::grouped(type.elements()), type.str()),
                 .have = counted(numbers.size(), "number")});
  const bool all = std::ranges::all_of(numbers, [&](int64_t n) { return fits(type, n); });
  auto array = all ? arrayOf(type, numbers) : Result<std::optional<Array>>(std::optional<Array>());
  if (!array) return fail(std::move(array.error()));
  if (!*array)
    return fail({.code = "SM1008",
                 .message = fmt::format("--assume cannot stand for input {}", *index),
                 .place = {},
                 .need = is_float(type.dtype) ? "an input of integers: no time depends on floats"
                                              : fmt::format("numbers that fit {}", type.str()),
                 .have = fmt::format("{}, and --assume {}", type.str(), text)});
  to.inputs[*index] = std::move(**array);
  return {};
}

}  // namespace

void TimeInputArguments::declare(CLI::App& app) {
  app.add_option("--in", in,
                 "an input that the time depends on: FILE.npy for the next one, NUMBER=FILE.npy for a specific one")
      ->type_name("FILE");
  app.add_option("--assume", assume,
                 "values of data that is not given: of an input, one value for all elements, or a value for each, "
                 "separated by commas; of a source line, the value that it computes; always or never: branches whose "
                 "condition is unknown are taken or not")
      ->type_name("INPUT=NUMBER|FILE:LINE=NUMBER|always|never")
      ->delimiter('\0');
}

Result<TimeInputs> timeInputsOf(const Session& session, const driver::ModuleOrCase& module,
                                const TimeInputArguments& arguments) {
  const std::vector<ArrayType> types = driver::argumentTypes(*module.program);
  TimeInputs out;
  out.timeLimitSeconds = static_cast<double>(session.options.values.caseSeconds());
  out.inputs.resize(types.size());
  if (Status ok = takeArrays(module, types, arguments.in, out); !ok) return fail(std::move(ok.error()));
  std::vector<bool> given(types.size());
  for (size_t i = 0; i < types.size(); ++i) given[i] = out.inputs[i].has_value() && !arguments.in.empty();
  std::set<std::string> assumed;
  for (const std::string& text : arguments.assume) {
    const std::string about = text == "always" || text == "never" ? "branches" : text.substr(0, text.rfind('='));
    if (!assumed.insert(about).second)
      return fail(
          {.code = "SM1008",
           .message = fmt::format("--assume says twice what {} {}", about == "branches" ? about : "'" + about + "'",
                                  about == "branches" ? "do" : "is"),
           .place = {},
           .need = "one value",
           .have = fmt::format("--assume {}", fmt::join(arguments.assume, " --assume "))});
    if (Status ok = takeAssumption(module, types, text, given, out); !ok) return fail(std::move(ok.error()));
  }
  return out;
}

}  // namespace smalti::cli
