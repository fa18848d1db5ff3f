// Reports to observers, step by step, the software pipeline of one core on a TPU: fetches run one step ahead of
// the body, write-backs one step behind, each operand has two buffers (one where its window is synchronous or the whole
// array). Nothing is copied here: values move as WindowPipeline says, and overlap in time is invisible to them (S-C13,
// S-C14).
#pragma once

#include <memory>
#include <vector>

#include "machine/pipeline/CompiledIndexMap.h"
#include "machine/pipeline/Grid.h"

namespace smalti::machine {

struct OperandPlan;

class Overlap {
 public:
  /// `walk`: the core's steps, from the first. `arguments`: grid indices, then scalar prefetch refs.
  Overlap(const std::vector<OperandPlan>& operands, GridWalk walk, std::vector<Argument> arguments);
  ~Overlap();

  /// Evaluates the index maps of the step after this one, by a core that observers do not see. Before the events of a
  /// step. False when a map cannot be evaluated: then its step will say why, and there is nothing more to report.
  bool lookAhead(Core& unseen);
  void beginStep(const Actor&, Observer&);
  void endStep(const Actor&, Observer&);
  void finish(const Actor&, Observer&);

 private:
  struct Operand;
  bool evaluate(Core& unseen);
  void notify(const Actor&, Observer&, const Operand&, PipelineEvent::Kind, int slot, std::span<const int64_t> block);

  std::vector<std::unique_ptr<Operand>> operands_;
  GridWalk ahead_;  ///< at the step whose blocks are `next`
  std::vector<Argument> arguments_;
  int64_t step_ = -1;     ///< the current one
  bool hasNext_ = false;  ///< there is a step after it
};

}  // namespace smalti::machine
