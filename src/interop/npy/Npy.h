// NumPy's .npy files, versions 1 to 3. Files are untrusted: headers are parsed by a bounded reader of our own and
// must fit the file's size before anything is allocated.
//
// Types that numpy does not have are stored raw, as the recordings do: bf16 as uint16, f8, int4, uint4 and their like
// as uint8, sub-byte elements one per byte with the upper bits 0. ml_dtypes' own descriptors ('bfloat16', '<V2') are
// read too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "smalti/array.h"
#include "smalti/diagnostic.h"

namespace smalti::interop {

/// The numpy or ml_dtypes name of a type: "float32", "bfloat16", "bool".
std::string_view numpyName(DType);
/// Inverse of `numpyName`; also takes our own names.
std::optional<DType> dtypeFromNumpyName(std::string_view);
/// The numpy name of what the elements are stored as: "uint16" for bf16.
std::string_view numpyStoredName(DType);

/// Reads the file as an array of `wanted` elements; without `wanted` the stored type decides (raw '<V2' is bf16).
/// Codes SM1001 to SM1005.
Result<Array> readNpy(const std::string& path, std::optional<DType> wanted = std::nullopt);
/// The same from memory; `name` is used in messages.
Result<Array> parseNpy(std::string_view bytes, const std::string& name, std::optional<DType> wanted = std::nullopt);

/// Writes version 1 (2 when the header is long), little-endian, C order. SM1006.
Status writeNpy(const std::string& path, const Array&);
/// The bytes before the elements.
std::string npyHeader(const ArrayType&);

}  // namespace smalti::interop
