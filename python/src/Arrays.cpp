#include "Arrays.h"

#include <fmt/format.h>

#include "Capsules.h"
#include "smalti/error.h"

namespace nb = nanobind;

namespace smalti::python {
namespace {

template <class Given>
std::vector<Array> viewsOf(const std::vector<Given>& given) {
  std::vector<Array> arrays;
  arrays.reserve(given.size());
  for (const auto& [bytes, dtype, shape] : given) {
    ArrayType type = typeFrom(dtype, shape);
    if (static_cast<int64_t>(bytes.size()) != type.bytes())
      raise({.code = "SM1008",
             .message = "an array's bytes are not those of its type",
             .place = {},
             .need = fmt::format("{} bytes for {}", type.bytes(), type.str()),
             .have = fmt::format("{} bytes", bytes.size())});
    arrays.push_back(Array::view(std::move(type), const_cast<uint8_t*>(bytes.data())));
  }
  return arrays;
}

}  // namespace

std::vector<Array> views(const std::vector<ReadArray>& given) { return viewsOf(given); }
std::vector<Array> views(const std::vector<WrittenArray>& given) { return viewsOf(given); }

ArrayType typeFrom(const std::string& dtype, std::vector<int64_t> shape) {
  const auto known = dtype_from_name(dtype);
  if (!known || is_semaphore(*known) || *known == DType::index)
    raise({.code = "SM1014",
           .message = fmt::format("'{}' is not the element type of an array", dtype),
           .place = {},
           .need = "f32, bf16, i32, u8, pred, …"});
  return {*known, std::move(shape)};
}

std::vector<ArrayType> typesFrom(const std::vector<TypeTuple>& given) {
  std::vector<ArrayType> types;
  for (const auto& [dtype, shape] : given) types.push_back(typeFrom(dtype, shape));
  return types;
}

std::vector<TypeTuple> typesToPython(const std::vector<ArrayType>& types) {
  std::vector<TypeTuple> tuples;
  for (const ArrayType& type : types) tuples.emplace_back(std::string(name(type.dtype)), type.shape);
  return tuples;
}

nb::object toPython(const Array& array) {
  auto kept = std::make_unique<Array>(array);
  uint8_t* data = reinterpret_cast<uint8_t*>(kept->data());
  const nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<Array*>(p); });
  kept.release();
  const auto bytes = static_cast<size_t>(array.bytes());
  return nb::make_tuple(nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>(data, {bytes}, owner),
                        std::string(name(array.dtype())), nb::tuple(nb::cast(array.shape())));
}

nb::list toPython(const std::vector<Array>& arrays) {
  nb::list list;
  for (const Array& array : arrays) list.append(toPython(array));
  return list;
}

nb::object fromDlpack(nb::object capsule) {
  struct Import {
    nb::object operator()(dlpack::VersionedTensor* t) const {
      return toPython(unwrap(from_dlpack(t, /*share_read_only=*/true)));
    }
    nb::object operator()(dlpack::ManagedTensor* t) const { return toPython(unwrap(from_dlpack(t))); }
  };
  return takeTensor(capsule, Import{});
}

}  // namespace smalti::python
