#include "Device.h"

#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include "Arrays.h"
#include "Capsules.h"
#include "WithoutLock.h"
#include "smalti/device_array.h"
#include "smalti/error.h"

namespace nb = nanobind;

namespace smalti::python {
namespace {

using PythonArray = WithoutLock<DeviceArray>;
using PythonProgram = WithoutLock<DeviceProgram>;

template <class Managed>
void release(Managed* tensor) {
  const Unlocked unlocked;
  if (tensor->deleter) tensor->deleter(tensor);
}

/// A capsule that owns the tensor until its consumer takes it.
template <class Managed>
nb::object capsuleOf(Managed* tensor, const char* name) {
  PyObject* made = PyCapsule_New(tensor, name, [](PyObject* capsule) {
    // The consumer of a tensor renames its capsule; of this one there was none.
    const char* const now = PyCapsule_GetName(capsule);
    if (now && std::string_view(now).starts_with("dltensor"))
      release(static_cast<Managed*>(PyCapsule_GetPointer(capsule, now)));
  });
  return nb::steal(made);
}

nb::object toDlpack(const PythonArray& array, bool versioned) {
  if (versioned) return capsuleOf(unwrap(array->to_dlpack_versioned()), "dltensor_versioned");
  return capsuleOf(unwrap(array->to_dlpack()), "dltensor");
}

PythonArray deviceArrayFromDlpack(const nb::object& capsule) {
  return PythonArray(takeTensor(capsule, [](auto* tensor) { return unwrap(DeviceArray::from_dlpack(tensor)); }));
}

PythonArray deviceArray(const ReadArray& given, int gpu) {
  const std::vector<Array> host = views(std::vector<ReadArray>{given});
  return PythonArray(unwrap(unlocked([&] { return DeviceArray::copy_of(host[0], gpu); })));
}

void* streamOf(uint64_t stream) { return reinterpret_cast<void*>(stream); }

/// `outputs`: null for an array on the host.
PythonProgram bind(const WithoutLock<Executable>& executable, const std::vector<const PythonArray*>& inputs,
                   const std::vector<const PythonArray*>& outputs, bool graph) {
  std::vector<DeviceArray> from;
  for (const PythonArray* input : inputs) from.push_back(**input);
  BindOptions options{.outputs = {}, .graph = graph};
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i])
      throw Error({.code = "SM1017",
                   .message = fmt::format("output {} is on the host", i),
                   .place = {},
                   .need = "an array on the GPU: of PyTorch or JAX, or of smalti.device_array",
                   .have = "an array on the host, to which no launch could write",
                   .help = "omit `outputs`, and copy the results: bound.results[0].to_numpy()"});
    options.outputs.push_back(**outputs[i]);
  }
  return PythonProgram(unwrap(unlocked([&] { return DeviceProgram::bind(*executable, from, options); })));
}

nb::list results(const PythonProgram& program) {
  nb::list arrays;
  for (const DeviceArray& result : program->results()) arrays.append(nb::cast(PythonArray(result)));
  return arrays;
}

}  // namespace

void addDevice(nb::module_& m) {
  nb::class_<PythonArray>(m, "DeviceArray")
      .def_prop_ro("type", [](const PythonArray& a) { return typesToPython({a->type()})[0]; })
      .def_prop_ro("address", [](const PythonArray& a) { return a->address(); })
      .def_prop_ro("gpu", [](const PythonArray& a) { return a->gpu(); })
      .def("ready_on", [](const PythonArray& a,
                          uint64_t stream) { unwrap(unlocked([&] { return a->ready_on(streamOf(stream)); })); })
      .def("to_dlpack", &toDlpack)
      .def("to_host", [](const PythonArray& a) { return toPython(unwrap(unlocked([&] { return a->to_host(); }))); });
  m.def("device_array", &deviceArray);
  m.def("device_array_from_dlpack", &deviceArrayFromDlpack);

  nb::class_<PythonProgram>(m, "DeviceProgram")
      .def_prop_ro("results", &results)
      .def("launch", [](const PythonProgram& p,
                        uint64_t stream) { unwrap(unlocked([&] { return p->launch(streamOf(stream)); })); })
      .def("wait", [](const PythonProgram& p) { unwrap(unlocked([&] { return p->wait(); })); });
  m.def("bind", &bind);
  m.def("gpu_of", [](const WithoutLock<Executable>& executable) { return unwrap(DeviceProgram::gpu_of(*executable)); });
}

}  // namespace smalti::python
