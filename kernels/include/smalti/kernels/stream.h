// An array streamed through VMEM, two blocks at a time in flight each way: once with copies and semaphores by hand,
// once with emit_pipeline.
#pragma once

#include "smalti/kernels/epilogue.h"
#include "smalti/pallas_call.h"

namespace smalti::kernels {

struct StreamOptions {
  /// 0: chosen.
  int64_t block_rows = 0;
};

/// function(x), element by element, of a matrix x that stays in HBM; the result has x's dtype.
Array stream(const Array& x, const Epilogue& function, const StreamOptions& options = {});
PallasCall stream_call(const ArrayType& x, const Epilogue& function, const StreamOptions& options = {});

/// The same, the pipeline written by emit_pipeline.
Array stream_pipelined(const Array& x, const Epilogue& function, const StreamOptions& options = {});
PallasCall stream_pipelined_call(const ArrayType& x, const Epilogue& function, const StreamOptions& options = {});

}  // namespace smalti::kernels
