#include "Errors.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "smalti/error.h"

namespace nb = nanobind;

namespace smalti::python {

namespace {

nb::object toPython(const Diagnostic& d, std::string_view kind) {
  nb::list related;
  for (const Diagnostic& r : d.related) related.append(toPython(r, kind));
  return nb::module_::import_("smalti._errors")
      .attr("Diagnostic")(nb::arg("code") = d.code, nb::arg("message") = d.message, nb::arg("file") = d.place.file,
                          nb::arg("line") = d.place.line, nb::arg("column") = d.place.column,
                          nb::arg("where") = nb::tuple(nb::cast(d.where)), nb::arg("need") = d.need,
                          nb::arg("have") = d.have, nb::arg("help") = d.help, nb::arg("related") = nb::tuple(related),
                          nb::arg("text") = d.str(kind));
}

}  // namespace

nb::object toPython(const Diagnostic& d) { return toPython(d, "error"); }

nb::object toPython(const Finding& f) {
  return nb::module_::import_("smalti._errors")
      .attr("Finding")(toPython(f.diagnostic, name(f.severity)), f.count, std::string(name(f.severity)));
}

void registerErrors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Error& error) {
      const nb::object type = nb::module_::import_("smalti._errors").attr("Error");
      PyErr_SetObject(type.ptr(), type(toPython(error.diagnostic())).ptr());
    }
  });
}

}  // namespace smalti::python
