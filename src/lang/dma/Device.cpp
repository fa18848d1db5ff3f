#include "lang/dma/Device.h"

#include <fmt/format.h>

#include "lang/ops/Support.h"
#include "lang/trace/Place.h"

namespace smalti::lang {

Array logicalId(const DeviceId& id, DeviceIdType type) {
  std::string wrong;
  if (!id.byAxis.empty())
    wrong = type == DeviceIdType::logical ? "`device_id_type` must be MESH if `device_id` is a dict"
                                          : "a device_id by axis name needs a mesh";
  else if (id.indices.size() != 1)
    wrong = type == DeviceIdType::logical
                ? "a logical device_id is one number"
                : fmt::format("Number of device ids must match the number of mesh axes: {} for 1", id.indices.size());
  else if (id.indices[0].rank() != 0 || !is_integer(id.indices[0].dtype()))
    wrong = "a device_id is no integer scalar";
  if (!wrong.empty())
    refuse({.code = "SM6508",
            .message = std::move(wrong),
            .place = {},
            .need = "one integer: the number of the device",
            .help = "kernels know one axis of devices here; compute the row-major number yourself"});
  return convertTo(id.indices[0].array(), DType::i32);
}

}  // namespace smalti::lang
