// Shared by both forms of `stream`.
#pragma once

#include "CallCache.h"
#include "smalti/kernels/blocks.h"
#include "smalti/kernels/stream.h"
#include "smalti/smalti.h"

namespace smalti::kernels {

inline int64_t streamRows(const ArrayType& x, const StreamOptions& o) {
  if (x.shape.size() != 2)
    raise({.code = "SM6701",
           .message = "stream takes a matrix",
           .place = {},
           .need = "an array of rank 2",
           .have = x.str(),
           .help = "reshape it to [rows, columns]"});
  const int64_t most = 256 * 1024 / align_to(std::max<int64_t>(x.shape[1], 1), 128);
  return o.block_rows ? o.block_rows : block_along(x.shape[0], std::max<int64_t>(most / 8 * 8, 8), 8);
}

template <class Make>
Array streamed(CallCache& cache, const Array& x, const Epilogue& f, const StreamOptions& o, Make&& make) {
  std::string key;
  if (!f.key().empty()) key = (Key() << x.type() << f.key() << o.block_rows).str();
  return cache.get(key, [&] { return make(x.type(), f, o); })(x);
}

}  // namespace smalti::kernels
