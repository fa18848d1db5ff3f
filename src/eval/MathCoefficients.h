// Written by tools/cpu/minimax.py. Lowest degree first; the error is that of the function's value, relative, before any
// rounding of the evaluation (half a unit in the last place of f32 is 6.0e-8 at most).
#pragma once

namespace smalti::coefficients {

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
/// 2/π in parts of 29 bits, so that the product of each part with an f32 is exact.
inline constexpr double kTwoOverPi[] = {0x1.45f306dp-1,   0x1.9391054p-30, 0x1.4fe13abp-59, 0x1.d1f534dp-88,
                                        0x1.b81b6c5p-117, 0x1.5993c4p-148, 0x1.c820ff2p-175};

/// (e^r - 1 - r) / r² on ±ln2/2: 1.4e-8.
inline constexpr float kExpm1[] = {0x1.fffffep-2f, 0x1.5554aap-3f, 0x1.55579ap-5f, 0x1.122c38p-7f, 0x1.6ac052p-10f};
/// (2^f - 1) / f on ±1/2: 1.2e-8.
inline constexpr float kExp2[] = {0x1.62e43p-1f,  0x1.ebfb94p-3f,  0x1.c6af9ep-5f,
                                  0x1.3b681ap-7f, 0x1.5ef4dep-10f, 0x1.17951ap-13f};
/// the same: 9.7e-8.
inline constexpr float kExp2Short[] = {0x1.62e42ap-1f, 0x1.ebf9a4p-3f, 0x1.c6b596p-5f, 0x1.3cf3bp-7f, 0x1.5cb894p-10f};
/// (e^r - 1) / r on ±ln2/64: 5.3e-8.
inline constexpr float kExpPiece[] = {0x1.0000f6p0f, 0x1.fffffep-2f};
/// (2^f - 1) / f on ±1/64: 5.3e-8.
inline constexpr float kExp2Piece[] = {0x1.62e584p-1f, 0x1.ebfbdep-3f};
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
/// 2^(i/32).
inline constexpr float kExp2Table[] = {
    0x1p0f,        0x1.059b0ep0f, 0x1.0b5586p0f, 0x1.11301ep0f, 0x1.172b84p0f, 0x1.1d4874p0f, 0x1.2387a6p0f,
    0x1.29e9ep0f,  0x1.306fep0f,  0x1.371a74p0f, 0x1.3dea64p0f, 0x1.44e086p0f, 0x1.4bfdaep0f, 0x1.5342b6p0f,
    0x1.5ab07ep0f, 0x1.6247ecp0f, 0x1.6a09e6p0f, 0x1.71f75ep0f, 0x1.7a1148p0f, 0x1.82589ap0f, 0x1.8ace54p0f,
    0x1.93737cp0f, 0x1.9c4918p0f, 0x1.a5503cp0f, 0x1.ae89fap0f, 0x1.b7f77p0f,  0x1.c199bep0f, 0x1.cb720ep0f,
    0x1.d5818ep0f, 0x1.dfc974p0f, 0x1.ea4afap0f, 0x1.f50766p0f};
/// tanh in pieces, of |x| less the centre of the piece (the first row): 2.4e-8.
inline constexpr float kTanhTable[][32] = {
    {0x1.7ef694p0f,  0x1.bfa44p0f,  0x1.001966p1f,  0x1.1f9f56p1f,  0x1.3f81d8p1f,  0x1.614d6ap1f,  0x1.7ffcbap1f,
     0x1.9fdf3cp1f,  0x1.cfdbf4p1f, 0x1.07bb3p2f,   0x1.27404ep2f,  0x1.480276p2f,  0x1.690068p2f,  0x1.881cacp2f,
     0x1.a80902p2f,  0x1.c79a6cp2f, 0x1.f706f6p2f,  0x1.154fep3f,   0x0p0f,         0x1.8089ap-4f,  0x1.3ff972p-3f,
     0x1.c123a2p-3f, 0x1.2303bp-2f, 0x1.61b574p-2f, 0x1.c8902ep-2f, 0x1.226666p-1f, 0x1.603c9ep-1f, 0x1.a18adap-1f,
     0x1.df1aap-1f,  0x1.0fb646p0f, 0x1.311412p0f,  0x1.4fbcd4p0f},
    {0x1.cf0f5p-1f,  0x1.e1e71p-1f,  0x1.ed9c32p-1f, 0x1.f4aefcp-1f, 0x1.f9180ap-1f, 0x1.fbea72p-1f, 0x1.fd77bp-1f,
     0x1.fe75bp-1f,  0x1.ff458ep-1f, 0x1.ffbaf4p-1f, 0x1.ffe636p-1f, 0x1.fff6bcp-1f, 0x1.fffcb2p-1f, 0x1.fffecp-1f,
     0x1.ffff8ap-1f, 0x1.ffffd4p-1f, 0x1.fffff6p-1f, 0x1.fffffep-1f, 0x0p0f,         0x1.7f696ep-4f, 0x1.3d6562p-3f,
     0x1.ba1318p-3f, 0x1.1b6ccp-2f,  0x1.544822p-2f, 0x1.ac892ep-2f, 0x1.06ce0cp-1f, 0x1.317eecp-1f, 0x1.5861a6p-1f,
     0x1.776e5p-1f,  0x1.92877p-1f,  0x1.a98726p-1f, 0x1.bab32ap-1f},
    {0x1.74cf58p-3f, 0x1.d36744p-4f,  0x1.20f3bap-4f,  0x1.661f54p-5f,  0x1.b7015cp-6f,  0x1.04580ep-6f,
     0x1.4359eep-7f, 0x1.89b71ep-8f,  0x1.74902p-9f,   0x1.1411ep-10f,  0x1.9c84eap-12f, 0x1.286f2p-13f,
     0x1.a6ed2p-15f, 0x1.3ff068p-16f, 0x1.d7e5cap-18f, 0x1.5fefb8p-19f, 0x1.3eb81cp-21f, 0x1.febac6p-24f,
     0x1p0f,         0x1.fb8386p-1f,  0x1.f3b3dcp-1f,  0x1.e824dp-1f,   0x1.d8c6ccp-1f,  0x1.c7760ap-1f,
     0x1.a654a2p-1f, 0x1.791ad6p-1f,  0x1.49b834p-1f,  0x1.185cc2p-1f,  0x1.d96bb4p-2f,  0x1.87126ap-2f,
     0x1.3cae04p-2f, 0x1.0270dap-2f},
    {-0x1.512c9cp-3f,  -0x1.b7edbcp-4f, -0x1.169354p-4f,  -0x1.5e35f2p-5f,  -0x1.b115fp-6f,   -0x1.023fdap-6f,
     -0x1.41c246p-7f,  -0x1.888aa8p-8f, -0x1.7416c2p-9f,  -0x1.13f87ep-10f, -0x1.9c9876p-12f, -0x1.2885e8p-13f,
     -0x1.a6b60ap-15f, -0x1.4004fp-16f, -0x1.d94edap-18f, -0x1.60e38cp-19f, -0x1.3d79c4p-21f, -0x1.01dbcap-23f,
     0x1.8f17f6p-18f,  -0x1.7c0c2cp-4f, -0x1.35c61p-3f,   -0x1.a579d2p-3f,  -0x1.05b61cp-2f,  -0x1.2eb476p-2f,
     -0x1.617be8p-2f,  -0x1.8320dcp-2f, -0x1.8977c4p-2f,  -0x1.792794p-2f,  -0x1.5b243ap-2f,  -0x1.3374ep-2f,
     -0x1.07327cp-2f,  -0x1.beeb96p-3f},
    {0x1.691c3ep-4f,  0x1.02918ep-4f,  0x1.5948cep-5f,  0x1.bf801cp-6f,  0x1.19e25p-6f,   0x1.53fd4p-7f,
     0x1.aa612ep-8f,  0x1.05206ep-8f,  0x1.f684p-10f,   0x1.754fccp-11f, 0x1.171f9ap-12f, 0x1.91e2c8p-14f,
     0x1.1e45aep-15f, 0x1.b1cb0ap-17f, 0x1.40972ap-18f, 0x1.dd4c04p-20f, 0x1.ca32dp-22f,  0x1.518c88p-24f,
     -0x1.55eccap-2f, -0x1.494e5ep-2f, -0x1.34f22cp-2f, -0x1.17d798p-2f, -0x1.e56382p-3f, -0x1.96089ap-3f,
     -0x1.0b55f4p-3f, -0x1.a775d4p-5f, 0x1.d49032p-7f,  0x1.09ce6ap-4f,  0x1.81de5ep-4f,  0x1.bca31p-4f,
     0x1.c4424cp-4f,  0x1.abfdeep-4f},
    {-0x1.969a96p-6f,  -0x1.814d8cp-6f, -0x1.24b526p-6f,  -0x1.958f4ep-7f,  -0x1.0a1a84p-7f,  -0x1.4f38d4p-8f,
     -0x1.9fa2c2p-9f,  -0x1.003a1ap-9f, -0x1.ef25bcp-11f, -0x1.70b746p-12f, -0x1.103d9p-13f,  -0x1.893d4p-15f,
     -0x1.27288ep-16f, -0x1.ab4dcp-18f, -0x1.12cf02p-19f, -0x1.9e424ep-21f, -0x1.e194fap-23f, -0x1.dabc1p-26f,
     0x1.059806p-6f,   0x1.e7d71ep-5f,  0x1.90b412p-4f,   0x1.048fd2p-3f,   0x1.327bbp-3f,    0x1.4fc2fcp-3f,
     0x1.5b2a04p-3f,   0x1.3839ep-3f,   0x1.e8622ep-4f,   0x1.44c5dcp-4f,   0x1.655f9cp-5f,   0x1.df8baep-7f,
     -0x1.6a2574p-8f,  -0x1.21b2e4p-6f},
};
/// erf in pieces, of |x| less the centre of the piece (the first row): 9.9e-8.
inline constexpr float kErfTable[][32] = {
    {0x0p0f,         0x1.034d6ap-3f, 0x1.016bbap-2f, 0x1.820276p-2f, 0x1.0496bcp-1f, 0x1.3f212ep-1f, 0x1.7c1bdap-1f,
     0x1.bd8e22p-1f, 0x1.ff7ceep-1f, 0x1.20354p0f,   0x1.40594ap0f,  0x1.60b368p0f,  0x1.7feab4p0f,  0x1.a017c2p0f,
     0x1.bff7cep0f,  0x1.dfc362p0f,  0x1.00cedap1f,  0x1.0fb3dp1f,   0x1.20126ep1f,  0x1.301d14p1f,  0x1.4078d4p1f,
     0x1.4fa786p1f,  0x1.602546p1f,  0x1.6fdd98p1f,  0x1.80412p1f,   0x1.90013ap1f,  0x1.a00cb2p1f,  0x1.b0460ap1f,
     0x1.c0abap1f,   0x1.cfd7dcp1f,  0x1.df3f7cp1f,  0x1.ea9d4ap1f},
    {0x0p0f,         0x1.230912p-3f, 0x1.1c76bap-2f, 0x1.9fc8cep-2f, 0x1.0e82a8p-1f, 0x1.3e6f2p-1f,  0x1.69987cp-1f,
     0x1.90287ep-1f, 0x1.af4004p-1f, 0x1.c6fcbp-1f,  0x1.d8b088p-1f, 0x1.e5b372p-1f, 0x1.eea044p-1f, 0x1.f4fa66p-1f,
     0x1.f92c2ap-1f, 0x1.fbe20cp-1f, 0x1.fdabc4p-1f, 0x1.fea05ap-1f, 0x1.ff40cep-1f, 0x1.ff99d8p-1f, 0x1.ffcbb4p-1f,
     0x1.ffe4acp-1f, 0x1.fff2e6p-1f, 0x1.fff9bp-1f,  0x1.fffd24p-1f, 0x1.fffeb4p-1f, 0x1.ffff7p-1f,  0x1.ffffc4p-1f,
     0x1.ffffe8p-1f, 0x1.fffff6p-1f, 0x1.fffffcp-1f, 0x1.fffffep-1f},
    {0x1.20dd74p0f,   0x1.1c4562p0f,   0x1.0f2cbep0f,   0x1.f53348p-1f,  0x1.bde2e4p-1f,  0x1.87be06p-1f,
     0x1.4cef92p-1f,  0x1.0eeafcp-1f,  0x1.a9ebc4p-2f,  0x1.45513ep-2f,  0x1.e2bf6ep-3f,  0x1.5a4724p-3f,
     0x1.e79d26p-4f,  0x1.4939ecp-4f,  0x1.b0858ep-5f,  0x1.13c2f6p-5f,  0x1.4a26ap-6f,   0x1.986532p-7f,
     0x1.d2e448p-8f,  0x1.0576p-8f,    0x1.1849f4p-9f,  0x1.31324ap-10f, 0x1.317368p-11f, 0x1.32285cp-12f,
     0x1.208e26p-13f, 0x1.0f898cp-14f, 0x1.e87138p-16f, 0x1.a5ae54p-17f, 0x1.5d45a4p-18f, 0x1.2bec3p-19f,
     0x1.ee78ep-21f,  0x1.f8b5b4p-22f},
    {0x1.6fcab4p-16f,  -0x1.1ff356p-3f,  -0x1.10ae64p-2f,  -0x1.79de24p-2f,  -0x1.c5e0e4p-2f,  -0x1.e8588cp-2f,
     -0x1.ee57bap-2f,  -0x1.d783a8p-2f,  -0x1.a97e8ap-2f,  -0x1.6e3eeap-2f,  -0x1.2e0bd8p-2f,  -0x1.dd142ep-3f,
     -0x1.6da1cep-3f,  -0x1.0b8e6ep-3f,  -0x1.7a6d8ep-4f,  -0x1.026656p-4f,  -0x1.4b2f2ap-5f,  -0x1.b17296p-6f,
     -0x1.06b376p-6f,  -0x1.369bb4p-7f,  -0x1.5edbdcp-8f,  -0x1.9035bap-9f,  -0x1.a44368p-10f, -0x1.b7e20cp-11f,
     -0x1.b15654p-12f, -0x1.a803bap-13f, -0x1.8c7938p-14f, -0x1.657ae4p-15f, -0x1.31f8ecp-16f, -0x1.0513c4p-17f,
     -0x1.cf0fdep-19f, -0x1.e353fap-20f},
    {-0x1.826a1ep-2f, -0x1.6e2afap-2f, -0x1.3b6f2cp-2f, -0x1.dde03ep-3f, -0x1.1e72p-3f,   -0x1.d3216p-5f,
     0x1.660568p-6f,  0x1.727a4p-4f,   0x1.1a20dp-3f,   0x1.4c447p-3f,   0x1.568cb8p-3f,  0x1.427082p-3f,
     0x1.1c2102p-3f,  0x1.d60cb2p-4f,  0x1.7186dep-4f,  0x1.151c0ap-4f,  0x1.8470f2p-5f,  0x1.11308p-5f,
     0x1.642876p-6f,  0x1.c1d0bp-7f,   0x1.0e6b22p-7f,  0x1.45c0d4p-8f,  0x1.69f1bep-9f,  0x1.8e77c2p-10f,
     0x1.9ca3fep-11f, 0x1.a6cc7ep-12f, 0x1.9d6854p-13f, 0x1.84ca2p-14f,  0x1.5a2decp-15f, 0x1.468a84p-16f,
     0x1.19747p-17f,  0x1.23166ep-18f},
    {0x1.6274ep-6f,    0x1.25df9ep-4f,   0x1.055dbap-3f,   0x1.556accp-3f,   0x1.76c84ep-3f,   0x1.6996ccp-3f,
     0x1.386808p-3f,   0x1.cc70cap-4f,   0x1.1c0c92p-4f,   0x1.c7b21p-6f,    -0x1.9d8294p-8f,  -0x1.f9a584p-6f,
     -0x1.6b5384p-5f,  -0x1.967dc4p-5f,  -0x1.8acd1p-5f,   -0x1.5a3054p-5f,  -0x1.1a26cap-5f,  -0x1.b24588p-6f,
     -0x1.364df2p-6f,  -0x1.ac4108p-7f,  -0x1.1b2976p-7f,  -0x1.6002fep-8f,  -0x1.9e7c46p-9f,  -0x1.fb737ep-10f,
     -0x1.03089p-10f,  -0x1.38cb2ep-11f, -0x1.4b5b92p-12f, -0x1.99adc8p-14f, -0x1.1e411ep-14f, -0x1.dda95cp-14f,
     -0x1.d4da0ep-17f, -0x1.9242bap-18f},
};

}  // namespace smalti::coefficients
