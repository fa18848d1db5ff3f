// jax.random with threefry keys: the same numbers as JAX, inside kernels and outside (S-L1). Numbers depend on the
// key and the shape alone; the same key gives the same numbers again, so split it. Errors: SM6302 (a dtype the function
// does not take), SM6220 (a negative size).
#pragma once

#include <functional>
#include <vector>

#include "smalti/operand.h"

namespace smalti {

/// A threefry key: its two words, u32 scalars or C++ integers. From a Ref in SMEM that holds key data:
/// `Key{keys[0], keys[1]}`. Errors: SM6302 (another dtype), SM6307 (not a scalar).
struct Key {
  Array k0, k1;
  Key(const Operand& k0, const Operand& k1);
};

/// jax.random.key(seed) of an integer scalar, of which the low 32 bits count.
Key random_key(const Operand& seed);
/// `count` new keys (jax.random.split). Error SM6220: a negative count.
std::vector<Key> split(const Key& key, int64_t count = 2, Location at = Location::current());
/// A key for `data`, an integer scalar (jax.random.fold_in).
Key fold_in(const Key& key, const Operand& data);
/// jax.random.key_data as u32[2], to pass a key to a kernel in SMEM. Outside kernels.
Array key_data(const Key& key, Location at = Location::current());

/// Random bits: u32, u16 or u8.
Array random_bits(const Key& key, Shape shape, DType dtype = DType::u32, Location at = Location::current());
/// Uniform in [low, high), which are rounded to the dtype: f32, bf16 or f16. `low` if the range is empty.
Array uniform(const Key& key, Shape shape, DType dtype = DType::f32, double low = 0, double high = 1,
              Location at = Location::current());
/// The standard normal distribution, mean 0 and variance 1, in f32, bf16 or f16.
Array normal(const Key& key, Shape shape, DType dtype = DType::f32, Location at = Location::current());
/// Integers in [low, high), as jax.random.randint: `low` where the range is empty. `low` and `high` are integers that
/// broadcast to the shape (else SM6301) and saturate to the dtype, an integer of 8, 16 or 32 bits.
Array randint(const Key& key, Shape shape, const Operand& low, const Operand& high, DType dtype = DType::i32);

/// A block of the numbers of a larger array, independent of the blocks' shape and of their order
/// (pltpu.sample_block): `sampler(key, shape)` draws tiles of `tile_size`, which divides the blocks, each with a key
/// folded from its number in the array. Without `block_index`, of this program's block (kernels only). Error SM6303:
/// shapes of different ranks, or tiles that do not divide the block.
Array sample_block(const std::function<Array(const Key&, const Shape&)>& sampler, const Key& key, Shape block_size,
                   Shape tile_size, Shape total_size, std::vector<Operand> block_index = {},
                   Location at = Location::current());

/// pred: true with probability p. As in JAX, all true if p is above 1, all false if it is below 0 or NaN.
Array bernoulli(const Key& key, double p, Shape shape, Location at = Location::current());

}  // namespace smalti
