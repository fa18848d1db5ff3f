// The ops of the language, with the names of jax.numpy and jax.lax, inside kernels and on whole arrays.
#pragma once

#include "smalti/ops/create.h"
#include "smalti/ops/dot.h"
#include "smalti/ops/elementwise.h"
#include "smalti/ops/nn.h"
#include "smalti/ops/random.h"
#include "smalti/ops/reduce.h"
#include "smalti/ops/shape.h"
#include "smalti/ops/tpu.h"
