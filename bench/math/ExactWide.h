// The exact functions in vectors, if the processor has them.
#pragma once

#include <cstdint>
#include <string_view>

using WideFunction = void(const double* x, double* y, int64_t n);

/// n is a multiple of 8. Null if there is no such function: call the scalar one.
WideFunction* wideFunction(std::string_view name);
