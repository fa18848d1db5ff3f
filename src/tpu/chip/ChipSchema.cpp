#include "tpu/chip/ChipSchema.h"

#include <fmt/format.h>

#include "base/Lasting.h"

namespace smalti::tpu {
namespace {

constexpr double kTiB = 1099511627776.0;

#define SMALTI_INTEGER(SECTION, KEY, MEMBER, MIN, MAX, HELP)                                     \
  ChipKey {                                                                                      \
    SECTION, KEY, ChipKey::Integer([](Chip& c) -> int64_t& { return c.MEMBER; }), MIN, MAX, HELP \
  }
#define SMALTI_NUMBER(SECTION, KEY, MEMBER, MIN, MAX, HELP)                                    \
  ChipKey {                                                                                    \
    SECTION, KEY, ChipKey::Number([](Chip& c) -> double& { return c.MEMBER; }), MIN, MAX, HELP \
  }
#define SMALTI_FLAG(KEY, MEMBER, HELP)                                                       \
  ChipKey {                                                                                  \
    "takes", KEY, ChipKey::Flag([](Chip& c) -> bool& { return c.takes.MEMBER; }), 0, 1, HELP \
  }
#define SMALTI_SPILL(KEY, MEMBER, HELP)                                                        \
  ChipKey {                                                                                    \
    "spills", KEY, ChipKey::Flag([](Chip& c) -> bool& { return c.spills.MEMBER; }), 0, 1, HELP \
  }
#define SMALTI_NAME(KEY, MEMBER, HELP)                                                              \
  ChipKey {                                                                                         \
    "names", KEY, ChipKey::Text([](Chip& c) -> std::string& { return c.names.MEMBER; }), 0, 0, HELP \
  }

std::vector<ChipKey> makeSchema() {
  return {
      SMALTI_NAME("device_kind", deviceKind, "kind of JAX's devices"),
      SMALTI_NAME("topology", topology, "name of the TPU compiler's topologies, before the colon"),
      SMALTI_NAME("topology_config", topologyConfig, "the TPU compiler's option chip_config_name; may be empty"),

      SMALTI_INTEGER("device", "generation", device.generation, 2, 99, "generation of the TPU"),
      SMALTI_INTEGER("device", "cores_per_chip", device.coresPerChip, 1, 64, "TensorCores of a chip"),
      SMALTI_INTEGER("device", "cores_per_device", device.coresPerDevice, 1, 64, "TensorCores that run one kernel"),
      SMALTI_NUMBER("device", "clock_ghz", device.clockGhz, 0.1, 10, "clock of the TensorCore, GHz"),

      SMALTI_INTEGER("mxu", "count", mxu.count, 1, 64, "matrix units of a core"),
      SMALTI_INTEGER("mxu", "size", mxu.size, 8, 4096, "rows and columns of a matrix unit"),
      SMALTI_INTEGER("mxu", "bf16_rows_per_cycle", mxu.bf16RowsPerCycle, 1, 64, "rows of bf16 a unit takes in a cycle"),
      SMALTI_NUMBER("mxu", "latch_cycles_per_vreg", mxu.latchCyclesPerVreg, 0, 64,
                    "cycles to load a register of weights"),
      SMALTI_INTEGER("mxu", "queue_rows", mxu.queueRows, 0, 65536,
                     "rows that a unit's queue of products holds; 0: it has none"),
      SMALTI_NUMBER("mxu", "bf16_tflops_per_chip", mxu.bf16TflopsPerChip, 1, 1e6, "peak, 10^12 operations/s of a chip"),
      SMALTI_NUMBER("mxu", "int8_tops_per_chip", mxu.int8TopsPerChip, 0, 1e6, "the same of int8; 0: no such rate"),
      SMALTI_NUMBER("mxu", "fp8_tflops_per_chip", mxu.fp8TflopsPerChip, 0, 1e6,
                    "the same of 8-bit floats; 0: no such rate"),
      SMALTI_NUMBER("mxu", "int4_tops_per_chip", mxu.int4TopsPerChip, 0, 1e6, "the same of int4; 0: no such rate"),

      SMALTI_INTEGER("vector", "registers", vector.registers, 1, 4096, "vector registers of a core"),
      SMALTI_INTEGER("vector", "sublanes", vector.sublanes, 8, 8, "rows of a register"),
      SMALTI_INTEGER("vector", "lanes", vector.lanes, 128, 128, "columns of a register"),
      SMALTI_INTEGER("vector", "alu_slots", vector.aluSlots, 1, 64, "vector operations of a bundle"),
      SMALTI_INTEGER("vector", "load_slots", vector.loadSlots, 1, 64, "vector loads of a bundle"),
      SMALTI_INTEGER("vector", "store_slots", vector.storeSlots, 1, 64, "vector stores of a bundle"),
      SMALTI_INTEGER("vector", "scalar_slots", vector.scalarSlots, 1, 64, "scalar operations of a bundle"),
      SMALTI_NUMBER("vector", "transcendental_cycles_per_vreg", vector.transcendentalCyclesPerVreg, 0.1, 64,
                    "cycles of exp, tanh and the like for one register"),
      SMALTI_INTEGER("vector", "cross_lane_units", vector.crossLaneUnits, 1, 64, "units that move data between lanes"),
      SMALTI_NUMBER("vector", "transpose_cycles_per_vreg", vector.transposeCyclesPerVreg, 0.1, 256,
                    "cycles to transpose one register of 32-bit elements"),

      SMALTI_INTEGER("memory", "vmem_bytes", memory.vmemBytes, 65536, kTiB, "VMEM of a core, bytes"),
      SMALTI_INTEGER("memory", "vmem_usable_bytes", memory.vmemUsableBytes, 65536, kTiB,
                     "VMEM that one kernel may take whatever its limit, bytes"),
      SMALTI_INTEGER("memory", "vmem_default_limit_bytes", memory.vmemDefaultLimitBytes, 65536, kTiB,
                     "VMEM that a kernel may take unless it sets vmem_limit_bytes, bytes"),
      SMALTI_INTEGER("memory", "smem_bytes", memory.smemBytes, 1024, kTiB, "SMEM of a core, bytes"),
      SMALTI_INTEGER("memory", "hbm_bytes", memory.hbmBytes, 1048576, 1024 * kTiB, "HBM of a chip, bytes"),
      SMALTI_NUMBER("memory", "hbm_gb_per_second", memory.hbmGbPerSecond, 1, 1e6,
                    "HBM bandwidth of a chip, 10^9 bytes/s"),

      SMALTI_NUMBER("dma", "fixed_cost_us", dma.fixedCostUs, 0, 1000, "start and wait of one copy, µs"),
      SMALTI_INTEGER("dma", "granule_bytes", dma.granuleBytes, 1, 65536, "smallest transfer with HBM, bytes"),

      SMALTI_INTEGER("ici", "torus_dimensions", ici.torusDimensions, 1, 6, "dimensions of the network between chips"),
      SMALTI_NUMBER("ici", "link_gb_per_second", ici.linkGbPerSecond, 0.1, 1e5, "one link, one way, 10^9 bytes/s"),
      SMALTI_NUMBER("ici", "hop_latency_us", ici.hopLatencyUs, 0, 1000, "one hop, µs"),

      SMALTI_NUMBER("time", "kernel_us", time.kernelUs, 0, 1000, "to start and end a kernel, µs"),
      SMALTI_NUMBER("time", "step_cycles", time.stepCycles, 0, 1e5, "a grid step whatever it does, cycles"),
      SMALTI_NUMBER("time", "scalar_cycles", time.scalarCycles, 0, 100, "a scalar instruction, cycles"),
      SMALTI_NUMBER("time", "copy_cycles", time.copyCycles, 0, 1e5, "the core's work to start or await a copy, cycles"),
      SMALTI_NUMBER("time", "copy_latency_us", time.copyLatencyUs, 0, 1000, "of a copy, beyond its bytes, µs"),
      SMALTI_NUMBER("time", "hbm_efficiency", time.hbmEfficiency, 0.05, 1, "of the HBM bandwidth that copies reach"),
      SMALTI_NUMBER("time", "sole_core_hbm_share", time.soleCoreHbmShare, 0.05, 1,
                    "of a chip's HBM bandwidth where one of several cores works"),
      SMALTI_NUMBER("time", "matrix_efficiency", time.matrixEfficiency, 0.05, 1, "of the matrix units' peak"),
      SMALTI_NUMBER("time", "unoverlapped", time.unoverlapped, 0, 1,
                    "of the work of units other than the busiest that is not overlapped with it"),
      SMALTI_NUMBER("time", "op_us", time.opUs, 0, 1000, "to start and end an op around kernels, µs"),
      SMALTI_NUMBER("time", "op_efficiency", time.opEfficiency, 0.05, 1,
                    "of the HBM bandwidth that ops around kernels reach"),

      SMALTI_NUMBER("uncertainty", "everything", uncertainty.everything, 0, 10, "relative error of any time"),
      SMALTI_NUMBER("uncertainty", "issue_slots", uncertainty.issueSlots, 0, 10, "of what the vector units take"),
      SMALTI_NUMBER("uncertainty", "transcendental", uncertainty.transcendental, 0, 10,
                    "of kernels, as far as their work is exp and the like"),
      SMALTI_NUMBER("uncertainty", "vmem", uncertainty.vmem, 0, 10, "of what vector loads and stores take"),
      SMALTI_NUMBER("uncertainty", "hbm", uncertainty.hbm, 0, 10, "of waits for data"),
      SMALTI_NUMBER("uncertainty", "copy_latency", uncertainty.copyLatency, 0, 10,
                    "of waits for copies to begin and end"),
      SMALTI_NUMBER("uncertainty", "step_overhead", uncertainty.stepOverhead, 0, 10, "of what grid steps take"),
      SMALTI_NUMBER("uncertainty", "ici", uncertainty.ici, 0, 10, "of waits for other devices"),
      SMALTI_NUMBER("uncertainty", "ops", uncertainty.ops, 0, 10, "of ops around kernels"),
      SMALTI_NUMBER("uncertainty", "below", uncertainty.below, 0, 10,
                    "9 of 10 times are at most as many errors shorter"),
      SMALTI_NUMBER("uncertainty", "above", uncertainty.above, 0, 10,
                    "9 of 10 times are at most as many errors longer"),

      SMALTI_INTEGER("tiles", "rows_32_bit", tiles.rows32, 8, 8, "rows of a tile of 32-bit elements"),
      SMALTI_INTEGER("tiles", "rows_16_bit", tiles.rows16, 8, 16, "the same of 16-bit elements"),
      SMALTI_INTEGER("tiles", "rows_8_bit", tiles.rows8, 8, 32, "the same of 8-bit elements"),
      SMALTI_INTEGER("tiles", "rows_4_bit", tiles.rows4, 8, 64, "the same of 4-bit elements"),

      SMALTI_INTEGER("spills", "free_registers", spills.freeRegisters, 0, 4096,
                     "registers of the values that are kept at once which need no VMEM"),
      SMALTI_INTEGER("spills", "product_depth", spills.productDepth, 1, 1048576,
                     "matrix products of more depth keep partial sums"),
      SMALTI_INTEGER("spills", "sum_registers", spills.sumRegisters, 0, 65536,
                     "registers of partial sums that the matrix unit keeps itself"),
      SMALTI_INTEGER("spills", "copies_from_tiles", spills.copiesFromTiles, 1, 65536,
                     "operands are copied where the result has as many tiles of columns"),
      SMALTI_SPILL("shallow_copies", shallowCopies, "so are those of products of less than product_depth"),
      SMALTI_INTEGER("spills", "reloaded_row", spills.reloadedRow, 0, 65536,
                     "rows of fewer registers are loaded again where they are needed again; 0: all are"),
      SMALTI_INTEGER("spills", "rows_in_flight", spills.rowsInFlight, 1, 65536,
                     "groups of eight rows that are worked on at once"),
      SMALTI_SPILL("narrow_casts", narrowCasts, "casts from and to 8 bits go by way of all of the 32-bit value"),
      SMALTI_SPILL("row_broadcasts", rowBroadcasts, "what a broadcast row is added to is kept until it is stored"),

      SMALTI_FLAG("narrow_matmul", narrowMatmul, "matrix products of 8- and 4-bit operands"),
      SMALTI_FLAG("mixed_matmul", mixedMatmul, "i8 × i4, integers to floats and the reverse, f4"),
      SMALTI_FLAG("f8e4m3b11_matmul", f8e4m3b11Matmul, "matrix products of f8e4m3b11fnuz"),
      SMALTI_FLAG("sublane_gather", sublaneGather, "gathers along rows, lanes moved to rows"),
      SMALTI_FLAG("subelement_masking", subelementMasking, "parts of 32-bit words of 8-bit elements"),
      SMALTI_FLAG("narrow_shifts", narrowShifts, "shifts of 8- and 4-bit integers"),
      SMALTI_FLAG("narrow_division", narrowDivision, "division of 8-bit unsigned integers"),
      SMALTI_FLAG("f4", f4, "vectors of f4e2m1"),
      SMALTI_FLAG("bf16_reciprocal", bf16Reciprocal, "approximate reciprocals of bf16"),
      SMALTI_FLAG("bf16_index_reduce", bf16IndexReduce, "argmax and argmin of bf16"),
      SMALTI_FLAG("narrow_gather", narrowGather, "gathers of 8-bit values by 8-bit indices"),
      SMALTI_FLAG("packed_columns", packedColumns, "reshapes of 16-bit values to one lane"),
      SMALTI_FLAG("packed_stack", packedStack, "stacks of 16-bit values along a new last axis"),
      SMALTI_FLAG("byte_stack", byteStack, "stacks of 8-bit values along a new last axis"),
      SMALTI_FLAG("i2", i2, "conversions of 2-bit integers"),
      SMALTI_FLAG("strided_roll", stridedRoll, "rolls with a stride"),
      SMALTI_FLAG("stochastic_round", stochasticRound, "stochastic rounding"),
      SMALTI_FLAG("interleaved_unpack", interleavedUnpack, "unpack_elementwise of interleaved values"),
      SMALTI_FLAG("regular_semaphore_copies", regularSemaphoreCopies, "copies that signal a regular semaphore"),
  };
}

}  // namespace

const std::vector<ChipKey>& chipSchema() {
  static constinit Lasting<const std::vector<ChipKey>> kSchema;
  return kSchema.get(makeSchema);
}

std::vector<Contradiction> contradictionsOf(const Chip& c) {
  std::vector<Contradiction> found;
  if (c.device.coresPerDevice > c.device.coresPerChip)
    found.push_back({"device", "cores_per_device", "a device has more cores than its chip",
                     fmt::format("at most cores_per_chip, {}", c.device.coresPerChip)});
  if (c.memory.vmemUsableBytes > c.memory.vmemBytes)
    found.push_back({"memory", "vmem_usable_bytes", "a kernel cannot use more VMEM than there is",
                     fmt::format("at most vmem_bytes, {}", c.memory.vmemBytes)});
  if (c.memory.vmemDefaultLimitBytes > c.memory.vmemUsableBytes)
    found.push_back({"memory", "vmem_default_limit_bytes", "the limit is more VMEM than a kernel can use",
                     fmt::format("at most vmem_usable_bytes, {}", c.memory.vmemUsableBytes)});
  if ((c.device.generation < 7) != (c.mxu.queueRows > 0))
    found.push_back({"mxu", "queue_rows", "matrix units have a queue up to generation 6, and accumulators from 7 on",
                     c.device.generation < 7 ? "at least 1" : "0"});
  // Units × size² × 2 operations × rows a cycle × clock × cores is the published peak on every chip (within 1 %).
  const double peak =
      2e-3 *
      static_cast<double>(c.mxu.count * c.mxu.size * c.mxu.size * c.mxu.bf16RowsPerCycle * c.device.coresPerChip) *
      c.device.clockGhz;
  constexpr double kTolerance = 0.2;  // clocks are rounded; v7x runs between 1.9 and 2.2 GHz
  if (c.mxu.bf16TflopsPerChip > peak * (1 + kTolerance) || c.mxu.bf16TflopsPerChip < peak * (1 - kTolerance))
    found.push_back({"mxu", "bf16_tflops_per_chip", "the peak is not what the matrix units and the clock give",
                     fmt::format("about {:.0f} (units × size² × 2 × rows a cycle × clock × cores)", peak)});
  return found;
}

}  // namespace smalti::tpu
