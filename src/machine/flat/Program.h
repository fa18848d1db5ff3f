// The flat program's parts: instructions over value slots. Built by the compiler, run by Execution; no MLIR here.
#pragma once

#include <memory>
#include <vector>

#include "eval/Elementwise.h"
#include "machine/FlatProgram.h"

namespace smalti::machine::flat {

struct Frame;
struct Instruction;

/// Executes one instruction; returns the next one, or null if the run stops (frame.stop has the reason).
using Handler = const Instruction* (*)(Frame&, const Instruction*);

/// The data of an op in addition to slots; `step` below calls `run` of the concrete type.
struct Payload {
  static constexpr bool kQuiet = false;  ///< true: only checks; reads no values and writes nothing
  virtual ~Payload() = default;
};

/// One instruction. Element-wise ops use the fields; everything else keeps its own in `payload`.
struct Instruction {
  Handler run = nullptr;
  union {
    const Payload* payload = nullptr;
    eval::UnaryKernel unary;
    eval::BinaryKernel binary;
  };
  int64_t n = 0;  ///< elements; for jumps: where to
  int32_t out = -1, a = -1, b = -1;
  eval::Splat splat = eval::Splat::none;
};

/// The place of a value: `data`; scalars and splats are one element in `bits`.
struct Slot {
  std::byte* data = nullptr;
  const uint8_t* mask = nullptr;  ///< null: all defined; else one byte per stored element
  std::byte* home = nullptr;      ///< `bits`, or this vector's place in the arena
  uint64_t bits = 0;
  uint8_t bitsMask = 1;  ///< the mask of an element in `bits`
};

/// How a slot starts out.
struct SlotInit {
  enum class Kind : uint8_t { inlined, arena, constant } kind = Kind::inlined;
  int64_t offset = 0;  ///< in the arena or the constant pool
  uint64_t bits = 0;
};

/// A memref.alloca or tpu.sem_alloc of the function.
struct AllocationSite {
  int identity = 0;
  ArrayType type;
  MemoryKind space = MemoryKind::vmem;
  SourcePlace place;
};

/// A use of a scalar or vector value as compiled.
struct Operand {
  int32_t slot = -1;
  DType dtype = DType::f32;
  Shape shape;         ///< empty for scalars
  bool splat = false;  ///< one element stands for all
  int64_t elements() const { return num_elements(shape); }
  /// Elements held in memory.
  int64_t stored() const { return splat ? 1 : elements(); }
};

}  // namespace smalti::machine::flat

namespace smalti::machine {

/// The ops of the kernel's text, for observers: which instructions stand for which op, and the ops' types.
struct OpTable {
  struct Op {
    int32_t name = 0, place = 0;  ///< index into `names`, FlatProgram::places
    OpClass kind = OpClass::control;
    int32_t firstType = 0;  ///< index into `typeOf`: operands, then results
    int32_t numOperands = 0, numResults = 0;
    int32_t comesWith = -1;  ///< of an op without instructions: the op with which it comes
  };
  std::vector<Op> ops;
  std::vector<std::string> names;
  std::vector<ValueType> types;
  std::vector<int32_t> typeOf;  ///< index into `types`
  std::vector<int32_t> opOf;    ///< per instruction: index into `ops`
};

class FlatProgram {
 public:
  std::vector<flat::Instruction> code;  ///< the last one ends the run
  std::vector<int32_t> placeOf;         ///< per instruction: index into `places`
  std::vector<SourcePlace> places;
  OpTable table;
  std::vector<flat::SlotInit> slots;
  int refs = 0;
  std::vector<std::byte> constants;  ///< dense constants, 64-byte aligned each
  int64_t arenaBytes = 0;
  int64_t peakBytes = 0;  ///< largest set of values alive at once
  struct Parameter {
    bool isRef = false;
    int32_t index = 0;  ///< slot or ref
  };
  std::vector<Parameter> parameters;
  std::vector<flat::Operand> results;
  std::vector<flat::AllocationSite> sites;
  std::vector<std::unique_ptr<const flat::Payload>> payloads;
};

}  // namespace smalti::machine
