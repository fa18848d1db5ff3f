// Arrays between NumPy and the library. Python hands each over as its bytes, a dtype's name and a shape, so that dtypes
// which NumPy does not know itself (bf16, int4, fp8) need no rules of their own here.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "smalti/array.h"

namespace smalti::python {

using Read = nanobind::ndarray<const uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Written = nanobind::ndarray<uint8_t, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using TypeTuple = std::tuple<std::string, std::vector<int64_t>>;
using ReadArray = std::tuple<Read, std::string, std::vector<int64_t>>;
using WrittenArray = std::tuple<Written, std::string, std::vector<int64_t>>;

/// Views of the bytes, which must outlive them. Throws Error SM1014 for a dtype that there is not, SM1008 where the
/// bytes are not those of the type.
std::vector<Array> views(const std::vector<ReadArray>&);
std::vector<Array> views(const std::vector<WrittenArray>&);

ArrayType typeFrom(const std::string& dtype, std::vector<int64_t> shape);
std::vector<ArrayType> typesFrom(const std::vector<TypeTuple>&);
std::vector<TypeTuple> typesToPython(const std::vector<ArrayType>&);

/// (bytes, dtype, shape); the bytes keep the elements alive.
nanobind::object toPython(const Array&);
nanobind::list toPython(const std::vector<Array>&);

/// The same of what `__dlpack__` gives: a capsule named "dltensor" or "dltensor_versioned".
nanobind::object fromDlpack(nanobind::object capsule);

}  // namespace smalti::python
