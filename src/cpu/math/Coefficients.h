// Written by tools/cpu/minimax.py. Lowest degree first; the error is that of the function's value, relative, before any
// rounding of the evaluation (half a unit in the last place of f32 is 6.0e-8 at most).
#pragma once

namespace smalti::cpu {

/// ln 2, in parts.
inline constexpr float kLn2[] = {0x1.62e43p-1f, -0x1.05c61p-29f};
/// log2 e, in parts.
inline constexpr float kLog2OfE[] = {0x1.715476p0f, 0x1.4ae0cp-26f};
/// log10 e, in parts.
inline constexpr float kLog10OfE[] = {0x1.bcb7b2p-2f, -0x1.5b235ep-27f};
/// log10 2, in parts.
inline constexpr float kLog10Of2[] = {0x1.344136p-2f, -0x1.ec10cp-27f};
/// π/2, in parts.
inline constexpr float kHalfPi[] = {0x1.921fb6p0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
/// π, in parts.
inline constexpr float kPi[] = {0x1.921fb6p1f, -0x1.777a5cp-24f};
/// from here on erf goes by its tail.
inline constexpr float kErfSplit = 0x1.dc28f6p-1f;
/// up to here tanh goes by its polynomial.
inline constexpr float kTanhSplit = 0x1.19999ap-1f;
/// 2/π in parts of 29 bits: the product of each with an f32 is exact.
inline constexpr double kTwoOverPi[] = {0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59, 0x1.d1f534dp-88,
                                        0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175};

/// (e^r - 1 - r) / r² on ±ln2/2: 1.4e-8.
inline constexpr float kExpm1[] = {0x1.fffffep-2f, 0x1.5554aap-3f, 0x1.55579ap-5f, 0x1.122c38p-7f, 0x1.6ac052p-10f};
/// (2^f - 1) / f on ±1/2: 1.2e-8.
inline constexpr float kExp2[] = {0x1.62e43p-1f,  0x1.ebfb94p-3f,  0x1.c6af9ep-5f,
                                  0x1.3b681ap-7f, 0x1.5ef4dep-10f, 0x1.17951ap-13f};
/// the same: 9.7e-8.
inline constexpr float kExp2Short[] = {0x1.62e42ap-1f, 0x1.ebf9a4p-3f, 0x1.c6b596p-5f, 0x1.3cf3bp-7f, 0x1.5cb894p-10f};
/// (log(1 + f) - f + f²/2) / f³ on 1/√2 … √2: 5.9e-9.
inline constexpr float kLog1p[] = {0x1.555554p-2f, -0x1.000228p-2f, 0x1.99a036p-3f, -0x1.54721cp-3f,
                                   0x1.22d5cep-3f, -0x1.0d8266p-3f, 0x1.057976p-3f, -0x1.3911cap-4f};
/// (sin r - r) / r³ of r², r ≤ π/4: 1.6e-10.
inline constexpr float kSin[] = {-0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05954p-13f, 0x1.7c2c4ep-19f};
/// (cos r - 1 + r²/2) / r⁴ of r², r ≤ π/4: 1.2e-10.
inline constexpr float kCos[] = {0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f};
/// (tan r - r) / r³ of r², r ≤ π/4: 1.3e-9.
inline constexpr float kTan[] = {0x1.55556p-2f,  0x1.110d9ap-3f,  0x1.badadep-5f, 0x1.5cb29p-6f,
                                 0x1.63201ep-7f, 0x1.609df2p-14f, 0x1.1f105ep-8f};
/// (asin x - x) / x³ of x², x ≤ 1/2: 4.9e-9.
inline constexpr float kAsin[] = {0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e54p-6f, 0x1.595c58p-5f};
/// (atan x - x) / x³ of x², x ≤ 1: 2.6e-9.
inline constexpr float kAtan[] = {-0x1.55553ep-2f, 0x1.9991e4p-3f,  -0x1.242084p-3f, 0x1.c08c1ap-4f,  -0x1.580814p-4f,
                                  0x1.da24cap-5f,  -0x1.fd6fbcp-6f, 0x1.6410e6p-7f,  -0x1.d32dbcp-10f};
/// (sinh x - x) / x³ of x², x ≤ 1: 3.0e-10.
inline constexpr float kSinh[] = {0x1.555556p-3f, 0x1.1110ep-7f, 0x1.a022bcp-13f, 0x1.756c1ep-19f};
/// (tanh x - x) / x³ of x², below the split: 3.7e-8.
inline constexpr float kTanh[] = {-0x1.555452p-2f, 0x1.10cefcp-3f, -0x1.af7d36p-5f, 0x1.0d5174p-6f};
/// erf(x) / x - 1 of x², below the split: 1.8e-8.
inline constexpr float kErf[] = {0x1.06eba6p-3f,  -0x1.8126e2p-2f, 0x1.ce1984p-4f,
                                 -0x1.b67bcep-6f, 0x1.46d856p-8f,  -0x1.386d42p-11f};
/// -log2(erfc(x)), from the split to 3.93: 2.3e-8.
inline constexpr float kErfTail[] = {0x1.81deb2p-9f, 0x1.9d8224p0f,   0x1.e144b6p-1f,
                                     0x1.0ba29p-3f,  -0x1.6c2a2ep-6f, 0x1.d1043cp-10f};
/// 2^f on ±1/2: 1.9e-9.
inline constexpr double kExp2Double[] = {0x1.000000026123ap0,  0x1.62e430c7e73d5p-1, 0x1.ebfbdadd07c87p-3,
                                         0x1.c6aed4ba9d0fcp-5, 0x1.3b2dbb80a6969p-7, 0x1.5f456a3796166p-10,
                                         0x1.41d35fd8105f2p-13};
/// (log((1 + s)/(1 - s)) - 2s) / s³ of s², s ≤ 0.172: 3.0e-14.
inline constexpr double kAtanhDouble[] = {0x1.555555561faafp-1, 0x1.999996a4c666dp-2, 0x1.249414183d5cap-2,
                                          0x1.c62a49108b2edp-3, 0x1.91223158de2c3p-3};
/// e^(x²) erfc(x) (1 + 2x) of (x - 4)/(x + 4), x = 0 … 10.1: 1.3e-10.
inline constexpr double kErfcDouble[] = {
    0x1.3ba5916f18418p0,    -0x1.1df1ad6144196p-3,  0x1.f7f5b110fd608p-7, 0x1.16ed127c2a9cfp-4,  -0x1.9dda54c7f3541p-4,
    0x1.7fec36cb61aaap-4,   -0x1.0fbb6a3283823p-4,  0x1.3080c40ff9f8ep-5, -0x1.0869954e28fd2p-6, 0x1.4cdf166d9157p-8,
    -0x1.c43c3f637e6e3p-11, -0x1.94ce25c8c9931p-12, 0x1.410e3fba5a876p-14};
/// erf_inv(x) / x of w - 2.5, w = -log(1 - x²) ≤ 5: 4.1e-10.
inline constexpr double kErfInvDouble[] = {0x1.805c5cff6d6c3p0,    0x1.f91e8973069abp-3,  -0x1.11c3e0b1a37c1p-8,
                                           -0x1.486399f07068dp-10, 0x1.c9bb5ad51b48p-13,  -0x1.4f760492b23d5p-18,
                                           -0x1.cbd4e06fafb6fp-19, 0x1.018940fc2b07dp-21, 0x1.1abba5d460e82p-26,
                                           -0x1.7ac0b243163e7p-27, 0x1.e0851677347cap-32, 0x1.24271b06a6682p-33};
/// erf_inv(x) / x of √w - 3, w = 5 … 17: 8.2e-10.
inline constexpr double kErfInvTailDouble[] = {0x1.6a9efbd6cea38p1,   0x1.006dc9f8570fap0,    0x1.358299a3b4e3fp-7,
                                               -0x1.f4e33e6798194p-8, 0x1.749843b98898fp-8,   -0x1.d3625da96bfdp-9,
                                               0x1.85434c6c33f52p-10, -0x1.060901742615dp-13, -0x1.34b4128987311p-12,
                                               0x1.6500b835422cap-13, -0x1.40a83c975e9bdp-16, -0x1.d4e7bc529788ap-18};

}  // namespace smalti::cpu
