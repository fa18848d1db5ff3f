// smalti._smalti: modules and executables for smalti/_module.py, which has the documentation.
#include <optional>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "Arrays.h"
#include "Device.h"
#include "Errors.h"
#include "Interruptible.h"
#include "Options.h"
#include "WithoutLock.h"
#include "XlaCall.h"
#include "smalti/chips.h"
#include "smalti/conform.h"
#include "smalti/error.h"
#include "smalti/module.h"

namespace nb = nanobind;

namespace smalti::python {
namespace {

constexpr std::pair<const char*, int64_t Statistics::*> kStatistics[] = {
    {"grid_steps", &Statistics::grid_steps},
    {"instructions", &Statistics::instructions},
    {"window_fetches", &Statistics::window_fetches},
    {"window_write_backs", &Statistics::window_write_backs},
    {"dma_transfers", &Statistics::dma_transfers},
    {"dma_bytes", &Statistics::dma_bytes},
    {"peak_window_bytes", &Statistics::peak_window_bytes},
    {"value_bytes", &Statistics::value_bytes},
};

/// (results, findings, log, numbers in the order of kStatistics)
nb::object toPython(const RunReport& report) {
  nb::list findings, statistics;
  for (const Finding& f : report.findings) findings.append(python::toPython(f));
  for (const auto& [name, counter] : kStatistics) statistics.append(report.statistics.*counter);
  return nb::make_tuple(python::toPython(report.results), findings, nb::cast(report.log), statistics);
}

/// The code of a kernel on a GPU is unloaded when the last of them ends.
using PythonModule = WithoutLock<Module>;
using PythonExecutable = WithoutLock<Executable>;

nb::object execute(const PythonExecutable& executable, const std::vector<ReadArray>& inputs,
                   const std::optional<std::vector<WrittenArray>>& outputs) {
  const std::vector<Array> in = views(inputs);
  std::vector<Array> out;
  if (outputs) out = views(*outputs);
  auto report = interruptible([&](const std::atomic<bool>& stop) {
    ExecuteOptions options = executable->options();
    options.stop = &stop;
    return outputs ? executable->execute_into(in, out, options) : executable->execute(in, options);
  });
  return toPython(unwrap(std::move(report)));
}

PythonExecutable compile(const PythonModule& module, const OptionList& chosen) {
  const Settings settings = settingsFrom({}, chosen);
  return PythonExecutable(unwrap(unlocked([&] { return module->compile(settings); })));
}

}  // namespace
}  // namespace smalti::python

NB_MODULE(_smalti, m) {
  using namespace smalti;
  using namespace smalti::python;
  nb::set_leak_warnings(false);  // the interpreter's own end leaves objects behind
  registerErrors();

  nb::class_<PythonExecutable>(m, "Executable")
      .def_prop_ro("arguments", [](const PythonExecutable& e) { return typesToPython(e->arguments()); })
      .def_prop_ro("results", [](const PythonExecutable& e) { return typesToPython(e->results()); })
      .def("execute", &execute, nb::arg("inputs"), nb::arg("outputs").none());

  nb::class_<PythonModule>(m, "Module")
      .def_prop_ro("name", [](const PythonModule& module) { return module->name(); })
      .def_prop_ro("arguments", [](const PythonModule& module) { return typesToPython(module->arguments()); })
      .def_prop_ro("results", [](const PythonModule& module) { return typesToPython(module->results()); })
      .def_prop_ro("kernels", [](const PythonModule& module) { return module->kernels(); })
      .def_prop_ro("has_symbolic_shapes", [](const PythonModule& module) { return module->has_symbolic_shapes(); })
      .def("with_arguments",
           [](const PythonModule& module, const std::vector<TypeTuple>& arguments) {
             const auto given = typesFrom(arguments);
             return PythonModule(unwrap(unlocked([&] { return module->with_arguments(given); })));
           })
      .def("compile", &compile)
      .def("refusals",
           [](const PythonModule& module, const OptionList& chosen) {
             nb::list refusals;
             for (const Finding& f : unwrap(module->refusals(settingsFrom({}, chosen))))
               refusals.append(python::toPython(f));
             return refusals;
           })
      .def("recorded_inputs",
           [](const PythonModule& module) { return python::toPython(unwrap(module->recorded_inputs())); })
      .def("expected_results",
           [](const PythonModule& module) { return python::toPython(unwrap(module->expected_results())); })
      .def("export_stablehlo",
           [](const PythonModule& module, int version) { return unwrap(module->export_stablehlo(version)); });

  nb::list statistics;
  for (const auto& [name, counter] : kStatistics) statistics.append(name);
  m.attr("STATISTICS") = nb::tuple(statistics);

  m.def("load",
        [](const std::string& path, const std::vector<TypeTuple>& arguments, const std::vector<TypeTuple>& results) {
          const auto of = typesFrom(arguments), to = typesFrom(results);
          return PythonModule(unwrap(unlocked([&] { return Module::load(path, of, to); })));
        });
  m.def("parse", [](const nb::bytes& content, const std::string& name, const std::vector<TypeTuple>& arguments,
                    const std::vector<TypeTuple>& results) {
    const auto of = typesFrom(arguments), to = typesFrom(results);
    const std::string_view text(content.c_str(), content.size());
    return PythonModule(unwrap(unlocked([&] { return Module::parse(text, name, of, to); })));
  });
  m.def("make_inputs", [](const PythonModule& module, const std::string& fill, uint64_t seed) {
    return python::toPython(unwrap(make_inputs(*module, fill, seed)));
  });
  m.def("find_cases", [](const std::string& folder) { return unwrap(find_cases(folder)); });
  m.def("run_case", [](const std::string& folder, const OptionList& chosen) {
    const Settings settings = settingsFrom({}, chosen);
    const CaseReport report =
        interruptible([&](const std::atomic<bool>& stop) { return run_case(folder, settings, &stop); });
    const nb::object diagnostic = report.diagnostic ? python::toPython(*report.diagnostic) : nb::object(nb::none());
    return nb::make_tuple(report.status, report.max_error, report.max_error_at, report.wrong, diagnostic,
                          report.seconds);
  });
  m.def("from_dlpack", &fromDlpack);
  m.def("check_options", [](const OptionList& options) { settingsFrom({}, options); });
  m.def("chips", [] {  // name, kind of JAX's devices, TensorCores of a device
    nb::list all;
    for (const ChipDescription& c : unwrap(chips()))
      all.append(nb::make_tuple(c.name, c.device_kind, c.cores_per_device));
    return all;
  });
  m.def("version", &version);
  addDevice(m);
  addXlaCall(m);
}
