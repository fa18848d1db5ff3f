#include "Device.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "Arrays.h"
#include "Capsules.h"
#include "Interpreter.h"
#include "smalti/device_array.h"
#include "smalti/error.h"

namespace nb = nanobind;

namespace smalti::python {
namespace {

template <class Managed>
void release(Managed* tensor) {
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

nb::object toDlpack(const DeviceArray& array, bool versioned) {
  if (versioned) return capsuleOf(unwrap(array.to_dlpack_versioned()), "dltensor_versioned");
  return capsuleOf(unwrap(array.to_dlpack()), "dltensor");
}

DeviceArray deviceArrayFromDlpack(const nb::object& capsule) {
  return takeTensor(capsule, [](auto* tensor) { return unwrap(DeviceArray::from_dlpack(tensor)); });
}

void* streamOf(uint64_t stream) { return reinterpret_cast<void*>(stream); }

}  // namespace

void addDevice(nb::module_& m) {
  nb::class_<DeviceArray>(m, "DeviceArray")
      .def_prop_ro("type", [](const DeviceArray& a) { return typesToPython({a.type()})[0]; })
      .def_prop_ro("address", &DeviceArray::address)
      .def_prop_ro("gpu", &DeviceArray::gpu)
      .def("to_dlpack", &toDlpack)
      .def("to_host", [](const DeviceArray& a) {
        auto host = [&] {
          const Unlocked unlocked;
          return a.to_host();
        }();
        return toPython(unwrap(std::move(host)));
      });
  m.def("device_array", [](const ReadArray& given, int gpu) {
    const std::vector<Array> host = views(std::vector<ReadArray>{given});
    return unwrap(DeviceArray::copy_of(host[0], gpu));
  });
  m.def("device_array_from_dlpack", &deviceArrayFromDlpack);

  nb::class_<DeviceProgram>(m, "DeviceProgram")
      .def_prop_ro("results", [](const DeviceProgram& p) { return p.results(); })
      .def("launch", [](const DeviceProgram& p, uint64_t stream) { unwrap(p.launch(streamOf(stream))); })
      .def("ready_on", [](const DeviceProgram& p, uint64_t stream) { unwrap(p.ready_on(streamOf(stream))); })
      .def("wait", [](const DeviceProgram& p) {
        auto done = [&] {
          const Unlocked unlocked;
          return p.wait();
        }();
        unwrap(std::move(done));
      });
  m.def("bind", [](const Executable& executable, const std::vector<DeviceArray>& inputs,
                   const std::vector<DeviceArray>& outputs, bool graph) {
    return unwrap(DeviceProgram::bind(executable, inputs, {.outputs = outputs, .graph = graph}));
  });
}

}  // namespace smalti::python
