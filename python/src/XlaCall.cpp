#include "XlaCall.h"

#include <mutex>
#include <optional>
#include <set>

#include <nanobind/stl/string.h>
#include <xla/ffi/api/ffi.h>

#include "Errors.h"
#include "Interpreter.h"
#include "KernelTable.h"
#include "Meeting.h"
#include "Options.h"
#include "Packed.h"
#include "smalti/error.h"
#include "smalti/module.h"

namespace nb = nanobind;
namespace ffi = xla::ffi;

namespace smalti::python {
namespace {

/// Prints where Python's programs print, so that it can be redirected and captured there.
void print(const std::vector<std::string>& lines) {
  const Locked locked;
  try {
    for (const std::string& line : lines) nb::print(line.c_str());
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("smalti: printing what a kernel said");
  }
}

/// Of one device's call, before XLA knows: other devices may wait for this one in a collective op, which XLA ends with
/// the process, and the error would be lost.
ffi::Error withOthers(ffi::Error error, ffi::Dictionary attributes) {
  const auto devices = attributes.get<int64_t>("mesh_size");  // programs serialised by older versions have none
  if (!devices || *devices == 1 || error.success()) return error;
  const Locked locked;
  try {
    const std::string text = "smalti: a call failed on one of " + std::to_string(*devices) +
                             " devices; if others wait for it in a collective op, XLA ends the process after a minute" +
                             error.message();
    nb::print(text.c_str(), nb::handle(), nb::module_::import_("sys").attr("stderr"));
  } catch (nb::python_error& raised) {
    raised.discard_as_unraisable("smalti: printing why a call failed");
  }
  return error;
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

/// Called with the interpreter's lock.
void warn(const nb::object& text) {
  nb::module_::import_("warnings").attr("warn")(text, nb::handle(PyExc_RuntimeWarning));
}

/// The others are said in a RuntimeWarning.
std::vector<Finding> mistakesAmong(const std::vector<Finding>& findings) {
  const Locked locked;
  std::vector<Finding> mistakes;
  try {
    for (const Finding& f : findings) {
      const nb::object finding = toPython(f);
      if (nb::cast<bool>(finding.attr("is_mistake")))
        mistakes.push_back(f);
      else
        warn(nb::str(finding));
    }
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("smalti: warning of what a kernel did");
  }
  return mistakes;
}

void keep(const std::vector<Finding>& findings) {
  constexpr size_t kMaxKept = 1000;
  const std::lock_guard lock(found().mutex);
  for (const Finding& f : findings)
    if (found().findings.size() < kMaxKept) found().findings.push_back(f);
}

std::string textOf(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) text += "\n" + f.diagnostic.str();
  return text;
}

ffi::Error failed(const std::vector<Finding>& findings) {
  keep(findings);
  return ffi::Error::Internal(textOf(findings));
}

/// Of a run: a mistake of the kernel that ends it is one that checks find, too.
ffi::Error failedRun(const Diagnostic& d) {
  if (d.code.starts_with("SM4")) keep({Finding{.diagnostic = d}});
  return failed(d);
}

/// As the compiler begins its message: each of its passes in its own way.
std::string_view notImplemented(std::string_view code) {
  if (code == "SM6622" || code == "SM6623") return "Not Implemented: ";
  return code == "SM6625" ? "not implemented: " : "Not implemented: ";
}

/// Before the first run, while XLA compiles: what the TPU compiler of the attribute `chip` refuses; nothing where that
/// is empty. In the form of that compiler's errors, of which JAX makes exceptions with the user's line.
ffi::Error judgeForChip(ffi::Dictionary attributes) {
  const auto chip = attributes.get<std::string_view>("chip"), module = attributes.get<std::string_view>("module");
  if (!chip || chip->empty()) return ffi::Error::Success();  // programs serialised by older versions have none
  if (!module) return ffi::Error::Internal("the call has no attribute of its kernel");
  const auto refused = attempt([&] {
    return unwrap(
        unwrap(Module::parse(*module, "pallas_call")).refusals(settingsFrom({}, {{"chip", std::string(*chip)}})));
  });
  if (!refused) return failed(refused.error());
  if (refused->empty()) return ffi::Error::Success();
  const Diagnostic& first = refused->front().diagnostic;
  keep(*refused);
  std::string all = textOf(*refused);
  if (first.code == "SM6605") return {ffi::ErrorCode::kResourceExhausted, first.message + all};  // out of memory
  if (first.code == "SM6640") return {ffi::ErrorCode::kFailedPrecondition, first.message + all};
  const SourcePlace& place = first.place;
  all += R"(at location: loc("kernel")";
  if (place.line > 0)
    all +=
        "(\"kernel\"(\"" + place.file + "\":" + std::to_string(place.line) + ":" + std::to_string(place.column) + "))";
  all += ")\n";
  return ffi::Error::Internal("Mosaic failed to compile TPU kernel: " + std::string(notImplemented(first.code)) +
                              first.message + all);
}

XLA_FFI_DEFINE_HANDLER(kJudgeForChip, judgeForChip, ffi::Ffi::BindInstantiate().Attrs());

/// XLA's buffer as an Array of the kernel's type; a copy where XLA packs the elements.
Result<Array> inputFrom(const ArrayType& type, const ffi::AnyBuffer& buffer) {
  if (isPacked(type.dtype)) return unpacked(type, buffer.untyped_data());
  return Array::view(type, buffer.untyped_data());
}
Result<Array> outputFor(const ArrayType& type, const ffi::AnyBuffer& buffer) {
  return isPacked(type.dtype) ? Array::allocate(type) : Array::view(type, buffer.untyped_data());
}

/// XLA's buffers as arrays of the kernel's types.
Result<Seat> seatOf(std::span<const ArrayType> inputTypes, std::span<const ArrayType> outputTypes,
                    const ffi::RemainingArgs& arguments, const ffi::RemainingRets& results) {
  Seat seat;
  seat.inputs.reserve(inputTypes.size());
  seat.outputs.reserve(outputTypes.size());
  for (size_t i = 0; i < inputTypes.size(); ++i) {
    auto input = inputFrom(inputTypes[i], *arguments.get<ffi::AnyBuffer>(i));
    if (!input) return fail(std::move(input.error()));
    seat.inputs.push_back(std::move(*input));
  }
  for (size_t i = 0; i < outputTypes.size(); ++i) {
    auto output = outputFor(outputTypes[i], **results.get<ffi::AnyBuffer>(i));
    if (!output) return fail(std::move(output.error()));
    seat.outputs.push_back(std::move(*output));
  }
  return seat;
}

/// Where XLA wants results packed; null for others.
std::vector<void*> packedTargets(std::span<const Array> outputs, const ffi::RemainingRets& results) {
  std::vector<void*> targets;
  for (size_t i = 0; i < outputs.size(); ++i)
    targets.push_back(isPacked(outputs[i].dtype()) ? (*results.get<ffi::AnyBuffer>(i))->untyped_data() : nullptr);
  return targets;
}
void packInto(std::span<void* const> targets, std::span<const Array> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (targets[i]) pack(outputs[i], targets[i]);
}

/// The log of a call on one device, whose number says nothing: "d0: text" is "text".
std::vector<std::string> withoutDevice(std::vector<std::string> log) {
  for (std::string& line : log)
    if (line.starts_with("d0: "))
      line.erase(0, 4);
    else if (line.starts_with("d0 c"))
      line.erase(0, 3);
  return log;
}

ffi::Error judged(const RunReport& report, bool oneDevice) {
  if (!report.log.empty()) print(oneDevice ? withoutDevice(report.log) : report.log);
  if (report.findings.empty()) return ffi::Error::Success();
  const auto mistakes = mistakesAmong(report.findings);
  return mistakes.empty() ? ffi::Error::Success() : failed(mistakes);
}

/// A dictionary takes calls with more attributes, or with fewer where they are optional.
std::optional<CallAttributes> kernelOf(ffi::Dictionary attributes) {
  const auto key = attributes.get<std::string_view>("key"), module = attributes.get<std::string_view>("module"),
             options = attributes.get<std::string_view>("options");
  if (!key || !module || !options) return std::nullopt;
  return CallAttributes{*key, *module, *options};
}

/// Of a call on the machine; smaller kernels are fast there, too. Native code counts nothing.
constexpr int64_t kManyInstructions = 1'000;

/// Says once of each kernel that the machine ran it though native code was asked for.
void warnOfMachine(const CallAttributes& kernel) {
  static std::mutex mutex;
  static auto* said = new std::set<std::string, std::less<>>;
  {
    const std::lock_guard lock(mutex);
    if (!wantsNativeCode(kernel) || !said->emplace(kernel.key).second) return;
  }
  const auto module = attempt([&] { return unwrap(Module::parse(kernel.module, "pallas_call")); });
  const std::string name = module && !module->kernels().empty() ? module->kernels().front() : "";
  const std::string text =
      "kernel '" + name +
      "' has no native code with these options and runs on the abstract machine, which is slower by "
      "an order of magnitude: `smalti show FOLDER --target cpu` says why, with a folder of "
      "smalti.jax.export";
  const Locked locked;
  try {
    warn(nb::str(text.c_str()));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("smalti: warning of a kernel without native code");
  }
}

ffi::Error callOnOne(ffi::Dictionary attributes, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  const auto kernel = kernelOf(attributes);
  if (!kernel) return ffi::Error::Internal("the call has no attribute of its kernel");
  const auto executable = KernelTable::instance().get(*kernel);
  if (!executable) return failed(executable.error());
  const auto& inputTypes = (*executable)->arguments();
  const auto& outputTypes = (*executable)->results();
  if (inputTypes.size() != arguments.size() || outputTypes.size() != results.size())
    return ffi::Error::Internal("the call has other operands than its kernel");
  auto seat = seatOf(inputTypes, outputTypes, arguments, results);
  if (!seat) return failed(seat.error());
  const auto report = (*executable)->execute_into(seat->inputs, seat->outputs);
  if (!report) return failedRun(report.error());
  packInto(packedTargets(seat->outputs, results), seat->outputs);
  if (report->statistics.instructions >= kManyInstructions) warnOfMachine(*kernel);
  return judged(*report, true);
}

ffi::Error call(ffi::Dictionary attributes, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  return withOthers(callOnOne(attributes, arguments, results), attributes);
}

XLA_FFI_DEFINE_HANDLER(kCall, call, ffi::Ffi::Bind().Attrs().RemainingArgs().RemainingRets());

/// A kernel that the devices of a mesh run together. The last operand is this device's position among them.
ffi::Future callOnDevices(ffi::Dictionary attributes, ffi::RunId run, ffi::RemainingArgs arguments,
                          ffi::RemainingRets results) {
  ffi::Promise promise;
  ffi::Future done(promise);
  const auto refuse = [&](ffi::Error error) {
    promise.SetError(std::move(error));
    return std::move(done);
  };
  const auto kernel = kernelOf(attributes);
  const auto ofMesh = attributes.get<int64_t>("devices"), patience = attributes.get<int64_t>("seconds");
  if (!kernel || !ofMesh || !patience) return refuse(ffi::Error::Internal("the call has no attribute of its kernel"));
  const int64_t devices = *ofMesh, seconds = *patience;
  const auto executable = KernelTable::instance().get(*kernel);
  if (!executable) return refuse(failed(executable.error()));
  const auto ofOne = [](std::vector<ArrayType> types) {
    for (ArrayType& type : types) type.shape.erase(type.shape.begin());
    return types;
  };
  const auto inputTypes = ofOne((*executable)->arguments()), outputTypes = ofOne((*executable)->results());
  if (inputTypes.size() + 1 != arguments.size() || outputTypes.size() != results.size())
    return refuse(ffi::Error::Internal("the call has other operands than its kernel"));
  const auto position = *arguments.get<ffi::AnyBuffer>(inputTypes.size())->typed_data<uint32_t>();
  if (position >= devices) return refuse(ffi::Error::Internal("the call is on more devices than its mesh has"));
  auto seat = seatOf(inputTypes, outputTypes, arguments, results);
  if (!seat) return refuse(failed(seat.error()));
  seat->done = [promise, position, outputs = seat->outputs,
                to = packedTargets(seat->outputs, results)](const Outcome& outcome) mutable {
    if (!outcome) return promise.SetError(position == 0 ? failedRun(outcome.error()) : failed(outcome.error()));
    packInto(to, outputs);
    ffi::Error error = position == 0 ? judged(**outcome, false) : ffi::Error::Success();
    if (error.failure())
      promise.SetError(std::move(error));
    else
      promise.SetAvailable();
  };
  Meetings::instance().meet({run.run_id, kernel->key.data()}, static_cast<int>(position), static_cast<int>(devices),
                            std::move(*seat), **executable, std::chrono::seconds(seconds));
  return done;
}

XLA_FFI_DEFINE_HANDLER(kCallOnDevices, callOnDevices,
                       ffi::Ffi::Bind().Attrs().Ctx<ffi::RunId>().RemainingArgs().RemainingRets());

/// Does nothing: what a call costs at the least.
XLA_FFI_DEFINE_HANDLER(
    kEmpty, [](ffi::RemainingArgs, ffi::RemainingRets) { return ffi::Error::Success(); },
    ffi::Ffi::Bind().RemainingArgs().RemainingRets());

}  // namespace

void addXlaCall(nb::module_& m) {
  m.def("compile_call", [](const std::string& key, const std::string& module, const std::string& options) {
    const Unlocked unlocked;
    unwrap(KernelTable::instance().begin({key, module, options}));
  });
  const auto finish = nb::cpp_function([] {
    const Unlocked unlocked;
    KernelTable::instance().finish();
  });
  nb::module_::import_("atexit").attr("register")(finish);
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
  m.def("xla_interface", [] { return nb::make_tuple(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR); });
  m.def("xla_handlers", [] {
    nb::dict handlers;
    for (const auto& [name, run] : {std::pair{"call", kCall}, {"call_on_devices", kCallOnDevices}}) {
      nb::dict stages;
      stages["instantiate"] = nb::capsule(reinterpret_cast<void*>(kJudgeForChip));
      stages["execute"] = nb::capsule(reinterpret_cast<void*>(run));
      handlers[name] = stages;
    }
    handlers["empty"] = nb::capsule(reinterpret_cast<void*>(kEmpty));
    return handlers;
  });
}

}  // namespace smalti::python
