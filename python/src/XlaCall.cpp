#include "XlaCall.h"

#include <mutex>

#include <nanobind/stl/string.h>
#include <xla/ffi/api/ffi.h>

#include "Errors.h"
#include "KernelTable.h"
#include "Packed.h"
#include "smalti/error.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace smalti::python {
namespace {

/// Prints where Python's programs print, so that it can be redirected and captured there.
void print(const std::vector<std::string>& lines) {
  const nb::gil_scoped_acquire locked;
  try {
    for (const std::string& line : lines) nb::print(line.c_str());
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("smalti: printing what a kernel said");
  }
}

ffi::Error failed(const Diagnostic& d) { return ffi::Error::Internal("\n" + d.str()); }

/// What checks found in calls, for who asks: an error of XLA is only a text.
struct Found {
  std::mutex mutex;
  std::vector<Finding> findings;
};
Found& found() {
  static auto* all = new Found;
  return *all;
}

/// The others are said in a RuntimeWarning.
std::vector<Finding> mistakesAmong(const std::vector<Finding>& findings) {
  const nb::gil_scoped_acquire locked;
  std::vector<Finding> mistakes;
  try {
    for (const Finding& f : findings) {
      const nb::object finding = toPython(f);
      if (nb::cast<bool>(finding.attr("is_mistake")))
        mistakes.push_back(f);
      else
        nb::module_::import_("warnings").attr("warn")(nb::str(finding), nb::handle(PyExc_RuntimeWarning));
    }
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("smalti: warning of what a kernel did");
  }
  return mistakes;
}

ffi::Error failed(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += "\n" + f.diagnostic.str();
  constexpr size_t kMostKept = 1000;
  const std::lock_guard lock(found().mutex);
  for (const Finding& f : findings)
    if (found().findings.size() < kMostKept) found().findings.push_back(f);
  return ffi::Error::Internal(text);
}

/// XLA's buffer as an Array of the kernel's type; a copy where XLA packs the elements.
Result<Array> inputFrom(const ArrayType& type, const ffi::AnyBuffer& buffer) {
  if (isPacked(type.dtype)) return unpacked(type, buffer.untyped_data());
  return Array::view(type, buffer.untyped_data());
}
Result<Array> outputFor(const ArrayType& type, const ffi::AnyBuffer& buffer) {
  return isPacked(type.dtype) ? Array::allocate(type) : Array::view(type, buffer.untyped_data());
}

ffi::Error call(std::string_view key, std::string_view module, std::string_view options, ffi::RemainingArgs arguments,
                ffi::RemainingRets results) {
  const auto executable = KernelTable::instance().get({key, module, options});
  if (!executable) return failed(executable.error());
  const auto& inputTypes = (*executable)->arguments();
  const auto& outputTypes = (*executable)->results();
  if (inputTypes.size() != arguments.size() || outputTypes.size() != results.size())
    return ffi::Error::Internal("the call has other operands than its kernel");
  std::vector<Array> inputs, outputs;
  inputs.reserve(inputTypes.size());
  outputs.reserve(outputTypes.size());
  for (size_t i = 0; i < inputTypes.size(); ++i) {
    auto input = inputFrom(inputTypes[i], *arguments.get<ffi::AnyBuffer>(i));
    if (!input) return failed(input.error());
    inputs.push_back(std::move(*input));
  }
  for (size_t i = 0; i < outputTypes.size(); ++i) {
    auto output = outputFor(outputTypes[i], **results.get<ffi::AnyBuffer>(i));
    if (!output) return failed(output.error());
    outputs.push_back(std::move(*output));
  }
  const auto report = (*executable)->execute_into(inputs, outputs);
  if (!report) return failed(report.error());
  for (size_t i = 0; i < outputTypes.size(); ++i)
    if (isPacked(outputTypes[i].dtype)) pack(outputs[i], (*results.get<ffi::AnyBuffer>(i))->untyped_data());
  if (!report->log.empty()) print(report->log);
  if (report->findings.empty()) return ffi::Error::Success();
  const auto mistakes = mistakesAmong(report->findings);
  return mistakes.empty() ? ffi::Error::Success() : failed(mistakes);
}

XLA_FFI_DEFINE_HANDLER(kCall, call,
                       ffi::Ffi::Bind()
                           .Attr<std::string_view>("key")
                           .Attr<std::string_view>("module")
                           .Attr<std::string_view>("options")
                           .RemainingArgs()
                           .RemainingRets());

/// Does nothing: what a call costs at the least.
XLA_FFI_DEFINE_HANDLER(
    kEmpty, [](ffi::RemainingArgs, ffi::RemainingRets) { return ffi::Error::Success(); },
    ffi::Ffi::Bind().RemainingArgs().RemainingRets());

}  // namespace

void addXlaCall(nb::module_& m) {
  m.def("compile_call", [](const std::string& key, const std::string& module, const std::string& options) {
    const nb::gil_scoped_release unlocked;
    unwrap(KernelTable::instance().get({key, module, options}));
  });
  m.def("take_findings", [] {
    std::vector<Finding> taken;
    {
      const std::lock_guard lock(found().mutex);
      taken.swap(found().findings);
    }
    nb::list list;
    for (const Finding& f : taken) list.append(toPython(f));
    return list;
  });
  m.def("num_compiled_calls", [] { return KernelTable::instance().size(); });
  m.def("xla_handlers", [] {
    nb::dict handlers;
    handlers["call"] = nb::capsule(reinterpret_cast<void*>(kCall));
    handlers["empty"] = nb::capsule(reinterpret_cast<void*>(kEmpty));
    return handlers;
  });
}

}  // namespace smalti::python
