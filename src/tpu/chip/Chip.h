// TPU generations as data: `chips/*.toml`, one file a chip. Facts about silicon are numbers with a unit and a source;
// what the chip's compiler takes are flags that the rules of src/tpu/rules read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smalti/diagnostic.h"

namespace smalti::tpu {

struct Chip {
  std::string name;  ///< "v5e"
  std::string title;

  /// Names of the chip in other programs.
  struct Names {
    std::string deviceKind;      ///< of JAX's devices: "TPU v5 lite"
    std::string topology;        ///< of the TPU compiler's topologies: "v5e" in "v5e:2x2"
    std::string topologyConfig;  ///< the compiler's option chip_config_name; may be empty
  } names;
  struct Device {
    int64_t generation = 0;      ///< 4, 5, 6, 7
    int64_t coresPerChip = 0;    ///< TensorCores
    int64_t coresPerDevice = 0;  ///< TensorCores that one kernel may use
    double clockGhz = 0;
  } device;
  /// The matrix units of one TensorCore.
  struct Mxu {
    int64_t count = 0, size = 0;    ///< matrix units and their rows = columns
    int64_t bf16RowsPerCycle = 0;   ///< rows of a bf16 operand that one unit takes in a cycle
    double latchCyclesPerVreg = 0;  ///< to load one register of weights
    int64_t queueRows = 0;          ///< that a unit's queue of products holds; 0: it has none
    double bf16TflopsPerChip = 0;   ///< published peaks; 0: the type has no rate of its own
    double int8TopsPerChip = 0, fp8TflopsPerChip = 0, int4TopsPerChip = 0;
  } mxu;
  /// The vector unit of one TensorCore.
  struct Vector {
    int64_t registers = 0, sublanes = 0, lanes = 0;
    int64_t aluSlots = 0, loadSlots = 0, storeSlots = 0, scalarSlots = 0;  ///< a bundle
    double transcendentalCyclesPerVreg = 0;
    int64_t crossLaneUnits = 0;
    double transposeCyclesPerVreg = 0;
  } vector;
  struct Memory {
    int64_t vmemBytes = 0;              ///< of a core
    int64_t vmemUsableBytes = 0;        ///< the most that a kernel may use, whatever its limit
    int64_t vmemDefaultLimitBytes = 0;  ///< unless it sets vmem_limit_bytes
    int64_t smemBytes = 0;              ///< of a core
    int64_t hbmBytes = 0;               ///< of the chip
    double hbmGbPerSecond = 0;          ///< of the chip, 10^9 bytes
  } memory;
  struct Dma {
    double fixedCostUs = 0;  ///< of one copy and its wait
    int64_t granuleBytes = 0;
  } dma;
  struct Ici {
    int64_t torusDimensions = 0;
    double linkGbPerSecond = 0;  ///< one way
    double hopLatencyUs = 0;
  } ici;
  /// Undocumented constants, found by fitting the model of src/sim to measured times.
  struct Time {
    double kernelUs = 0;          ///< to start and to end a kernel
    double stepCycles = 0;        ///< a grid step, whatever it does
    double scalarCycles = 0;      ///< a scalar instruction
    double copyCycles = 0;        ///< the core's own work to start a copy, and to wait for one
    double copyLatencyUs = 0;     ///< of a copy, beyond its bytes
    double hbmEfficiency = 1;     ///< of the published bandwidth
    double soleCoreHbmShare = 1;  ///< of a chip's bandwidth, where one of several cores works
    double matrixEfficiency = 1;  ///< of the matrix units' peak
    double unoverlapped = 0;      ///< of the work of other units than the busiest
    double opUs = 0;              ///< to start and to end one op around kernels
    double opEfficiency = 1;      ///< of the published bandwidth, in ops around kernels
  } time;
  /// Uncertainty of a predicted time: relative errors of its parts (src/driver/time/TimeParts.h), found from measured
  /// times.
  struct Uncertainty {
    double everything = 0;            ///< of all of it
    double issueSlots = 0;            ///< of what the vector units take
    double transcendental = 0;        ///< of kernels, as far as their work is exp and the like
    double vmem = 0;                  ///< of vector loads and stores
    double hbm = 0, copyLatency = 0;  ///< of waits for copies
    double stepOverhead = 0;
    double ici = 0;               ///< of waits for other devices
    double ops = 0;               ///< of ops around kernels
    double below = 0, above = 0;  ///< the range is as many of these to both sides
  } uncertainty;
  /// Rows of a tile by bits of an element, where an array has that many rows.
  struct Tiles {
    int64_t rows32 = 0, rows16 = 0, rows8 = 0, rows4 = 0;
  } tiles;
  /// Constants of the values that the compiler keeps in VMEM if registers do not suffice (src/tpu/Temporaries.h).
  struct Spills {
    int64_t freeRegisters = 0;    ///< of the values that are kept at once, these need no VMEM
    int64_t productDepth = 0;     ///< products of more depth keep partial sums
    int64_t sumRegisters = 0;     ///< the matrix unit keeps as many registers of partial sums itself; 0: none
    int64_t copiesFromTiles = 0;  ///< operands are copied where the result has as many tiles of columns
    bool shallowCopies = false;   ///< of products of any depth
    int64_t reloadedRow = 0;      ///< rows of fewer registers are loaded again where they are needed again; 0: all are
    int64_t rowsInFlight = 0;     ///< groups of eight rows that are worked on at once
    bool narrowCasts = false;     ///< casts from and to 8 bits and less go by way of all of the 32-bit value
    bool rowBroadcasts = false;   ///< the other operand of a broadcast row's addition is kept until the store
  } spills;
  /// Features that the compiler accepts for this chip, but not for all.
  struct Takes {
    bool narrowMatmul = false;       ///< operands of 8 and 4 bits
    bool mixedMatmul = false;        ///< i8 × i4, integer operands with float results and the reverse, f4
    bool f8e4m3b11Matmul = false;    ///< operands of that format
    bool sublaneGather = false;      ///< gathers along rows, and reshapes that move lanes to sublanes
    bool subelementMasking = false;  ///< parts of 32-bit words of 8-bit elements
    bool narrowShifts = false;       ///< shifts of 8- and 4-bit integers
    bool narrowDivision = false;     ///< division of 8-bit unsigned integers
    bool f4 = false;                 ///< f4e2m1 vectors
    bool bf16Reciprocal = false;     ///< approximate reciprocals of bf16
    bool bf16IndexReduce = false;    ///< argmax and argmin of bf16
    bool narrowGather = false;       ///< gathers of 8-bit values by 8-bit indices
    bool packedColumns = false;      ///< reshapes of 16-bit values to one lane
    bool packedStack = false;        ///< stacks of 16-bit values along a new last axis
    bool byteStack = false;          ///< the same of 8-bit values
    bool i2 = false;                 ///< conversions of 2-bit integers
    bool stridedRoll = false;        ///< pltpu.roll with a stride
    bool stochasticRound = false;
    bool interleavedUnpack = false;
    bool regularSemaphoreCopies = false;  ///< copies that signal a regular semaphore
  } takes;

  std::map<std::string, std::string> sources;  ///< "memory.vmem_bytes" → where the number is from, or "fitted"
};

/// One fact of the schema, for those who print chips.
struct ChipFact {
  std::string path;   ///< "memory.vmem_bytes"
  std::string value;  ///< "134217728", "true"
  bool isText = false;
  std::string help;
  std::string source;
};
std::vector<ChipFact> factsOf(const Chip&);

/// Reads a chip from TOML text; `name` stands in messages. SM1040 (not TOML), SM1041 (unknown, missing or impossible
/// keys): each with its line.
Result<Chip> parseChip(std::string_view text, const std::string& name);

/// Names of the chips that Smalti comes with, sorted, which is oldest first.
std::span<const std::string_view> chipNames();
/// A name of `chipNames`, or the path of a .toml file. SM6609: there is no such chip.
Result<Chip> findChip(std::string_view nameOrFile);
/// Its file.
Result<std::string> chipText(std::string_view nameOrFile);
/// The same for lists: "all", "v5e", "v5e,v6e", "my_chip.toml".
Result<std::vector<Chip>> findChips(std::string_view list);

}  // namespace smalti::tpu
