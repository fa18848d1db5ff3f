// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs at least 1 bit of exponent and 0 of mantissa, has 0 and -1}}
  %0 = tpu.reduce_precision %a {exponent_bits = 0 : i32, mantissa_bits = -1 : i32} : vector<8x128xf32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a result of shape 16x128, has 8x128}}
  %0 = tpu.bitcast %a : vector<8x128xf32> -> vector<8x128xbf16>
  return
}

// -----

func.func @f(%a: vector<128xf32>) {
  // expected-error @below {{needs 2 or more dimensions to change the width of its elements, has 'vector<128xf32>'}}
  %0 = tpu.bitcast %a : vector<128xf32> -> vector<256xbf16>
  return
}

// -----

func.func @f(%a: vector<8x128xbf16>) {
  // expected-error @below {{needs an input of f32, has 'vector<8x128xbf16>'}}
  %0 = tpu.weird %a : vector<8x128xbf16> -> vector<8x128xi1>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs a result of type 'vector<8x128xi1>', has 'vector<8x128xi8>'}}
  %0 = tpu.weird %a : vector<8x128xf32> -> vector<8x128xi8>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>, %r: vector<8x128xi32>) {
  // expected-error @below {{needs input, random bits and result of one shape, has 8x128, 8x128 and 8x64}}
  %0 = tpu.stochastic_convert %a, %r : vector<8x128xf32>, vector<8x128xi32> -> vector<8x64xbf16>
  return
}

// -----

func.func @f(%a: vector<8x128xbf16>, %r: vector<8x128xi32>) {
  // expected-error @below {{needs an input of f32, has 'vector<8x128xbf16>'}}
  %0 = tpu.stochastic_convert %a, %r : vector<8x128xbf16>, vector<8x128xi32> -> vector<8x128xf8E5M2>
  return
}

// -----

func.func @f(%a: vector<8x128xi32>) {
  // expected-error @below {{needs 2 vectors for words of 32 bits, has 3}}
  %0 = tpu.pack_elementwise %a, %a, %a {target_type = i16} : vector<8x128xi32>, vector<8x128xi32>, vector<8x128xi32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xi32>) {
  // expected-error @below {{needs 2 vectors for words of 32 bits, has 1}}
  %0 = tpu.pack_elementwise %a {target_type = i16} : vector<8x128xi32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs f32 with bf16, or integers with integers, has 'f32' with 'i16'}}
  %0 = tpu.pack_elementwise %a, %a {target_type = i16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs f32 with bf16, or integers with integers, has 'f32' with 'f16'}}
  %0 = tpu.pack_elementwise %a, %a {target_type = f16} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xf32>) {
  // expected-error @below {{needs f32 with bf16, or integers with integers, has 'f32' with 'f32'}}
  %0 = tpu.pack_elementwise %a, %a {target_type = f32} : vector<8x128xf32>, vector<8x128xf32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xi32>) {
  // expected-error @below {{needs an index below 2, the sub-fields of a word, has 2}}
  %0 = tpu.unpack_elementwise %a, 2 {source_type = i16} : vector<8x128xi32> -> vector<8x128xi32>
  return
}

// -----

func.func @f(%a: vector<8x128xi32>) {
  // expected-error @below {{needs f32 with bf16, or integers with integers, has 'f32' with 'i16'}}
  %0 = tpu.unpack_elementwise %a, 1 {source_type = i16} : vector<8x128xi32> -> vector<8x128xf32>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{needs a multiple of 1 or more, has 0}}
  %0 = tpu.assume_multiple %a, 0 : i32
  return
}

// -----

func.func @f(%a: f32) {
  // expected-error @below {{needs an integer or index, has 'f32'}}
  %0 = tpu.assume_multiple %a, 4 : f32
  return
}

// -----

func.func @f() {
  "tpu.prng_set_seed_32"() : () -> ()
  // expected-error @below {{needs a result of integers of up to 32 bits, has 'vector<8x128xf32>'}}
  %0 = "tpu.prng_random_bits"() : () -> vector<8x128xf32>
  return
}
