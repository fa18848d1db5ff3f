// The exact functions many at a time, where the processor has the vectors for it.
#pragma once

#include <cstdint>
#include <string_view>

using WideFunction = void(const double* x, double* y, int64_t n);

/// n is a multiple of 8. Null where there is none: go one by one.
WideFunction* wideFunction(std::string_view name);
