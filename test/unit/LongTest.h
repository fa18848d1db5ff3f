// Marks tests that take seconds.
#pragma once

#include <cstdlib>

#include <gtest/gtest.h>

/// The first statement of such a test: `./do test quick` leaves it out.
#define SMALTI_LONG_TEST() \
  if (std::getenv("SMALTI_QUICK_TESTS")) GTEST_SKIP() << "takes seconds: not a quick test"
