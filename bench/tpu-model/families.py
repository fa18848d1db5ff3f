"""Which family of kernels a row of device times belongs to."""

FAMILIES = [("v2", "gmm v2"), ("tgmm", "tgmm"), ("rhs-transposed", "dlhs"), ("gmm", "gmm"), ("flash_attention vjp", "attention vjp"),
            ("flash_attention", "attention"), ("CE vjp", "cross entropy vjp"), ("CE fwd", "cross entropy"),
            ("splash_attention", "splash"), ("pallas_matmul", "matmul")]


def family_of(row):
  return next((family for part, family in FAMILIES if part in row["kernel"]), None)
