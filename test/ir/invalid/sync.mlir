// What the verifiers refuse: one message per constraint.
// RUN: smalti-opt %s -split-input-file -verify-diagnostics

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result that is a semaphore, has 'f32'}}
  %0 = tpu.sem_alloc : memref<8xf32, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result in semaphore memory, has 'memref<8x!tpu.semaphore, #tpu.memory_space<vmem>>'}}
  %0 = tpu.sem_alloc : memref<8x!tpu.semaphore, #tpu.memory_space<vmem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a single semaphore as a result, has an array of 8}}
  %0 = tpu.sem_barrier : memref<8x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<8x128xf32, #tpu.memory_space<vmem>>) {
  // expected-error @below {{needs a result that is a regular semaphore, has '!tpu.dma_semaphore'}}
  %0 = tpu.sem_barrier : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32) {
  // expected-error @below {{needs a single semaphore as its operand, has an array of 2}}
  tpu.sem_wait %r, %i : memref<2x!tpu.semaphore, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32) {
  // expected-error @below {{needs its operand that is a regular semaphore, has '!tpu.dma_semaphore'}}
  tpu.sem_wait %r, %i : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32) {
  // expected-error @below {{needs its operand that is a regular semaphore, has '!tpu.dma_semaphore'}}
  tpu.sem_signal %r, %i : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>
  return
}

// -----

func.func @f(%r: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>, %i: i32) {
  // expected-error @below {{needs a single semaphore as its operand, has an array of 2}}
  %0 = tpu.sem_read %r : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>> -> i32
  return
}

// -----

func.func @f(%r: memref<f32, #tpu.memory_space<smem>>, %i: i32) {
  // expected-error @below {{needs its operand that is a semaphore, has 'f32'}}
  %0 = tpu.sem_read %r : memref<f32, #tpu.memory_space<smem>> -> i32
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x256xf32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs source and target of one shape, has 8x128 and 8x256}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x256xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x128xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs source and target of one element type, has 'f32' and 'i32'}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x128xi32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs a target semaphore, has none}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x128xf32, #tpu.memory_space<vmem>>)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs a device_id or core_id, because it has a source semaphore}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x128xf32, #tpu.memory_space<vmem>>) source_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs a source semaphore, because it copies to another device or core}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) device_id(%i)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs a single semaphore as target semaphore, has an array of 2}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>)
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %i: i32, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs the priority 0 or 1, has 2}}
  tpu.enqueue_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {priority = 2 : i32}
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x256xf32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs source and target of one shape, has 8x128 and 8x256}}
  tpu.wait_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x256xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x128xi32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs source and target of one element type, has 'f32' and 'i32'}}
  tpu.wait_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%b: memref<8x128xi32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = true}
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %s: memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs the source semaphore it waits for, has none}}
  tpu.wait_dma source(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) target(%a: memref<8x128xf32, #tpu.memory_space<vmem>>) target_semaphore(%s : memref<!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {wait_target = false}
  return
}

// -----

func.func @f(%a: memref<8x128xf32, #tpu.memory_space<vmem>>, %b: memref<8x256xf32, #tpu.memory_space<vmem>>, %s: memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) {
  // expected-error @below {{needs a single semaphore as its operand, has an array of 2}}
  tpu.wait_dma2 semaphore(%s : memref<2x!tpu.dma_semaphore, #tpu.memory_space<semaphore_mem>>) src(%a : memref<8x128xf32, #tpu.memory_space<vmem>>) dst(%b: memref<8x256xf32, #tpu.memory_space<vmem>>)
  return
}
