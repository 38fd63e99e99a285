// Philox4x32-10 (Salmon et al., SC 2011); the words are those of philox.py.
#pragma once

__device__ __forceinline__ uint4 philox(uint4 c, unsigned k0, unsigned k1) {
    for (int round = 0; round < 10; ++round) {
        const unsigned high0 = __umulhi(c.x, 0xD2511F53u), low0 = c.x * 0xD2511F53u;
        const unsigned high1 = __umulhi(c.z, 0xCD9E8D57u), low1 = c.z * 0xCD9E8D57u;
        c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

__device__ __forceinline__ unsigned word(const uint4& words, int lane) {
    return lane == 0 ? words.x : lane == 1 ? words.y : lane == 2 ? words.z : words.w;
}
